// A graph in the plane: molecules as a chemist draws them, others as nodes and lines, with numbers on nodes and edges.

import { css, inkOn, type Scale } from './colour.ts';
import { shortened, svgElement } from './dom.ts';
import type { Point } from './plane.ts';

export interface GraphEdge {
  source: number;
  target: number;
  kind: string;
}

export interface GraphPicture {
  points: Point[];
  labels: string[];
  /** Each undirected edge once. */
  edges: GraphEdge[];
  nodeValues?: (number | null)[];
  /** Numbers of directed edges: `[source, target, value]`. */
  edgeValues?: { source: number; target: number; value: number | null; text: string }[];
  nodeRange?: Scale;
  edgeRange?: Scale;
  chosenEdge?: number | null;
  chosenNode?: number | null;
  over?: (text: string) => void;
  clickEdge?: (edge: number) => void;
  clickNode?: (node: number) => void;
  nodeText?: (node: number) => string;
}

const BONDS = ['single', 'double', 'triple', 'quadruple', 'aromatic'];
const ATOM = /^(?:\[?)([A-Z][a-z]?|\*)(?: ?H(\d*))?(?: ?([+-]\d*|\d*[+-]))?(?:\]?)(?: ?\d+)?$/;

/** An atom as it is written beside its place: symbol, hydrogens and charge of a label such as `N H3 +`. */
export interface Atom {
  symbol: string;
  hydrogens: string;
  charge: string;
}

export function atomOf(label: string): Atom | null {
  const found = ATOM.exec(label.trim());
  return found ? { symbol: found[1], hydrogens: found[2] === undefined ? '' : `H${found[2] === '1' ? '' : found[2]}`, charge: found[3] ?? '' } : null;
}

/** If true, labels are atoms and edges are bonds. */
export function isMolecule(labels: string[], kinds: string[]): boolean {
  return labels.length > 0 && labels.every((label) => atomOf(label)) && kinds.every((kind) => BONDS.includes(kind.toLowerCase()));
}

/** The unit length that keeps bonds at a readable size. */
export const BOND_PIXELS = 54;

export function drawGraph(spec: GraphPicture): SVGGElement {
  const picture = svgElement('g', {});
  const molecule = isMolecule(spec.labels, spec.edges.map((edge) => edge.kind));
  const { points } = spec;
  const small = points.length > 60;
  spec.edgeValues?.forEach(({ source, target, value, text }) => {
    if (source === target) return;
    const line = parallel(points[source], points[target], 4.2, 0.16);
    const made = svgElement('line', { ...line, class: 'weight' }, svgElement('title', {}, text));
    made.style.stroke = css((spec.edgeRange as Scale).colour(value));
    made.addEventListener('mouseenter', () => spec.over?.(text));
    picture.append(made);
  });
  const neighbours = points.map(() => [] as number[]);
  for (const { source, target } of spec.edges) {
    neighbours[source].push(target);
    neighbours[target].push(source);
  }
  spec.edges.forEach((edge, at) => {
    if (edge.source === edge.target) return;
    const group = svgElement('g', { class: at === spec.chosenEdge ? 'bond chosen' : 'bond', 'data-edge': at });
    const [from, to] = [points[edge.source], points[edge.target]];
    // A wide line that nobody sees is easy to hit.
    if (spec.clickEdge) {
      group.append(svgElement('line', { x1: from[0], y1: from[1], x2: to[0], y2: to[1], class: 'hit' }));
      group.addEventListener('click', () => spec.clickEdge?.(at));
    }
    for (const { by, cut, dashed } of strokes(edge, points, neighbours)) {
      group.append(svgElement('line', { ...parallel(from, to, by, cut), class: dashed ? 'stroke dashed' : 'stroke' }));
    }
    const text = `${spec.labels[edge.source]}–${spec.labels[edge.target]}${edge.kind ? `, ${edge.kind}` : ''}`;
    group.append(svgElement('title', {}, text));
    if (!spec.edgeValues) group.addEventListener('mouseenter', () => spec.over?.(text));
    picture.append(group);
  });
  points.forEach(([x, y], at) => {
    const value = spec.nodeValues?.[at];
    const colour = spec.nodeValues && spec.nodeRange ? spec.nodeRange.colour(value) : null;
    const atom = molecule ? atomOf(spec.labels[at]) : null;
    const text = spec.nodeText?.(at) ?? spec.labels[at];
    const group = svgElement('g', { class: `node${at === spec.chosenNode ? ' chosen' : ''}`, 'data-node': at }, svgElement('title', {}, text));
    const bare = atom !== null && atom.symbol === 'C' && !atom.charge && neighbours[at].length > 0;
    const radius = colour ? (small ? 7 : 12) : atom ? (bare ? 3 : 10) : small ? 4.5 : 11;
    const disc = svgElement('circle', { cx: x, cy: y, r: radius, class: colour || !atom ? 'disc' : bare ? 'vertex' : 'halo' });
    if (colour) disc.style.fill = css(colour);
    group.append(disc);
    if (atom && (!bare || colour)) {
      const letters = svgElement('text', { x, y: y + 5, 'text-anchor': 'middle', class: `atom atom-${atom.symbol}` }, atom.symbol + (bare ? '' : atom.hydrogens));
      if (atom.charge) letters.append(svgElement('tspan', { dy: -5, 'font-size': '70%' }, atom.charge.replace('-', '−')));
      if (colour) letters.style.fill = inkOn(colour);
      group.append(letters);
    } else if (!atom && !small) {
      const letters = svgElement('text', { x, y: y + 4, 'text-anchor': 'middle', class: 'label' }, shortened(spec.labels[at], 4));
      if (colour) letters.style.fill = inkOn(colour);
      group.append(letters);
    }
    group.addEventListener('mouseenter', () => spec.over?.(text));
    if (spec.clickNode) group.addEventListener('click', () => spec.clickNode?.(at));
    picture.append(group);
  });
  return picture;
}

/** A line beside that from one point to another, `by` pixels to its right, shortened by `cut` of its length at each end. */
function parallel([x1, y1]: Point, [x2, y2]: Point, by: number, cut = 0): Record<string, string> {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const back = cut * length;
  const at = (value: number): string => value.toFixed(1);
  return { x1: at(x1 - dy * by + dx * back), y1: at(y1 + dx * by + dy * back), x2: at(x2 - dy * by - dx * back), y2: at(y2 + dx * by - dy * back) };
}

/** The lines of a bond. The second line of a double bond in a ring lies inside, and is dashed if the ring is aromatic. */
function strokes(edge: GraphEdge, points: Point[], neighbours: number[][]): { by: number; cut?: number; dashed?: boolean }[] {
  const kind = edge.kind.toLowerCase();
  if (kind === 'triple') return [{ by: 0 }, { by: -5, cut: 0.1 }, { by: 5, cut: 0.1 }];
  if (kind === 'quadruple') return [{ by: -2 }, { by: 2 }, { by: -6, cut: 0.1 }, { by: 6, cut: 0.1 }];
  if (kind !== 'double' && kind !== 'aromatic') return [{ by: 0 }];
  const side = inside(edge, points, neighbours);
  if (side === 0) return [{ by: -2.6 }, { by: 2.6, dashed: kind === 'aromatic' }];
  return [{ by: 0 }, { by: 5.5 * side, cut: 0.14, dashed: kind === 'aromatic' }];
}

/** The side of a bond on which the other neighbours of its ends lie: 1 or -1, or 0 where they lie on both or on none. */
function inside({ source, target }: GraphEdge, points: Point[], neighbours: number[][]): number {
  const [[x1, y1], [x2, y2]] = [points[source], points[target]];
  const others = [...neighbours[source].filter((node) => node !== target), ...neighbours[target].filter((node) => node !== source)];
  if (neighbours[source].length < 2 || neighbours[target].length < 2) return 0;
  const ring = ringThrough(source, target, neighbours);
  const from = ring ?? others;
  const cross = from.reduce((sum, node) => sum + (x2 - x1) * (points[node][1] - y1) - (y2 - y1) * (points[node][0] - x1), 0);
  return Math.abs(cross) < 1e-6 ? 0 : cross > 0 ? 1 : -1;
}

/** The nodes of the shortest ring through an edge without its ends, or null. */
function ringThrough(source: number, target: number, neighbours: number[][]): number[] | null {
  const before = new Map<number, number>([[source, -1]]);
  let wave = [source];
  while (wave.length) {
    const next: number[] = [];
    for (const node of wave) {
      for (const other of neighbours[node]) {
        if ((node === source && other === target) || before.has(other)) continue;
        before.set(other, node);
        if (other === target) {
          const ring: number[] = [];
          for (let at = before.get(target) as number; at !== source; at = before.get(at) as number) ring.push(at);
          return ring;
        }
        next.push(other);
      }
    }
    wave = next;
  }
  return null;
}
