// Shows a trace: its steps, their numbers as heat maps, bars and lines, and, where the items of the input have places on
// a plane, the numbers on these. It knows steps, axes and labels, not models.

import { drawChart } from '../chart.ts';
import { colourBar, css, groupColour, scale } from '../colour.ts';
import { element, short, shortened, shown, svgElement, type Child } from '../dom.ts';
import { BOND_PIXELS, drawGraph, type GraphEdge } from '../graph_drawing.ts';
import { drawPlaces, fitted, said, type Line } from '../plane.ts';
import { saveText, svgText } from '../files.ts';
import { onTheme } from '../theme.ts';
import { heatMap } from './heat_map.ts';
import { flat, meanOf, numberIn, Steps, type Axis, type Layout, type Step, type Trace } from './trace.ts';

const OVERVIEW = 'overview';
const LAYERS = ['encoder', 'layer'];
const OVER_TIME = ['lag', 'time', 'ahead', 'step ahead', 'horizon'];
/** Panels of a step that are drawn at once. */
const MOST_PANELS = 24;

export interface ViewerState {
  step: string;
  head: string;
  row: number;
  column: number;
}

export interface ViewerOptions {
  /** The state stands in the address, so that a link brings it back. */
  fragment?: boolean;
  state?: Partial<ViewerState>;
  changed?: (state: ViewerState) => void;
  /** The title is left out where the page around it has one. */
  untitled?: boolean;
}

/** Numbers of a step that belong to the items of the input. */
interface OnLayout {
  nodes?: (number | null)[];
  edges?: (number | null)[];
  what: string;
  focus?: number | null;
  pick?: Axis | null;
  pickRow?: Axis | null;
}

/** Shows `trace` in `root`. */
export function mountTrace(root: HTMLElement, trace: Trace, options: ViewerOptions = {}): void {
  const steps = new Steps(trace);
  const usedBy = new Map<string, string[]>();
  for (const step of trace.steps) {
    for (const name of step.from) usedBy.set(name, [...(usedBy.get(name) ?? []), step.name]);
  }
  const layout = trace.layout ?? null;
  const decodeSteps = steps.numbersAfter(['decode']);
  const layers = steps.numbersAfter(LAYERS);
  const state: ViewerState = { step: OVERVIEW, head: 'all', row: 0, column: 0, ...options.state, ...fromFragment() };
  if (state.step !== OVERVIEW && !steps.get(state.step)) state.step = OVERVIEW;

  // Panels ----------------------------------------------------------------------------------------------------------

  /** The places of the axes before the last two that are shown. */
  function panels(step: Step): { index: number; name: string }[] {
    let all = [{ index: 0, name: '' }];
    for (const axis of step.axes.slice(0, -2)) {
      const next: { index: number; name: string }[] = [];
      for (const { index, name } of all) {
        axis.labels.forEach((label, at) => {
          if (axis.name === 'head' && state.head !== 'all' && axis.labels.length > 1 && at !== Number(state.head)) return;
          next.push({ index: index * axis.labels.length + at, name: `${name}${name ? ', ' : ''}${axis.name} ${label}` });
        });
      }
      all = next;
    }
    return all;
  }

  /** Bars of a list of numbers, with names and notes. */
  function bars(step: Step, values: (number | null)[], axis: Axis): HTMLElement {
    const MOST = 200;
    const range = scale(values);
    const extent = Math.max(Math.abs(range.low), Math.abs(range.high)) || 1;
    const body = element('tbody');
    // Of many named items the largest stand first; numbered ones keep their order.
    const order = values.map((_, at) => at);
    const sorted = values.length > 12 && !/^-?\d+$/.test(axis.labels[0]);
    if (sorted) order.sort((a, b) => (values[b] ?? -Infinity) - (values[a] ?? -Infinity));
    for (const at of order.slice(0, MOST)) {
      const value = values[at];
      const bar = element('span', { class: 'bar' });
      bar.style.width = `${value === null ? 0 : (140 * Math.abs(value)) / extent}px`;
      bar.style.background = value === null ? 'var(--barred)' : css(range.colour(value));
      const note = step.notes[at] ?? '';
      body.append(element('tr', {}, element('th', { class: 'text', scope: 'row' }, axis.labels[at]), element('td', {}, shown(value)), element('td', { class: 'text' }, bar, note ? ` ${note}` : '')));
    }
    const head = element('thead', {}, element('tr', {}, element('th', { class: 'text', scope: 'col' }, axis.name), element('th', { scope: 'col' }, 'value'), element('th', { class: 'text', scope: 'col' }, '')));
    const more = [sorted ? 'the largest first' : '', values.length > MOST ? `${MOST} of ${values.length}` : ''].filter(Boolean).join(', ');
    return element('div', {}, element('div', { class: 'wide' }, element('table', {}, head, body)), more ? element('p', { class: 'quiet' }, more) : null);
  }

  /** Lines of one or more lists over the same axis. */
  function lines(lists: [string, (number | null)[]][], axis: Axis, readout: HTMLElement): HTMLElement {
    const names = lists.map(([name]) => name);
    const count = lists[0][1].length;
    const values = lists.flatMap(([, list]) => list).filter((value) => value !== null);
    const drawn = drawChart({
      width: Math.min(760, room()),
      height: 250,
      lines: lists.map(([name, list], at) => ({ name, colour: groupColour(at), points: list.map((value, x) => [x, value]) })),
      label: `${names.join(', ')} over ${axis.name}, from ${shown(Math.min(...values))} to ${shown(Math.max(...values))}`,
      xText: (x) => shortened(axis.labels[Math.round(x)] ?? '', 12),
      xTitle: axis.name,
      stops: axis.labels.map((_, at) => at),
      hover: (x) => {
        if (x !== null) readout.textContent = `${axis.name} ${axis.labels[x]}: ${lists.map(([name, list]) => `${name} ${shown(list[x])}`).join(', ')}`;
      },
    });
    const key = element('p', { class: 'key' });
    if (count && lists.length > 1) {
      names.forEach((name, at) => {
        const mark = element('span', { class: 'swatch' });
        mark.style.background = groupColour(at);
        key.append(element('span', {}, mark, name));
      });
    }
    return element('figure', {}, drawn.picture, key);
  }

  /** All numbers of a matrix, or as many as can be read. */
  function numberTable(values: (number | null)[], rows: Axis, columns: Axis): HTMLElement {
    const MOST = 60;
    const head = element('tr', {}, element('th', { class: 'text', scope: 'col' }, `${rows.name} \\ ${columns.name}`));
    columns.labels.slice(0, MOST).forEach((label) => head.append(element('th', { scope: 'col' }, label)));
    const body = element('tbody');
    rows.labels.slice(0, MOST).forEach((label, row) => {
      const line = element('tr', {}, element('th', { class: 'text', scope: 'row' }, label));
      columns.labels.slice(0, MOST).forEach((_, column) => line.append(element('td', {}, shown(values[row * columns.labels.length + column]))));
      body.append(line);
    });
    const left = rows.labels.length > MOST || columns.labels.length > MOST;
    return element('div', { class: 'wide' }, element('table', {}, element('thead', {}, head), body), left ? element('p', { class: 'quiet' }, `the first ${MOST} rows and columns; all are in the JSON`) : null);
  }

  // Drawings --------------------------------------------------------------------------------------------------------

  /** The numbers of a step that belong to the items, or null where there are none. */
  function onLayout(step: Step): OnLayout | null {
    if (!layout) return null;
    const values = flat(step);
    const items = layout.places.length;
    const names = step.axes.map((axis) => axis.name);
    if (names[0] === 'edge' && step.shape[0] === layout.edges.length && layout.edges.length > 0) {
      const width = values.length / step.shape[0];
      const all = names[1] === 'head' && state.head === 'all';
      const column = names[1] === 'head' ? Math.min(Number(state.head) || 0, width - 1) : Math.min(state.column, width - 1);
      const of = (edge: number): number | null => (all ? meanOf(Array.from({ length: width }, (_, head) => [values[edge * width + head]]))[0] : values[edge * width + column]);
      const what = width === 1 ? '' : all ? 'mean of the heads' : `${names[1]} ${step.axes[1].labels[column]}`;
      return { edges: layout.edges.map((_, edge) => of(edge)), what, pick: names[1] !== 'head' && width > 1 ? step.axes[1] : null };
    }
    const isItems = (at: number): boolean => at >= 0 && step.shape[at] === items && (names[at] === layout.axis || (names[at] === 'row' && layout.axis === 'node'));
    const end = names.length - 1;
    if (end >= 0 && isItems(end)) {
      // [head, row, item]: one row of it, for one head or the mean of all.
      const lists: (number | null)[][] = [];
      const row = isItems(end - 1) ? Math.min(state.row, items - 1) : null;
      const rows = end > 0 && names[end - 1] !== 'head' ? step.shape[end - 1] : 1;
      const heads = values.length / (rows * items);
      const at = row ?? Math.min(state.row, rows - 1);
      for (let head = 0; head < heads; head += 1) {
        if (state.head !== 'all' && heads > 1 && head !== Math.min(Number(state.head), heads - 1)) continue;
        lists.push(values.slice((head * rows + at) * items, (head * rows + at + 1) * items));
      }
      const parts: string[] = [];
      if (heads > 1) parts.push(state.head === 'all' ? 'mean of the heads' : `head ${state.head}`);
      if (rows > 1) parts.push(`${names[end - 1]} ${step.axes[end - 1].labels[at]}`);
      return { nodes: meanOf(lists), what: parts.join(', '), focus: row, pickRow: row === null && rows > 1 ? step.axes[end - 1] : null };
    }
    if (names.length === 2 && isItems(0)) {
      const column = Math.min(state.column, step.shape[1] - 1);
      const nodes = layout.places.map((_, item) => values[item * step.shape[1] + column]);
      return { nodes, what: `${names[1]} ${step.axes[1].labels[column]}`, pick: step.axes[1] };
    }
    return null;
  }

  /** The nodes chosen before decoding step `until`. */
  function chosenBefore(until: number): number[] {
    const found: number[] = [];
    for (let at = 0; at < until; at += 1) {
      const choice = steps.values(`decode.${at}.choice`);
      if (!choice) break;
      found.push(choice[0] as number);
    }
    return found;
  }

  function drawing(layout: Layout, step: Step | null, what: OnLayout | null, readout: HTMLElement): HTMLElement {
    const width = Math.min(680, room());
    const isGraph = layout.edges.length > 0;
    const view = fitted(layout.places, width, { height: isGraph ? 620 : 588, unit: isGraph ? BOND_PIXELS : undefined, margin: isGraph ? 30 : 34 });
    const points = layout.places.map(view.point);
    const values = what?.nodes ?? what?.edges ?? [];
    const range = scale(values);
    const said = step ? `${step.name}${what?.what ? `, ${what.what}` : ''}` : layout.routes.length ? 'the solution' : '';
    const picture = svgElement('svg', { xmlns: 'http://www.w3.org/2000/svg', width, height: view.height + (step ? 30 : 0), role: 'img', 'aria-label': `${said}, drawn on ${layout.places.length} places` });
    picture.append(isGraph ? graph(layout, points, what, readout) : places(layout, points, step, what, width, readout));
    if (step && values.length) picture.append(colourBar(range, 10, view.height + 4, 160));
    const choosable = what?.focus !== undefined && what.focus !== null;
    return element('figure', {}, element('figcaption', {}, said + (choosable ? '; click a place for its row' : '')), picture);
  }

  function places(layout: Layout, points: [number, number][], step: Step | null, what: OnLayout | null, width: number, readout: HTMLElement): SVGGElement {
    const until = step ? numberIn(step.name, ['decode']) : null;
    const path = until === null ? [] : chosenBefore(until);
    const drawn: Line[] = until === null ? (step ? [] : layout.routes.map((nodes) => ({ nodes }))) : [{ nodes: layout.depot ? [0, ...path] : path }];
    const chosen = until === null ? null : steps.values(`decode.${until}.choice`)?.[0];
    const mask = until === null ? undefined : steps.get(`decode.${until}.mask`);
    const focus = what?.focus;
    const choosable = focus !== undefined && focus !== null;
    const text = (at: number): string => said(layout.labels[at], what?.nodes?.[at], `${mask?.notes[at] ? `, ${mask.notes[at]}` : ''}${at === chosen ? ', chosen' : ''}`);
    return drawPlaces({
      points,
      labels: layout.labels,
      lines: drawn,
      depot: layout.depot,
      range: what?.nodes && scale(what.nodes),
      width,
      marks: (at) => ({ value: what?.nodes?.[at], barred: mask ? flat(mask)[at] === 0 : false, chosen: at === chosen, focus: at === focus, text: text(at) }),
      over: (at) => { readout.textContent = text(at); },
      click: choosable ? (at) => set({ row: at }) : undefined,
    });
  }

  function graph(layout: Layout, points: [number, number][], what: OnLayout | null, readout: HTMLElement): SVGGElement {
    const seen = new Set<string>();
    const edges: GraphEdge[] = [];
    layout.edges.forEach(([source, target], at) => {
      const key = [Math.min(source, target), Math.max(source, target)].join();
      if (seen.has(key)) return;
      seen.add(key);
      edges.push({ source, target, kind: layout.edge_kinds[at] ?? '' });
    });
    const said = (at: number, value: number | null): string => {
      const [source, target] = layout.edges[at];
      return `${layout.labels[source]} → ${layout.labels[target]}: ${shown(value)}${layout.edge_kinds[at] ? `, ${layout.edge_kinds[at]}` : ''}`;
    };
    return drawGraph({
      points,
      labels: layout.labels,
      edges,
      nodeValues: what?.nodes,
      nodeRange: what?.nodes && scale(what.nodes),
      edgeValues: what?.edges?.map((value, at) => ({ source: layout.edges[at][0], target: layout.edges[at][1], value, text: said(at, value) })),
      edgeRange: what?.edges && scale(what.edges),
      nodeText: (at) => (what?.nodes ? `${layout.labels[at]}: ${shown(what.nodes[at])}` : layout.labels[at]),
      clickNode: what?.focus !== undefined && what.focus !== null ? (at) => set({ row: at }) : undefined,
      over: (text) => { readout.textContent = text; },
    });
  }

  // The overview ----------------------------------------------------------------------------------------------------

  function decisions(readout: HTMLElement): HTMLElement | null {
    if (!decodeSteps.length) return null;
    const column = (text: string, words = true): HTMLElement => element('th', { class: words && 'text', scope: 'col' }, text);
    const head = element('tr', {}, column('step', false), column('chosen'), column('probability', false), column('regret of others'), column('barred'));
    const body = element('tbody');
    for (const at of decodeSteps) {
      const [probability, choice, regret, mask] = ['probability', 'choice', 'regret', 'mask'].map((name) => steps.get(`decode.${at}.${name}`));
      if (!probability || !choice) continue;
      const node = flat(choice)[0] as number;
      const others = regret ? regret.axes[0].labels.map((label, place) => regretOf(label, flat(regret)[place])).join(', ') : '';
      const counts = new Map<string, number>();
      (mask?.notes ?? []).filter(Boolean).forEach((note) => counts.set(note, (counts.get(note) ?? 0) + 1));
      const barred = [...counts].map(([note, count]) => `${count} ${note}`).join(', ');
      body.append(element('tr', {},
        element('td', {}, element('button', { onclick: () => set({ step: `decode.${at}.probability` }) }, String(at))),
        element('td', { class: 'text' }, probability.axes[0].labels[node]),
        element('td', {}, `${(100 * (flat(probability)[node] ?? 0)).toFixed(1)} %`),
        element('td', { class: 'text' }, others),
        element('td', { class: 'text' }, barred)));
    }
    const last = steps.values(`decode.${decodeSteps[decodeSteps.length - 1]}.log_likelihood`);
    const stages = steps.get('solution.cost');
    return element('section', {}, element('h2', {}, 'Decisions'),
      last ? element('p', {}, `log-probability of the whole: ${shown(last[0])}`) : null,
      stages ? element('p', {}, `cost after each stage of regard solve: ${stages.axes[0].labels.map((label, at) => `${label} ${shown(flat(stages)[at])}`).join(', ')}`) : null,
      layout ? drawing(layout, null, null, readout) : null,
      readout,
      element('div', { class: 'wide' }, element('table', {}, element('thead', {}, head), body)));
  }

  function regretOf(label: string, value: number | null): string {
    if (value === null) return `${label} –`;
    return `${label} ${value < 0 ? '' : '+'}${short(value, 5)}`;
  }

  /** One training step: the sampled tours beside the baseline's, with what they cost, and what followed from that. */
  function learning(readout: HTMLElement): HTMLElement | null {
    const [instances, tours, costs, values, advantages] = ['instances', 'sampled.tour', 'sampled.cost', 'baseline', 'advantage'].map((name) => steps.get(name));
    if (!instances || !tours || !costs || !values || !advantages) return null;
    const MOST_INSTANCES = 6;
    const MOST_TOURS = 4;
    const [count, nodes, features] = instances.shape;
    const [, trajectories, length] = tours.shape;
    const own = steps.get('baseline.tour');
    const placesOf = (instance: number): [number, number][] => Array.from({ length: nodes }, (_, node) => flat(instances).slice((instance * nodes + node) * features, (instance * nodes + node) * features + 2) as [number, number]);
    const parts: HTMLElement[] = [element('h2', {}, 'Sampled tours beside the baseline')];
    for (let instance = 0; instance < Math.min(count, MOST_INSTANCES); instance += 1) {
      const points = placesOf(instance);
      const row = element('div', { class: 'panels' });
      for (let tour = 0; tour < Math.min(trajectories, MOST_TOURS); tour += 1) {
        const place = instance * trajectories + tour;
        const order = ended(flat(tours).slice(place * length, (place + 1) * length) as number[]);
        row.append(smallTour(points, order, `sampled${trajectories > 1 ? ` ${tour}` : ''}: cost ${shown(flat(costs)[place])}, baseline ${shown(flat(values)[place])}, advantage ${shown(flat(advantages)[place])}`));
      }
      if (own) {
        const long = own.shape[1];
        const cost = steps.get('baseline.rollout');
        row.append(smallTour(points, ended(flat(own).slice(instance * long, (instance + 1) * long) as number[]), `baseline: cost ${cost ? shown(flat(cost)[instance]) : '–'}`));
      }
      parts.push(element('h3', {}, `instance ${instance}`), row);
    }
    if (count > MOST_INSTANCES) parts.push(element('p', { class: 'quiet' }, `the first ${MOST_INSTANCES} of ${count} instances`));
    const layer = steps.get('gradient.layer');
    if (layer) parts.push(element('h2', {}, 'Gradient norm of each layer'), bars(layer, flat(layer), layer.axes[0]));
    const decision = steps.get('comparison.baseline_updated');
    const numbers = ['mean_difference', 't', 'p'].flatMap((name) => {
      const step = steps.get(`comparison.${name}`);
      return step ? [`${name.replace('_', ' ')} ${shown(flat(step)[0])}`] : [];
    });
    if (decision) parts.push(element('h2', {}, 'Paired t-test of the baseline'), element('p', {}, [...numbers, ...decision.notes].join('; ')));
    return element('section', {}, ...parts, readout);
  }

  /** The last answer of other models, and for series the part of the map and that of the network. */
  function answer(readout: HTMLElement): HTMLElement {
    const inUnits = ['forecast', 'forecast_of_map', 'forecast_of_network'].flatMap((name): [string, Step][] => {
      const step = steps.get(`${name}.in_units`);
      return step ? [[name.replaceAll('_', ' '), step]] : [];
    });
    if (inUnits.length) {
      const all = inUnits[0][1];
      const axis = all.axes[all.axes.length - 1];
      const width = axis.labels.length;
      const several = flat(all).length > width;
      const seriesAxis = all.axes.find((one) => one.name === 'series');
      // What the network adds is small beside the forecast: lines of its own, in the same unit, show it.
      const panel = (some: [string, Step][], series: number): HTMLElement => lines(some.map(([name, step]) => [name, flat(step).slice(series * width, (series + 1) * width)]), axis, readout);
      const figures = Array.from({ length: flat(all).length / width }, (_, series) => element('div', {},
        several ? element('h3', {}, seriesAxis ? seriesAxis.labels[series] : String(series)) : null,
        panel(inUnits.slice(0, 2), series),
        inUnits.length > 2 ? element('p', {}, 'what the network adds') : null,
        inUnits.length > 2 ? panel(inUnits.slice(2), series) : null));
      const title = inUnits.length > 1 ? 'Forecast = forecast of the map alone + what the network adds' : 'Forecast';
      return element('section', {}, element('h2', {}, title), element('p', { class: 'quiet' }, 'in the unit of the file'), ...figures, readout);
    }
    const last = steps.get('answer') ?? trace.steps[trace.steps.length - 1];
    const labels = last.axes[last.axes.length - 1]?.labels ?? [];
    const named = labels.length === 1 && /\D/.test(labels[0]) ? ` (${labels[0]})` : '';
    return element('section', {}, element('h2', {}, `${last.name}${named}`), views(last, readout), readout, layout ? drawing(layout, null, null, readout) : null);
  }

  // The page --------------------------------------------------------------------------------------------------------

  function room(): number {
    return Math.max(280, (main.clientWidth || 900) - 40);
  }

  /** The numbers of a step: one number, bars, lines or heat maps. */
  function views(step: Step, readout: HTMLElement): HTMLElement {
    const values = flat(step);
    if (step.axes.length === 0 || values.length === 1) return element('p', { class: 'formula' }, [shown(values[0]), ...step.notes].join(': '));
    const whole = step.axes.filter((axis) => axis.labels.length > 1);
    const last = whole[whole.length - 1];
    const overTime = last && OVER_TIME.includes(last.name) && last.labels.length > 8;
    if (overTime && (whole.length === 1 || (whole.length === 2 && whole[0].labels.length <= 6))) {
      const width = last.labels.length;
      return lines(Array.from({ length: Math.min(6, values.length / width) }, (_, at) => [whole.length > 1 ? whole[0].labels[at] : step.name, values.slice(at * width, (at + 1) * width)]), last, readout);
    }
    if (step.axes.length === 1) return bars(step, values, step.axes[0]);
    const [rows, columns] = step.axes.slice(-2);
    const size = rows.labels.length * columns.labels.length;
    const all = panels(step);
    const range = scale(all.length === 1 ? values.slice(all[0].index * size, (all[0].index + 1) * size) : values);
    const each = all.length > 1 ? Math.min(room(), Math.max(300, room() / Math.min(all.length, columns.labels.length > 24 ? 2 : 4) - 16)) : room();
    const box = element('div', { class: 'panels' });
    for (const { index, name } of all.slice(0, MOST_PANELS)) {
      box.append(heatMap({
        name: step.name,
        caption: name,
        values: values.slice(index * size, (index + 1) * size),
        rows,
        columns,
        range,
        room: each,
        say: (text) => { readout.textContent = text; },
        choose: (row, column) => set({ row, column }),
      }));
    }
    const first = all[0].index * size;
    const details = element('details', {}, element('summary', {}, `numbers${all[0].name ? ` of ${all[0].name}` : ''}`));
    details.addEventListener('toggle', () => {
      if (details.open && details.children.length === 1) details.append(numberTable(values.slice(first, first + size), rows, columns));
    });
    return element('div', {}, box, all.length > MOST_PANELS ? element('p', { class: 'quiet' }, `the first ${MOST_PANELS} of ${all.length}`) : null, details);
  }

  function link(name: string): HTMLElement {
    if (!steps.get(name)) return element('span', { class: 'quiet', title: 'not in this part of the trace' }, `${name} `);
    return element('button', { onclick: () => set({ step: name }), title: 'show this step' }, name);
  }

  function stepPage(step: Step, readout: HTMLElement): HTMLElement[] {
    const shape = step.axes.map((axis) => `${axis.name} ${axis.labels.length}`).join(', ');
    const letters = ['x', 'y', 'z'];
    const from = element('p', { class: 'links' }, 'from ');
    step.from.forEach((name, at) => from.append(`${letters[at] ?? '…'} = `, link(name)));
    const into = element('p', { class: 'links' }, 'used by ');
    (usedBy.get(step.name) ?? []).forEach((name) => into.append(link(name)));
    const parts = [element('section', {},
      element('h2', {}, step.name),
      element('p', { class: 'formula' }, step.formula || 'given'),
      element('p', { class: 'quiet' }, [shape ? `[${shape}]` : 'one number', step.source].filter(Boolean).join('  ·  ')),
      step.parameters.length ? element('p', { class: 'quiet' }, `parameters: ${step.parameters.join(', ')}`) : null,
      step.from.length ? from : null,
      usedBy.has(step.name) ? into : null)];
    const what = onLayout(step);
    if (what && layout) {
      const picker = what.pick ?? what.pickRow;
      const chosen = Math.min(what.pick ? state.column : state.row, (picker?.labels.length ?? 1) - 1);
      const choose: Child = picker
        ? element('label', {}, picker.name, element('select', { onchange: (event: Event) => set({ [what.pick ? 'column' : 'row']: Number((event.target as HTMLSelectElement).value) }) },
          ...picker.labels.map((label, at) => element('option', { value: at, selected: at === chosen }, label))))
        : null;
      parts.push(element('section', { class: 'drawing' }, choose, drawing(layout, step, what, readout)));
    }
    parts.push(element('section', { class: 'numbers' }, readout, views(step, readout)));
    return parts;
  }

  function fromFragment(): Partial<ViewerState> {
    if (!options.fragment) return {};
    const found = new URLSearchParams(window.location.hash.slice(1));
    const text = (key: 'step' | 'head'): Partial<ViewerState> => (found.has(key) ? { [key]: found.get(key) ?? '' } : {});
    const number = (key: 'row' | 'column'): Partial<ViewerState> => (found.has(key) ? { [key]: Number(found.get(key)) || 0 } : {});
    return { ...text('step'), ...text('head'), ...number('row'), ...number('column') };
  }

  function set(change: Partial<ViewerState>): void {
    Object.assign(state, change);
    if (options.fragment) {
      const entries = Object.entries(state).filter(([key, value]) => key === 'step' || (value !== 0 && value !== 'all'));
      window.history.replaceState(null, '', `#${new URLSearchParams(entries.map(([key, value]) => [key, String(value)]))}`);
    }
    options.changed?.(state);
    render();
  }

  /** The step of the same name in another layer or decoding step, or the first one there. */
  function sameIn(words: string[], number: number): string {
    const rest = state.step.split('.').slice(2).join('.');
    const names = [...steps.byName.keys()];
    const same = words.map((word) => `${word}.${number}.${rest}`).find((name) => numberIn(state.step, words) !== null && steps.get(name));
    return same ?? names.find((name) => numberIn(name, words) === number && /\.(probability|attention)$/.test(name)) ?? names.find((name) => numberIn(name, words) === number) ?? state.step;
  }

  const heads = Math.max(0, ...trace.steps.map((step) => step.axes.find((axis) => axis.name === 'head')?.labels.length ?? 0));
  const filter = element('input', { type: 'search', placeholder: 'filter steps', 'aria-label': 'filter steps', oninput: () => list() });
  const entries = element('ul');
  const nav = element('nav', { 'aria-label': 'steps' }, filter, entries);
  const main = element(options.untitled ? 'div' : 'main', { class: 'trace-main' });
  const controls = element('div', { class: 'controls', role: 'group', 'aria-label': 'what is shown' });
  const title = element('header', {}, element('h1', {}, `${trace.model}: ${trace.input}`), element('p', { class: 'quiet' }, `${trace.steps.length} steps of one ${steps.get('sampled.tour') ? 'training step' : 'forward pass'}`));
  root.replaceChildren(element('div', { class: 'trace' }, options.untitled ? null : title, controls, nav, main));

  function list(): void {
    const text = filter.value.trim();
    const entry = (name: string, note: string): HTMLElement => element('li', {}, element('button', { 'aria-current': name === state.step ? 'true' : 'false', onclick: () => set({ step: name }) }, name, ' ', element('small', {}, note)));
    const kept = trace.steps.filter((step) => step.name.includes(text));
    entries.replaceChildren(entry(OVERVIEW, ''), ...kept.map((step) => entry(step.name, step.axes.map((axis) => axis.labels.length).join('×'))));
    if (!kept.length) entries.append(element('li', { class: 'quiet' }, 'no step has that in its name'));
    // Only the list moves: scrollIntoView would move the page too.
    const current = entries.querySelector('[aria-current="true"]');
    if (current && nav.scrollHeight > nav.clientHeight) {
      const [box, frame] = [current.getBoundingClientRect(), nav.getBoundingClientRect()];
      if (box.top < frame.top || box.bottom > frame.bottom) nav.scrollTop += box.top - frame.top - nav.clientHeight / 2;
    }
  }

  /** The controls are made once: a slider that is dragged must stay the same element. */
  function makeControls(): () => void {
    const parts: HTMLElement[] = [];
    const update: (() => void)[] = [];
    if (decodeSteps.length) {
      const last = decodeSteps[decodeSteps.length - 1];
      const slider = element('input', { type: 'range', min: 0, max: last, oninput: () => set({ step: sameIn(['decode'], Number(slider.value)) }) });
      const said = element('output', {});
      parts.push(element('label', {}, 'decoding step', slider, said));
      update.push(() => {
        const at = numberIn(state.step, ['decode']);
        slider.value = String(at ?? 0);
        slider.setAttribute('aria-valuetext', at === null ? 'none' : `decoding step ${at} of ${last}`);
        said.textContent = at === null ? '–' : `${at} of ${last}`;
      });
    }
    const choice = (label: string, texts: [string, string][], chosen: () => string, change: (value: string) => void): void => {
      const select = element('select', { onchange: () => change(select.value) }, ...texts.map(([value, text]) => element('option', { value }, text)));
      parts.push(element('label', {}, label, select));
      update.push(() => { select.value = chosen(); });
    };
    if (layers.length) {
      const texts: [string, string][] = [['', '–'], ...layers.map((number): [string, string] => [String(number), String(number)])];
      choice('layer', texts, () => String(numberIn(state.step, LAYERS) ?? ''), (value) => {
        if (value !== '') set({ step: sameIn(LAYERS, Number(value)) });
      });
    }
    if (heads > 1) {
      const texts: [string, string][] = [['all', 'all'], ...Array.from({ length: heads }, (_, head): [string, string] => [String(head), String(head)])];
      choice('head', texts, () => String(state.head), (value) => set({ head: value }));
    }
    parts.push(element('button', { onclick: saveDrawing }, 'Save drawing (SVG)'));
    parts.push(element('button', { onclick: () => saveText('trace.json', 'application/json', JSON.stringify(trace)) }, 'Save numbers (JSON)'));
    controls.replaceChildren(...parts);
    return () => update.forEach((one) => one());
  }

  function saveDrawing(): void {
    const pictures = [...main.querySelectorAll('svg')];
    const captions = pictures.map((picture) => picture.parentElement?.querySelector('figcaption')?.textContent ?? '');
    if (pictures.length) saveText(`${state.step}.svg`, 'image/svg+xml', svgText(pictures, captions));
  }

  function render(): void {
    const readout = element('p', { class: 'readout quiet', 'aria-live': 'polite' }, ' ');
    renderControls();
    list();
    const step = steps.get(state.step);
    main.replaceChildren(...(step ? stepPage(step, readout) : [decisions(readout) ?? learning(readout) ?? answer(readout)]));
  }

  const renderControls = makeControls();
  onTheme(render);
  let resized: number | undefined;
  window.addEventListener('resize', () => {
    window.clearTimeout(resized);
    resized = window.setTimeout(() => { if (root.isConnected) render(); }, 150);
  });
  if (options.fragment) {
    window.addEventListener('hashchange', () => {
      Object.assign(state, { head: 'all', row: 0, column: 0 }, fromFragment());
      if (!steps.get(state.step)) state.step = OVERVIEW;
      render();
    });
  }
  render();
}

/** A tour without the nodes 0 that fill it after its end; one of them is kept: it may be the last node, or the depot. */
function ended(order: number[]): number[] {
  let end = order.length;
  while (end > 1 && order[end - 1] === 0 && order[end - 2] === 0) end -= 1;
  return order.slice(0, end);
}

/** A small picture of a tour. */
function smallTour(points: [number, number][], order: number[], caption: string): HTMLElement {
  const SIZE = 190;
  const view = fitted(points, SIZE, { height: SIZE, margin: 8 });
  const at = (node: number): string => view.point(points[node]).map((value) => value.toFixed(1)).join(',');
  const drawn = svgElement('svg', { xmlns: 'http://www.w3.org/2000/svg', width: SIZE, height: view.height, role: 'img', 'aria-label': `${caption}: ${order.join(', ')}` });
  drawn.append(svgElement('polygon', { points: order.map(at).join(' '), class: 'route' }));
  points.forEach((point, node) => {
    const [cx, cy] = view.point(point);
    drawn.append(svgElement('circle', { cx, cy, r: node === order[0] ? 4.5 : 3, fill: node === order[0] ? 'var(--chosen)' : 'var(--ink)' }, svgElement('title', {}, `node ${node}`)));
  });
  return element('figure', { class: 'small-tour' }, element('figcaption', {}, caption), drawn);
}
