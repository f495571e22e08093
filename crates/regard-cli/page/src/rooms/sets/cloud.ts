// Rows of a set as points of two columns, with the clusters of a mixture.

import { scaleLinear } from 'd3-scale';
import { css, groupColour, type Scale } from '../../colour.ts';
import { short, svgElement } from '../../dom.ts';
import type { Point, View } from '../../plane.ts';

export interface CloudPoint {
  at: Point;
  text: string;
  value?: number | null;
  group?: number | null;
  away: boolean;
  focus: boolean;
}

export interface Component {
  mean: Point;
  deviation: Point;
  weight: number;
}

export interface Cloud {
  width: number;
  points: CloudPoint[];
  names: [string, string];
  range?: Scale;
  components: Component[];
}

export const MARGIN = { left: 46, right: 14, top: 14, bottom: 40 };

/** A view of the points; both axes have the same unit where their ranges are alike. */
export function cloudView(points: Point[], components: Component[], width: number, height: number): View {
  const all = [...points, ...components.flatMap(({ mean, deviation }): Point[] => [[mean[0] - 2 * deviation[0], mean[1] - 2 * deviation[1]], [mean[0] + 2 * deviation[0], mean[1] + 2 * deviation[1]]])];
  const extent = (values: number[]): [number, number] => {
    const finite = values.filter(Number.isFinite);
    if (!finite.length) return [0, 1];
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const pad = (high - low || Math.abs(high) || 1) * 0.06;
    return [low - pad, high + pad];
  };
  let [x0, x1] = extent(all.map(([x]) => x));
  let [y0, y1] = extent(all.map(([, y]) => y));
  const [across, up] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const ratio = (x1 - x0) / (y1 - y0);
  if (ratio > 1 / 4 && ratio < 4) {
    const unit = Math.min(across / (x1 - x0), up / (y1 - y0));
    const [moreX, moreY] = [across / unit - (x1 - x0), up / unit - (y1 - y0)];
    [x0, x1, y0, y1] = [x0 - moreX / 2, x1 + moreX / 2, y0 - moreY / 2, y1 + moreY / 2];
  }
  const x = scaleLinear().domain([x0, x1]).range([MARGIN.left, width - MARGIN.right]);
  const y = scaleLinear().domain([y0, y1]).range([height - MARGIN.bottom, MARGIN.top]);
  return { width, height, point: ([a, b]) => [x(a), y(b)], place: ([a, b]) => [x.invert(a), y.invert(b)] };
}

export function drawCloud(cloud: Cloud, view: View): SVGGElement {
  const picture = svgElement('g', {});
  const { width, height } = view;
  const [[x0, y0], [x1, y1]] = [view.place([MARGIN.left, height - MARGIN.bottom]), view.place([width - MARGIN.right, MARGIN.top])];
  for (const tick of scaleLinear().domain([x0, x1]).ticks(Math.max(3, Math.floor(width / 110)))) {
    const [x] = view.point([tick, 0]);
    picture.append(svgElement('line', { x1: x, x2: x, y1: MARGIN.top, y2: height - MARGIN.bottom, class: 'graticule' }), svgElement('text', { x, y: height - MARGIN.bottom + 15, 'text-anchor': 'middle', class: 'quiet' }, short(tick, 3)));
  }
  for (const tick of scaleLinear().domain([y0, y1]).ticks(6)) {
    const [, y] = view.point([0, tick]);
    picture.append(svgElement('line', { x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y, class: 'graticule' }), svgElement('text', { x: MARGIN.left - 6, y: y + 4, 'text-anchor': 'end', class: 'quiet' }, short(tick, 3)));
  }
  picture.append(svgElement('rect', { x: MARGIN.left, y: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom, class: 'frame' }));
  picture.append(svgElement('text', { x: width - MARGIN.right, y: height - 5, 'text-anchor': 'end', class: 'quiet' }, cloud.names[0]));
  picture.append(svgElement('text', { x: 2, y: 10, class: 'quiet' }, cloud.names[1]));
  cloud.components.forEach(({ mean, deviation, weight }, at) => {
    const [cx, cy] = view.point(mean);
    const [ex, ey] = view.point([mean[0] + deviation[0], mean[1] + deviation[1]]);
    for (const times of [2, 1]) {
      const ring = svgElement('ellipse', { cx, cy, rx: times * Math.abs(ex - cx), ry: times * Math.abs(ey - cy), class: `cluster times-${times}` });
      ring.style.stroke = groupColour(at);
      ring.style.fill = groupColour(at);
      picture.append(ring);
    }
    const centre = svgElement('path', { d: `M${cx - 5},${cy}h10M${cx},${cy - 5}v10`, 'stroke-width': 2 }, svgElement('title', {}, `cluster ${at + 1}, weight ${short(weight, 3)}`));
    centre.style.stroke = groupColour(at);
    picture.append(centre);
  });
  cloud.points.forEach((point, at) => {
    if (!point.at.every(Number.isFinite)) return;
    const [x, y] = view.point(point.at);
    const radius = cloud.points.length > 200 ? 3.5 : 6;
    const share = cloud.range && point.value !== null && point.value !== undefined && cloud.range.high > 0 ? Math.abs(point.value) / Math.max(cloud.range.high, -cloud.range.low) : 0;
    const circle = svgElement('circle', { cx: x.toFixed(1), cy: y.toFixed(1), r: radius + (cloud.range ? 4 * Math.sqrt(share) : 0), class: `place ${point.away ? 'left-out' : ''} ${point.focus ? 'focus' : ''} ${cloud.range && !point.away ? 'valued' : ''}`, 'data-node': at }, svgElement('title', {}, point.text));
    if (!point.away && cloud.range) circle.style.fill = css(cloud.range.colour(point.value));
    else if (!point.away && point.group !== null && point.group !== undefined) circle.style.fill = groupColour(point.group);
    picture.append(circle);
  });
  return picture;
}
