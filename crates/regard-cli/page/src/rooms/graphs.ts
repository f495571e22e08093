// The room of graphs: a molecule as a chemist draws it or any graph, along which edges the network looked, and bonds to
// delete.

import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { colourKey, scale, type Scale } from '../colour.ts';
import { short, signed, svgElement } from '../dom.ts';
import { BOND_PIXELS, drawGraph, isMolecule } from '../graph_drawing.ts';
import { pack, unpack, type LinkState } from '../link.ts';
import { fitted, type Point } from '../plane.ts';
import { Room, type Shell } from '../room.ts';
import { Latest, ServiceError, type Attribution, type Example, type GraphsRead, type Model, type Prediction } from '../service.ts';
import { flat, meanOf, type Step, type Trace } from '../trace/trace.ts';
import { answerCard } from './answer.ts';
import { quoted } from './routes/instance.ts';
import { body, linkedOptions, linkedSource, modelChoice, ofExample, optionFields, optionsLink, sourceBar, sourceLink, sourceOf, type Field, type Options, type Source } from './source.ts';
import { TraceCard } from './trace_card.ts';

type ReadGraph = GraphsRead['graphs'][number] & { laplacian?: { values: number[]; vectors: number[][] } };
type Colour = 'attention' | 'attribution' | 'eigenvector' | 'none';

interface State {
  source: Source | null;
  options: Options;
  model: string;
  graphs: ReadGraph[];
  graph: number;
  smiles: string;
  deleted: [number, number][];
  chosen: number | null;
  colour: Colour;
  layer: number | null;
  head: number | null;
  vector: number;
  notes: string[];
  prediction: Prediction | null;
  whole: Prediction | null;
  steps: Step[] | null;
  vectors: { values: number[]; vectors: number[][] } | null;
  edges: [number, number][] | null;
  method: string;
  attribution: Attribution | null;
  answerNotes: string[];
  trace: Trace | null;
  traceOpen: boolean;
}

const EMPTY: State = { source: null, options: {}, model: '', graphs: [], graph: 0, smiles: '', deleted: [], chosen: null, colour: 'attention', layer: null, head: null, vector: 0, notes: [], prediction: null, whole: null, steps: null, vectors: null, edges: null, method: 'leave-one-out', attribution: null, answerNotes: [], trace: null, traceOpen: false };

const COLOURS: [Colour, string][] = [['attention', 'attention weights'], ['attribution', 'attribution'], ['eigenvector', 'eigenvector'], ['none', 'none']];
const METHODS: [string, string][] = [['leave-one-out', 'leave one out'], ['shapley', 'Shapley values'], ['occlusion', 'occlusion'], ['integrated-gradients', 'integrated gradients']];
const READING: Field[] = [{ key: 'smiles', label: 'Column of SMILES' }, { key: 'id', label: 'Column of names' }, { key: 'skip_bad', label: 'Skip bad rows', type: 'checkbox' }];
/** A molecule that has rings, a double bond and several elements. */
const FIRST = 'CC(=O)Oc1ccccc1C(=O)O';

export class GraphsRoom extends Room<State> {
  override readonly name = 'graphs';
  override readonly title = 'Graphs';
  override readonly about = 'Type a molecule and see along which bonds the network looked. Delete a bond and see what it was worth.';

  #examples: Example[] = [];
  #models: Model[] = [];
  #reader = new Latest(0);
  #asker = new Latest(0);
  #attributor = new Latest(0);
  #typing = 0;
  #wrong: ServiceError | null = null;
  #hovered = '';
  readonly #trace = new TraceCard(() => this.#loadTrace());

  constructor(shell: Shell) {
    super(shell, { ...EMPTY });
  }

  // Opening ---------------------------------------------------------------------------------------------------------

  override async open(link: LinkState): Promise<void> {
    await this.task(async () => {
      [this.#examples, this.#models] = await Promise.all([this.service.examples('graphs'), this.service.models('graphs')]);
      const typed = link.smiles ?? (link.example || link.file ? undefined : FIRST);
      const found = typed === undefined ? await linkedSource(link, this.service, 'graphs', []) : { source: molecule(typed), options: {}, model: '' };
      if (!found) return;
      const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text) || 0);
      this.state = {
        ...EMPTY,
        source: found.source,
        options: { ...found.options, ...linkedOptions(link) },
        model: link.model === 'none' ? '' : link.model ?? (found.model || this.#models[0]?.name || ''),
        smiles: typed ?? '',
        colour: COLOURS.map(([colour]) => colour).find((one) => one === link.colour) ?? 'attention',
        layer: number(link.layer),
        head: number(link.head),
        vector: number(link.vector) ?? 0,
        method: link.method ?? EMPTY.method,
      };
      await this.#read(link.graph, link.deleted ? await unpack<[number, number][]>(link.deleted) : []);
    });
  }

  async #read(graph?: string, deleted: [number, number][] = []): Promise<void> {
    const { source, options, model } = this.state;
    if (!source) return;
    const ask = (named: string): Promise<GraphsRead> => this.service.post<GraphsRead>('/v1/read', body('read graphs', source, options, { family: 'graphs', ...(named ? { model: named } : {}) }));
    // A graph that is not the model's is drawn all the same.
    let fits = true;
    const read = await ask(model).catch((error: unknown) => {
      if (!model || !(error instanceof ServiceError) || error.status !== 422) throw error;
      fits = false;
      return ask('');
    });
    if (!fits) this.shell.toast(`${model} does not fit this file; the graph is shown without a model.`);
    const at = Math.max(0, read.graphs.findIndex((one) => one.id === graph));
    this.state = { ...this.state, model: fits ? model : '', vectors: null, edges: null, graphs: read.graphs as ReadGraph[], graph: at, deleted, chosen: null, notes: read.notes, smiles: read.graphs[at]?.smiles ?? this.state.smiles, prediction: null, whole: null, steps: null, attribution: null, trace: null };
    this.shell.refresh();
    this.#answer();
  }

  override async link(): Promise<LinkState> {
    const { state } = this;
    const typed = state.source?.name === TYPED;
    return {
      ...(typed ? { smiles: state.smiles } : await sourceLink(state.source)),
      ...optionsLink(state.options),
      model: state.model || 'none',
      graph: !typed && state.graph > 0 ? state.graphs[state.graph]?.id ?? '' : '',
      deleted: state.deleted.length ? await pack(state.deleted) : '',
      colour: state.colour === 'attention' ? '' : state.colour,
      ...(state.layer === null ? {} : { layer: String(state.layer) }),
      ...(state.head === null ? {} : { head: String(state.head) }),
      vector: state.colour === 'eigenvector' && state.vector ? String(state.vector) : '',
      method: state.method === EMPTY.method ? '' : state.method,
    };
  }

  override async receive(file: File): Promise<void> {
    const source = withNodes(await sourceOf(file));
    this.state = { ...EMPTY, source, model: this.state.model || this.#models[0]?.name || '', colour: this.state.colour, method: this.state.method };
    await this.task(() => this.#read());
    // Without a model only eigenvectors have something to say.
    if (!this.state.model && this.state.graphs.length) this.update({ colour: 'eigenvector' });
  }

  async #show(example: Example): Promise<void> {
    const { source, options, model } = ofExample(example);
    this.state = { ...EMPTY, source, options, model: model || this.state.model || this.#models[0]?.name || '', colour: this.state.colour, method: this.state.method };
    await this.task(() => this.#read());
  }

  /** Reads the molecule while it is typed; one that is not finished is said beside the field. */
  #type(smiles: string): void {
    this.update({ smiles });
    window.clearTimeout(this.#typing);
    this.#typing = window.setTimeout(() => {
      if (!smiles.trim()) return;
      this.#reader.run(async (signal) => {
        try {
          const source = molecule(smiles.trim());
          const { model } = this.state;
          const read = await this.service.post<GraphsRead>('/v1/read', body('read graphs', source, {}, { family: 'graphs', ...(model ? { model } : {}) }), signal);
          this.#wrong = null;
          this.error = null;
          this.update({ source, options: {}, graphs: read.graphs as ReadGraph[], graph: 0, deleted: [], chosen: null, notes: read.notes, prediction: null, whole: null, steps: null, attribution: null, trace: null });
          this.#answer();
        } catch (error) {
          if (signal.aborted) return;
          if (error instanceof ServiceError) this.#wrong = error;
          else throw error;
          this.shell.refresh();
        }
      });
    }, 200);
  }

  // Asking ----------------------------------------------------------------------------------------------------------

  #request(command: 'predict' | 'explain', more: Record<string, unknown>, whole = false): Record<string, unknown> {
    const { source, options, model, graphs, graph, deleted } = this.state;
    const example = graphs.length > 1 ? { example: graphs[graph].id } : {};
    return body(command, source as Source, options, { model, ...example, ...(deleted.length && !whole ? { delete_edges: deleted } : {}), ...more });
  }

  /** The file with the shown graph alone, where it is a molecule, so that others need not be computed. */
  #single(command: 'predict' | 'explain', more: Record<string, unknown>, whole = false): Record<string, unknown> {
    const { graphs, graph, model, deleted } = this.state;
    const { smiles } = graphs[graph];
    if (smiles === undefined) return this.#request(command, more, whole);
    return body(command, molecule(smiles), {}, { model, ...(deleted.length && !whole ? { delete_edges: deleted } : {}), ...more });
  }

  #answer(): void {
    const { graphs, graph, model, deleted } = this.state;
    const now = graphs[graph];
    if (!now || !model) return;
    this.#asker.run((signal) => this.#run(signal, async () => {
      const single = now.smiles !== undefined;
      const mine = (predictions: Prediction[]): Prediction | null => (single ? predictions[0] : predictions.find((one) => String(one.id) === now.id)) ?? null;
      const { predictions, notes } = await this.service.post<{ predictions: Prediction[]; notes: string[] }>('/v1/predict', this.#single('predict', {}), signal);
      this.update({ prediction: mine(predictions), answerNotes: notes });
      if (deleted.length && !this.state.whole) {
        const all = await this.service.post<{ predictions: Prediction[] }>('/v1/predict', this.#single('predict', {}, true), signal);
        this.update({ whole: mine(all.predictions) });
      }
      const [weights, positions] = await Promise.all(['.attention', 'positions.laplacian'].map((filter) => this.service.post<Trace>('/v1/explain', this.#single('explain', { filter }), signal).catch((error: unknown) => {
        // A graph without edges, or a model without such a step, has nothing to show.
        if (error instanceof ServiceError && error.status === 422) return null;
        throw error;
      })));
      const named = (name: string): Step | undefined => positions?.steps.find((step) => step.name === name);
      const found = named('positions.laplacian.vectors');
      const width = found?.shape[1] ?? 0;
      const vectors = found && width ? { values: (named('positions.laplacian.eigenvalues') ? flat(named('positions.laplacian.eigenvalues') as Step) : []) as number[], vectors: Array.from({ length: found.shape[0] }, (_, node) => flat(found).slice(node * width, (node + 1) * width) as number[]) } : null;
      this.update({ steps: weights?.steps.filter((step) => step.axes[0]?.name === 'edge') ?? [], vectors, edges: weights?.layout?.edges ?? [] });
      const answer = this.state.prediction?.prediction;
      this.shell.say(`Answer: ${typeof answer === 'number' ? short(answer, 5) : String(answer ?? '')}`);
    }));
    if (this.state.colour === 'attribution') this.#attribute();
    if (this.state.traceOpen) this.#loadTrace();
  }

  #attribute(): void {
    const { graphs, graph, method } = this.state;
    const now = graphs[graph];
    if (!now || !this.service.live) return;
    this.#attributor.run((signal) => this.#run(signal, async () => {
      const { attributions } = await this.service.post<{ attributions: Attribution[] }>('/v1/predict', this.#single('predict', { attribution: method }), signal);
      this.update({ attribution: (now.smiles !== undefined ? attributions[0] : attributions.find((one) => String(one.id) === now.id)) ?? null });
    }));
  }

  async #run(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    await this.task(work, signal);
  }

  #loadTrace(): void {
    if (!this.service.live || !this.state.graphs.length) return;
    void this.task(async () => this.update({ trace: await this.service.post<Trace>('/v1/explain', this.#single('explain', {})) }));
  }

  // Editing ---------------------------------------------------------------------------------------------------------

  #delete(edge: number): void {
    const now = this.state.graphs[this.state.graph];
    const [source, target] = now.edges[edge];
    if (this.#isDeleted(source, target) || !this.service.live) return;
    this.update({ deleted: [...this.state.deleted, [source, target]], chosen: null, steps: null, attribution: null, trace: null, whole: this.state.whole ?? (this.state.deleted.length ? null : this.state.prediction) });
    this.shell.say(`Deleted the edge between ${name(now, source)} and ${name(now, target)}`);
    this.#answer();
  }

  #restore(at: number | null): void {
    this.update({ deleted: at === null ? [] : this.state.deleted.filter((_, place) => place !== at), steps: null, attribution: null, trace: null });
    this.shell.say('The edge is back');
    this.#answer();
  }

  #isDeleted(source: number, target: number): boolean {
    return this.state.deleted.some(([a, b]) => (a === source && b === target) || (a === target && b === source));
  }

  #key(event: KeyboardEvent): void {
    const now = this.state.graphs[this.state.graph];
    const { chosen } = this.state;
    if (!now || !now.edges.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 } as Record<string, number>)[event.key];
    if (by) {
      event.preventDefault();
      const next = chosen === null ? 0 : (chosen + by + now.edges.length) % now.edges.length;
      this.update({ chosen: next });
      this.shell.say(this.#edgeText(next));
    } else if ((event.key === 'Delete' || event.key === 'Backspace') && chosen !== null) {
      event.preventDefault();
      this.#delete(chosen);
    } else if (event.key === 'Escape') {
      this.update({ chosen: null });
    }
  }

  // Numbers ---------------------------------------------------------------------------------------------------------

  #layers(): number[] {
    return (this.state.steps ?? []).map((step) => Number(/^layer\.(\d+)\.attention$/.exec(step.name)?.[1] ?? NaN)).filter(Number.isFinite);
  }

  #heads(): number {
    return Math.max(0, ...(this.state.steps ?? []).map((step) => step.shape[1] ?? 1));
  }

  /** The weight of each directed edge: the mean over layers and heads that are not chosen. */
  #weights(): (number | null)[] | null {
    const { steps, layer, head, edges } = this.state;
    if (!steps?.length || !edges?.length) return null;
    const lists = steps.filter((step) => layer === null || step.name === `layer.${layer}.attention`).flatMap((step) => {
      const heads = step.shape[1] ?? 1;
      return Array.from({ length: heads }, (_, at) => at).filter((at) => head === null || at === Math.min(head, heads - 1)).map((at) => edges.map((_, edge) => flat(step)[edge * heads + at]));
    });
    return lists.length ? meanOf(lists) : null;
  }

  #edgeText(edge: number): string {
    const now = this.state.graphs[this.state.graph];
    const [source, target, kind] = now.edges[edge];
    const weights = this.#weights();
    const weight = (a: number, b: number): string => {
      const at = this.state.edges?.findIndex(([from, to]) => from === a && to === b) ?? -1;
      return at >= 0 && weights ? `${name(now, a)} → ${name(now, b)} ${short(weights[at], 3)}` : '';
    };
    return [`${name(now, source)}–${name(now, target)}`, kind, this.#isDeleted(source, target) ? 'deleted' : '', weight(source, target), weight(target, source)].filter(Boolean).join(', ');
  }

  /** Attributions of nodes and of undirected edges. */
  #attributions(): { nodes: (number | null)[]; edges: Map<string, number> } | null {
    const found = this.state.attribution?.attribution;
    if (!found || Array.isArray(found)) return null;
    const key = (a: number, b: number): string => [Math.min(a, b), Math.max(a, b)].join();
    return { nodes: found.nodes ?? [], edges: new Map((found.edges ?? []).map(({ source, target, attribution }) => [key(Number(source), Number(target)), attribution])) };
  }

  #vectors(): { values: number[]; vectors: number[][] } | null {
    const now = this.state.graphs[this.state.graph];
    return this.state.vectors ?? (!this.state.deleted.length && now?.laplacian ? now.laplacian : null);
  }

  // The page --------------------------------------------------------------------------------------------------------

  override view(): TemplateResult {
    const { state } = this;
    const now = state.graphs[state.graph];
    return html`
      ${this.service.live ? this.#bar() : nothing}
      <div class="split">
        <div class="column"><section class="card first" aria-label="Graph">${now ? this.#picture(now) : html`<div class="empty" data-stage>${this.busy ? 'Loading…' : 'Type a molecule, or open a file of graphs.'}</div>`}</section></div>
        <div class="column">
          ${state.prediction ? answerCard(state.prediction, state.deleted.length ? state.whole : null, 'with every bond', this.#target()) : nothing}
          ${now ? this.#controls(now) : nothing}
          ${now ? this.#edgeCard(now) : nothing}
          ${this.service.live && state.source?.name !== TYPED ? html`<details class="card"><summary>Options</summary>${optionFields(READING, state.options, (key, value) => { this.update({ options: { ...state.options, [key]: value } }); void this.task(() => this.#read()); })}</details>` : nothing}
          ${this.notes(state.notes, state.answerNotes)}
        </div>
      </div>
      ${now && state.model ? this.#trace.view(state.trace, state.traceOpen, (traceOpen) => this.update({ traceOpen })) : nothing}`;
  }

  #target(): string {
    const model = this.#models.find((one) => one.name === this.state.model);
    return model?.targets?.[0] ?? 'Answer';
  }

  #bar(): TemplateResult {
    const { source, graphs, graph, model, smiles } = this.state;
    const typed = source?.name === TYPED;
    const open = (at: number): void => {
      this.update({ graph: at, smiles: graphs[at].smiles ?? '', deleted: [], chosen: null, prediction: null, whole: null, steps: null, attribution: null, vectors: null, trace: null });
      this.#answer();
    };
    const message = this.#wrong && smiles.trim() ? this.#wrong : null;
    return html`<div class="bar" role="group" aria-label="Molecule, file and model">
      <label class="smiles">SMILES <input type="text" name="smiles" spellcheck="false" autocomplete="off" autocapitalize="off" aria-invalid=${message ? 'true' : 'false'} aria-describedby="smiles-message" .value=${live(smiles)} @input=${(event: Event) => this.#type((event.target as HTMLInputElement).value)}></label>
      ${sourceBar({ source: typed ? null : source, examples: this.#examples, accept: '.csv,.tsv,.txt,.smi,.jsonl,.gz,.parquet', paste: () => this.shell.pasteTable(), open: (file) => void this.receive(file), choose: (example) => void this.#show(example) })}
      ${graphs.length > 1
        ? html`<label>Graph <select name="graph" .value=${live(String(graph))} @change=${(event: Event) => open(Number((event.target as HTMLSelectElement).value))}>${graphs.slice(0, 1000).map((one, at) => html`<option value=${at} ?selected=${at === graph}>${one.id}</option>`)}</select></label>
          <span class="group"><button aria-label="Graph before" @click=${() => open((graph - 1 + graphs.length) % graphs.length)}>‹</button><button aria-label="Next graph" @click=${() => open((graph + 1) % graphs.length)}>›</button></span>`
        : nothing}
      ${modelChoice(this.#models, model, (chosen) => { this.update({ model: chosen, prediction: null, whole: null, steps: null, attribution: null, vectors: null, trace: null }); void this.task(() => this.#read(this.state.graphs[this.state.graph]?.id, this.state.deleted)); }, 'none')}
      ${this.busy ? html`<span class="busy" aria-hidden="true"></span>` : nothing}
    </div>
    <p class="bad tiny" id="smiles-message" role="status">${message ? `${message.what}${message.hint ? `; ${message.hint}` : ''}` : ''}</p>`;
  }

  #picture(now: ReadGraph): TemplateResult {
    const { colour, chosen, method, vector } = this.state;
    const placed = now.nodes.every((node) => node.x !== undefined && node.y !== undefined);
    if (!placed) return html`<div class="empty" data-stage>${now.nodes.length} nodes and ${now.edges.length} edges: too many to draw.</div>`;
    const molecular = isMolecule(now.nodes.map((node) => node.label), now.edges.map(([, , kind]) => kind ?? ''));
    const view = fitted(now.nodes.map((node): Point => [node.x ?? 0, node.y ?? 0]), this.width, { height: this.width < 500 ? 380 : 560, unit: molecular ? BOND_PIXELS * 1.15 : 90, margin: 36 });
    const points = now.nodes.map((node): Point => view.point([node.x ?? 0, node.y ?? 0]));
    const kept = now.edges.map(([source, target, kind], at) => ({ source, target, kind: kind ?? '', at })).filter(({ source, target }) => !this.#isDeleted(source, target));
    const weights = colour === 'attention' ? this.#weights() : null;
    const attributions = colour === 'attribution' ? this.#attributions() : null;
    const vectors = colour === 'eigenvector' ? this.#vectors() : null;
    let nodeValues: (number | null)[] | undefined;
    let edgeValues: { source: number; target: number; value: number | null; text: string }[] | undefined;
    let range: Scale | undefined;
    if (weights && this.state.edges) {
      range = scale(weights, { low: 0 });
      edgeValues = this.state.edges.map(([source, target], at) => ({ source, target, value: weights[at], text: `${name(now, source)} → ${name(now, target)}: ${short(weights[at], 3)}` }));
    } else if (attributions) {
      nodeValues = attributions.nodes;
      const all = [...attributions.nodes, ...attributions.edges.values()];
      range = scale([...all, 0]);
      edgeValues = [...attributions.edges].flatMap(([key, value]) => {
        const [source, target] = key.split(',').map(Number);
        const text = `${name(now, source)}–${name(now, target)}: ${signed(value, 3)}`;
        return [{ source, target, value, text }, { source: target, target: source, value, text }];
      });
    } else if (vectors?.vectors.length) {
      const at = Math.min(vector, vectors.vectors[0].length - 1);
      nodeValues = vectors.vectors.map((row) => row[at]);
      range = scale(nodeValues);
    }
    const drawn = svgElement('g', {});
    for (const [source, target] of this.state.deleted) drawn.append(svgElement('line', { x1: points[source][0], y1: points[source][1], x2: points[target][0], y2: points[target][1], class: 'ghost' }));
    drawn.append(drawGraph({
      points,
      labels: now.nodes.map((node) => node.label),
      edges: kept,
      nodeValues,
      nodeRange: range,
      edgeValues,
      edgeRange: range,
      chosenEdge: chosen === null ? null : kept.findIndex(({ at }) => at === chosen),
      over: (text) => { if (text !== this.#hovered) { this.#hovered = text; this.shell.refresh(); } },
      clickEdge: (edge) => this.update({ chosen: kept[edge].at === chosen ? null : kept[edge].at }),
      nodeText: (node) => [name(now, node), nodeValues ? short(nodeValues[node], 3) : ''].filter(Boolean).join(': '),
    }));
    const missing = this.busy ? '' : colour === 'attribution' && !attributions ? `No attribution by ${method} here.` : colour === 'eigenvector' && !vectors ? 'No eigenvectors: the graph has no edges, or no model is loaded.' : colour === 'attention' && !weights ? 'No attention weights: the graph has no edges, or the model does not fit it.' : '';
    return html`<div class="head"><h2>${now.smiles ? html`${now.id === '1' || this.state.graphs.length === 1 ? '' : html`${now.id} `}<span class="formula">${now.smiles}</span>` : `Graph ${now.id}`}</h2><span class="quiet tiny">${now.nodes.length} ${molecular ? 'atoms' : 'nodes'}, ${kept.length} ${molecular ? 'bonds' : 'edges'}</span><span class="grow"></span>
        <label class="small">Colour <select name="colour" .value=${live(colour)} @change=${(event: Event) => { this.update({ colour: (event.target as HTMLSelectElement).value as Colour }); if (this.state.colour === 'attribution' && !this.state.attribution) this.#attribute(); }}>${COLOURS.map(([value, text]) => html`<option value=${value} ?selected=${value === colour}>${text}</option>`)}</select></label></div>
      <div class="stage" data-stage data-picture><svg class="graph" width=${this.width} height=${view.height} viewBox="0 0 ${this.width} ${view.height}" tabindex="0" role="application" aria-roledescription="graph" aria-label=${`${now.smiles ?? `Graph ${now.id}`}: ${now.nodes.length} nodes and ${kept.length} edges. Arrow keys go from edge to edge, Delete deletes the chosen one.`} @keydown=${(event: KeyboardEvent) => this.#key(event)}>${drawn}</svg></div>
      <div class="key">${range ? html`<span>${colourKey(range)} ${colour === 'attention' ? 'weight of a direction; colour lies to the right of its way' : colour === 'attribution' ? 'change of the answer that the part makes' : 'component of the eigenvector'}</span>` : nothing}<span class="number">${missing || this.#hovered || (this.service.live ? 'Press on a bond to choose it.' : '')}</span></div>`;
  }

  #controls(now: ReadGraph): TemplateResult {
    const { colour, layer, head, vector, method, attribution } = this.state;
    const pick = (event: Event): string => (event.target as HTMLSelectElement).value;
    const number = (text: string): number | null => (text === '' ? null : Number(text));
    const vectors = this.#vectors();
    const most = (vectors?.vectors[0]?.length ?? 1) - 1;
    if (colour === 'none') return html``;
    if (colour === 'eigenvector') {
      return html`<section class="card second" aria-label="Eigenvector"><h2>Eigenvector of the Laplacian</h2><div class="fields">
        <label>Number ${vector + 1} of ${most + 1}<input type="range" name="vector" min="0" max=${most} .value=${live(String(vector))} @input=${(event: Event) => this.update({ vector: Number(pick(event)) })}></label></div>
        <p class="tiny quiet">L = I − D<sup>−½</sup> A D<sup>−½</sup>${vectors?.values[vector] !== undefined ? html`, eigenvalue <span class="number">${short(vectors.values[vector], 4)}</span>` : nothing}. Low eigenvalues vary slowly over the graph; they tell the network where a node lies.</p></section>`;
    }
    if (colour === 'attribution') {
      return html`<section class="card second" aria-label="Attribution"><h2>What the answer depends on</h2><div class="fields"><label>Method<select name="method" ?disabled=${!this.service.live} .value=${live(method)} @change=${(event: Event) => { this.update({ method: pick(event), attribution: null }); this.#attribute(); }}>${METHODS.map(([value, text]) => html`<option value=${value} ?selected=${value === method}>${text}</option>`)}</select></label></div>
        ${attribution
          ? html`<p class="tiny quiet">${attribution.faithfulness ? html`Deleting nodes in this order changes the answer by <span class="number">${short(attribution.faithfulness.deletion_area)}</span> on average, in random order by <span class="number">${short(attribution.faithfulness.random_area)}</span>. ` : nothing}${attribution.attention_rank_correlation === null ? nothing : html`Rank correlation with the attention weights: <strong class="number">${short(attribution.attention_rank_correlation, 2)}</strong>.`}</p>`
          : nothing}</section>`;
    }
    return html`<section class="card second" aria-label="Attention"><h2>Where it looked</h2><div class="fields">
      <label>Layer<select name="layer" .value=${live(layer === null ? '' : String(layer))} @change=${(event: Event) => this.update({ layer: number(pick(event)) })}><option value="">mean of all</option>${this.#layers().map((at) => html`<option value=${at} ?selected=${at === layer}>${at}</option>`)}</select></label>
      <label>Head<select name="head" .value=${live(head === null ? '' : String(head))} @change=${(event: Event) => this.update({ head: number(pick(event)) })}><option value="">mean of all</option>${Array.from({ length: this.#heads() }, (_, at) => html`<option value=${at} ?selected=${at === head}>${at}</option>`)}</select></label></div>
      <p class="tiny quiet">The weights of all bonds into ${isMolecule(now.nodes.map((node) => node.label), []) ? 'an atom' : 'a node'} sum to one. They do not say what the answer depends on; attribution does.</p></section>`;
  }

  #edgeCard(now: ReadGraph): TemplateResult {
    const { chosen, deleted } = this.state;
    if (chosen === null && !deleted.length) return html``;
    return html`<section class="card" aria-label="Bonds"><h2>Bonds</h2>
      ${chosen === null ? nothing : html`<p>${this.#edgeText(chosen)}</p><p><button name="delete-bond" ?disabled=${!this.service.live || this.#isDeleted(now.edges[chosen][0], now.edges[chosen][1])} @click=${() => this.#delete(chosen)}>Delete this bond</button></p>`}
      ${deleted.length ? html`<p class="quiet tiny">Deleted; atoms keep their features, positions are computed anew:</p><div class="row">${deleted.map(([source, target], at) => html`<button class="small" @click=${() => this.#restore(at)} title="Bring it back">${name(now, source)}–${name(now, target)} ↺</button>`)}${deleted.length > 1 ? html`<button class="small" @click=${() => this.#restore(null)}>All back</button>` : nothing}</div>` : nothing}
    </section>`;
  }
}

const TYPED = 'molecule.csv';

/** A table with one molecule. */
function molecule(smiles: string): Source {
  return { name: TYPED, content: `smiles\n${quoted(smiles)}\n` };
}

function name(graph: ReadGraph, node: number): string {
  const { label } = graph.nodes[node];
  return /\d$/.test(label) ? label : `${label}${node + 1}`;
}

/** A list of edges gets the table of nodes that goes with it. */
function withNodes(source: Source): Source {
  const lines = source.content?.split(/\r?\n/).filter((line) => line.trim()) ?? [];
  const separator = lines[0]?.includes(';') ? ';' : lines[0]?.includes('\t') ? '\t' : ',';
  const head = lines[0]?.split(separator).map((cell) => cell.trim().replaceAll('"', '').toLowerCase()) ?? [];
  const [from, to] = [head.findIndex((cell) => /^(source|from|src|u)$/.test(cell)), head.findIndex((cell) => /^(target|to|dst|v)$/.test(cell))];
  if (from < 0 || to < 0) return source;
  const ids = new Set(lines.slice(1).flatMap((line) => {
    const cells = line.split(separator).map((cell) => cell.trim().replaceAll('"', ''));
    return [cells[from], cells[to]];
  }));
  const table = lines.slice(1).map((line) => line.split(separator).map((cell) => cell.trim()).join(','));
  const edges = [head.map((cell, at) => (at === from ? 'source' : at === to ? 'target' : cell)).join(','), ...table].join('\n');
  return { name: 'nodes.csv', content: `id\n${[...ids].map(quoted).join('\n')}\n`, beside: [{ name: 'edges.csv', content: `${edges}\n` }] };
}
