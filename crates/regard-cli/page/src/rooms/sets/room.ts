// The room of sets: rows to take away and points to drag, the answer that follows, and which rows it came from.

import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { colourKey, css, groupColour, scale, type Scale } from '../../colour.ts';
import { short, shown as five, signed, svgElement } from '../../dom.ts';
import type { LinkState } from '../../link.ts';
import type { Point, View } from '../../plane.ts';
import { Room, type Shell } from '../../room.ts';
import { Latest, type Attribution, type Example, type Model, type Prediction, type SetsRead } from '../../service.ts';
import { flat, meanOf, type Step, type Trace } from '../../trace/trace.ts';
import { answerCard } from '../answer.ts';
import { quoted } from '../routes/instance.ts';
import { body, linkedOptions, linkedSource, modelChoice, ofExample, optionFields, optionsLink, sourceBar, sourceLink, sourceOf, type Field, type Options, type Source } from '../source.ts';
import { TraceCard } from '../trace_card.ts';
import { cloudView, drawCloud, MARGIN, type Component } from './cloud.ts';

interface Rows {
  id: string;
  rows: (number | null)[][];
  lines: number[] | null;
  away: boolean[];
  /** Values were changed or rows added, so that the lines of the file no longer hold them. */
  edited: boolean;
}

type Look = 'table' | 'cloud';
type Colour = 'answer' | 'attention' | 'attribution';

interface State {
  source: Source | null;
  options: Options;
  model: string;
  columns: string[];
  sets: Rows[];
  set: number;
  look: Look;
  colour: Colour;
  axes: [number, number];
  selected: number | null;
  notes: string[];
  prediction: Prediction | null;
  /** The answer with all rows, where some are away. */
  whole: Prediction | null;
  attention: Step[] | null;
  step: string;
  seed: number | null;
  head: number | null;
  method: string;
  attribution: Attribution | null;
  answerNotes: string[];
  trace: Trace | null;
  traceOpen: boolean;
}

const EMPTY: State = { source: null, options: {}, model: '', columns: [], sets: [], set: 0, look: 'table', colour: 'answer', axes: [0, 1], selected: null, notes: [], prediction: null, whole: null, attention: null, step: 'pooling.attention', seed: null, head: null, method: '', attribution: null, answerNotes: [], trace: null, traceOpen: false };

const METHODS: [string, string][] = [['', 'none'], ['leave-one-out', 'leave one out'], ['shapley', 'Shapley values'], ['occlusion', 'occlusion'], ['integrated-gradients', 'integrated gradients']];
const READING: Field[] = [{ key: 'group_by', label: 'Column of sets', hint: 'as in training' }];
const CLUSTERING: Field[] = [{ key: 'rescale', label: 'Rescale the points', type: 'checkbox' }, { key: 'refine', label: 'Steps of EM', type: 'number', hint: '0' }];
/** Rows of a set of which the attention between rows is shown too. */
const MOST_PAIRS = 150;
const MOST_ROWS = 300;

export class SetsRoom extends Room<State> {
  override readonly name = 'sets';
  override readonly title = 'Sets';
  override readonly about = 'Take rows away, move points, and see the answer change. Attention says where the network looked, attribution what the answer depends on.';

  #examples: Example[] = [];
  #models: Model[] = [];
  #predictor = new Latest(1500);
  #explainer = new Latest(200);
  #attributor = new Latest(0);
  #settle = 0;
  #view: View | null = null;
  #drag: { row: number; moved: boolean } | null = null;
  #hovered: number | null = null;
  readonly #trace = new TraceCard(() => this.#loadTrace());

  constructor(shell: Shell) {
    super(shell, { ...EMPTY });
  }

  // Opening ---------------------------------------------------------------------------------------------------------

  override async open(link: LinkState): Promise<void> {
    await this.task(async () => {
      [this.#examples, this.#models] = await Promise.all([this.service.examples('sets'), this.service.models('sets')]);
      const found = await linkedSource(link, this.service, 'sets', ['clouds.csv']);
      if (!found) return;
      const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text) || 0);
      this.state = {
        ...EMPTY,
        source: found.source,
        options: { ...found.options, ...linkedOptions(link) },
        model: link.model ?? found.model,
        step: link.attention ?? EMPTY.step,
        seed: number(link.seed),
        head: number(link.head),
        method: link.method ?? '',
        colour: (['attention', 'attribution'] as Colour[]).find((one) => one === link.colour) ?? 'answer',
      };
      await this.#read(link);
    });
  }

  async #read(link: LinkState = {}): Promise<void> {
    const { source, options, model } = this.state;
    if (!source) return;
    const chosen = model || this.#models[0]?.name || '';
    const read = await this.service.post<SetsRead>('/v1/read', body('read sets', source, options, chosen ? { model: chosen } : { family: 'sets' }));
    const sets = read.sets.map(({ id, rows, lines }): Rows => ({ id, rows, lines: lines?.length === rows.length ? lines : null, away: rows.map(() => false), edited: false }));
    const set = Math.max(0, sets.findIndex((one) => one.id === link.set));
    for (const row of (link.away ?? '').split('.').filter(Boolean).map(Number)) if (sets[set] && row < sets[set].away.length) sets[set].away[row] = true;
    const look = (['table', 'cloud'] as Look[]).find((one) => one === link.look) ?? (read.columns.length === 2 ? 'cloud' : 'table');
    const axes = (link.axes ?? '').split('.').map(Number);
    this.#view = null;
    this.state = { ...this.state, model: chosen, columns: read.columns, sets, set, look, axes: axes.length === 2 && axes.every((axis) => axis < read.columns.length) ? [axes[0], axes[1]] : [0, Math.min(1, read.columns.length - 1)], notes: read.notes };
    this.shell.refresh();
    this.#answer();
  }

  override async link(): Promise<LinkState> {
    const { state } = this;
    const now = state.sets[state.set];
    const edited = state.sets.some((one) => one.edited);
    const source: Source | null = edited ? { name: `${(state.source?.name ?? 'sets').replace(/\.[^.]*$/, '')}.csv`, content: this.#table(state.sets, false) } : state.source;
    const away = now ? now.away.flatMap((gone, at) => (gone ? [at] : [])).join('.') : '';
    return {
      ...(await sourceLink(source)),
      ...optionsLink(edited ? { ...state.options, group_by: this.#group } : state.options),
      model: state.model,
      set: now && state.set > 0 ? now.id : '',
      away,
      look: state.look,
      axes: state.columns.length > 2 && state.look === 'cloud' ? state.axes.join('.') : '',
      colour: state.colour === 'answer' ? '' : state.colour,
      attention: state.step === EMPTY.step ? '' : state.step,
      ...(state.seed === null ? {} : { seed: String(state.seed) }),
      ...(state.head === null ? {} : { head: String(state.head) }),
      method: state.method,
    };
  }

  override async receive(file: File): Promise<void> {
    const source = await sourceOf(file);
    this.state = { ...EMPTY, source, model: this.state.model, method: this.state.method };
    await this.task(() => this.#read());
  }

  async #show(example: Example): Promise<void> {
    const { source, options, model } = ofExample(example);
    this.state = { ...EMPTY, source, options, model, method: this.state.method };
    await this.task(() => this.#read());
  }

  // Asking ----------------------------------------------------------------------------------------------------------

  get #group(): string {
    const name = this.state.options.group_by || 'set_id';
    return this.state.columns.includes(name) ? `${name}_` : name;
  }

  /** Sets as a table; `present`: without the rows that are away. */
  #table(sets: Rows[], present: boolean): string {
    const lines = sets.flatMap((set) => set.rows.filter((_, at) => !present || !set.away[at]).map((row) => [quoted(set.id), ...row.map((value) => value ?? '')].join(',')));
    return `${[[this.#group, ...this.state.columns].map(quoted).join(','), ...lines].join('\n')}\n`;
  }

  /** The current set as a request, with or without the rows that are away. */
  #request(command: 'predict' | 'explain', more: Record<string, unknown>, whole = false): Record<string, unknown> {
    const { source, options, model, sets, set } = this.state;
    const now = sets[set];
    const named = { model, ...more };
    if (!now.edited && now.lines && source?.content !== undefined) {
      // The lines of the file themselves, so that words and other columns stay.
      const own = new Set(sets.flatMap((one) => one.lines ?? []));
      const kept = new Set(now.lines.filter((_, at) => whole || !now.away[at]));
      const content = source.content.split('\n').filter((line, at) => (own.has(at + 1) ? kept.has(at + 1) : line.trim() !== '')).join('\n');
      return body(command, { name: source.name, content: `${content}\n` }, options, named);
    }
    return body(command, { name: 'set.csv', content: this.#table([now], !whole) }, { ...options, group_by: this.#group }, named);
  }

  /** Predicts the set as it is, then looks into the network and measures the rows. */
  #answer(quick = false): void {
    window.clearTimeout(this.#settle);
    const { sets, set } = this.state;
    const now = sets[set];
    if (!now || !this.state.model) return;
    this.#predictor.run((signal) => this.#run(signal, async () => {
      const { predictions, notes } = await this.service.post<{ predictions: Prediction[]; notes: string[] }>('/v1/predict', this.#request('predict', {}), signal);
      const some = now.away.some(Boolean);
      this.update({ prediction: predictions[0] ?? null, answerNotes: notes, ...(some ? {} : { whole: null }) });
      if (quick) return;
      if (some && !this.state.whole) {
        const all = await this.service.post<{ predictions: Prediction[] }>('/v1/predict', this.#request('predict', {}, true), signal);
        this.update({ whole: all.predictions[0] ?? null });
      }
      this.shell.say(said(this.state.prediction));
    }));
    if (quick) {
      this.#settle = window.setTimeout(() => this.#answer(), 300);
      return;
    }
    this.#explainer.run((signal) => this.#run(signal, async () => {
      const count = now.away.filter((gone) => !gone).length;
      const trace = await this.service.post<Trace>('/v1/explain', this.#request('explain', { filter: count <= MOST_PAIRS ? 'attention' : 'pooling.attention' }), signal);
      this.update({ attention: trace.steps.filter((step) => step.name.endsWith('attention') && step.axes.at(-1)?.name === 'row') });
    }));
    this.#attribute();
    if (this.state.traceOpen) this.#loadTrace();
    else this.update({ trace: null });
  }

  #attribute(): void {
    const { method } = this.state;
    this.#attributor.cancel();
    if (!method) {
      this.update({ attribution: null });
      return;
    }
    this.#attributor.run((signal) => this.#run(signal, async () => {
      const { attributions } = await this.service.post<{ attributions: Attribution[] }>('/v1/predict', this.#request('predict', { attribution: method }), signal);
      this.update({ attribution: attributions[0] ?? null });
    }));
  }

  async #run(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    await this.task(work, signal);
  }

  #loadTrace(): void {
    if (!this.service.live || !this.state.sets.length) return;
    void this.task(async () => this.update({ trace: await this.service.post<Trace>('/v1/explain', this.#request('explain', {})) }));
  }

  // Editing ---------------------------------------------------------------------------------------------------------

  #change(set: Rows, quick = false): void {
    const sets = this.state.sets.map((one, at) => (at === this.state.set ? set : one));
    this.update({ sets, attribution: null, attention: null, ...(set.edited ? { whole: null } : {}) });
    this.#answer(quick);
  }

  #toggle(row: number): void {
    const now = this.state.sets[this.state.set];
    const away = now.away.map((gone, at) => (at === row ? !gone : gone));
    if (away.every(Boolean)) {
      this.shell.toast('A set needs at least one row.');
      this.shell.refresh();
      return;
    }
    this.shell.say(away[row] ? `Row ${row + 1} is away` : `Row ${row + 1} is back`);
    this.#change({ ...now, away });
  }

  #value(row: number, column: number, value: number | null): void {
    const now = this.state.sets[this.state.set];
    this.#change({ ...now, edited: true, rows: now.rows.map((one, at) => (at === row ? one.map((old, place) => (place === column ? value : old)) : one)) });
  }

  #moveTo(row: number, to: Point): void {
    const now = this.state.sets[this.state.set];
    const [x, y] = this.state.axes;
    const round = (value: number): number => Number(value.toPrecision(5));
    this.#change({ ...now, edited: true, rows: now.rows.map((one, at) => (at === row ? one.map((old, place) => (place === x ? round(to[0]) : place === y ? round(to[1]) : old)) : one)) }, true);
  }

  #add(to: Point): void {
    const now = this.state.sets[this.state.set];
    const [x, y] = this.state.axes;
    const mean = (column: number): number => {
      const values = now.rows.map((row) => row[column]).filter((value): value is number => value !== null);
      return values.length ? values.reduce((a, b) => a + b, 0) / values.length : 0;
    };
    const row = this.state.columns.map((_, column) => Number((column === x ? to[0] : column === y ? to[1] : mean(column)).toPrecision(5)));
    this.update({ selected: now.rows.length });
    this.#change({ ...now, edited: true, rows: [...now.rows, row], away: [...now.away, false] });
  }

  // Pointer and keyboard of the cloud -------------------------------------------------------------------------------

  #at(event: PointerEvent | MouseEvent): Point {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #nearest([x, y]: Point, reach: number): number | null {
    const now = this.state.sets[this.state.set];
    const view = this.#view;
    if (!now || !view) return null;
    let [best, least] = [-1, reach];
    now.rows.forEach((row, at) => {
      const [px, py] = view.point([row[this.state.axes[0]] ?? NaN, row[this.state.axes[1]] ?? NaN]);
      const distance = Math.hypot(px - x, py - y);
      if (distance <= least) [best, least] = [at, distance];
    });
    return best < 0 ? null : best;
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const row = this.#nearest(this.#at(event), event.pointerType === 'touch' ? 24 : 12);
    this.update({ selected: row });
    if (row === null || !this.service.live) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.#drag = { row, moved: false };
  }

  #move(event: PointerEvent): void {
    const point = this.#at(event);
    if (!this.#drag || !this.#view) {
      const over = this.#nearest(point, 12);
      if (over !== this.#hovered) {
        this.#hovered = over;
        this.shell.refresh();
      }
      return;
    }
    const row = this.state.sets[this.state.set].rows[this.#drag.row];
    const start = this.#view.point([row[this.state.axes[0]] ?? 0, row[this.state.axes[1]] ?? 0]);
    if (!this.#drag.moved && Math.hypot(start[0] - point[0], start[1] - point[1]) < 3) return;
    this.#drag.moved = true;
    const inside: Point = [Math.max(MARGIN.left, Math.min(this.#view.width - MARGIN.right, point[0])), Math.max(MARGIN.top, Math.min(this.#view.height - MARGIN.bottom, point[1]))];
    this.#moveTo(this.#drag.row, this.#view.place(inside));
  }

  #up(): void {
    const moved = this.#drag?.moved;
    this.#drag = null;
    if (moved) this.shell.refresh();
  }

  #key(event: KeyboardEvent): void {
    const { selected, sets, set, axes } = this.state;
    const now = sets[set];
    const view = this.#view;
    if (!now || !view || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ({ ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] } as Record<string, Point>)[event.key];
    if (arrow && event.shiftKey && selected !== null && this.service.live) {
      event.preventDefault();
      const [x, y] = view.point([now.rows[selected][axes[0]] ?? 0, now.rows[selected][axes[1]] ?? 0]);
      this.#moveTo(selected, view.place([x + 8 * arrow[0], y + 8 * arrow[1]]));
    } else if (arrow) {
      event.preventDefault();
      const by = arrow[0] + arrow[1];
      const next = selected === null ? 0 : (selected + by + now.rows.length) % now.rows.length;
      this.update({ selected: next });
      this.shell.say(this.#text(next));
    } else if ((event.key === 'Delete' || event.key === 'Backspace' || event.key === ' ' || event.key === 'Enter') && selected !== null && this.service.live) {
      event.preventDefault();
      this.#toggle(selected);
    }
  }

  // Numbers of rows -------------------------------------------------------------------------------------------------

  /** Numbers that belong to the rows that are there, on all rows; null for those away. */
  #spread(values: (number | null)[] | null): (number | null)[] | null {
    const now = this.state.sets[this.state.set];
    if (!values || !now) return null;
    let next = 0;
    const all = now.away.map((gone) => (gone ? null : values[next++] ?? null));
    return next === values.length ? all : null;
  }

  /** Attention to each row, of the chosen step, seed and head. */
  #attentionOfRows(): { values: (number | null)[] | null; step: Step | null; from: string } {
    const { attention, step, seed, head, selected, sets, set } = this.state;
    const found = attention?.find((one) => one.name === step) ?? attention?.find((one) => one.name === 'pooling.attention') ?? attention?.at(-1) ?? null;
    if (!found) return { values: null, step: null, from: '' };
    const all = flat(found);
    const columns = found.shape.at(-1) ?? 1;
    const rows = found.shape.at(-2) ?? 1;
    const heads = all.length / (rows * columns);
    const axis = found.axes.at(-2);
    const now = sets[set];
    const there = now.away.flatMap((gone, at) => (gone ? [] : [at]));
    const own = axis?.name === 'row';
    const from = own ? Math.max(0, there.indexOf(selected ?? there[0])) : seed;
    const lists: (number | null)[][] = [];
    for (let at = 0; at < heads; at += 1) {
      if (head !== null && heads > 1 && at !== Math.min(head, heads - 1)) continue;
      for (let row = 0; row < rows; row += 1) {
        if (from !== null && row !== Math.min(from, rows - 1)) continue;
        lists.push(all.slice((at * rows + row) * columns, (at * rows + row + 1) * columns));
      }
    }
    return { values: this.#spread(meanOf(lists)), step: found, from: own ? `from row ${there[from ?? 0] + 1}` : '' };
  }

  #attributionOfRows(): (number | null)[] | null {
    const { attribution } = this.state;
    return attribution && Array.isArray(attribution.attribution) ? this.#spread(attribution.attribution) : null;
  }

  #groups(): (number | null)[] | null {
    const found = this.state.prediction?.row_components;
    return found ? this.#spread(found.map((group) => group - 1)) : null;
  }

  #text(row: number): string {
    const now = this.state.sets[this.state.set];
    const values = now.rows[row].slice(0, 4).map((value, at) => `${this.state.columns[at]} ${value === null ? 'missing' : short(value)}`);
    return [`row ${row + 1}`, ...values, ...(now.rows[row].length > 4 ? ['…'] : []), ...(now.away[row] ? ['away'] : [])].join(', ');
  }

  // The page --------------------------------------------------------------------------------------------------------

  override view(): TemplateResult {
    const { state } = this;
    const now = state.sets[state.set];
    return html`
      ${this.service.live ? this.#bar() : nothing}
      <div class="split">
        <div class="column">
          <section class="card first" aria-label="Rows">${now ? this.#picture(now) : html`<div class="empty" data-stage>${this.busy ? 'Loading…' : 'Open a table in which several rows share the id of a set.'}</div>`}</section>
        </div>
        <div class="column">
          ${now && state.prediction ? this.#result(now, state.prediction) : nothing}
          ${now ? this.#weights() : nothing}
          ${now && this.service.live ? this.#settings() : nothing}
          ${this.notes(state.notes, state.answerNotes)}
        </div>
      </div>
      ${now ? this.#trace.view(state.trace, state.traceOpen, (traceOpen) => this.update({ traceOpen }), this.state.options.rescale === 'true' ? 'The numbers are those of the points as they stand, without rescaling.' : undefined) : nothing}`;
  }

  #bar(): TemplateResult {
    const { source, sets, set, model } = this.state;
    const step = (by: number): void => this.#open((set + by + sets.length) % sets.length);
    return html`<div class="bar" role="group" aria-label="File and model">
      ${sourceBar({ source, edited: sets.some((one) => one.edited), examples: this.#examples, accept: '.csv,.tsv,.txt,.jsonl,.npz,.svm,.libsvm,.gz,.parquet', paste: () => this.shell.pasteTable(), open: (file) => void this.receive(file), choose: (example) => void this.#show(example) })}
      ${modelChoice(this.#models, model, (name) => { this.update({ model: name, prediction: null, attention: null, attribution: null, trace: null }); void this.task(() => this.#read({ set: this.state.sets[this.state.set]?.id ?? '' })); })}
      ${sets.length > 1
        ? html`<label>Set <select name="set" .value=${live(String(set))} @change=${(event: Event) => this.#open(Number((event.target as HTMLSelectElement).value))}>${sets.map((one, at) => html`<option value=${at} ?selected=${at === set}>${one.id} (${one.rows.length})</option>`)}</select></label>
          <span class="group"><button aria-label="Set before" @click=${() => step(-1)}>‹</button><button aria-label="Next set" @click=${() => step(1)}>›</button></span>`
        : nothing}
      ${this.busy ? html`<span class="busy" aria-hidden="true"></span>` : nothing}
    </div>`;
  }

  #open(set: number): void {
    this.#view = null;
    this.update({ set, selected: null, prediction: null, whole: null, attention: null, attribution: null, trace: null });
    this.#answer();
  }

  #picture(now: Rows): TemplateResult {
    const { look, columns, colour, axes } = this.state;
    const attention = this.#attentionOfRows();
    const attribution = this.#attributionOfRows();
    const count = now.rows.length - now.away.filter(Boolean).length;
    const pick = (event: Event): string => (event.target as HTMLSelectElement).value;
    const axis = (place: 0 | 1, name: string): TemplateResult => html`<label>${name} <select .value=${live(String(axes[place]))} @change=${(event: Event) => { const next: [number, number] = [...axes]; next[place] = Number(pick(event)); this.#view = null; this.update({ axes: next }); }}>${columns.map((column, at) => html`<option value=${at} ?selected=${at === axes[place]}>${column}</option>`)}</select></label>`;
    return html`<div class="head">
        ${columns.length > 1 ? html`<div class="group" role="group" aria-label="View">${(['table', 'cloud'] as Look[]).map((one) => html`<button name=${`look-${one}`} aria-pressed=${one === look ? 'true' : 'false'} @click=${() => this.update({ look: one })}>${one === 'table' ? 'Table' : 'Cloud'}</button>`)}</div>` : nothing}
        <h2>Set ${now.id} <span class="quiet">${count} of ${now.rows.length} rows</span></h2>
        <span class="grow"></span>
        ${look === 'cloud' ? html`<label class="small">Colour <select name="colour" .value=${live(colour)} @change=${(event: Event) => this.update({ colour: pick(event) as Colour })}><option value="answer">${this.#groups() ? 'clusters' : 'none'}</option><option value="attention">attention</option><option value="attribution" ?disabled=${!this.state.method}>attribution</option></select></label>` : nothing}
        ${look === 'cloud' && columns.length > 2 ? html`${axis(0, 'x')}${axis(1, 'y')}` : nothing}
        ${now.away.some(Boolean) ? html`<button class="small" name="all-back" @click=${() => this.#change({ ...now, away: now.away.map(() => false) })}>All rows back</button>` : nothing}
      </div>
      ${look === 'cloud' ? this.#cloud(now, attention.values, attribution) : this.#tableOf(now, attention.values, attribution)}`;
  }

  #cloud(now: Rows, attention: (number | null)[] | null, attribution: (number | null)[] | null): TemplateResult {
    const { axes, columns, colour, selected, prediction } = this.state;
    const groups = this.#groups();
    const components: Component[] = columns.length >= 2 ? (prediction?.components ?? []).map(({ mean, deviation, weight }) => ({ weight, mean: [mean[axes[0]], mean[axes[1]]], deviation: [deviation[axes[0]], deviation[axes[1]]] })) : [];
    const values = colour === 'attention' ? attention : colour === 'attribution' ? attribution : null;
    const range = values ? scale([...values, 0]) : undefined;
    const points = now.rows.map((row): Point => [row[axes[0]] ?? NaN, row[axes[1]] ?? NaN]);
    if (!this.#view || this.#view.width !== this.width || !this.#drag) this.#view = cloudView(points, components, this.width, this.width < 500 ? 380 : 560);
    const drawn = drawCloud({
      width: this.width,
      names: [columns[axes[0]] ?? '', columns[axes[1]] ?? ''],
      range,
      components,
      points: points.map((at, row) => ({ at, away: now.away[row], focus: row === selected, value: values?.[row], group: groups?.[row], text: this.#text(row) })),
    }, this.#view);
    const over = this.#hovered ?? selected;
    const numbers = over === null || !now.rows[over] ? '' : [this.#text(over), attention?.[over] !== null && attention ? `attention ${short(attention[over], 3)}` : '', attribution?.[over] !== null && attribution ? `attribution ${short(attribution[over], 3)}` : ''].filter(Boolean).join(' · ');
    return html`<div class="stage" data-stage data-picture>
        <svg class="plane" width=${this.width} height=${this.#view.height} viewBox="0 0 ${this.width} ${this.#view.height}" tabindex="0" role="application" aria-roledescription="cloud of rows" aria-label=${`Set ${now.id}: ${now.rows.length} rows as points of ${columns[axes[0]]} and ${columns[axes[1]]}. Arrow keys go from row to row, Shift with an arrow key moves a row, Space takes it away and back.`}
          @pointerdown=${(event: PointerEvent) => this.#down(event)} @pointermove=${(event: PointerEvent) => this.#move(event)} @pointerup=${() => this.#up()} @pointercancel=${() => this.#up()}
          @pointerleave=${() => { if (this.#hovered !== null) { this.#hovered = null; this.shell.refresh(); } }}
          @dblclick=${(event: MouseEvent) => { const point = this.#at(event); const row = this.#nearest(point, 12); if (!this.service.live || !this.#view) return; if (row === null) this.#add(this.#view.place(point)); else this.#toggle(row); }} @keydown=${(event: KeyboardEvent) => this.#key(event)}>${drawn}</svg>
      </div>
      <div class="key">${range ? html`<span>${colourKey(range)} ${colour}</span>` : components.length ? html`<span>Rings: one and two deviations</span>` : nothing}<span class="number">${numbers || (this.service.live ? 'Drag a point; double-click a point to take it away, the ground to add one.' : '')}</span></div>`;
  }

  #tableOf(now: Rows, attention: (number | null)[] | null, attribution: (number | null)[] | null): TemplateResult {
    const { columns, selected, method } = this.state;
    const MOST = 6;
    const groups = this.#groups();
    const ranges = columns.map((_, column) => scale(this.state.sets.flatMap((set) => set.rows.map((row) => row[column]))));
    const most = Math.max(1e-12, ...(attention ?? []).map((value) => value ?? 0));
    const extent = Math.max(1e-12, ...(attribution ?? []).map((value) => Math.abs(value ?? 0)));
    const order = now.rows.map((_, at) => at).slice(0, MOST_ROWS);
    const value = (row: number, column: number): TemplateResult => html`<input type="number" step="any" aria-label=${`${columns[column]} of row ${row + 1}`} ?disabled=${!this.service.live || now.away[row]} .value=${live(now.rows[row][column] === null ? '' : String(now.rows[row][column]))} @change=${(event: Event) => { const { valueAsNumber } = event.target as HTMLInputElement; this.#value(row, column, Number.isFinite(valueAsNumber) ? valueAsNumber : null); }}>`;
    return html`<div class="scroll tall" data-stage><table class="plain rows"><thead><tr><th class="text" scope="col">Row</th>
        ${columns.length > MOST ? html`<th class="text" scope="col">${columns.length} columns</th>` : columns.map((column) => html`<th scope="col">${column}</th>`)}
        ${groups ? html`<th scope="col">Cluster</th>` : nothing}
        <th class="text" scope="col">Attention</th>${method ? html`<th class="text" scope="col">Attribution</th>` : nothing}</tr></thead><tbody>
      ${order.map((row) => html`<tr class=${now.away[row] ? 'gone' : ''} aria-selected=${row === selected ? 'true' : nothing} @click=${(event: Event) => { if (!(event.target as Element).closest('input, button')) this.update({ selected: row }); }}>
        <th class="text keep" scope="row"><label class="keep"><input type="checkbox" name=${`row-${row}`} ?disabled=${!this.service.live} .checked=${live(!now.away[row])} @change=${() => this.#toggle(row)} aria-label=${`Row ${row + 1} is in the set`}>${row + 1}</label></th>
        ${columns.length > MOST ? html`<td class="text">${strip(now.rows[row], columns, ranges)}</td>` : columns.map((_, column) => html`<td>${value(row, column)}</td>`)}
        ${groups ? html`<td>${groups[row] === null ? '' : html`<span class="swatch box" .style=${`background:${groupColour(groups[row] as number)}`}></span> ${(groups[row] as number) + 1}`}</td>` : nothing}
        <td class="text">${attention && attention[row] !== null ? html`<span class="track"><span class="meter" .style=${`width:${(100 * (attention[row] as number)) / most}%`}></span></span> ${short(attention[row], 3)}` : ''}</td>
        ${method ? html`<td class="text">${attribution && attribution[row] !== null ? html`<span class="both"><span class="left">${(attribution[row] as number) < 0 ? html`<span class="meter minus" .style=${`width:${(100 * -(attribution[row] as number)) / extent}%`}></span>` : nothing}</span><span>${(attribution[row] as number) > 0 ? html`<span class="meter" .style=${`width:${(100 * (attribution[row] as number)) / extent}%`}></span>` : nothing}</span></span> ${signed(attribution[row] as number, 3)}` : ''}</td>` : nothing}
      </tr>`)}</tbody></table></div>
      ${attention ? html`<figure class="weights" data-picture><figcaption class="tiny quiet">Attention${attribution ? ' and attribution' : ''} by row</figcaption>${barsOf(attention, attribution, this.width)}</figure>` : nothing}
      <p class="tiny quiet">${now.rows.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${now.rows.length} rows. ` : ''}${this.service.live ? 'Clear a box to take a row away.' : ''} ${this.#attentionOfRows().from ? `Attention ${this.#attentionOfRows().from}; choose another row to see its own.` : ''}</p>`;
  }

  #result(now: Rows, prediction: Prediction): TemplateResult {
    if (prediction.components) return this.#clusters(prediction);
    const gone = now.away.filter(Boolean).length;
    return answerCard(prediction, gone ? this.state.whole : null, `with all ${now.rows.length} rows`, this.#models.find((one) => one.name === this.state.model)?.targets?.[0]);
  }

  #clusters(prediction: Prediction): TemplateResult {
    const components = prediction.components ?? [];
    const sizes = components.map((_, at) => (prediction.row_components ?? []).filter((group) => group === at + 1).length);
    return html`<section class="card result" aria-label="Result"><p class="quiet">Clusters</p><p class="big"><span name="answer">${sizes.filter((size) => size > 0).length}</span> <small>with rows, of ${components.length}</small></p>
      <p class="tiny quiet">Mean log-likelihood of a row: <span class="number">${short(prediction.log_likelihood, 4)}</span></p>
      <div class="scroll"><table class="plain"><thead><tr><th class="text" scope="col">Cluster</th><th scope="col">Rows</th><th scope="col">Weight</th><th scope="col">Mean</th><th scope="col" title="Deviation">σ</th></tr></thead><tbody>
        ${components.map(({ weight, mean, deviation }, at) => html`<tr><th class="text" scope="row"><span class="swatch box" .style=${`background:${groupColour(at)}`}></span> ${at + 1}</th><td>${sizes[at]}</td><td>${short(weight, 2)}</td><td>${mean.map((value) => short(value, 2)).join(', ')}</td><td>${[...new Set(deviation.map((value) => short(value, 2)))].join(', ')}</td></tr>`)}
      </tbody></table></div></section>`;
  }

  #weights(): TemplateResult {
    const { attention, seed, head, method, attribution } = this.state;
    const { step } = this.#attentionOfRows();
    const pick = (event: Event): string => (event.target as HTMLSelectElement).value;
    const axis = step?.axes.at(-2);
    const heads = step && step.axes.length > 2 ? step.axes.at(-3)?.labels.length ?? 1 : 1;
    const number = (text: string): number | null => (text === '' ? null : Number(text));
    const clusters = Boolean(this.state.prediction?.components);
    return html`<section class="card second" aria-label="Attention and attribution"><h2>Where it looked, and what counts</h2><div class="fields">
      ${attention && attention.length > 1 ? html`<label>Attention<select name="attention" .value=${live(step?.name ?? '')} @change=${(event: Event) => this.update({ step: pick(event) })}>${attention.map((one) => html`<option value=${one.name} ?selected=${one === step}>${one.name.replace(/\.attention$/, '').replaceAll('.', ' ').replaceAll('_', ' ')}</option>`)}</select></label>` : nothing}
      ${axis && axis.name !== 'row' && axis.labels.length > 1 ? html`<label>${axis.name[0].toUpperCase() + axis.name.slice(1)}<select name="seed" .value=${live(seed === null ? '' : String(seed))} @change=${(event: Event) => this.update({ seed: number(pick(event)) })}><option value="">mean of all</option>${axis.labels.map((label, at) => html`<option value=${at} ?selected=${at === seed}>${label}</option>`)}</select></label>` : nothing}
      ${heads > 1 ? html`<label>Head<select name="head" .value=${live(head === null ? '' : String(head))} @change=${(event: Event) => this.update({ head: number(pick(event)) })}><option value="">mean of all</option>${Array.from({ length: heads }, (_, at) => html`<option value=${at} ?selected=${at === head}>${at}</option>`)}</select></label>` : nothing}
      <label>Attribution<select name="method" ?disabled=${!this.service.live} .value=${live(method)} @change=${(event: Event) => { this.update({ method: pick(event), attribution: null }); this.#attribute(); }}>${METHODS.map(([value, text]) => html`<option value=${value} ?selected=${value === method}>${text}</option>`)}</select></label>
      </div>
      ${attribution ? faithful(attribution) : html`<p class="tiny quiet">Attention weights do not say what the answer depends on; attribution measures that${clusters ? ', for clusters on their log-likelihood' : ''}.</p>`}
    </section>`;
  }

  #settings(): TemplateResult {
    const clusters = Boolean(this.state.prediction?.components);
    const change = (key: string, value: string): void => {
      this.update({ options: { ...this.state.options, [key]: value } });
      if (READING.some((field) => field.key === key)) void this.task(() => this.#read());
      else this.#answer();
    };
    return html`<details class="card" ?open=${clusters}><summary>Options</summary>${optionFields([...READING, ...(clusters ? CLUSTERING : [])], this.state.options, change)}</details>`;
  }
}

/** The faithfulness of an attribution, and its correlation with attention. */
export function faithful(attribution: Attribution): TemplateResult {
  const { attention_rank_correlation: correlation, faithfulness } = attribution;
  return html`<p class="tiny quiet">${faithfulness ? html`Removing the rows in this order changes the answer by <span class="number">${five(faithfulness.deletion_area)}</span> on average, in random order by <span class="number">${five(faithfulness.random_area)}</span>. ` : nothing}${correlation === null ? 'Rank correlation with the attention weights: not defined here.' : html`Rank correlation with the attention weights: <strong class="number">${short(correlation, 2)}</strong>${correlation < 0.3 ? '; they disagree' : ''}.`}</p>`;
}

function said(prediction: Prediction | null): string {
  if (!prediction) return '';
  if (prediction.components) return `${prediction.components.length} clusters`;
  return `Answer: ${typeof prediction.prediction === 'number' ? short(prediction.prediction, 5) : String(prediction.prediction)}`;
}

/** Bars of both measures over the rows, each in its own unit. */
function barsOf(attention: (number | null)[], attribution: (number | null)[] | null, width: number): SVGSVGElement {
  const each = Math.min(46, (width - 8) / attention.length);
  const [height, middle] = [attribution ? 150 : 84, 62];
  const picture = svgElement('svg', { width: Math.max(120, Math.ceil(each * attention.length + 8)), height, role: 'img', 'aria-label': 'Attention and attribution of each row' });
  const most = Math.max(1e-12, ...attention.map((value) => value ?? 0));
  const extent = Math.max(1e-12, ...(attribution ?? []).map((value) => Math.abs(value ?? 0)));
  const bar = (at: number, from: number, tall: number, colour: string, text: string): void => {
    const made = svgElement('rect', { x: 4 + at * each + each * 0.12, width: Math.max(0.8, each * 0.76), y: tall < 0 ? from : from - tall, height: Math.max(0.6, Math.abs(tall)), rx: 2 }, svgElement('title', {}, text));
    made.style.fill = colour;
    picture.append(made);
  };
  attention.forEach((value, at) => {
    if (value !== null) bar(at, middle, (54 * value) / most, 'var(--accent)', `row ${at + 1}: attention ${short(value, 3)}`);
    const measured = attribution?.[at];
    if (measured !== null && measured !== undefined) bar(at, 122, (measured < 0 ? 24 : 34) * (measured / extent), measured < 0 ? 'var(--chosen)' : 'var(--good)', `row ${at + 1}: attribution ${signed(measured, 3)}`);
    if (each > 16) picture.append(svgElement('text', { x: 4 + (at + 0.5) * each, y: middle + 14, 'text-anchor': 'middle', class: 'quiet' }, String(at + 1)));
  });
  picture.append(svgElement('line', { x1: 2, x2: 6 + each * attention.length, y1: middle, y2: middle, class: 'graticule' }));
  if (attribution) picture.append(svgElement('line', { x1: 2, x2: 6 + each * attention.length, y1: 122, y2: 122, class: 'graticule' }));
  return picture;
}

/** Many numbers of a row as colours; a square picture where the names of the columns number rows and columns. */
function strip(row: (number | null)[], columns: string[], ranges: Scale[]): TemplateResult {
  const side = Math.sqrt(columns.length);
  const square = Number.isInteger(side) && side > 2 && columns.every((name, at) => name.endsWith(`${Math.floor(at / side)}${at % side}`));
  const wide = square ? side : Math.min(64, columns.length);
  const whole = square ? scale(ranges.flatMap(({ low, high }) => [low, high])) : null;
  const canvas = document.createElement('canvas');
  canvas.width = wide;
  canvas.height = Math.ceil(columns.length / wide);
  const pen = canvas.getContext('2d');
  row.forEach((value, at) => {
    if (!pen) return;
    pen.fillStyle = css((whole ?? ranges[at]).colour(value));
    pen.fillRect(at % wide, Math.floor(at / wide), 1, 1);
  });
  return html`<img class=${square ? 'tile square' : 'tile'} alt=${`${columns.length} numbers`} src=${canvas.toDataURL()}>`;
}

