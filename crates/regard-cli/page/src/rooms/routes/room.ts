// The room of routes: places to drag, the tour that follows, and every decision of the network.

import { scaleLinear } from 'd3-scale';
import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { colourKey, css, groupColour, scale, type Scale } from '../../colour.ts';
import { percent, short, signed, svgElement } from '../../dom.ts';
import { saveText } from '../../files.ts';
import type { LinkState } from '../../link.ts';
import { drawPlaces, fitted, type Line, type Mark, type Point, type View } from '../../plane.ts';
import { Room, type Shell } from '../../room.ts';
import { Latest, type Example, type Model, type FileOption, type RoutesRead, type Solution, type Stage } from '../../service.ts';
import { Steps, type Step, type Trace } from '../../trace/trace.ts';
import { body, linkedOptions, linkedSource, modelChoice, ofExample, optionFields, optionsLink, sourceBar, sourceLink, sourceOf, type Field, type Options, type Source } from '../source.ts';
import { TraceCard } from '../trace_card.ts';
import { Decoding, decisionsOnly, headOf, type Decision } from './decoding.ts';
import { amountsOf, called, editable, instanceOf, newAmounts, nodeNumbers, numberOf, othersOf, randomTable, renamed, sizeOf, written, type Instance, type Place, type RandomKind } from './instance.ts';
import { drawMap, stretchAt } from './map.ts';

type Tab = 'solution' | 'search' | 'decisions';
type Tool = 'move' | 'add' | 'delete';
type Shown = 'probability' | 'glimpse' | 'encoder';

interface State {
  source: Source | null;
  options: Options;
  model: string;
  instance: Instance | null;
  edited: boolean;
  notes: string[];
  solution: Solution | null;
  tab: Tab;
  stage: number | null;
  selected: number | null;
  decisions: Step[] | null;
  step: number;
  shown: Shown;
  head: number | null;
  layer: number;
  temperature: number;
  /** Attention of the encoder, by layer. */
  encoder: Record<number, Step>;
  trace: Trace | null;
  traceOpen: boolean;
}

const EMPTY: State = { source: null, options: {}, model: '', instance: null, edited: false, notes: [], solution: null, tab: 'solution', stage: null, selected: null, decisions: null, step: 0, shown: 'probability', head: null, layer: 0, temperature: 1, encoder: {}, trace: null, traceOpen: false };

/** Time of the search while a place is dragged. */
const LIVE_SEARCH = '30ms';
/** With more places the trace is loaded one decision at a time, and with still more it is not loaded whole. */
const WHOLE_DECODING = 100;
const WHOLE_TRACE = 120;
/** With more places a search gets a time limit by itself. */
const UNLIMITED = 200;
/** Pixels around a place that are the place's, for a mouse and for a finger. */
const REACH = { mouse: 12, pen: 16, touch: 24 } as Record<string, number>;

const READING: Field[] = [
  { key: 'column', label: 'Columns', hint: 'demand=Weight, id=Name' },
  { key: 'decimal', label: 'Decimal mark', hint: 'point or comma' },
  { key: 'depot', label: 'Depot', hint: 'its id' },
  { key: 'duplicates', label: 'Repeated ids', hint: 'keep, sum, first, last, error' },
  { key: 'skip_bad', label: 'Skip bad rows', type: 'checkbox' },
];

export class RoutesRoom extends Room<State> {
  override readonly name = 'routes';
  override readonly title = 'Routes';
  override readonly about = 'Drag a place and the tour follows. Look at every decision of the network, and at what local search adds.';

  #examples: Example[] = [];
  #models: Model[] = [];
  #tool: Tool = 'move';
  #solver = new Latest(1500);
  #explainer = new Latest(200);
  #settle = 0;
  #drag: { node: number; before: Place[]; moved: boolean; pointer: number } | null = null;
  /** Picked up with the keyboard: the node, and where it was. */
  #held: { node: number; before: Place[] } | null = null;
  #view: View | null = null;
  #past: Instance[] = [];
  #latency: number | null = null;
  #hovered: number | null = null;
  #hoveredRoute: number | null = null;
  #player = 0;
  readonly #trace = new TraceCard(() => this.#loadTrace());

  constructor(shell: Shell) {
    super(shell, { ...EMPTY });
  }

  // Opening ---------------------------------------------------------------------------------------------------------

  override async open(link: LinkState): Promise<void> {
    await this.task(async () => {
      [this.#examples, this.#models] = await Promise.all([this.service.examples('routes'), this.service.models('routes')]);
      const found = await linkedSource(link, this.service, 'routes', ['capitals.csv']);
      if (!found) return;
      this.#past = [];
      const shown = (['probability', 'glimpse', 'encoder'] as Shown[]).find((one) => one === link.show) ?? 'probability';
      this.state = {
        ...EMPTY,
        encoder: {},
        source: found.source,
        options: { ...found.options, ...linkedOptions(link) },
        model: link.model ?? found.model,
        tab: (['solution', 'search', 'decisions'] as Tab[]).find((tab) => tab === link.view) ?? 'solution',
        step: Number(link.step ?? 0) || 0,
        shown,
        head: link.head === undefined ? null : Number(link.head) || 0,
        layer: Number(link.layer ?? 0) || 0,
        temperature: Number(link.temperature ?? 1) || 1,
        selected: link.place === undefined ? null : Number(link.place) || 0,
      };
      await this.#read();
    });
  }

  override async link(): Promise<LinkState> {
    const { state } = this;
    const edited = state.edited && state.instance ? written(state.instance, state.source, state.options) : null;
    return {
      ...(await sourceLink(edited ? edited.source : state.source)),
      ...optionsLink(edited ? edited.options : state.options),
      model: state.model,
      view: state.tab === 'solution' ? '' : state.tab,
      ...(state.selected === null ? {} : { place: String(state.selected) }),
      ...(state.tab === 'decisions'
        ? {
            step: String(state.step),
            show: state.shown === 'probability' ? '' : state.shown,
            head: state.head === null ? '' : String(state.head),
            layer: state.layer ? String(state.layer) : '',
            temperature: state.temperature === 1 ? '' : String(state.temperature),
          }
        : {}),
    };
  }

  override async receive(file: File): Promise<void> {
    await this.#show(await sourceOf(file), {}, '');
  }

  async #show(source: Source, options: Options, model: string): Promise<void> {
    this.#past = [];
    this.state = { ...EMPTY, encoder: {}, tab: this.state.tab, source, options, model };
    await this.task(() => this.#read());
  }

  /** Reads the file, then solves what it holds. */
  async #read(): Promise<void> {
    const { source, options } = this.state;
    if (!source) return;
    const read = await this.service.post<RoutesRead>('/v1/read', body('read routes', source, options, { family: 'routes' }));
    this.#view = null;
    this.state = { ...this.state, instance: instanceOf(read), notes: read.notes, edited: false };
    this.shell.refresh();
    this.#solveAll();
  }

  override leave(): void {
    window.clearInterval(this.#player);
    this.#player = 0;
  }

  // Solving ---------------------------------------------------------------------------------------------------------

  #request(command: 'solve' | 'explain', more: Record<string, unknown>): Record<string, unknown> {
    const { source, options, instance, edited, model } = this.state;
    const named = model ? { model } : {};
    if (!edited || !instance) return body(command, source as Source, options, { ...named, ...more });
    const file = written(instance, source, options);
    return body(command, file.source, file.options, { ...named, ...more });
  }

  /** Solves as well as the service does, and looks at the decisions where they are shown. */
  #solveAll(): void {
    window.clearTimeout(this.#settle);
    const count = this.state.instance?.places.length ?? 0;
    this.#solver.run((signal) => this.#tracked(signal, async () => {
      const limit = this.state.options.time || count <= UNLIMITED ? {} : { time: count <= 1000 ? '2s' : '5s' };
      const solution = await this.service.post<Solution>('/v1/solve', this.#request('solve', { stage_solutions: true, ...limit }), signal);
      this.#latency = null;
      this.update({ solution, stage: null });
      this.shell.say(`${this.#value(solution)}: ${short(solution.cost, 6)} ${solution.unit}`);
    }));
    this.#explain();
    if (this.state.traceOpen) this.#loadTrace();
    else this.update({ trace: null });
  }

  /** Solves for a moment while a place moves. */
  #solveLive(): void {
    window.clearTimeout(this.#settle);
    const begun = performance.now();
    this.#solver.run((signal) => this.#tracked(signal, async () => {
      const count = this.state.instance?.places.length ?? 0;
      const solution = await this.service.post<Solution>('/v1/solve', this.#request('solve', { time: LIVE_SEARCH, ...(count <= UNLIMITED ? { stage_solutions: true } : {}) }), signal);
      if (this.state.instance?.places.length !== count) return;
      this.update({ solution, stage: null });
      requestAnimationFrame(() => {
        this.#latency = performance.now() - begun;
        performance.measure('regard-edit', { start: begun });
      });
    }));
  }

  /** Waits for a pause in the editing, then solves in full. */
  #afterEditing(): void {
    window.clearTimeout(this.#settle);
    this.#settle = window.setTimeout(() => this.#solveAll(), 350);
  }

  async #tracked(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    await this.task(work, signal);
  }

  #explain(): void {
    const { tab, instance } = this.state;
    if (tab !== 'decisions' || !instance) {
      this.update({ decisions: null, encoder: {} });
      return;
    }
    this.#explainer.run((signal) => this.#tracked(signal, async () => {
      const all = instance.places.length <= WHOLE_DECODING;
      const trace = await this.service.post<Trace>('/v1/explain', this.#request('explain', { filter: all ? 'decode.' : 'choice' }), signal);
      const decisions = decisionsOnly(trace);
      const count = decisions.filter((step) => step.name.endsWith('.choice')).length;
      this.update({ decisions, encoder: {}, step: Math.min(this.state.step, Math.max(0, count - 1)) });
      await this.#needed(signal);
    }));
  }

  /** Loads what the shown decision needs and is not here. */
  async #needed(signal?: AbortSignal): Promise<void> {
    const { decisions, step, instance, shown, layer, encoder } = this.state;
    if (!decisions || !instance) return;
    if (!new Decoding(decisions, instance.depot).has(step)) {
      const trace = await this.service.post<Trace>('/v1/explain', this.#request('explain', { step }), signal);
      const names = new Set(decisions.map((one) => one.name));
      this.update({ decisions: [...decisions, ...decisionsOnly(trace).filter((one) => !names.has(one.name))] });
    }
    if (shown === 'encoder' && !encoder[layer]) {
      const name = `encoder.${layer}.attention`;
      const trace = await this.service.post<Trace>('/v1/explain', this.#request('explain', { filter: name }), signal);
      const found = trace.steps.find((one) => one.name === name);
      if (found) this.update({ encoder: { ...this.state.encoder, [layer]: found } });
    }
  }

  #look(change: Partial<State>): void {
    this.update(change);
    if (!this.service.live) return;
    this.#explainer.run((signal) => this.#tracked(signal, () => this.#needed(signal)));
  }

  #loadTrace(): void {
    const count = this.state.instance?.places.length ?? 0;
    if (!this.service.live || !this.state.source) return;
    void this.task(async () => {
      const part = count <= WHOLE_TRACE ? {} : { step: this.state.step };
      this.update({ trace: await this.service.post<Trace>('/v1/explain', this.#request('explain', part)) });
    });
  }

  // Editing ---------------------------------------------------------------------------------------------------------

  get #canEdit(): boolean {
    const { instance } = this.state;
    return this.service.live && instance !== null && editable(instance);
  }

  /** Changes the places; `kept` is the instance that undo brings back. */
  #edit(change: (instance: Instance) => Instance, kept: Instance | null): void {
    const { instance } = this.state;
    if (!instance) return;
    if (kept) this.#past = [...this.#past.slice(-99), kept];
    this.update({ instance: change(instance), edited: true, decisions: null, trace: null, encoder: {} });
  }

  #move(node: number, to: Point): void {
    const round = this.state.instance?.geographic ? 1e4 : 10 ** Math.max(0, 3 - Math.floor(Math.log10(Math.max(1e-9, this.#extent))));
    const [x, y] = to.map((value) => Math.round(value * round) / round);
    this.#edit((instance) => ({ ...instance, places: instance.places.map((place, at) => (at === node ? { ...place, x, y } : place)) }), null);
    this.#solveLive();
  }

  get #extent(): number {
    const places = this.state.instance?.places ?? [];
    const [xs, ys] = [places.map((place) => place.x), places.map((place) => place.y)];
    return Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys), 1e-9);
  }

  #add(to: Point): void {
    const { instance } = this.state;
    if (!instance || !this.#canEdit) return;
    const names = new Set(instance.places.map((place) => place.id));
    let number = instance.places.length + (instance.depot ? 0 : 1);
    while (names.has(String(number)) || names.has(`place ${number}`)) number += 1;
    const numbered = instance.places.slice(1).every((place) => /^\d+$/.test(place.id));
    const others = Object.fromEntries(othersOf(instance).map((name) => [name, null]));
    const digits = instance.geographic ? 4 : Math.max(0, 4 - Math.ceil(Math.log10(this.#extent)));
    const [x, y] = to.map((value) => Number(value.toFixed(Math.min(8, digits))));
    const place: Place = { id: numbered ? String(number) : `place ${number}`, x, y, amounts: newAmounts(instance), others };
    this.#edit((now) => ({ ...now, places: [...now.places, place] }), instance);
    this.update({ selected: instance.places.length });
    this.shell.say(`Added ${place.id}; ${instance.places.length + 1} places`);
    this.#view = null;
    this.#solveLive();
    this.#afterEditing();
  }

  #delete(node: number): void {
    const { instance } = this.state;
    if (!instance || !this.#canEdit) return;
    if (instance.places.length <= (instance.depot ? 2 : 3)) {
      this.shell.toast('A tour needs these places.');
      return;
    }
    if (instance.depot && node === 0) {
      this.shell.toast('The depot cannot be deleted; every route begins there.');
      return;
    }
    const { id } = instance.places[node];
    this.#edit((now) => ({ ...now, places: renamed(now.places.filter((_, at) => at !== node), id, null) }), instance);
    // The tour without the place is shown until the answer comes.
    const { solution } = this.state;
    const without = (tour: string[]): string[] => tour.filter((name) => name !== id);
    this.update({ selected: null, solution: solution && { ...solution, tour: solution.tour && without(solution.tour), routes: solution.routes?.map(without), stages: solution.stages.map(({ tour: _, routes: __, ...stage }) => stage) } });
    this.shell.say(`Deleted ${id}`);
    this.#solveLive();
    this.#afterEditing();
  }

  #undo(): void {
    const instance = this.#past.pop();
    if (!instance) return;
    this.update({ instance, edited: true, selected: null, decisions: null, trace: null, encoder: {} });
    this.shell.say('Undone');
    this.#view = null;
    this.#solveAll();
  }

  #setPlace(node: number, change: Partial<Place>): void {
    const { instance } = this.state;
    if (!instance) return;
    if (change.id !== undefined && (change.id === '' || instance.places.some((place, at) => at !== node && place.id === change.id))) {
      this.shell.toast('Every place needs a name of its own.');
      this.shell.refresh();
      return;
    }
    const before = instance.places[node].id;
    this.#edit((now) => {
      const places = now.places.map((place, at) => (at === node ? { ...place, ...change } : place));
      return { ...now, places: change.id === undefined || change.id === before ? places : renamed(places, before, change.id) };
    }, instance);
    this.#view = null;
    this.#solveAll();
  }

  #option(key: string, value: string): void {
    this.update({ options: { ...this.state.options, [key]: value } });
    if (READING.some((field) => field.key === key)) void this.task(() => this.#read());
    else this.#solveAll();
  }

  /** Changes a number that belongs to no place and that only the file can say. */
  #number(name: string, value: string): void {
    const { instance } = this.state;
    this.#edit((now) => ({ ...now, numbers: now.numbers.map((one) => (one.name === name ? { ...one, value: value || null } : one)) }), instance);
    this.#solveAll();
  }

  #random(kind: RandomKind, count: number): void {
    this.error = null;
    void this.#show({ name: `${kind}${count}.csv`, content: randomTable(kind, count) }, {}, '');
  }

  // Pointer and keyboard --------------------------------------------------------------------------------------------

  #at(event: PointerEvent | MouseEvent): Point {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #nearest([x, y]: Point, reach: number): number | null {
    const { instance } = this.state;
    const view = this.#view;
    if (!instance || !view) return null;
    let best: { node: number; distance: number } | null = null;
    instance.places.forEach((place, node) => {
      const [px, py] = view.point([place.x, place.y]);
      const distance = Math.hypot(px - x, py - y);
      if (distance <= reach && (best === null || distance < best.distance)) best = { node, distance };
    });
    return (best as { node: number } | null)?.node ?? null;
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const point = this.#at(event);
    const node = this.#nearest(point, REACH[event.pointerType] ?? 12);
    const { instance } = this.state;
    if (!instance || !this.#view) return;
    if (node === null) {
      if (this.#tool === 'add' && this.#canEdit) this.#add(this.#view.place(point));
      else this.update({ selected: null });
      return;
    }
    if (this.#tool === 'delete') {
      this.#delete(node);
      return;
    }
    this.update({ selected: node });
    if (!this.#canEdit) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.#drag = { node, before: instance.places, moved: false, pointer: event.pointerId };
  }

  #moved(event: PointerEvent): void {
    const point = this.#at(event);
    const drag = this.#drag;
    if (!drag || drag.pointer !== event.pointerId || !this.#view) {
      const over = this.#nearest(point, 12);
      if (over !== this.#hovered) {
        this.#hovered = over;
        this.shell.refresh();
      }
      return;
    }
    const { instance } = this.state;
    const start = this.#view.point([drag.before[drag.node].x, drag.before[drag.node].y]);
    if (!drag.moved && Math.hypot(start[0] - point[0], start[1] - point[1]) < 3) return;
    if (!drag.moved && instance) this.#past = [...this.#past.slice(-99), { ...instance, places: drag.before }];
    drag.moved = true;
    const inside: Point = [Math.max(4, Math.min(this.#view.width - 4, point[0])), Math.max(4, Math.min(this.#view.height - 4, point[1]))];
    this.#move(drag.node, this.#view.place(inside));
  }

  #up(): void {
    const drag = this.#drag;
    this.#drag = null;
    if (!drag?.moved) return;
    const place = this.state.instance?.places[drag.node];
    this.shell.say(`Moved ${place?.id}`);
    this.#afterEditing();
    this.shell.refresh();
  }

  #double(event: MouseEvent): void {
    const point = this.#at(event);
    if (this.#tool !== 'move' || this.#nearest(point, 12) !== null || !this.#view) return;
    this.#add(this.#view.place(point));
  }

  #key(event: KeyboardEvent): void {
    const { instance, selected } = this.state;
    const view = this.#view;
    if (!instance || !view) return;
    const arrow = ({ ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] } as Record<string, Point>)[event.key];
    const done = (): void => event.preventDefault();
    if (event.key === 'z' && (event.ctrlKey || event.metaKey)) {
      done();
      this.#undo();
    } else if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (arrow && this.#held) {
      done();
      const { node } = this.#held;
      const [x, y] = view.point([instance.places[node].x, instance.places[node].y]);
      const by = event.shiftKey ? 1 : 10;
      this.#move(node, view.place([x + by * arrow[0], y + by * arrow[1]]));
    } else if (arrow) {
      done();
      const next = this.#towards(selected, arrow);
      if (next !== null) {
        this.update({ selected: next });
        this.shell.say(this.#said(next));
      }
    } else if ((event.key === 'Enter' || event.key === ' ') && selected !== null && this.#canEdit) {
      done();
      this.#grab(selected);
    } else if (event.key === 'Escape') {
      if (this.#held) {
        const { before } = this.#held;
        this.#held = null;
        this.#edit((now) => ({ ...now, places: before }), null);
        this.shell.say('Put back');
        this.#solveAll();
      } else {
        this.update({ selected: null });
      }
    } else if ((event.key === 'Delete' || event.key === 'Backspace') && selected !== null) {
      done();
      this.#delete(selected);
    } else if (event.key === 'a' || event.key === 'Insert') {
      done();
      const from: Point = selected === null ? [view.width / 2, view.height / 2] : view.point([instance.places[selected].x, instance.places[selected].y]);
      this.#add(view.place([Math.min(view.width - 10, from[0] + (selected === null ? 0 : 24)), from[1]]));
    }
  }

  /** Picks a place up with the keyboard, or puts it down. */
  #grab(node: number): void {
    const { instance } = this.state;
    if (!instance) return;
    if (this.#held) {
      this.#past = [...this.#past.slice(-99), { ...instance, places: this.#held.before }];
      this.#held = null;
      this.shell.say(`Put down ${instance.places[node].id}`);
      this.#solveAll();
    } else {
      this.#held = { node, before: instance.places };
      this.shell.say(`Picked up ${instance.places[node].id}. Arrow keys move it, Enter puts it down, Escape puts it back.`);
    }
    this.shell.refresh();
  }

  /** The nearest place in a direction. */
  #towards(from: number | null, [dx, dy]: Point): number | null {
    const { instance } = this.state;
    const view = this.#view;
    if (!instance || !view) return null;
    if (from === null) return instance.places.length ? 0 : null;
    const points = instance.places.map((place) => view.point([place.x, place.y]));
    const [x, y] = points[from];
    let best: { node: number; cost: number } | null = null;
    points.forEach(([px, py], node) => {
      const along = (px - x) * dx + (py - y) * dy;
      const across = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      if (node === from || along <= 0 || across > 2 * along) return;
      const cost = along + 2 * across;
      if (best === null || cost < best.cost) best = { node, cost };
    });
    return (best as { node: number } | null)?.node ?? null;
  }

  #said(node: number): string {
    const place = this.state.instance?.places[node];
    if (!place) return '';
    const values = [...Object.entries(place.amounts).map(([name, value]) => [name, value === null ? null : short(value)]), ...Object.entries(place.others)];
    const known = values.filter(([, value]) => value !== null).map(([name, value]) => `${called(name as string).toLowerCase()} ${value}`);
    return [place.id, this.state.instance?.depot && node === 0 ? 'depot' : '', ...known].filter(Boolean).join(', ');
  }

  // The picture -----------------------------------------------------------------------------------------------------

  #frame(instance: Instance): View {
    const most = { height: this.width < 500 ? 430 : 620, margin: this.width < 500 ? 26 : 40 };
    const places = instance.places.map(({ x, y }): Point => [x, y]);
    const keep = this.#view && (this.#drag !== null || this.#held !== null) && this.#view.width === this.width;
    if (!keep) this.#view = fitted(places, this.width, most, instance.geographic ? stretchAt(places.map(([, y]) => y)) : 1);
    return this.#view as View;
  }

  /** Routes of a solution or of one of its stages, as node numbers. */
  #routesOf(solution: { tour?: string[]; routes?: string[][] }, instance: Instance): number[][] | null {
    const number = nodeNumbers(instance);
    const nodes = (names: string[]): number[] => names.map(number).filter((node): node is number => node !== undefined);
    const from = (route: number[]): number[] => (instance.depot ? [0, ...route.filter((node) => node !== 0), 0] : [...route, route[0]]);
    if (solution.routes) return solution.routes.map((route) => from(nodes(route)));
    if (solution.tour) return solution.tour.length ? [from(nodes(solution.tour))] : [];
    return null;
  }

  #networkStage(solution: Solution): Stage | null {
    return solution.stages.filter((stage) => stage.by === 'network' && (stage.tour || stage.routes)).at(-1) ?? null;
  }

  #picture(instance: Instance, decision: Decision | null): { group: SVGGElement; view: View; label: string; range?: Scale } {
    const view = this.#frame(instance);
    const points = instance.places.map((place) => view.point([place.x, place.y]));
    const group = svgElement('g', {});
    if (instance.geographic) group.append(drawMap(view));
    else group.append(drawGrid(view));
    const what = decision ? this.#decisionMarks(instance, decision, points, group) : this.#solutionMarks(instance);
    const { selected } = this.state;
    group.append(drawPlaces({
      points,
      labels: instance.places.map((place) => place.id),
      lines: what.lines,
      marks: (at) => {
        const mark = what.marks(at);
        const active = at === selected || at === this.#held?.node;
        return { ...mark, focus: active, text: [this.#said(at), mark.text].filter(Boolean).join(', ') };
      },
      depot: instance.depot,
      range: what.range,
      width: view.width,
      names: instance.places.length <= 120,
    }));
    if (this.#held) {
      const [x, y] = points[this.#held.node];
      group.append(svgElement('circle', { cx: x, cy: y, r: 16, class: 'ring' }));
    }
    return { group, view, label: what.label, range: decision ? what.range : undefined };
  }

  #solutionMarks(instance: Instance): { lines: Line[]; marks: (at: number) => Mark; range?: Scale; label: string } {
    const { solution, tab, stage } = this.state;
    const sizes = sizeOf(instance);
    const most = sizes ? Math.max(1e-9, ...instance.places.map((place) => place.amounts[sizes] ?? 0)) : 1;
    const base = instance.places.length > 150 ? 3 : 5;
    const radius = (at: number): number => (sizes && !(instance.depot && at === 0) ? base - 1 + 5 * Math.sqrt(Math.max(0, instance.places[at].amounts[sizes] ?? 0) / most) : base + 0.5);
    if (!solution) return { lines: [], marks: (at) => ({ radius: radius(at) }), label: `${instance.places.length} places` };
    const chosen = tab === 'solution' && stage !== null ? solution.stages[stage] : solution;
    const routes = this.#routesOf(chosen, instance) ?? this.#routesOf(solution, instance) ?? [];
    const visited = new Map<number, number>();
    routes.forEach((route, at) => route.forEach((node) => visited.set(node, at)));
    const network = tab === 'search' ? this.#networkStage(solution) : null;
    const lines = network ? this.#compared(this.#routesOf(network, instance) ?? [], routes) : routes.map((nodes, at): Line => ({ nodes, colour: routes.length > 1 ? groupColour(at) : undefined, kind: this.#hoveredRoute !== null && this.#hoveredRoute !== at ? 'quiet' : '', title: routes.length > 1 ? `Route ${at + 1}` : undefined }));
    for (const line of lines) if (line.kind === 'quiet') line.colour = undefined;
    const marks = (at: number): Mark => ({
      radius: radius(at),
      quiet: !visited.has(at),
      colour: tab !== 'search' && routes.length > 1 && visited.has(at) && !(instance.depot && at === 0) ? groupColour(visited.get(at) as number) : undefined,
      text: visited.has(at) ? (routes.length > 1 && !(instance.depot && at === 0) ? `route ${(visited.get(at) as number) + 1}` : '') : 'left out',
    });
    return { lines, marks, label: `${instance.places.length} places, ${routes.length === 1 ? 'one tour' : `${routes.length} routes`}, ${this.#value(solution).toLowerCase()} ${short(solution.cost, 6)} ${solution.unit}` };
  }

  /** Edges of both solutions, of the network's alone, and of the search's alone. */
  #compared(network: number[][], search: number[][]): Line[] {
    const edges = (routes: number[][]): Map<string, [number, number]> => new Map(routes.flatMap((route) => route.slice(1).map((node, at): [string, [number, number]] => [[Math.min(node, route[at]), Math.max(node, route[at])].join(), [route[at], node]])));
    const [before, after] = [edges(network), edges(search)];
    const lines: Line[] = [];
    for (const [key, nodes] of after) if (before.has(key)) lines.push({ nodes, kind: 'quiet', title: 'in both' });
    for (const [key, nodes] of before) if (!after.has(key)) lines.push({ nodes, kind: 'other', title: 'network only' });
    for (const [key, nodes] of after) if (!before.has(key)) lines.push({ nodes, title: 'after local search only' });
    return lines;
  }

  #decisionMarks(instance: Instance, decision: Decision, points: Point[], group: SVGGElement): { lines: Line[]; marks: (at: number) => Mark; range?: Scale; label: string } {
    const { shown, head, layer, encoder, selected } = this.state;
    const current = decision.path.at(-1) ?? null;
    let values: (number | null)[] = decision.probabilities;
    let label = `decision ${decision.at + 1}`;
    if (shown === 'glimpse') {
      values = headOf(decision.glimpse, head);
      label += `, attention of the decoder, ${head === null ? 'mean of the heads' : `head ${head}`}`;
    } else if (shown === 'encoder') {
      const row = selected ?? current ?? decision.chosen;
      values = encoderRow(encoder[layer], row, head);
      label += `, attention of layer ${layer} from ${instance.places[row].id}, ${head === null ? 'mean of the heads' : `head ${head}`}`;
    } else {
      label += ', probability of the next place';
    }
    const range = scale(values, shown === 'probability' ? { low: 0, high: 1 } : { low: 0 });
    if (current !== null) {
      const [x, y] = points[current];
      group.append(svgElement('circle', { cx: x, cy: y, r: 13, class: 'ring' }));
    }
    const lines: Line[] = [{ nodes: decision.path, kind: 'path' }];
    const option = this.#hovered !== null && decision.open[this.#hovered] ? this.#hovered : null;
    if (current !== null) {
      if (option !== null && option !== decision.chosen) lines.push({ nodes: [current, option], kind: 'option' });
      lines.push({ nodes: [current, decision.chosen], kind: 'other' });
    }
    const many = instance.places.length > 150;
    const marks = (at: number): Mark => {
      const value = values[at] ?? null;
      const barred = shown !== 'encoder' && !decision.open[at];
      const share = range.high > 0 && value !== null ? value / range.high : 0;
      const said = barred ? decision.reasons[at] || 'barred' : shown === 'probability' ? percent(decision.probabilities[at]) : short(value, 3);
      return { value, barred, chosen: at === decision.chosen, radius: (many ? 3 : 5) + (barred ? 0 : 6 * Math.sqrt(Math.max(0, share))), text: said };
    };
    return { lines, marks, range, label };
  }

  // The page --------------------------------------------------------------------------------------------------------

  override view(): TemplateResult {
    const { state } = this;
    const { instance } = state;
    const decoding = state.decisions && instance ? new Decoding(state.decisions, instance.depot) : null;
    const decision = state.tab === 'decisions' && decoding ? decoding.decision(state.step, state.temperature) : null;
    return html`
      ${this.service.live ? this.#bar() : nothing}
      <div class="split">
        <div class="column">
          <section class="card first" aria-label="Picture">
            ${instance ? this.#stage(instance, decision) : html`<div class="empty" data-stage>${this.busy ? 'Loading…' : 'Open a file of places, or paste a table with the columns id, x and y.'}</div>`}
            ${state.tab === 'decisions' && decoding ? this.#timeline(decoding) : nothing}
          </section>
          ${decision && instance ? this.#candidates(decision, instance) : nothing}
          ${instance ? this.#placesTable(instance) : nothing}
        </div>
        <div class="column">
          ${state.solution && instance ? this.#result(state.solution) : nothing}
          ${state.tab === 'decisions' && instance ? this.#decisionControls(decoding) : nothing}
          ${instance && state.selected !== null && instance.places[state.selected] ? this.#selectedCard(instance, state.selected) : nothing}
          ${instance ? this.#problem(instance) : nothing}
          ${state.solution && instance && state.tab === 'solution' && (state.solution.routes?.length ?? 0) > 0 ? this.#routesTable(state.solution, instance) : nothing}
          ${this.notes(state.notes, state.solution?.notes)}
        </div>
      </div>
      ${instance ? this.#trace.view(state.trace, state.traceOpen, (traceOpen) => this.update({ traceOpen }), instance.places.length > WHOLE_TRACE ? `Of ${instance.places.length} places one decision is shown, the one of the slider.` : undefined) : nothing}`;
  }

  #bar(): TemplateResult {
    const { source, edited, model, instance } = this.state;
    const models = this.#models.filter((one) => !instance || one.problem === instance.problem);
    const kinds: [RandomKind, number, string][] = [['tsp', 20, 'Tour of 20 places'], ['tsp', 50, 'Tour of 50 places'], ['tsp', 100, 'Tour of 100 places'], ['cvrp', 20, 'Vehicles, 20 customers'], ['cvrp', 50, 'Vehicles, 50 customers'], ['op', 20, 'Prizes within a length, 20 places'], ['pctsp', 20, 'Prizes and penalties, 20 places']];
    const chosen = (name: string): void => {
      this.update({ model: name });
      this.#solveAll();
    };
    return html`<div class="bar" role="group" aria-label="File and model">
      ${sourceBar({ source, edited, examples: this.#examples, accept: '.csv,.tsv,.txt,.tsp,.vrp,.oplib,.json,.gz,.parquet', paste: () => this.shell.pasteTable(), open: (file) => void this.receive(file), choose: (example) => { const found = ofExample(example); void this.#show(found.source, found.options, found.model); } })}
      <details class="menu left"><summary>New</summary><div>${kinds.map(([kind, count, text]) => html`<button @click=${() => this.#random(kind, count)}>${text}</button>`)}</div></details>
      ${modelChoice(models, model, chosen, `default${this.state.solution?.model ? ` (${this.state.solution.model})` : ''}`)}
      ${this.busy ? html`<span class="busy" aria-hidden="true"></span>` : nothing}
      <span class="grow"></span>
      <details class="menu"><summary>Save tour</summary><div>${this.#formats().map(([format, text]) => html`<button name=${`save-${format}`} @click=${() => this.#saveTour(format)}>${text}</button>`)}</div></details>
    </div>`;
  }

  #formats(): [string, string][] {
    const { instance } = this.state;
    if (!instance) return [];
    const map: [string, string][] = instance.geographic ? [['geojson', 'GeoJSON'], ['gpx', 'GPX']] : [];
    const routes: [string, string] = amountsOf(instance).includes('demand') ? ['sol', 'CVRPLIB (.sol)'] : ['tour', 'TSPLIB (.tour)'];
    return [routes, ['csv', 'Table (CSV)'], ...map];
  }

  #saveTour(format: string): void {
    void this.task(async () => {
      const limit = this.state.options.time ? {} : { time: '2s' };
      const count = this.state.instance?.places.length ?? 0;
      const solution = await this.service.post<Solution>('/v1/solve', this.#request('solve', { formats: [format], stage_solutions: true, ...(count > UNLIMITED ? limit : {}) }));
      const text = solution.files?.[format];
      if (text === undefined) throw new Error(`the service gave no ${format}`);
      // The file and the picture are of the same solution.
      this.update({ solution, stage: null });
      saveText(`${solution.instance}.${format}`, format === 'geojson' ? 'application/geo+json' : 'text/plain', text);
    });
  }

  #stage(instance: Instance, decision: Decision | null): TemplateResult {
    const { tab } = this.state;
    const { group, view, label, range } = this.#picture(instance, decision);
    const tabs: [Tab, string][] = [['solution', 'Solution'], ['search', 'Compare'], ['decisions', 'Decisions']];
    const tools: [Tool, string, string][] = [['move', 'Move', 'Drag places'], ['add', 'Add', 'Press on the ground to add a place'], ['delete', 'Delete', 'Press on a place to delete it']];
    const help = this.#canEdit
      ? 'Arrow keys go from place to place. Enter picks a place up and puts it down, arrow keys move it meanwhile. Delete removes it, A adds one, Control Z undoes.'
      : 'Arrow keys go from place to place.';
    const open = (next: Tab): void => {
      this.update({ tab: next });
      if (next === 'decisions' && !this.state.decisions && this.service.live) this.#explain();
    };
    return html`
      <div class="head">
        <div class="group" role="group" aria-label="View">${tabs.filter(([one]) => this.service.live || one === tab || (one !== 'decisions' || this.state.decisions)).map(([one, text]) => html`<button name=${`view-${one}`} aria-pressed=${one === tab ? 'true' : 'false'} @click=${() => open(one)}>${text}</button>`)}</div>
        <span class="grow"></span>
        ${this.#canEdit
          ? html`<div class="group" role="group" aria-label="Tool">${tools.map(([tool, text, title]) => html`<button class="small" name=${`tool-${tool}`} title=${title} aria-pressed=${tool === this.#tool ? 'true' : 'false'} @click=${() => { this.#tool = tool; this.shell.refresh(); }}>${text}</button>`)}</div>
            <button class="small" name="undo" ?disabled=${this.#past.length === 0} @click=${() => this.#undo()}>Undo</button>`
          : nothing}
      </div>
      <div class="stage" data-stage data-picture>
        <svg class="plane ${this.#tool === 'add' ? 'adding' : ''} ${this.#drag ? 'dragging' : ''} ${this.#canEdit ? '' : 'still'}" width=${view.width} height=${view.height} viewBox="0 0 ${view.width} ${view.height}"
          tabindex="0" role="application" aria-roledescription="plane of places" aria-label=${`${label}. ${help}`}
          @pointerdown=${(event: PointerEvent) => this.#down(event)} @pointermove=${(event: PointerEvent) => this.#moved(event)} @pointerup=${() => this.#up()} @pointercancel=${() => this.#up()}
          @pointerleave=${() => { if (this.#hovered !== null) { this.#hovered = null; this.shell.refresh(); } }} @dblclick=${(event: MouseEvent) => this.#double(event)} @keydown=${(event: KeyboardEvent) => this.#key(event)}>${group}</svg>
      </div>
      ${this.#under(instance, decision, range)}`;
  }

  /** The key of the colours, and the place under the pointer. */
  #under(instance: Instance, decision: Decision | null, range: Scale | undefined): TemplateResult {
    const { tab, solution } = this.state;
    const hovered = this.#hovered !== null && instance.places[this.#hovered] ? this.#hovered : null;
    const place = hovered === null ? null : instance.places[hovered];
    const where = place && hovered !== null ? `${this.#said(hovered)} (${instance.geographic ? `${place.y.toFixed(3)}°, ${place.x.toFixed(3)}°` : `${short(place.x)}, ${short(place.y)}`})` : '';
    const more = decision && hovered !== null ? (decision.open[hovered] ? ` · ${percent(decision.probabilities[hovered])}` : ` · ${decision.reasons[hovered] || 'barred'}`) : '';
    const hint = this.#canEdit ? 'Drag a place; double-click the ground to add one.' : this.service.live ? `Distances of this file (${instance.metric}) do not follow from places, so places stay where they are.` : '';
    let key: TemplateResult | typeof nothing = nothing;
    if (tab === 'search' && solution && this.#networkStage(solution)) {
      key = html`<span><span class="swatch edge"></span>both</span><span><span class="swatch dashed"></span>network alone</span><span><span class="swatch"></span>after local search</span>`;
    } else if (decision) {
      key = html`${range ? html`<span>${colourKey(range)}</span>` : nothing}<span><span class="swatch dashed"></span>chosen</span><span>○ faint: barred</span>`;
    } else if (instance.depot) {
      key = html`<span>□ depot</span>${sizeOf(instance) === null ? nothing : html`<span>size: ${called(sizeOf(instance) as string).toLowerCase()}</span>`}`;
    }
    return html`<div class="key">${key}<span class="number">${where ? `${where}${more}` : hint}</span></div>`;
  }

  /** The value of a solution in words. */
  #value(solution: Solution): string {
    const { instance } = this.state;
    if (instance?.maximises) return 'Collected prize';
    if (instance?.columns.some(({ name }) => name === 'penalty')) return 'Length and penalties';
    return solution.routes ? 'Length of all routes' : 'Length of the tour';
  }

  #result(solution: Solution): TemplateResult {
    const { tab, stage } = this.state;
    const network = solution.stages.filter((one) => one.by === 'network').at(-1);
    const first = solution.stages[0];
    const worse = network && network.cost !== 0 ? solution.cost / network.cost - 1 : 0;
    const maximised = this.state.instance?.maximises ?? false;
    return html`<section class="card result" aria-label="Result">
      <p class="quiet">${this.#value(solution)}</p>
      <p class="big"><span name="cost">${short(solution.cost, solution.cost >= 1000 ? 6 : 5)}</span> <small>${solution.unit}</small></p>
      <p class="tiny quiet">${solution.checked ? html`<span class="good">✓ feasible</span>, verified by an independent checker · ` : nothing}<span class="number">${solution.seconds < 1 ? `${Math.round(1000 * solution.seconds)} ms` : `${solution.seconds.toFixed(1)} s`}</span>${this.#latency !== null ? html` · drawn after ${Math.round(this.#latency)} ms` : nothing}</p>
      ${solution.best_known ? html`<p class="tiny">${solution.gap !== null ? `${percent(solution.gap)} above the best known, ${short(solution.best_known, 6)}` : ''}</p>` : nothing}
      ${network ? html`<p class="tiny">${Math.abs(worse) < 5e-4 ? 'Local search finds nothing better than the network.' : html`Local search makes the network's solution <strong>${percent(Math.abs(worse))}</strong> ${maximised ? 'richer' : 'cheaper'}.`}</p>` : nothing}
      <table class="plain"><thead><tr><th class="text" scope="col">Stage</th><th scope="col">Cost</th><th scope="col">Change</th><th scope="col">Time</th></tr></thead><tbody>
        ${solution.stages.map((one, at) => {
          const drawable = tab === 'solution' && (one.tour ?? one.routes) !== undefined;
          const choose = (): void => this.update({ stage: stage === at ? null : at });
          return html`<tr class=${drawable ? 'choosable' : ''} aria-selected=${stage === at && tab === 'solution' ? 'true' : nothing} @click=${drawable ? choose : nothing}>
            <th class="text" scope="row">${drawable ? html`<button class="plain small" @click=${(event: Event) => { event.stopPropagation(); choose(); }} aria-pressed=${stage === at ? 'true' : 'false'}>${one.by}: ${one.name}</button>` : html`${one.by}: ${one.name}`}</th>
            <td>${short(one.cost, 5)}</td><td>${one.gain === null || one === first ? '' : one.gain === 0 || Math.abs(one.gain) < 5e-5 ? '0 %' : `${one.gain > 0 ? '+' : '−'}${percent(Math.abs(one.gain))}`}</td><td>${one.seconds < 5e-5 ? '<0.1 ms' : one.seconds < 0.0095 ? `${(1000 * one.seconds).toFixed(1)} ms` : one.seconds < 1 ? `${Math.round(1000 * one.seconds)} ms` : `${one.seconds.toFixed(1)} s`}</td></tr>`;
        })}
      </tbody></table>
    </section>`;
  }

  #problem(instance: Instance): TemplateResult {
    const { options } = this.state;
    const field = ({ name, requested, value }: FileOption): TemplateResult => {
      const change = (event: Event): void => {
        const text = (event.target as HTMLInputElement).value.trim();
        if (requested) this.#option(name, text);
        else this.#number(name, text);
      };
      const can = requested ? this.service.live : this.#canEdit;
      const type = value !== null && !Number.isFinite(Number(value)) ? 'text' : 'number';
      return html`<label>${called(name)}<input type=${type} name=${name} min="0" step="any" ?disabled=${!can} placeholder=${value ?? 'none'} .value=${live(requested ? (options[name] ?? value ?? '') : (value ?? ''))} @change=${change}></label>`;
    };
    return html`<section class="card" aria-label="Problem">
      <h2>${called(instance.title)}</h2>
      <p class="quiet tiny">${instance.places.length - (instance.depot ? 1 : 0)} ${instance.depot ? 'customers and a depot' : 'places'}, ${instance.metric} distances${instance.unit ? ` in ${instance.unit}` : ''}</p>
      <div class="fields">${instance.numbers.map(field)}
        <label>Time limit<input type="text" name="time" ?disabled=${!this.service.live} placeholder="none, or 2s, 500ms" .value=${live(options.time ?? '')} @change=${(event: Event) => this.#option('time', (event.target as HTMLInputElement).value.trim())}></label>
      </div>
      ${this.service.live && !this.state.edited ? html`<details><summary class="tiny quiet">How the table is read</summary>${optionFields(READING, options, (key, value) => this.#option(key, value))}</details>` : nothing}
    </section>`;
  }

  #selectedCard(instance: Instance, node: number): TemplateResult {
    const place = instance.places[node];
    const number = (text: string, value: number, change: (value: number) => void, step = 'any'): TemplateResult => html`<label>${text}<input type="number" step=${step} ?disabled=${!this.#canEdit} .value=${live(String(value))} @change=${(event: Event) => { const next = (event.target as HTMLInputElement).valueAsNumber; if (Number.isFinite(next)) change(next); }}></label>`;
    return html`<section class="card" aria-label="Chosen place">
      <div class="head"><h2>${instance.depot && node === 0 ? 'Depot' : 'Place'}</h2><span class="grow"></span>
        ${this.#canEdit ? html`<button class="small" name="delete" ?disabled=${instance.depot && node === 0} @click=${() => this.#delete(node)}>Delete</button>` : nothing}</div>
      <div class="fields">
        <label>Name<input type="text" ?disabled=${!this.#canEdit} .value=${live(place.id)} @change=${(event: Event) => this.#setPlace(node, { id: (event.target as HTMLInputElement).value.trim() })}></label>
        ${number(instance.geographic ? 'Latitude' : 'x', instance.geographic ? place.y : place.x, (value) => this.#setPlace(node, instance.geographic ? { y: value } : { x: value }))}
        ${number(instance.geographic ? 'Longitude' : 'y', instance.geographic ? place.x : place.y, (value) => this.#setPlace(node, instance.geographic ? { x: value } : { y: value }))}
        ${amountsOf(instance).map((name) => html`<label>${called(name)}${this.#amount(instance, node, name)}</label>`)}
        ${othersOf(instance).map((name) => html`<label>${called(name)}<select ?disabled=${!this.#canEdit} .value=${live(place.others[name] ?? '')} @change=${(event: Event) => this.#setPlace(node, { others: { ...place.others, [name]: (event.target as HTMLSelectElement).value || null } })}>
          <option value="">none</option>${instance.places.map((other, at) => (at === node || (instance.depot && at === 0) ? nothing : html`<option value=${other.id} ?selected=${other.id === place.others[name]}>${other.id}</option>`))}</select></label>`)}
      </div>
    </section>`;
  }

  #routesTable(solution: Solution, instance: Instance): TemplateResult {
    const routes = solution.routes ?? [];
    const capacity = Number(numberOf(instance, this.state.options, 'capacity')) || null;
    const over = (at: number | null): void => {
      this.#hoveredRoute = at;
      this.shell.refresh();
    };
    return html`<section class="card" aria-label="Routes"><h2>${routes.length} routes</h2><div class="scroll"><table class="plain">
      <thead><tr><th class="text" scope="col">Route</th><th scope="col">Stops</th><th scope="col">Load</th><th scope="col">Length</th></tr></thead><tbody>
      ${routes.map((route, at) => html`<tr @mouseenter=${() => over(at)} @mouseleave=${() => over(null)} title=${route.join(' → ')}>
        <th class="text" scope="row"><span class="swatch box" .style=${`background:${groupColour(at)}`}></span> ${at + 1}</th><td>${route.length}</td>
        <td>${short(solution.loads?.[at])}${capacity ? html`<span class="quiet"> / ${short(capacity)}</span>` : nothing}</td><td>${short(solution.lengths?.[at])}</td></tr>`)}
      </tbody></table></div></section>`;
  }

  #decisionControls(decoding: Decoding | null): TemplateResult {
    const { shown, head, layer, temperature, solution, model } = this.state;
    const used = this.#models.find((one) => one.name === (model || solution?.model));
    const heads = used?.heads ?? 8;
    const layers = used?.layers ?? 3;
    const pick = (event: Event): string => (event.target as HTMLSelectElement).value;
    return html`<section class="card second" aria-label="What is shown"><h2>What the network sees</h2>
      ${decoding ? nothing : html`<p class="quiet">${this.busy ? 'Loading the decisions…' : 'No decisions are loaded.'}</p>`}
      <div class="fields">
        <label>Colour<select name="shown" .value=${live(shown)} @change=${(event: Event) => this.#look({ shown: pick(event) as Shown })}>
          <option value="probability">probability</option><option value="glimpse">decoder attention</option><option value="encoder">encoder attention</option></select></label>
        ${shown === 'encoder' ? html`<label>Layer<select name="layer" .value=${live(String(layer))} @change=${(event: Event) => this.#look({ layer: Number(pick(event)) })}>${Array.from({ length: layers }, (_, at) => html`<option value=${at}>${at}</option>`)}</select></label>` : nothing}
        ${shown === 'probability' ? nothing : html`<label>Head<select name="head" .value=${live(head === null ? '' : String(head))} @change=${(event: Event) => this.#look({ head: pick(event) === '' ? null : Number(pick(event)) })}><option value="">mean of all</option>${Array.from({ length: heads }, (_, at) => html`<option value=${at}>${at}</option>`)}</select></label>`}
        <label>Temperature ${temperature.toFixed(2)}<input type="range" name="temperature" min="-1.5" max="1.5" step="0.05" aria-valuetext=${temperature.toFixed(2)} .value=${live(String(Math.log10(temperature)))} @input=${(event: Event) => { const value = Number((event.target as HTMLInputElement).value); this.update({ temperature: Math.abs(value) < 0.03 ? 1 : Number((10 ** value).toPrecision(3)) }); }}></label>
      </div>
      <p class="tiny quiet">${shown === 'encoder' ? 'Attention goes out from the chosen place, else from the one visited last. ' : ''}${temperature === 1 ? 'At temperature 1 these are the probabilities of the network.' : 'Recomputed here: softmax of the clipped logits divided by the temperature. The tour stays the greedy one.'}</p>
    </section>`;
  }

  #timeline(decoding: Decoding): TemplateResult {
    const { step } = this.state;
    const last = Math.max(0, decoding.count - 1);
    const go = (to: number): void => {
      const at = Math.max(0, Math.min(last, to));
      this.#look({ step: at });
      const decision = new Decoding(this.state.decisions ?? [], this.state.instance?.depot ?? false).decision(at, this.state.temperature);
      if (decision) this.shell.say(`Decision ${at + 1}: ${this.state.instance?.places[decision.chosen].id}, ${percent(decision.probabilities[decision.chosen])}`);
    };
    const play = (): void => {
      if (this.#player) {
        window.clearInterval(this.#player);
        this.#player = 0;
      } else {
        if (this.state.step >= last) go(0);
        this.#player = window.setInterval(() => {
          if (this.state.step >= last) play();
          else go(this.state.step + 1);
        }, 450);
      }
      this.shell.refresh();
    };
    return html`<div class="timeline">
      <div class="row"><strong class="number">Decision ${Math.min(step, last) + 1} of ${decoding.count}</strong>
        <span class="grow"></span>
        <div class="group"><button class="small" name="before" aria-label="Decision before" @click=${() => go(step - 1)}>‹</button><button class="small" name="play" @click=${play}>${this.#player ? 'Pause' : 'Play'}</button><button class="small" name="next" aria-label="Next decision" @click=${() => go(step + 1)}>›</button></div></div>
      <input type="range" name="step" min="0" max=${last} step="1" aria-label="Decision" aria-valuetext=${`decision ${step + 1} of ${decoding.count}`} .value=${live(String(step))} @input=${(event: Event) => go(Number((event.target as HTMLInputElement).value))}>
      ${this.#confidence(decoding, go)}
    </div>`;
  }

  /** A bar for each decision: how probable the choice was. */
  #confidence(decoding: Decoding, go: (to: number) => void): TemplateResult {
    const [width, height] = [Math.max(200, this.width - 16), 34];
    const each = width / Math.max(1, decoding.count);
    const picture = svgElement('svg', { width, height: height + 2, role: 'img', 'aria-label': 'Probability of each choice' });
    for (let at = 0; at < decoding.count; at += 1) {
      const confidence = decoding.confidence(at);
      if (confidence === null) continue;
      const tall = Math.max(1.5, height * confidence);
      const bar = svgElement('rect', { x: at * each + (each > 4 ? 0.5 : 0), y: height - tall, width: Math.max(0.8, each - (each > 4 ? 1 : 0)), height: tall, rx: each > 6 ? 1.5 : 0 }, svgElement('title', {}, `Decision ${at + 1}: ${percent(confidence)}`));
      bar.style.fill = at === this.state.step ? 'var(--chosen)' : 'var(--accent)';
      bar.style.opacity = at === this.state.step ? '1' : '0.55';
      picture.append(bar);
    }
    const press = (event: MouseEvent): void => {
      const box = (event.currentTarget as Element).getBoundingClientRect();
      go(Math.floor((event.clientX - box.left - 8) / each));
    };
    return html`<div class="confidence" @click=${press}>${picture}</div><p class="tiny quiet">Bars: how probable each choice was. Low bars are where the network was unsure.</p>`;
  }

  #candidates(decision: Decision, instance: Instance): TemplateResult {
    const MOST = 10;
    const range = scale([0, 1], { low: 0, high: 1 });
    const from = decision.path.at(-1);
    const counts = new Map<string, number>();
    decision.open.forEach((open, at) => {
      if (!open) counts.set(decision.reasons[at] || 'barred', (counts.get(decision.reasons[at] || 'barred') ?? 0) + 1);
    });
    const better = decision.candidates.filter(({ regret, node }) => regret !== null && regret < -1e-6 && node !== decision.chosen).length;
    const over = (node: number | null): void => {
      this.#hovered = node;
      this.shell.refresh();
    };
    return html`<section class="card second" aria-label="Alternatives">
      <div class="head"><h2>${from === undefined ? 'Where to begin' : `From ${instance.places[from].id}`}</h2><span class="grow"></span><span class="quiet tiny">${decision.candidates.length} open${[...counts].map(([reason, count]) => `, ${count} ${reason}`).join('')}</span></div>
      <div class="scroll whole"><table class="plain alternatives"><thead><tr><th class="text" scope="col">Next place</th><th class="text" scope="col">Probability</th><th scope="col">Clipped logit</th><th scope="col">Regret</th></tr></thead><tbody>
        ${decision.candidates.slice(0, MOST).map(({ node, probability, clipped, regret }) => html`<tr @mouseenter=${() => over(node)} @mouseleave=${() => over(null)} aria-selected=${node === decision.chosen ? 'true' : nothing}>
          <th class="text" scope="row">${instance.places[node].id}${node === decision.chosen ? html` <span class="quiet tiny">chosen</span>` : nothing}</th>
          <td class="text"><span class="track"><span class="meter" .style=${`width:${(100 * probability).toFixed(1)}%;background:${css(range.colour(0.35 + 0.65 * probability))}`}></span></span> ${percent(probability)}</td>
          <td>${short(clipped, 4)}</td>
          <td class=${regret !== null && regret < -1e-6 ? 'good' : ''}>${node === decision.chosen ? '' : regret === null ? html`<span class="quiet">–</span>` : signed(regret, 4)}</td></tr>`)}
      </tbody></table></div>
      <p class="tiny quiet">${decision.candidates.length > MOST ? `The ${MOST} most probable of ${decision.candidates.length}. ` : ''}Regret: what the greedy tour costs more when it takes this place instead and goes on greedily.${better ? ` ${better === 1 ? 'One alternative' : `${better} alternatives`} would have been better.` : ''}</p>
    </section>`;
  }

  /** The field of an amount or a time of a place; a time may be left empty. */
  #amount(instance: Instance, node: number, name: string): TemplateResult {
    const place = instance.places[node];
    const value = place.amounts[name];
    const mayBeEmpty = instance.columns.some((column) => column.name === name && column.kind === 'time');
    const change = (event: Event): void => {
      const next = (event.target as HTMLInputElement).valueAsNumber;
      if (Number.isFinite(next) || mayBeEmpty) this.#setPlace(node, { amounts: { ...place.amounts, [name]: Number.isFinite(next) ? next : null } });
    };
    return html`<input type="number" step="any" aria-label=${`${called(name)} of ${place.id}`} ?disabled=${!this.#canEdit} .value=${live(value === null || value === undefined ? '' : String(value))} @change=${change} @focus=${() => this.update({ selected: node })}>`;
  }

  #placesTable(instance: Instance): TemplateResult {
    const [amounts, others] = [amountsOf(instance), othersOf(instance)];
    const MOST = 500;
    const order = this.state.solution ? (this.#routesOf(this.state.solution, instance) ?? []) : [];
    const rank = new Map<number, string>();
    order.forEach((route, index) => route.forEach((node, at) => {
      if (!rank.has(node)) rank.set(node, order.length > 1 ? (instance.depot && node === 0 ? 'depot' : `${index + 1}.${at}`) : String(at + (instance.depot ? 0 : 1)));
    }));
    const number = (node: number, value: number, change: (value: number) => void, name: string): TemplateResult => html`<input type="number" step="any" aria-label=${name} ?disabled=${!this.#canEdit} .value=${live(String(value))} @change=${(event: Event) => { const next = (event.target as HTMLInputElement).valueAsNumber; if (Number.isFinite(next)) change(next); }} @focus=${() => this.update({ selected: node })}>`;
    return html`<details class="card" name="places"><summary>Places as a table <span class="quiet">(${instance.places.length})</span></summary>
      <div class="scroll tall"><table class="plain"><thead><tr><th class="text" scope="col">Name</th><th scope="col">Stop</th><th scope="col">${instance.geographic ? 'Latitude' : 'x'}</th><th scope="col">${instance.geographic ? 'Longitude' : 'y'}</th>${[...amounts, ...others].map((name) => html`<th scope="col">${called(name)}</th>`)}<th scope="col"><span class="visually-hidden">Delete</span></th></tr></thead><tbody>
      ${instance.places.slice(0, MOST).map((place, at) => html`<tr aria-selected=${at === this.state.selected ? 'true' : nothing}>
        <th class="text" scope="row">${place.id}</th><td>${rank.get(at) ?? html`<span class="quiet">left out</span>`}</td>
        <td>${number(at, instance.geographic ? place.y : place.x, (value) => this.#setPlace(at, instance.geographic ? { y: value } : { x: value }), `${instance.geographic ? 'Latitude' : 'x'} of ${place.id}`)}</td>
        <td>${number(at, instance.geographic ? place.x : place.y, (value) => this.#setPlace(at, instance.geographic ? { x: value } : { y: value }), `${instance.geographic ? 'Longitude' : 'y'} of ${place.id}`)}</td>
        ${amounts.map((name) => html`<td>${this.#amount(instance, at, name)}</td>`)}
        ${others.map((name) => html`<td>${place.others[name] ?? ''}</td>`)}
        <td>${this.#canEdit ? html`<button class="small plain" aria-label=${`Delete ${place.id}`} ?disabled=${instance.depot && at === 0} @click=${() => this.#delete(at)}>✕</button>` : nothing}</td></tr>`)}
      </tbody></table></div>${instance.places.length > MOST ? html`<p class="quiet tiny">The first ${MOST} of ${instance.places.length}.</p>` : nothing}</details>`;
  }
}

/** The ground of a plane: round coordinates as lines. */
function drawGrid(view: View): SVGGElement {
  const group = svgElement('g', {});
  const [[x0, y1], [x1, y0]] = [view.place([0, 0]), view.place([view.width, view.height])];
  for (const tick of scaleLinear().domain([x0, x1]).ticks(Math.max(3, Math.floor(view.width / 90)))) {
    const [x] = view.point([tick, 0]);
    group.append(svgElement('line', { x1: x, x2: x, y1: 0, y2: view.height, class: 'graticule' }));
    if (x > 30 && x < view.width - 30) group.append(svgElement('text', { x: x + 3, y: view.height - 6, class: 'quiet' }, short(tick)));
  }
  for (const tick of scaleLinear().domain([y0, y1]).ticks(Math.max(3, Math.floor(view.height / 90)))) {
    const [, y] = view.point([0, tick]);
    group.append(svgElement('line', { x1: 0, x2: view.width, y1: y, y2: y, class: 'graticule' }));
    if (y > 16 && y < view.height - 24) group.append(svgElement('text', { x: 5, y: y - 4, class: 'quiet' }, short(tick)));
  }
  group.append(svgElement('rect', { x: 0.5, y: 0.5, width: view.width - 1, height: view.height - 1, rx: 6, class: 'frame' }));
  return group;
}

/** Attention that goes out from a node in a layer of the encoder. */
function encoderRow(step: Step | undefined, row: number, head: number | null): (number | null)[] {
  if (!step) return [];
  const [heads, rows, columns] = step.shape;
  const all = new Steps({ schema: '', model: '', input: '', steps: [step] }).values(step.name) ?? [];
  return headOf(Array.from({ length: heads }, (_, at) => all.slice((at * rows + row) * columns, (at * rows + row + 1) * columns)), head);
}
