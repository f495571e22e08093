// The room of training: the curves of runs, live from their metrics.

import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { drawChart, type ChartLine } from '../chart.ts';
import { groupColour } from '../colour.ts';
import { short } from '../dom.ts';
import { chooseFile } from '../files.ts';
import type { LinkState } from '../link.ts';
import { Room, type Shell } from '../room.ts';
import type { Run } from '../service.ts';

type Metrics = Record<string, number>;

/** A run of the service, or one that was opened as a file. */
type Listed = Run & { opened?: boolean };

interface State {
  runs: Listed[];
  chosen: string[];
  /** Lines of metrics by run, and how many lines were read. */
  lines: Record<string, Metrics[]>;
  next: Record<string, number>;
  smooth: number;
  log: boolean;
}

const EMPTY: State = { runs: [], chosen: [], lines: {}, next: {}, smooth: 0, log: false };
/** Milliseconds between two looks at a run. */
const EVERY = 2000;
/** Numbers that count, and are no curves of their own. */
const COUNTERS = ['step', 'epoch', 'instances', 'nodes', 'seed'];

export class TrainingRoom extends Room<State> {
  override readonly name = 'training';
  override readonly title = 'Training';
  override readonly about = 'Curves of training runs, read anew every two seconds while they run.';

  #timer = 0;
  #at: number | null = null;

  constructor(shell: Shell) {
    super(shell, { ...EMPTY });
  }

  override async open(link: LinkState): Promise<void> {
    this.state = { ...EMPTY, lines: {}, next: {}, chosen: (link.runs ?? '').split('|').filter(Boolean), smooth: Number(link.smooth ?? 0) || 0, log: link.log === '1' };
    await this.task(() => this.#look());
    this.#schedule();
  }

  override link(): LinkState {
    const { chosen, smooth, log } = this.state;
    return { runs: chosen.join('|'), smooth: smooth ? String(smooth) : '', log: log ? '1' : '' };
  }

  override async receive(file: File): Promise<void> {
    await this.task(async () => {
      const lines = (await file.text()).split('\n').filter((line) => line.trim()).map((line) => numbers(JSON.parse(line) as Record<string, unknown>));
      this.update({ runs: [...this.state.runs.filter((run) => run.name !== file.name), { name: file.name, opened: true }], chosen: [file.name], lines: { ...this.state.lines, [file.name]: lines } });
    });
  }

  override leave(): void {
    window.clearTimeout(this.#timer);
    this.#timer = 0;
  }

  #schedule(): void {
    window.clearTimeout(this.#timer);
    if (!this.service.live) return;
    this.#timer = window.setTimeout(async () => {
      if (!document.hidden) await this.#look().catch((error: unknown) => this.fail(error));
      if (this.#timer) this.#schedule();
    }, EVERY);
  }

  /** Reads the list of runs and the new lines of those that are shown. */
  async #look(): Promise<void> {
    const { runs: served } = await this.service.get<{ runs: Run[] }>('/v1/runs');
    const opened = this.state.runs.filter((run) => run.opened);
    const runs: Listed[] = [...served, ...opened.filter((run) => !served.some((one) => one.name === run.name))];
    const chosen = this.state.chosen.length ? this.state.chosen : runs.slice(0, 1).map((run) => run.name);
    const changed = JSON.stringify(runs) !== JSON.stringify(this.state.runs) || chosen !== this.state.chosen;
    if (changed) this.update({ runs, chosen });
    for (const name of chosen) {
      if (!served.some((run) => run.name === name)) continue;
      const from = this.state.next[name] ?? 0;
      const { lines, next } = await this.service.get<{ lines: Record<string, unknown>[]; next: number }>(`/v1/runs/${encodeURIComponent(name)}/metrics?from=${from}`);
      // A run that was resumed from an earlier step begins anew.
      const before = next < from ? [] : this.state.lines[name] ?? [];
      if (lines.length || next < from) this.update({ lines: { ...this.state.lines, [name]: [...before, ...lines.map(numbers)] }, next: { ...this.state.next, [name]: next } });
    }
  }

  override view(): TemplateResult {
    const { runs, chosen, smooth, log } = this.state;
    if (!runs.length) return html`<div class="card empty" data-stage>${this.busy ? 'Loading…' : html`There are no runs here. Start the service with <code>regard serve --runs runs</code> and train with <code>regard train … --out runs/NAME</code>, or open a <code>metrics.jsonl</code>.<br><br>${this.#openButton()}`}</div>`;
    const toggle = (name: string): void => {
      this.update({ chosen: chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name] });
      if (this.service.live) void this.task(() => this.#look());
    };
    const names = this.#metrics();
    return html`<div class="bar" role="group" aria-label="Curves">
        <label>Smoothing <input type="range" name="smooth" min="0" max="0.99" step="0.01" .value=${live(String(smooth))} aria-valuetext=${smooth.toFixed(2)} @input=${(event: Event) => this.update({ smooth: Number((event.target as HTMLInputElement).value) })}></label>
        <label><input type="checkbox" name="log" .checked=${live(log)} @change=${(event: Event) => this.update({ log: (event.target as HTMLInputElement).checked })}>Logarithmic</label>
        ${this.service.live ? this.#openButton() : nothing}
      </div>
      <div class="split">
        <div class="column"><section class="card first" aria-label="Curves"><div data-stage>${names.length ? names.map((name, at) => this.#curve(name, at === 0)) : html`<p class="empty">The run has no metrics yet.</p>`}</div></section></div>
        <div class="column">
          <section class="card result" aria-label="Runs"><h2>Runs</h2><table class="plain"><tbody>${runs.map((run) => html`<tr><td class="text"><label><input type="checkbox" name=${`run-${run.name}`} .checked=${live(chosen.includes(run.name))} @change=${() => toggle(run.name)}><span class="swatch box" .style=${`background:${chosen.includes(run.name) ? groupColour(chosen.indexOf(run.name)) : 'transparent'}`}></span>${run.name}</label>${run.experiment ? html`<br><span class="quiet tiny">${run.experiment}</span>` : nothing}</td><td class="quiet">${run.steps ? `${short(run.steps, 6)} steps` : ''}</td></tr>`)}</tbody></table></section>
          <section class="card" aria-label="Values"><h2>${this.#at === null ? 'Last values' : `Step ${short(this.#at, 8)}`}</h2><div class="scroll"><table class="plain"><thead><tr><th class="text" scope="col">Metric</th>${chosen.map((run) => html`<th scope="col">${run}</th>`)}</tr></thead><tbody>${names.map((name) => html`<tr><th class="text" scope="row">${name.replaceAll('_', ' ')}</th>${chosen.map((run) => html`<td>${short(this.#valueAt(run, name), 4)}</td>`)}</tr>`)}</tbody></table></div></section>
        </div>
      </div>`;
  }

  #openButton(): TemplateResult {
    const open = async (): Promise<void> => {
      const file = await chooseFile('.jsonl');
      if (file) await this.receive(file);
    };
    return html`<button name="open" @click=${open}>Open file…</button>`;
  }

  /** The metrics of the shown runs: costs and losses first. */
  #metrics(): string[] {
    const found = new Set(this.state.chosen.flatMap((run) => (this.state.lines[run] ?? []).flatMap((line) => Object.keys(line))));
    const rank = (name: string): number => (/cost|mse|mae|accuracy|error/.test(name) && /val|test/.test(name) ? 0 : /cost|loss/.test(name) ? 1 : 2);
    return [...found].filter((name) => !COUNTERS.includes(name)).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b)).slice(0, 16);
  }

  #points(run: string, name: string): [number, number][] {
    const points: [number, number][] = [];
    let [mean, weight] = [0, 0];
    (this.state.lines[run] ?? []).forEach((line, at) => {
      if (!(name in line)) return;
      // An exponential mean, as of its first values as of its last.
      mean = this.state.smooth * mean + (1 - this.state.smooth) * line[name];
      weight = this.state.smooth * weight + (1 - this.state.smooth);
      points.push([stepOf(line, at), mean / weight]);
    });
    return points;
  }

  #valueAt(run: string, name: string): number | null {
    const points = this.#points(run, name);
    if (this.#at === null) return points.at(-1)?.[1] ?? null;
    const at = this.#at;
    return points.filter(([step]) => step <= at).at(-1)?.[1] ?? null;
  }

  #curve(name: string, first: boolean): TemplateResult {
    const lines: ChartLine[] = this.state.chosen.map((run, at) => ({ name: run, colour: groupColour(at), points: this.#points(run, name) }));
    const counts = lines.map((line) => line.points.length);
    if (!counts.some((count) => count > 0)) return html``;
    for (const line of lines) if (line.points.length < 12) line.kind = 'dots';
    const last = lines.map((line) => `${line.name} ${short(line.points.at(-1)?.[1])}`).join(', ');
    const steps = this.state.chosen.flatMap((run) => (this.state.lines[run] ?? []).map((line, at) => stepOf(line, at)));
    const positive = lines.every((line) => line.points.every(([, value]) => (value ?? 0) > 0));
    const { picture } = drawChart({
      width: this.width,
      height: first ? 280 : 170,
      lines: lines.filter((line) => line.points.length),
      label: `${name}: last ${last}`,
      xText: (x) => short(x, 6),
      xTitle: 'step',
      log: this.state.log && positive,
      x: [steps.reduce((a, b) => Math.min(a, b), Infinity), steps.reduce((a, b) => Math.max(a, b), -Infinity)],
      stops: [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))].sort((a, b) => a - b),
      hover: (x) => {
        this.#at = x;
        window.clearTimeout(this.#hover);
        this.#hover = window.setTimeout(() => this.#said(), 30);
      },
    });
    return html`<figure class="curve" data-picture><figcaption>${name.replaceAll('_', ' ')}</figcaption>${picture}</figure>`;
  }

  #hover = 0;

  /** The values beside the curves follow the pointer without a new drawing of the curves. */
  #said(): void {
    const table = document.querySelector('section[aria-label="Values"]');
    if (!table) return;
    const title = table.querySelector('h2');
    if (title) title.textContent = this.#at === null ? 'Last values' : `Step ${short(this.#at, 8)}`;
    const names = this.#metrics();
    table.querySelectorAll('tbody tr').forEach((row, at) => row.querySelectorAll('td').forEach((cell, place) => { cell.textContent = short(this.#valueAt(this.state.chosen[place], names[at]), 4); }));
  }
}

/** The step of a line, or its place where it names none. */
function stepOf(line: Metrics, at: number): number {
  return line.step ?? line.epoch ?? at;
}

/** The numbers of a line; those that are not of a training step have its kind before their names, as `validation cost`. */
function numbers(line: Record<string, unknown>): Metrics {
  const kind = typeof line.kind === 'string' && line.kind !== 'step' ? `${line.kind === 'valid' ? 'validation' : line.kind} ` : '';
  return Object.fromEntries(Object.entries(line).filter((entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1])).map(([name, value]) => [COUNTERS.includes(name) ? name : kind + name, value]));
}
