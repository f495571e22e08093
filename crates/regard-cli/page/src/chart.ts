// Lines over an axis: one drawing for series, for learning curves and for the steps of a trace.

import { scaleLinear, scaleLog } from 'd3-scale';
import { area, line } from 'd3-shape';
import { short, svgElement } from './dom.ts';

export interface ChartLine {
  name: string;
  colour: string;
  /** `[x, y]`; a gap where y is null. */
  points: [number, number | null][];
  /** `dots` marks each point of the line. */
  kind?: 'solid' | 'dashed' | 'thin' | 'dots';
}

export interface Band {
  name: string;
  colour: string;
  points: [number, number, number][];
  opacity: number;
}

export interface Chart {
  width: number;
  height: number;
  lines: ChartLine[];
  bands?: Band[];
  label: string;
  /** The text of a place on the x axis. */
  xText: (x: number) => string;
  xTitle?: string;
  yTitle?: string;
  log?: boolean;
  x?: [number, number];
  y?: [number, number];
  /** Vertical lines with a text. */
  rules?: { x: number; text: string }[];
  /** The x of all points that the pointer may find, in rising order. */
  stops?: number[];
  hover?: (x: number | null) => void;
}

export interface DrawnChart {
  picture: SVGSVGElement;
  /** Things drawn over the lines. */
  over: SVGGElement;
  x: (value: number) => number;
  y: (value: number) => number;
  xAt: (pixels: number) => number;
  yAt: (pixels: number) => number;
  /** Shows where the cursor is. */
  cursor: (x: number | null) => void;
}

/** At most so many points of a line are drawn; of more, each stretch keeps its lowest and highest. */
const MOST = 1600;

export function thinned(points: [number, number | null][]): [number, number | null][] {
  if (points.length <= MOST) return points;
  const size = Math.ceil((2 * points.length) / MOST);
  const kept: [number, number | null][] = [];
  for (let from = 0; from < points.length; from += size) {
    const part = points.slice(from, from + size);
    let [low, high] = [part[0], part[0]];
    for (const point of part) {
      if ((point[1] ?? Infinity) < (low[1] ?? Infinity)) low = point;
      if ((point[1] ?? -Infinity) > (high[1] ?? -Infinity)) high = point;
    }
    kept.push(...(low === high ? [low] : low[0] < high[0] ? [low, high] : [high, low]));
  }
  return kept;
}

export function drawChart(spec: Chart): DrawnChart {
  const { width, height } = spec;
  const usable = (value: number | null): value is number => value !== null && Number.isFinite(value) && (!spec.log || value > 0);
  let [lowX, highX, lowY, highY] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { points } of spec.lines) {
    for (const [x, y] of points) {
      if (x < lowX) lowX = x;
      if (x > highX) highX = x;
      if (!usable(y)) continue;
      if (y < lowY) lowY = y;
      if (y > highY) highY = y;
    }
  }
  for (const { points } of spec.bands ?? []) {
    for (const [, low, high] of points) {
      if (usable(low) && low < lowY) lowY = low;
      if (usable(high) && high > highY) highY = high;
    }
  }
  if (lowX > highX) [lowX, highX] = [0, 1];
  if (lowY > highY) [lowY, highY] = spec.log ? [0.1, 1] : [0, 1];
  if (lowY === highY) [lowY, highY] = spec.log ? [lowY / 2, highY * 2] : [lowY - Math.max(1e-9, Math.abs(lowY) * 0.1), highY + Math.max(1e-9, Math.abs(highY) * 0.1)];
  [lowX, highX] = spec.x ?? [lowX, highX];
  [lowY, highY] = spec.y ?? [lowY, highY];
  const [top, bottom, right] = [spec.yTitle ? 24 : 12, spec.xTitle ? 40 : 26, 14];
  const y = (spec.log ? scaleLog() : scaleLinear()).domain([lowY, highY]).range([height - bottom, top]);
  if (!spec.log && !spec.y) y.nice(5);
  const yTicks = spec.log ? logTicks(lowY, highY) : y.ticks(height > 160 ? 5 : 3);
  const yTexts = yTicks.map((tick) => short(tick));
  const left = 14 + 6.8 * Math.max(2, ...yTexts.map((text) => text.length));
  const x = scaleLinear().domain(lowX === highX ? [lowX - 1, highX + 1] : [lowX, highX]).range([left, width - right]);
  const picture = svgElement('svg', { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': spec.label, class: 'chart' });
  yTicks.forEach((tick, at) => {
    picture.append(svgElement('line', { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: 'grid' }));
    picture.append(svgElement('text', { x: left - 7, y: y(tick) + 4, 'text-anchor': 'end', class: 'quiet' }, yTexts[at]));
  });
  drawTimes(picture, spec, x, height - bottom);
  if (spec.yTitle) picture.append(svgElement('text', { x: 2, y: 11, class: 'quiet' }, spec.yTitle));
  if (spec.xTitle) picture.append(svgElement('text', { x: width - right, y: height - 4, 'text-anchor': 'end', class: 'quiet' }, spec.xTitle));
  const band = area<[number, number, number]>().x((point) => x(point[0])).y0((point) => y(point[1])).y1((point) => y(point[2]));
  for (const { points, colour, opacity, name } of spec.bands ?? []) {
    const made = svgElement('path', { d: band(points) ?? '', opacity }, svgElement('title', {}, name));
    made.style.fill = colour;
    picture.append(made);
  }
  const path = line<[number, number | null]>().defined((point) => usable(point[1])).x((point) => x(point[0])).y((point) => y(point[1] as number));
  for (const { points, colour, kind } of spec.lines) {
    if (kind === 'dots') {
      for (const [px, py] of points) {
        if (!usable(py)) continue;
        const dot = svgElement('circle', { cx: x(px).toFixed(1), cy: y(py).toFixed(1), r: 2.2 });
        dot.style.fill = colour;
        picture.append(dot);
      }
    }
    const made = svgElement('path', { d: path(thinned(points)) ?? '', class: `line ${kind ?? 'solid'}` });
    made.style.stroke = colour;
    picture.append(made);
  }
  for (const rule of spec.rules ?? []) {
    picture.append(svgElement('line', { x1: x(rule.x), x2: x(rule.x), y1: top, y2: height - bottom, class: 'rule' }));
    picture.append(svgElement('text', { x: x(rule.x) + 4, y: top + 9, class: 'quiet' }, rule.text));
  }
  const over = svgElement('g', {});
  const cursor = svgElement('line', { y1: top, y2: height - bottom, class: 'cursor', visibility: 'hidden' });
  picture.append(over, cursor);
  const show = (value: number | null): void => {
    cursor.setAttribute('visibility', value === null ? 'hidden' : 'visible');
    if (value === null) return;
    cursor.setAttribute('x1', String(x(value)));
    cursor.setAttribute('x2', String(x(value)));
  };
  if (spec.hover && spec.stops?.length) follow(picture, spec.stops, x, spec.hover, show);
  return { picture, over, x, y, xAt: (pixels) => x.invert(pixels), yAt: (pixels) => y.invert(pixels), cursor: show };
}

/** The cursor follows the pointer, and the arrow keys where the picture has the focus. */
function follow(picture: SVGSVGElement, stops: number[], x: { (value: number): number; invert: (pixels: number) => number }, hover: (x: number | null) => void, show: (x: number | null) => void): void {
  let at = stops.length - 1;
  const go = (next: number): void => {
    at = Math.max(0, Math.min(stops.length - 1, next));
    show(stops[at]);
    hover(stops[at]);
  };
  picture.setAttribute('tabindex', '0');
  picture.addEventListener('pointermove', (event) => {
    const box = picture.getBoundingClientRect();
    go(nearest(stops, x.invert(event.clientX - box.left)));
  });
  picture.addEventListener('pointerleave', () => {
    show(null);
    hover(null);
  });
  picture.addEventListener('keydown', (event) => {
    const by = ({ ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -stops.length, End: stops.length } as Record<string, number>)[event.key];
    if (by === undefined || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    go(at + by);
  });
}

/** The index of the nearest of rising numbers. */
export function nearest(stops: number[], value: number): number {
  let [low, high] = [0, stops.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (stops[middle] > value) high = middle;
    else low = middle;
  }
  return Math.abs(stops[high] - value) < Math.abs(stops[low] - value) ? high : low;
}

function logTicks(low: number, high: number): number[] {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const steps = to - from <= 2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((to - from) / 6));
  const ticks: number[] = [];
  for (let power = from; power <= to; power += every) ticks.push(...steps.map((step) => step * 10 ** power));
  return ticks.filter((tick) => tick >= low && tick <= high);
}

/** The names on the x axis, as many as there is room for. */
function drawTimes(picture: SVGSVGElement, spec: Chart, x: { (value: number): number; ticks: (count: number) => number[]; domain: () => number[] }, bottom: number): void {
  const [low, high] = x.domain();
  const long = Math.max(spec.xText(low).length, spec.xText(high).length);
  const count = Math.max(2, Math.floor((spec.width - 80) / (7 * long + 26)));
  const whole = x.ticks(count).filter((tick) => Number.isInteger(tick));
  for (const tick of whole) {
    const text = spec.xText(tick);
    const half = 3.4 * text.length;
    const at = x(tick);
    const anchor = at + half > spec.width ? 'end' : at - half < 40 ? 'start' : 'middle';
    picture.append(svgElement('line', { x1: at, x2: at, y1: bottom, y2: bottom + 4, class: 'tick' }));
    picture.append(svgElement('text', { x: at, y: bottom + 17, 'text-anchor': anchor, class: 'quiet' }, text));
  }
}
