// Places in the plane with lines between them: one picture for the layout of a trace and for the room of routes.

import { css, type Scale } from './colour.ts';
import { shortened, shown, svgElement } from './dom.ts';

export type Point = [number, number];

/** The map from coordinates to pixels; kept while a place is dragged, so that the picture stays. */
export interface View {
  width: number;
  height: number;
  /** Pixels of a place. */
  point: (place: Point) => Point;
  /** The place of pixels. */
  place: (point: Point) => Point;
}

/** A view in which all places are seen, one unit as long across as up; `stretch` shortens x, as on a map. */
export function fitted(places: Point[], width: number, most: { height: number; unit?: number; margin?: number }, stretch = 1): View {
  const margin = most.margin ?? 34;
  const [xs, ys] = [places.map(([x]) => x * stretch), places.map(([, y]) => y)];
  const [lowX, highX] = places.length ? [min(xs), max(xs)] : [0, 100];
  const [lowY, highY] = places.length ? [min(ys), max(ys)] : [0, 100];
  const across = highX - lowX || Number.EPSILON;
  const up = highY - lowY || Number.EPSILON;
  const both = highX > lowX || highY > lowY;
  const unit = both ? Math.min((width - 2 * margin) / across, (most.height - 2 * margin) / up, most.unit ?? Infinity) : 1;
  const height = Math.max(140, up * unit + 2 * margin);
  const left = (width - across * unit) / 2;
  const bottom = (height - up * unit) / 2;
  return {
    width,
    height,
    point: ([x, y]) => [left + (x * stretch - lowX) * unit, height - bottom - (y - lowY) * unit],
    place: ([x, y]) => [((x - left) / unit + lowX) / stretch, (height - bottom - y) / unit + lowY],
  };
}

const min = (values: number[]): number => values.reduce((a, b) => Math.min(a, b), Infinity);
const max = (values: number[]): number => values.reduce((a, b) => Math.max(a, b), -Infinity);

export interface Line {
  nodes: number[];
  kind?: string;
  colour?: string;
  title?: string;
}

export interface Mark {
  /** A number that colours the place. */
  value?: number | null;
  /** May not be chosen. */
  barred?: boolean;
  chosen?: boolean;
  focus?: boolean;
  /** Left out of the solution. */
  quiet?: boolean;
  colour?: string;
  radius?: number;
  text?: string;
}

export interface Places {
  points: Point[];
  labels: string[];
  lines: Line[];
  marks: (at: number) => Mark;
  depot: boolean;
  range?: Scale;
  width: number;
  /** Radius where there are few places. */
  radius?: number;
  names?: boolean;
  over?: (at: number) => void;
  click?: (at: number) => void;
}

/** The places with their lines, marks and as many names as there is room for. */
export function drawPlaces(spec: Places): SVGGElement {
  const picture = svgElement('g', {});
  const { points } = spec;
  for (const line of spec.lines) {
    if (line.nodes.length < 2) continue;
    const path = line.nodes.map((node) => points[node].map((value) => value.toFixed(1)).join(',')).join(' ');
    const made = svgElement('polyline', { points: path, class: `route ${line.kind ?? ''}` });
    if (line.colour) made.style.stroke = line.colour;
    if (line.title) made.append(svgElement('title', {}, line.title));
    picture.append(made);
  }
  const many = points.length > 200;
  const names: Name[] = [];
  points.forEach(([x, y], at) => {
    const mark = spec.marks(at);
    const radius = mark.radius ?? (many ? 3.5 : spec.radius ?? 7);
    const circle = svgElement('circle', { cx: x.toFixed(1), cy: y.toFixed(1), r: radius, class: classes(mark), 'data-node': at }, svgElement('title', {}, mark.text ?? spec.labels[at]));
    if (mark.value !== undefined && !mark.barred && spec.range) circle.style.fill = css(spec.range.colour(mark.value));
    else if (mark.colour) circle.style.fill = mark.colour;
    if (spec.over) circle.addEventListener('mouseenter', () => spec.over?.(at));
    if (spec.click) circle.addEventListener('click', () => spec.click?.(at));
    if (spec.depot && at === 0) {
      const half = radius + 3;
      picture.append(svgElement('rect', { x: x - half, y: y - half, width: 2 * half, height: 2 * half, class: 'depot' }));
    }
    picture.append(circle);
    names.push({ x, y, radius, text: shortened(spec.labels[at], 16), first: Boolean(mark.chosen || mark.focus || (spec.depot && at === 0)) });
  });
  if (spec.names !== false && (!many || names.some((name) => name.first))) drawNames(picture, names, spec.width, many);
  return picture;
}

function classes(mark: Mark): string {
  const words = ['place'];
  if (mark.barred) words.push('barred');
  if (mark.chosen) words.push('chosen');
  if (mark.focus) words.push('focus');
  if (mark.quiet) words.push('left-out');
  if (mark.value !== undefined && !mark.barred) words.push('valued');
  return words.join(' ');
}

interface Name {
  x: number;
  y: number;
  radius: number;
  text: string;
  first: boolean;
}

/** Names where they cover nothing, the marked ones first; where there is no room, the pointer shows them. */
function drawNames(picture: SVGGElement, names: Name[], width: number, fewest: boolean): void {
  const taken = names.map(({ x, y, radius }) => [x - radius, y - radius, x + radius, y + radius]);
  const order = [...names.filter((name) => name.first), ...(fewest ? [] : names.filter((name) => !name.first))];
  for (const { x, y, radius, text, first } of order) {
    const long = 6.6 * text.length;
    const sides = [[radius + 4, 4, 'start'], [-radius - 4, 4, 'end'], [radius + 2, -radius - 1, 'start'], [-radius - 2, -radius - 1, 'end'], [radius + 2, radius + 9, 'start'], [-radius - 2, radius + 9, 'end']] as const;
    for (const [dx, dy, anchor] of sides) {
      const from = anchor === 'start' ? x + dx : x + dx - long;
      const box = [from, y + dy - 10, from + long, y + dy + 3];
      const free = box[0] >= 0 && box[2] <= width && taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
      if (!free) continue;
      taken.push(box);
      picture.append(svgElement('text', { x: x + dx, y: y + dy, 'text-anchor': anchor, class: first ? 'name first' : 'name' }, text));
      break;
    }
  }
}

/** The text of a place and its number. */
export function said(label: string, value: number | null | undefined, more: string): string {
  return `${label}${value === undefined ? '' : `: ${shown(value)}`}${more}`;
}
