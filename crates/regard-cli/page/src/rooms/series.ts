// The room of series: history, forecast and intervals, the lags and patches behind each value, and past values to edit.

import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { drawChart, nearest, type ChartLine, type DrawnChart } from '../chart.ts';
import { groupColour } from '../colour.ts';
import { percent, short, signed, svgElement } from '../dom.ts';
import { pack, unpack, type LinkState } from '../link.ts';
import { Room, type Shell } from '../room.ts';
import { Latest, type Example, type Forecast, type ForecastRow, type Member, type Model, type SeriesRead } from '../service.ts';
import { isDark } from '../theme.ts';
import { flat, Steps, type Trace } from '../trace/trace.ts';
import { quoted } from './routes/instance.ts';
import { body, linkedOptions, linkedSource, modelChoice, ofExample, optionFields, optionsLink, sourceBar, sourceLink, sourceOf, type Field, type Options, type Source } from './source.ts';
import { TraceCard } from './trace_card.ts';

/** The parts of the values of a forecast, in the units of the file: one for each lag and for each patch. */
interface Parts {
  id: string;
  base: number[];
  /** `[lag][step ahead]`, the oldest lag first. */
  lags: number[][];
  patches: { first: number; last: number; parts: number[] }[];
}

interface State {
  source: Source | null;
  options: Options;
  model: string;
  read: SeriesRead | null;
  series: number;
  /** Edited values: series, row, value. */
  edits: [number, number, number][];
  rows: string;
  at: number | null;
  forecast: Forecast | null;
  parts: Parts | null;
  trace: Trace | null;
  traceOpen: boolean;
}

const EMPTY: State = { source: null, options: {}, model: '', read: null, series: 0, edits: [], rows: 'recent', at: null, forecast: null, parts: null, trace: null, traceOpen: false };

const READING: Field[] = [{ key: 'date', label: 'Time stamps', hint: 'column' }, { key: 'id', label: 'Series names', hint: 'column, of a long table' }, { key: 'target', label: 'Values', hint: 'columns' }, { key: 'frequency', label: 'Frequency', hint: 'day, 15min' }];

export class SeriesRoom extends Room<State> {
  override readonly name = 'series';
  override readonly title = 'Series';
  override readonly about = 'See what comes next and how sure it is. Point at a forecast value to see what made it; drag a past value to see what follows from it.';

  #examples: Example[] = [];
  #models: Model[] = [];
  #forecaster = new Latest(0);
  #explainer = new Latest(0);
  #drawn: { chart: DrawnChart; key: unknown[] } | null = null;
  #drag: { row: number; moved: boolean } | null = null;
  readonly #trace = new TraceCard(() => this.#loadTrace());

  constructor(shell: Shell) {
    super(shell, { ...EMPTY });
  }

  // Opening ---------------------------------------------------------------------------------------------------------

  override async open(link: LinkState): Promise<void> {
    await this.task(async () => {
      [this.#examples, this.#models] = await Promise.all([this.service.examples('series'), this.service.models('series')]);
      const found = await linkedSource(link, this.service, 'series', ['station.csv']);
      if (!found) return;
      this.state = {
        ...EMPTY,
        source: found.source,
        options: { ...found.options, ...linkedOptions(link) },
        model: link.model ?? found.model,
        rows: link.rows ?? 'recent',
        at: link.at === undefined ? null : Number(link.at),
        edits: link.edits ? await unpack<[number, number, number][]>(link.edits) : [],
      };
      await this.#read(link.series);
    });
  }

  async #read(series?: string): Promise<void> {
    const { source, options } = this.state;
    if (!source) return;
    const read = await this.service.post<SeriesRead>('/v1/read', body('read series', source, options, { family: 'series' }));
    const wanted = series ?? 'OT';
    const at = Math.max(0, read.series.findIndex((one) => one.id === wanted));
    this.state = { ...this.state, read, series: at, forecast: null, parts: null, trace: null };
    this.shell.refresh();
    this.#ask();
  }

  override async link(): Promise<LinkState> {
    const { state } = this;
    return {
      ...(await sourceLink(state.source)),
      ...optionsLink(state.options),
      model: state.model,
      series: state.read?.series[state.series]?.id ?? '',
      rows: state.rows === 'recent' ? '' : state.rows,
      edits: state.edits.length ? await pack(state.edits) : '',
      ...(state.at === null ? {} : { at: String(state.at) }),
    };
  }

  override async receive(file: File): Promise<void> {
    this.state = { ...EMPTY, source: await sourceOf(file), options: this.state.options.horizon ? { horizon: this.state.options.horizon } : {} };
    await this.task(() => this.#read());
  }

  async #show(example: Example): Promise<void> {
    const { source, options, model } = ofExample(example);
    this.state = { ...EMPTY, source, options, model };
    await this.task(() => this.#read());
  }

  // Asking ----------------------------------------------------------------------------------------------------------

  /** The values of a series with the edited ones. */
  #values(series: number): (number | null)[] {
    const { read, edits } = this.state;
    const values = [...(read?.series[series]?.values ?? [])];
    for (const [at, row, value] of edits) if (at === series) values[row] = value;
    return values;
  }

  #request(command: 'forecast' | 'explain', more: Record<string, unknown>): Record<string, unknown> {
    const { source, options, model, read, edits } = this.state;
    const named = model ? { model, ...more } : more;
    if (!edits.length || !read) return body(command, source as Source, options, named);
    const { date: _, id: __, target: ___, ...rest } = options;
    const all = read.series.map((_series, at) => this.#values(at));
    const stamps = read.series[0].stamps;
    const alike = read.series.every((series) => series.stamps.length === stamps.length && series.stamps.every((stamp, at) => stamp === stamps[at]));
    const text = alike
      ? [['ds', ...read.series.map((series) => quoted(series.id))].join(','), ...stamps.map((stamp, row) => [stamp, ...all.map((values) => values[row] ?? '')].join(','))]
      : ['unique_id,ds,y', ...read.series.flatMap((series, at) => series.stamps.map((stamp, row) => [quoted(series.id), stamp, all[at][row] ?? ''].join(',')))];
    return body(command, { name: 'series.csv', content: `${text.join('\n')}\n` }, rest, named);
  }

  #ask(): void {
    const levels = this.state.options.levels ? {} : { levels: [80, 95] };
    this.#forecaster.run((signal) => this.task(async () => {
      const forecast = await this.service.post<Forecast>('/v1/forecast', this.#request('forecast', levels), signal);
      this.update({ forecast });
      this.shell.say(`Forecast of ${forecast.horizon} values`);
    }, signal).then(() => undefined));
    this.#explain();
  }

  /** Takes the forecast of the network apart: its linear map by lags, its read-out by patches. */
  #explain(): void {
    const { model, read, series } = this.state;
    this.update({ parts: null, ...(this.state.traceOpen ? {} : { trace: null }) });
    if (!model || !read) return;
    const { id } = read.series[series];
    this.#explainer.run((signal) => this.task(async () => {
      const trace = await this.service.post<Trace>('/v1/explain', this.#request('explain', { example: id, parameters: true }), signal);
      this.update({ parts: partsOf(trace, id, this.#values(series)), ...(this.state.traceOpen ? { trace } : {}) });
    }, signal).then(() => undefined));
  }

  #loadTrace(): void {
    const { read, series, model } = this.state;
    if (!this.service.live || !read || !model) return;
    void this.task(async () => this.update({ trace: await this.service.post<Trace>('/v1/explain', this.#request('explain', { example: read.series[series].id })) }));
  }

  // Editing ---------------------------------------------------------------------------------------------------------

  #set(row: number, value: number, ask: boolean): void {
    const { series, edits } = this.state;
    this.update({ edits: [...edits.filter(([at, place]) => at !== series || place !== row), [series, row, Number(value.toPrecision(6))]] });
    if (ask) this.#ask();
  }

  #point(event: PointerEvent): { row: number; value: number; close: boolean } | null {
    if (!this.#drawn) return null;
    const { chart } = this.#drawn;
    const box = chart.picture.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = Math.round(chart.xAt(x));
    const value = this.#values(this.state.series)[row];
    return { row, value: chart.yAt(y), close: value !== null && value !== undefined && Math.hypot(chart.x(row) - x, chart.y(value) - y) < (event.pointerType === 'touch' ? 26 : 14) };
  }

  #down(event: PointerEvent): void {
    const point = this.#point(event);
    if (!point) return;
    this.update({ at: this.#within(point.row) });
    if (!point.close || !this.service.live) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    event.preventDefault();
    this.#drag = { row: point.row, moved: false };
  }

  #move(event: PointerEvent): void {
    const point = this.#point(event);
    if (!point) return;
    if (this.#drag) {
      this.#drag.moved = true;
      this.#set(this.#drag.row, point.value, false);
    } else if (event.pointerType === 'mouse') {
      const at = this.#within(point.row);
      if (at !== this.state.at) this.update({ at });
    }
  }

  #up(): void {
    const moved = this.#drag?.moved;
    this.#drag = null;
    if (moved) this.#ask();
  }

  #stops(): number[] {
    const history = this.state.read?.series[this.state.series].values.length ?? 0;
    return Array.from({ length: history - this.#first() + this.#ahead().length }, (_, at) => this.#first() + at);
  }

  #within(row: number): number | null {
    const stops = this.#stops();
    return stops.length ? stops[nearest(stops, row)] : null;
  }

  #key(event: KeyboardEvent): void {
    const stops = this.#stops();
    const { at, read, series } = this.state;
    const by = ({ ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 } as Record<string, number>)[event.key];
    const up = ({ ArrowUp: 1, ArrowDown: -1 } as Record<string, number>)[event.key];
    if (event.ctrlKey || event.altKey || !stops.length || !read) return;
    if (by !== undefined) {
      event.preventDefault();
      const next = Math.max(stops[0], Math.min(stops[stops.length - 1], (at ?? read.series[series].values.length) + by));
      this.update({ at: next });
      this.shell.say(this.#text(next));
    } else if (up !== undefined && event.shiftKey && at !== null && this.service.live && this.#drawn) {
      const value = this.#values(series)[at];
      if (value === null || value === undefined) return;
      event.preventDefault();
      this.#set(at, value + up * 4 * Math.abs(this.#drawn.chart.yAt(0) - this.#drawn.chart.yAt(1)), true);
    }
  }

  // The page --------------------------------------------------------------------------------------------------------

  #ahead(): ForecastRow[] {
    const id = this.state.read?.series[this.state.series]?.id;
    return this.state.forecast?.forecast.filter((row) => row.unique_id === id) ?? [];
  }

  /** The first row of the history that is drawn. */
  #first(): number {
    const { read, series, rows, forecast, model } = this.state;
    const count = read?.series[series].values.length ?? 0;
    const look = this.#models.find((one) => one.name === model)?.look_back ?? 0;
    return rows === 'all' ? 0 : Math.max(0, count - Math.max(look, 3 * (forecast?.horizon ?? 24), 60));
  }

  #stamp(row: number): string {
    const stamps = this.state.read?.series[this.state.series].stamps ?? [];
    const text = row < stamps.length ? stamps[row] : this.#ahead()[row - stamps.length]?.ds ?? '';
    return text.replace(/[ T]00:00:00$/, '').replace(/(\d\d:\d\d):00$/, '$1');
  }

  #text(row: number): string {
    const count = this.state.read?.series[this.state.series].values.length ?? 0;
    if (row < count) return `${this.#stamp(row)}: ${short(this.#values(this.state.series)[row])}`;
    const ahead = this.#ahead()[row - count];
    return ahead ? `${this.#stamp(row)}: forecast ${short(ahead.forecast)}${(ahead.intervals ?? []).map(({ level, low, high }) => `, ${level} percent ${short(low)} to ${short(high)}`).join('')}` : '';
  }

  override view(): TemplateResult {
    const { state } = this;
    return html`
      ${this.service.live ? this.#bar() : nothing}
      <div class="split">
        <div class="column">
          <section class="card first" aria-label="Forecast">${state.read ? this.#picture(state.read) : html`<div class="empty" data-stage>${this.busy ? 'Loading…' : 'Open a table with time stamps, or paste one.'}</div>`}</section>
          ${state.forecast?.backtest ? this.#backtest(state.forecast) : nothing}
        </div>
        <div class="column">
          ${state.read ? this.#pointed(state.read) : nothing}
          ${state.forecast ? this.#members(state.forecast) : nothing}
          ${state.read && this.service.live ? this.#settings() : nothing}
          ${this.notes(state.read?.notes, state.forecast?.notes)}
        </div>
      </div>
      ${state.model && state.read ? this.#trace.view(state.trace, state.traceOpen, (traceOpen) => this.update({ traceOpen })) : nothing}`;
  }

  #bar(): TemplateResult {
    const { source, read, series, model, edits } = this.state;
    const open = (at: number): void => {
      this.update({ series: at, at: null, parts: null });
      this.#explain();
    };
    return html`<div class="bar" role="group" aria-label="File and model">
      ${sourceBar({ source, edited: edits.length > 0, examples: this.#examples, accept: '.csv,.tsv,.txt,.gz,.parquet', paste: () => this.shell.pasteTable(), open: (file) => void this.receive(file), choose: (example) => void this.#show(example) })}
      ${read && read.series.length > 1 ? html`<label>Series <select name="series" .value=${live(String(series))} @change=${(event: Event) => open(Number((event.target as HTMLSelectElement).value))}>${read.series.map((one, at) => html`<option value=${at} ?selected=${at === series}>${one.id}</option>`)}</select></label>` : nothing}
      ${modelChoice(this.#models, model, (name) => { this.update({ model: name, forecast: null }); this.#ask(); }, 'fit to this file')}
      ${edits.length ? html`<button name="undo" @click=${() => { this.update({ edits: [] }); this.#ask(); }}>Undo ${edits.length === 1 ? 'the edit' : `${edits.length} edits`}</button>` : nothing}
      ${this.busy ? html`<span class="busy" aria-hidden="true"></span>` : nothing}
    </div>`;
  }

  #chart(read: SeriesRead): DrawnChart {
    const { series, forecast, rows } = this.state;
    const values = this.#values(series);
    const key = [read, series, forecast, rows, this.width, isDark(), this.state.edits];
    if (this.#drawn && key.every((part, at) => part === this.#drawn?.key[at])) return this.#drawn.chart;
    const first = this.#first();
    const ahead = this.#ahead();
    const history: [number, number | null][] = values.map((value, at): [number, number | null] => [at, value]).slice(first);
    const last = values.at(-1);
    const lines: ChartLine[] = [{ name: 'history', colour: 'var(--ink)', points: history }];
    if (ahead.length) lines.push({ name: 'forecast', colour: groupColour(0), points: [...(last !== null && last !== undefined ? [[values.length - 1, last] as [number, number]] : []), ...ahead.map((row, at): [number, number] => [values.length + at, row.forecast])] });
    const levels = [...new Set(ahead.flatMap((row) => (row.intervals ?? []).map(({ level }) => level)))].sort((a, b) => b - a);
    const bands = levels.map((level, at) => ({ name: `${level} %`, colour: groupColour(0), opacity: 0.14 + 0.12 * at, points: ahead.flatMap((row, step): [number, number, number][] => {
      const found = row.intervals?.find((one) => one.level === level);
      return found ? [[values.length + step, found.low, found.high]] : [];
    }) }));
    const height = this.width < 500 ? 260 : 380;
    // While a value is dragged the axis stays as it is.
    const y = this.#drag && this.#drawn ? { y: this.#range } : {};
    const chart = drawChart({ width: this.width, height, lines, bands, label: `${read.series[series].id}: ${values.length} past values and a forecast of ${ahead.length}`, xText: (x) => this.#stamp(Math.round(x)), x: [first, values.length - 1 + Math.max(1, ahead.length)], rules: ahead.length ? [{ x: values.length - 0.5, text: 'forecast' }] : [], ...y });
    if (!this.#drag) this.#range = [chart.yAt(height - 26), chart.yAt(12)];
    this.#drawn = { chart, key };
    return chart;
  }

  #range: [number, number] = [0, 1];

  #picture(read: SeriesRead): TemplateResult {
    const { series, at, forecast, parts, rows } = this.state;
    const chart = this.#chart(read);
    const values = this.#values(series);
    chart.cursor(at);
    chart.over.replaceChildren();
    const shown = at === null ? null : at < values.length ? values[at] : this.#ahead()[at - values.length]?.forecast ?? null;
    if (at !== null && shown !== null && shown !== undefined) chart.over.append(svgElement('circle', { cx: chart.x(at), cy: chart.y(shown), r: 4.5, class: 'place chosen' }));
    for (const [one, row] of this.state.edits) if (one === series && row >= this.#first()) chart.over.append(svgElement('circle', { cx: chart.x(row), cy: chart.y(values[row] ?? 0), r: 4, class: 'place' }));
    const step = at === null ? -1 : at - values.length;
    const made = parts && parts.id === read.series[series].id && step >= 0 && step < parts.base.length ? this.#strip(chart, parts, step, values.length) : null;
    return html`<div class="head"><h2>${read.series[series].id}</h2><span class="quiet tiny">${values.length} values${read.frequency ? `, every ${read.frequency}` : ''}</span><span class="grow"></span>
        <label class="small">History <select name="rows" .value=${live(rows)} @change=${(event: Event) => this.update({ rows: (event.target as HTMLSelectElement).value })}><option value="recent">recent</option><option value="all">all</option></select></label></div>
      <div class="stage series" data-stage data-picture tabindex="0" role="application" aria-label=${`${read.series[series].id}, history and forecast. Arrow keys move along time; Shift with up or down changes a past value.`} @pointerdown=${(event: PointerEvent) => this.#down(event)} @pointermove=${(event: PointerEvent) => this.#move(event)} @pointerup=${() => this.#up()} @pointercancel=${() => this.#up()} @keydown=${(event: KeyboardEvent) => this.#key(event)}>${chart.picture}${made}</div>
      <div class="key"><span><span class="swatch ink"></span>history</span>${forecast ? html`<span><span class="swatch" .style=${`background:${groupColour(0)}`}></span>forecast</span>${[...new Set(this.#ahead().flatMap((row) => (row.intervals ?? []).map(({ level }) => level)))].map((level, index) => html`<span><span class="swatch box" .style=${`background:${groupColour(0)};opacity:${index ? 0.18 : 0.4}`}></span>${level} % interval</span>`)}` : nothing}
        <span>${made ? 'Below: what each lag (bars) and each patch (blocks) adds to this value.' : this.service.live ? 'Point at the forecast; drag a past value.' : ''}</span></div>`;
  }

  /** Under the history: what each lag and each patch adds to one value of the forecast. */
  #strip(chart: DrawnChart, parts: Parts, step: number, count: number): SVGSVGElement {
    const [height, middle] = [118, 42];
    const picture = svgElement('svg', { width: this.width, height, role: 'img', 'aria-label': `What made the value ${step + 1} steps ahead` });
    const lags = parts.lags.map((row) => row[step]);
    const most = Math.max(1e-12, ...lags.map(Math.abs));
    const colour = (value: number): string => (value < 0 ? 'var(--chosen)' : 'var(--accent)');
    picture.append(svgElement('line', { x1: chart.x(this.#first()), x2: chart.x(count - 1), y1: middle, y2: middle, class: 'graticule' }));
    const each = Math.max(0.6, chart.x(1) - chart.x(0) - 0.4);
    lags.forEach((value, at) => {
      const row = count - lags.length + at;
      if (row < this.#first()) return;
      const tall = (36 * Math.abs(value)) / most;
      const bar = svgElement('rect', { x: chart.x(row) - each / 2, y: value < 0 ? middle : middle - tall, width: each, height: tall }, svgElement('title', {}, `lag ${lags.length - at}: ${signed(value, 3)}`));
      bar.style.fill = colour(value);
      picture.append(bar);
    });
    const big = Math.max(1e-12, ...parts.patches.map((patch) => Math.abs(patch.parts[step])));
    parts.patches.forEach((patch, at) => {
      const [from, to] = [chart.x(count - patch.first), chart.x(count - patch.last)];
      if (count - patch.first < this.#first()) return;
      const value = patch.parts[step];
      const block = svgElement('rect', { x: from, y: 84 + (at % 2) * 13, width: Math.max(1, to - from), height: 11, rx: 2 }, svgElement('title', {}, `lags ${patch.first} to ${patch.last}: ${signed(value, 3)}`));
      block.style.fill = colour(value);
      block.style.opacity = String(0.08 + (0.92 * Math.abs(value)) / big);
      picture.append(block);
    });
    picture.append(svgElement('text', { x: this.width - 2, y: 11, 'text-anchor': 'end', class: 'quiet' }, `lags, to ±${short(most, 2)}`), svgElement('text', { x: this.width - 2, y: 80, 'text-anchor': 'end', class: 'quiet' }, `patches, to ±${short(big, 2)}`));
    return picture;
  }

  #pointed(read: SeriesRead): TemplateResult {
    const { at, series, parts, model } = this.state;
    const values = this.#values(series);
    const row = at ?? values.length;
    const ahead = this.#ahead()[row - values.length];
    if (row < values.length) {
      return html`<section class="card result" aria-label="Value"><p class="quiet">${this.#stamp(row)}</p><div class="fields"><label>Past value<input type="number" step="any" name="past" ?disabled=${!this.service.live} .value=${live(values[row] === null ? '' : String(values[row]))} @change=${(event: Event) => { const { valueAsNumber } = event.target as HTMLInputElement; if (Number.isFinite(valueAsNumber)) this.#set(row, valueAsNumber, true); }}></label></div></section>`;
    }
    const step = row - values.length;
    const own = parts && parts.id === read.series[series].id && step < parts.base.length ? parts : null;
    const lags = own ? own.lags.map((one, place) => ({ lag: own.lags.length - place, value: one[step] })).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 5) : [];
    const sum = (list: number[]): number => list.reduce((a, b) => a + b, 0);
    return html`<section class="card result" aria-label="Value"><p class="quiet">${ahead ? this.#stamp(row) : 'Forecast'}${ahead ? html`, ${step + 1} ahead` : nothing}</p><p class="big"><span name="answer">${ahead ? short(ahead.forecast, 5) : this.busy ? '…' : '–'}</span></p>
      ${(ahead?.intervals ?? []).map(({ level, low, high }) => html`<p class="tiny number">${level} %: ${short(low)} to ${short(high)}</p>`)}
      ${own
        ? html`<h3>What made the network's value</h3><table class="plain"><tbody>
            <tr><th class="text" scope="row">level of the window</th><td>${short(own.base[step], 4)}</td></tr>
            <tr><th class="text" scope="row">lags, by the linear map</th><td>${signed(sum(own.lags.map((one) => one[step])), 4)}</td></tr>
            <tr><th class="text" scope="row">patches, by attention</th><td>${signed(sum(own.patches.map((patch) => patch.parts[step])), 4)}</td></tr>
            <tr><th class="text" scope="row"><strong>network</strong></th><td><strong>${short(own.base[step] + sum(own.lags.map((one) => one[step])) + sum(own.patches.map((patch) => patch.parts[step])), 5)}</strong></td></tr></tbody></table>
            <p class="tiny quiet">Strongest lags: ${lags.map(({ lag, value }, index) => html`${index ? ', ' : ''}${lag} <span class="number">(${signed(value, 2)})</span>`)}. Other forecasters are blended in with the weights below.</p>`
        : html`<p class="tiny quiet">${model ? '' : 'Fitted forecasters are blended with the weights below. With a model, pointing at a value shows the lags and patches that made it.'}</p>`}
    </section>`;
  }

  #members(forecast: Forecast): TemplateResult {
    const members = (forecast.members ?? forecast.backtest?.members ?? []).filter((member) => member.weight > 0.001).sort((a, b) => b.weight - a.weight);
    return members.length ? html`<section class="card" aria-label="Blend"><h2>The blend</h2><table class="plain"><tbody>${members.map((member) => html`<tr><th class="text" scope="row">${member.name}</th><td class="text"><span class="track"><span class="meter" .style=${`width:${100 * member.weight}%`}></span></span></td><td>${percent(member.weight)}</td></tr>`)}</tbody></table></section>` : html``;
  }

  #backtest(forecast: Forecast): TemplateResult {
    const { backtest } = forecast;
    if (!backtest) return html``;
    const members: Member[] = backtest.members ?? forecast.members ?? [];
    const rows: [string, number, boolean][] = [['this forecast', backtest.mase, true]];
    if (backtest.seasonal_naive_mase) rows.push(['seasonal naive', backtest.seasonal_naive_mase, false]);
    if (backtest.naive_mase) rows.push(['naive', backtest.naive_mase, false]);
    for (const member of members) if (typeof member.mase === 'number') rows.push([member.name, member.mase, false]);
    rows.sort((a, b) => a[1] - b[1]);
    const most = Math.max(...rows.map(([, mase]) => mase));
    return html`<section class="card" aria-label="Back-test"><div class="head"><h2>Back-test</h2><span class="quiet tiny">last ${backtest.rows} rows held out; error as MASE, lower is better</span></div>
      <div class="scroll"><table class="plain"><tbody>${rows.map(([name, mase, own]) => html`<tr aria-selected=${own ? 'true' : nothing}><th class="text" scope="row">${own ? html`<strong>${name}</strong>` : name}</th><td class="text"><span class="track wide"><span class="meter ${/naive/i.test(name) ? 'minus' : ''}" .style=${`width:${(100 * mase) / most}%`}></span></span></td><td>${short(mase, 3)}</td></tr>`)}</tbody></table></div>
      ${backtest.coverage?.length ? html`<p class="tiny quiet">Held-out values inside the intervals: ${backtest.coverage.map(({ level, coverage }, at) => html`${at ? ', ' : ''}<span class="number">${short(coverage, 3)} %</span> of ${level} %`)}.</p>` : nothing}</section>`;
  }

  #settings(): TemplateResult {
    const change = (key: string, value: string): void => {
      this.update({ options: { ...this.state.options, [key]: value } });
      if (READING.some((field) => field.key === key)) void this.task(() => this.#read());
      else this.#ask();
    };
    const fields: Field[] = [{ key: 'horizon', label: 'Values ahead', type: 'number', hint: 'of the model' }, { key: 'levels', label: 'Intervals', hint: '80,95' }, { key: 'season', label: 'Season', hint: 'found' }, ...(this.state.model ? [] : [{ key: 'time', label: 'Time limit', hint: '40s' }])];
    return html`<section class="card" aria-label="Options"><h2>Options</h2>${optionFields(fields, this.state.options, change)}<details><summary class="tiny quiet">How the table is read</summary>${optionFields(READING, this.state.options, change)}</details></section>`;
  }
}

/** The parts of a forecast; null where the network has another form. */
function partsOf(trace: Trace, id: string, history: (number | null)[]): Parts | null {
  const steps = new Steps(trace);
  const [window, normalized, deviation, center] = ['window', 'window.normalized', 'window.deviation', 'window.center'].map((name) => steps.values(name));
  const parameter = (name: string): (number | null)[] | undefined => {
    const found = trace.parameters?.find((one) => one.name === name);
    return found && flat(found);
  };
  const answer = steps.values('forecast');
  if (!window || !normalized || !deviation || !center || !answer) return null;
  const horizon = answer.length;
  const [low, high] = extremes(window, history.slice(-window.length));
  if (low === null || high === null || low.x === high.x) return null;
  // The network sees standardised values; the file's units come back by the line through two of them.
  const slope = (high.y - low.y) / (high.x - low.x);
  const scale = slope * (deviation[0] as number);
  const weights = parameter('linear_map.weight');
  const lags = weights ? normalized.map((value, lag) => Array.from({ length: horizon }, (_, step) => scale * (value as number) * (weights[lag * horizon + step] as number))) : [];
  const [flattened, readout, embedded] = [steps.values('flattened'), parameter('network.weight'), steps.get('patches')];
  const names = embedded?.axes[1]?.labels ?? [];
  const patches = flattened && readout && names.length && flattened.length % names.length === 0
    ? names.map((label, patch) => {
        const [first, last] = label.match(/\d+/g)?.map(Number) ?? [0, 0];
        const parts = Array.from({ length: horizon }, (_, step) => {
          let sum = 0;
          for (let at = patch; at < flattened.length; at += names.length) sum += (flattened[at] as number) * (readout[at * horizon + step] as number);
          return scale * sum;
        });
        return { first, last, parts };
      })
    : [];
  const total = answer.map((value) => low.y + slope * ((value as number) - low.x));
  const base = total.map((value, step) => value - lags.reduce((sum, lag) => sum + lag[step], 0) - patches.reduce((sum, patch) => sum + patch.parts[step], 0));
  return { id, base, lags, patches };
}

/** The lowest and the highest of some numbers, with the numbers beside them. */
function extremes(xs: (number | null)[], ys: (number | null)[]): [{ x: number; y: number } | null, { x: number; y: number } | null] {
  let [low, high]: [{ x: number; y: number } | null, { x: number; y: number } | null] = [null, null];
  xs.forEach((x, at) => {
    const y = ys[at];
    if (x === null || y === null || y === undefined) return;
    if (!low || x < low.x) low = { x, y };
    if (!high || x > high.x) high = { x, y };
  });
  return [low, high];
}
