// The room of attention: one layer with numbers to edit, every intermediate number beside its formula.

import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { css, inkOn, scale } from '../colour.ts';
import { short, svgElement } from '../dom.ts';
import { chooseFile } from '../files.ts';
import { pack, unpack, type LinkState } from '../link.ts';
import { Room, type Shell } from '../room.ts';
import { Latest } from '../service.ts';
import { heatMap } from '../trace/heat_map.ts';
import { flat, Steps, type Step, type Trace } from '../trace/trace.ts';
import { TraceCard } from './trace_card.ts';

type Matrix = number[][];

/** The input of `regard explain attention`. */
interface Input {
  x?: Matrix;
  query?: Matrix;
  key?: Matrix;
  value?: Matrix;
  heads?: number;
  mask?: string | Matrix;
  tokens?: string[];
  query_tokens?: string[];
  key_tokens?: string[];
  [key: string]: unknown;
}

interface State {
  input: Input | null;
  trace: Trace | null;
  head: number;
  cell: { step: string; row: number; column: number } | null;
  traceOpen: boolean;
}

const EMPTY: State = { input: null, trace: null, head: 0, cell: null, traceOpen: false };
const INPUTS: [string, string][] = [['x', 'Tokens x'], ['query', 'Queries'], ['key', 'Keys'], ['value', 'Values'], ['query_weights', 'Query weights'], ['key_weights', 'Key weights'], ['value_weights', 'Value weights'], ['output_weights', 'Output weights']];
const TITLES: Record<string, string> = { query: 'Query', key: 'Key', value: 'Value', raw_score: 'Scores', score: 'Scaled scores', mask: 'Mask', attention: 'Attention', heads: 'Weighted values', merged: 'Heads side by side', output: 'Output' };
/** Two tokens with two features, attention of one to the other. */
const FIRST: Input = { x: [[1, 0, 1, 0], [0, 1, 0, 1]], heads: 2, tokens: ['token 1', 'token 2'] };

export class AttentionRoom extends Room<State> {
  override readonly name = 'attention';
  override readonly title = 'Attention';
  override readonly about = 'One attention layer, worked through. Change a number and every number after it follows; point at a result to see what it is made of.';

  #asker = new Latest(0);
  #wait = 0;
  readonly #trace = new TraceCard(() => undefined);

  constructor(shell: Shell) {
    super(shell, { ...EMPTY });
  }

  override async open(link: LinkState): Promise<void> {
    const input = link.input ? await unpack<Input>(link.input) : FIRST;
    this.state = { ...EMPTY, input, head: Number(link.head ?? 0) || 0 };
    this.#ask();
  }

  override async link(): Promise<LinkState> {
    const { input, head } = this.state;
    return { input: input && JSON.stringify(input) !== JSON.stringify(FIRST) ? await pack(input) : '', head: head ? String(head) : '' };
  }

  override async receive(file: File): Promise<void> {
    await this.task(async () => {
      const input = JSON.parse(await file.text()) as Input;
      this.state = { ...EMPTY, input };
      this.#ask();
    });
  }

  #ask(): void {
    this.#asker.run((signal) => this.task(async () => {
      const trace = await this.service.post<Trace>('/v1/explain/attention', this.state.input ?? {}, signal);
      this.update({ trace });
      const first = new Steps(trace).values('attention');
      if (first) this.shell.say(`First attention weight ${short(first[0], 4)}`);
    }, signal).then(() => undefined));
  }

  #change(input: Input): void {
    this.update({ input, cell: null });
    window.clearTimeout(this.#wait);
    this.#wait = window.setTimeout(() => this.#ask(), 120);
  }

  // Editing ---------------------------------------------------------------------------------------------------------

  #set(name: string, row: number, column: number, value: number): void {
    const matrix = (this.state.input?.[name] as Matrix).map((one, at) => (at === row ? one.map((old, place) => (place === column ? value : old)) : one));
    this.#change({ ...this.state.input, [name]: matrix });
  }

  #tokens(by: number): void {
    const { input } = this.state;
    if (!input?.x || Array.isArray(input.x[0]?.[0])) return;
    const x = by > 0 ? [...input.x, input.x[0].map((_, at) => (at === input.x!.length % input.x![0].length ? 1 : 0))] : input.x.slice(0, -1);
    const tokens = x.map((_, at) => input.tokens?.[at] ?? `token ${at + 1}`);
    this.#change({ ...input, x, tokens, mask: typeof input.mask === 'string' ? input.mask : undefined });
  }

  #mask(kind: string): void {
    const { input, trace } = this.state;
    if (!input) return;
    const weights = trace?.steps.find((step) => step.name === 'attention');
    const [rows, columns] = weights ? weights.shape.slice(-2) : [1, 1];
    this.#change({ ...input, mask: kind === 'own' ? Array.from({ length: rows }, () => Array.from({ length: columns }, () => 1)) : kind });
  }

  override view(): TemplateResult {
    const { input, trace } = this.state;
    if (!input) return html`<div class="empty">${this.busy ? 'Loading…' : 'Open an input of regard explain attention.'}</div>`;
    const steps = trace ? new Steps(trace) : null;
    const shown = trace?.steps.filter((step) => step.name in TITLES && !this.#isInput(step)) ?? [];
    return html`
      ${this.#controls(input)}
      <div class="flow">
        ${INPUTS.filter(([name]) => Array.isArray(input[name])).map(([name, title]) => this.#inputCard(name, title, input[name] as Matrix))}
        ${Array.isArray(input.mask) ? this.#maskCard(input.mask) : nothing}
      </div>
      ${steps ? this.#weights(steps) : nothing}
      <div class="flow">${shown.map((step) => this.#stepCard(step, steps as Steps))}</div>
      ${this.notes(trace?.notes)}
      ${this.#trace.view(trace, this.state.traceOpen, (traceOpen) => this.update({ traceOpen }))}`;
  }

  #isInput(step: Step): boolean {
    return step.name === 'mask';
  }

  #heads(): number {
    return this.state.trace?.steps.find((step) => step.name === 'attention')?.axes.find((axis) => axis.name === 'head')?.labels.length ?? 1;
  }

  #controls(input: Input): TemplateResult {
    const heads = this.#heads();
    const kind = Array.isArray(input.mask) ? 'own' : input.mask ?? 'none';
    const off = !this.service.live;
    const flatInput = input.x && !Array.isArray(input.x[0]?.[0]);
    const width = input.x?.[0]?.length ?? 1;
    const divisors = Array.from({ length: width }, (_, at) => at + 1).filter((count) => width % count === 0);
    return html`<div class="bar" role="group" aria-label="Layer">
      ${flatInput && !input.query_weights ? html`<label>Heads <select name="heads" ?disabled=${off} .value=${live(String(input.heads ?? 1))} @change=${(event: Event) => { this.update({ head: 0 }); this.#change({ ...input, heads: Number((event.target as HTMLSelectElement).value) }); }}>${divisors.map((count) => html`<option value=${count} ?selected=${count === (input.heads ?? 1)}>${count}</option>`)}</select></label>` : nothing}
      <label>Mask <select name="mask" ?disabled=${off} .value=${live(kind)} @change=${(event: Event) => this.#mask((event.target as HTMLSelectElement).value)}><option value="none">none</option>${flatInput ? html`<option value="causal">causal</option>` : nothing}<option value="own">own</option></select></label>
      ${flatInput ? html`<span class="group"><button name="add-token" ?disabled=${off || (input.x?.length ?? 0) >= 8} @click=${() => this.#tokens(1)}>Add a token</button><button name="remove-token" ?disabled=${off || (input.x?.length ?? 0) <= 1} @click=${() => this.#tokens(-1)}>Remove the last</button></span>` : nothing}
      ${heads > 1 ? html`<label>Show head <select name="head" .value=${live(String(this.state.head))} @change=${(event: Event) => this.update({ head: Number((event.target as HTMLSelectElement).value), cell: null })}>${Array.from({ length: heads }, (_, at) => html`<option value=${at} ?selected=${at === this.state.head}>${at}</option>`)}</select></label>` : nothing}
      ${off ? nothing : html`<button name="open" @click=${() => void chooseFile('.json').then((file) => (file ? this.receive(file) : undefined))}>Open file…</button><button name="reset" @click=${() => { this.update({ head: 0 }); this.#change(FIRST); }}>Worked example</button>`}
      ${this.busy ? html`<span class="busy" aria-hidden="true"></span>` : nothing}
    </div>`;
  }

  #rowNames(name: string, count: number): string[] {
    const { input } = this.state;
    const tokens = name === 'x' ? input?.tokens : name === 'query' ? input?.query_tokens : name === 'key' || name === 'value' ? input?.key_tokens : undefined;
    return Array.from({ length: count }, (_, at) => tokens?.[at] ?? String(at));
  }

  #inputCard(name: string, title: string, matrix: Matrix): TemplateResult {
    if (Array.isArray(matrix[0]?.[0])) return html`<section class="card"><h2>${title}</h2><p class="quiet tiny">a batch; see every number below</p></section>`;
    const names = this.#rowNames(name, matrix.length);
    return html`<section class="card" aria-label=${title}><h2>${title}</h2><div class="scroll"><table class="matrix"><tbody>
      ${matrix.map((row, at) => html`<tr><th scope="row">${names[at]}</th>${row.map((value, column) => html`<td><input type="number" step="0.1" name=${`${name}-${at}-${column}`} aria-label=${`${title}, ${names[at]}, ${column}`} ?disabled=${!this.service.live} .value=${live(String(value))} @input=${(event: Event) => { const { valueAsNumber } = event.target as HTMLInputElement; if (Number.isFinite(valueAsNumber)) this.#set(name, at, column, valueAsNumber); }}></td>`)}</tr>`)}
    </tbody></table></div></section>`;
  }

  #maskCard(mask: Matrix): TemplateResult {
    return html`<section class="card" aria-label="Mask"><h2>Mask</h2><p class="tiny quiet">A query may attend to the keys with a tick.</p><div class="scroll"><table class="matrix"><tbody>
      ${mask.map((row, at) => html`<tr><th scope="row">${this.#rowNames(this.state.input?.x ? 'x' : 'query', mask.length)[at]}</th>${row.map((value, column) => html`<td><input type="checkbox" aria-label=${`query ${at} may attend to key ${column}`} ?disabled=${!this.service.live} .checked=${live(value !== 0)} @change=${(event: Event) => this.#set('mask', at, column, (event.target as HTMLInputElement).checked ? 1 : 0)}></td>`)}</tr>`)}
    </tbody></table></div></section>`;
  }

  /** A matrix of a step, of the head that is shown. */
  #matrix(step: Step): { values: (number | null)[]; rows: string[]; columns: string[] } {
    const values = flat(step);
    const [rows, columns] = step.axes.slice(-2);
    const size = rows.labels.length * columns.labels.length;
    const head = step.axes.findIndex((axis) => axis.name === 'head');
    const at = head >= 0 && step.axes.length > 2 ? Math.min(this.state.head, step.axes[head].labels.length - 1) : 0;
    return { values: values.slice(at * size, (at + 1) * size), rows: rows.labels, columns: columns.labels };
  }

  /** The picture of the room: the attention weights as a heat map. */
  #weights(steps: Steps): TemplateResult {
    const step = steps.get('attention');
    if (!step) return html``;
    const { values } = this.#matrix(step);
    const [rows, columns] = step.axes.slice(-2);
    const figure = heatMap({ name: 'attention', values, rows, columns, range: scale(values, { low: 0, high: 1 }), room: Math.min(this.width, 520), say: (text) => this.shell.say(text) });
    const links = this.#links(values, rows.labels, columns.labels);
    return html`<section class="card attention-weights" aria-label="Attention weights"><h2>Who attends to whom${this.#heads() > 1 ? html` <span class="quiet">head ${this.state.head}</span>` : nothing}</h2><div class="row" data-picture><div class="stage" data-stage>${links}</div><div class="scroll">${figure}</div></div></section>`;
  }

  /** Queries on the left, keys on the right, a line for each weight. */
  #links(values: (number | null)[], rows: string[], columns: string[]): SVGSVGElement {
    const width = Math.min(420, Math.max(260, this.width));
    const height = 30 + 44 * Math.max(rows.length, columns.length);
    const picture = svgElement('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Weights as lines from queries to keys' });
    const y = (at: number, count: number): number => 34 + (height - 34) * ((at + 0.5) / count);
    picture.append(svgElement('text', { x: 100, y: 12, 'text-anchor': 'end', class: 'quiet' }, 'query'), svgElement('text', { x: width - 100, y: 12, class: 'quiet' }, 'key'));
    rows.forEach((row, at) => {
      columns.forEach((column, place) => {
        const weight = values[at * columns.length + place] ?? 0;
        const line = svgElement('line', { x1: 108, y1: y(at, rows.length), x2: width - 108, y2: y(place, columns.length), 'stroke-width': Math.max(0.4, 9 * weight), 'stroke-linecap': 'round' }, svgElement('title', {}, `${row} → ${column}: ${short(weight)}`));
        line.style.stroke = 'var(--accent)';
        line.style.opacity = String(0.12 + 0.75 * weight);
        picture.append(line);
      });
      picture.append(svgElement('text', { x: 100, y: y(at, rows.length) + 4, 'text-anchor': 'end' }, row));
    });
    columns.forEach((column, at) => picture.append(svgElement('text', { x: width - 100, y: y(at, columns.length) + 4 }, column)));
    return picture;
  }

  #stepCard(step: Step, steps: Steps): TemplateResult {
    const { values, rows, columns } = this.#matrix(step);
    const range = scale(values);
    const { cell } = this.state;
    const near = cell ? this.#near(cell, step, steps) : null;
    const own = cell?.step === step.name ? cell : null;
    const choose = (row: number, column: number): void => this.update({ cell: { step: step.name, row, column } });
    return html`<section class="card" aria-label=${TITLES[step.name]}><div class="head"><h2>${TITLES[step.name]}</h2><span class="formula quiet">${step.formula}</span></div>
      <div class="scroll"><table class="matrix"><thead><tr><td></td>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead><tbody>
      ${rows.map((name, row) => html`<tr><th scope="row">${name}</th>${columns.map((_, column) => {
        const value = values[row * columns.length + column];
        const colour = range.colour(value);
        return html`<td tabindex="0" class="${own && own.row === row && own.column === column ? 'lit' : ''} ${near?.(row, column) ? 'near' : ''}" .style=${`background:${css(colour)};color:${inkOn(colour)}`} @mouseenter=${() => choose(row, column)} @focus=${() => choose(row, column)}>${value === null ? '–∞' : short(value, 4)}</td>`;
      })}</tr>`)}</tbody></table></div>
      ${own ? html`<p class="tiny formula" aria-live="polite">${this.#worked(step, steps, own.row, own.column)}</p>` : nothing}</section>`;
  }

  /** The cells of a step that the chosen cell is made of. */
  #near(cell: { step: string; row: number; column: number }, step: Step, steps: Steps): ((row: number, column: number) => boolean) | null {
    const of = steps.get(cell.step);
    const at = of?.from.indexOf(step.name) ?? -1;
    if (at < 0) return null;
    const { row, column } = cell;
    const offset = this.#headOffset(of as Step, steps);
    switch (cell.step) {
      case 'raw_score':
        return (r, c) => r === (at === 0 ? row : column) && c >= offset.from && c < offset.from + offset.width;
      case 'heads':
        return at === 0 ? (r) => r === row : (_, c) => c === offset.value + column;
      case 'attention':
        return (r) => r === row;
      case 'score':
        return (r, c) => r === row && c === column;
      case 'merged':
        return (r, c) => r === row && c === column % this.#matrix(step).columns.length;
      default:
        return (r) => r === row;
    }
  }

  /** The columns of queries and of values that belong to the head that is shown. */
  #headOffset(_step: Step, steps: Steps): { from: number; width: number; value: number } {
    const heads = this.#heads();
    const width = (steps.get('query')?.shape.at(-1) ?? heads) / heads;
    return { from: this.state.head * width, width, value: this.state.head * ((steps.get('value')?.shape.at(-1) ?? heads) / heads) };
  }

  /** A number as it is worked out, with numbers. */
  #worked(step: Step, steps: Steps, row: number, column: number): string {
    const { values, columns } = this.#matrix(step);
    const result = short(values[row * columns.length + column], 5);
    const matrix = (name: string): { values: (number | null)[]; columns: string[] } | null => {
      const found = steps.get(name);
      return found ? this.#matrix(found) : null;
    };
    const at = (from: { values: (number | null)[]; columns: string[] }, r: number, c: number): number => from.values[r * from.columns.length + c] ?? 0;
    const offset = this.#headOffset(step, steps);
    const bracketed = (value: number): string => (value < 0 ? `(${short(value, 4)})` : short(value, 4));
    const [first, second] = step.from.map(matrix);
    if (step.name === 'raw_score' && first && second) return `${Array.from({ length: offset.width }, (_, k) => `${bracketed(at(first, row, offset.from + k))} · ${bracketed(at(second, column, offset.from + k))}`).join(' + ')} = ${result}`;
    if (step.name === 'score' && first) return `${bracketed(at(first, row, column))} · ${step.formula.replace(/^x · /, '')} = ${result}`;
    if (step.name === 'attention' && first) return `e^${short(at(first, row, column), 4)} / (${columns.map((_, k) => `e^${short(at(first, row, k), 4)}`).join(' + ')})${steps.get('mask') ? ', barred keys left out,' : ''} = ${result}`;
    if (step.name === 'heads' && first && second) return `${first.columns.map((_, k) => `${bracketed(at(first, row, k))} · ${bracketed(at(second, k, offset.value + column))}`).join(' + ')} = ${result}`;
    return `${step.formula || 'given'} = ${result}`;
  }
}
