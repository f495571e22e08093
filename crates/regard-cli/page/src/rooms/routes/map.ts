// A map without tiles: meridians, parallels and coarse coasts, all of them in the page.

import { feature } from 'topojson-client';
import type { Feature, FeatureCollection, MultiPolygon, Polygon, Position } from 'geojson';
import type { GeometryObject, Topology } from 'topojson-specification';
import land110 from 'world-atlas/land-110m.json';
import { svgElement } from '../../dom.ts';
import type { View } from '../../plane.ts';

interface Ring {
  points: Position[];
  box: [number, number, number, number];
}

let coasts: Ring[] | null = null;

/** The coasts of the world in degrees (Natural Earth, 1:110 million). */
function rings(): Ring[] {
  if (coasts) return coasts;
  const topology = land110 as unknown as Topology;
  const made = feature(topology, topology.objects.land as GeometryObject) as FeatureCollection | Feature;
  const features = 'features' in made ? made.features : [made];
  const polygons = features.flatMap(({ geometry }) => (geometry.type === 'MultiPolygon' ? (geometry as MultiPolygon).coordinates : [(geometry as Polygon).coordinates]));
  coasts = polygons.flat().map((points) => {
    const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
    return { points, box: [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)] };
  });
  return coasts;
}

const STEPS = [30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
/** Below so many degrees across, the coasts are too coarse to be of help. */
const COARSE = 5;
const KM_PER_DEGREE = 111.195;

/** The length of a degree of longitude, in degrees of latitude, in the middle of the places. */
export function stretchAt(latitudes: number[]): number {
  if (!latitudes.length) return 1;
  const middle = (Math.min(...latitudes) + Math.max(...latitudes)) / 2;
  return Math.max(0.15, Math.cos((middle * Math.PI) / 180));
}

/** The ground of the map that a view shows. */
export function drawMap(view: View): SVGGElement {
  const group = svgElement('g', {});
  const [[west, north], [east, south]] = [view.place([0, 0]), view.place([view.width, view.height])];
  const clip = `map-${Math.round(view.width)}-${Math.round(view.height)}`;
  group.append(svgElement('clipPath', { id: clip }, svgElement('rect', { width: view.width, height: view.height, rx: 6 })));
  group.append(svgElement('rect', { width: view.width, height: view.height, rx: 6, class: 'sea' }));
  const inside = svgElement('g', { 'clip-path': `url(#${clip})` });
  if (east - west > COARSE) {
    const path = rings()
      .filter(({ box }) => box[2] > west && box[0] < east && box[3] > south && box[1] < north)
      .map(({ points }) => `M${points.map(([x, y]) => view.point([x, y]).map((value) => value.toFixed(1)).join(',')).join('L')}Z`)
      .join('');
    inside.append(svgElement('path', { d: path, class: 'land' }));
  } else {
    inside.append(svgElement('rect', { width: view.width, height: view.height, class: 'land' }));
  }
  // Lines that are near enough to be counted, and far enough for their names.
  const step = STEPS.filter((degrees) => view.width / ((east - west) / degrees) >= 52).reverse().find((degrees) => (north - south) / degrees <= 8) ?? STEPS[0];
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const named = (degrees: number, plus: string, minus: string): string => `${Math.abs(degrees).toFixed(digits)}°${Math.abs(degrees) < 1e-9 ? '' : degrees > 0 ? plus : minus}`;
  for (let degrees = Math.ceil(west / step) * step; degrees < east; degrees += step) {
    const [x] = view.point([degrees, 0]);
    inside.append(svgElement('line', { x1: x, x2: x, y1: 0, y2: view.height, class: 'graticule' }));
    if (x > 24 && x < view.width - 130) inside.append(svgElement('text', { x: x + 3, y: view.height - 6, class: 'quiet' }, named(degrees, 'E', 'W')));
  }
  for (let degrees = Math.ceil(south / step) * step; degrees < north; degrees += step) {
    const [, y] = view.point([0, degrees]);
    inside.append(svgElement('line', { x1: 0, x2: view.width, y1: y, y2: y, class: 'graticule' }));
    if (y > 16 && y < view.height - 24) inside.append(svgElement('text', { x: 5, y: y - 4, class: 'quiet' }, named(degrees, 'N', 'S')));
  }
  group.append(inside, svgElement('rect', { x: 0.5, y: 0.5, width: view.width - 1, height: view.height - 1, rx: 6, class: 'frame' }), scaleBar(view, (north - south) / view.height));
  return group;
}

/** A bar with a round number of kilometres. */
function scaleBar(view: View, degreesPerPixel: number): SVGGElement {
  const km = degreesPerPixel * KM_PER_DEGREE;
  const power = 10 ** Math.floor(Math.log10(100 * km));
  const length = [5, 2, 1].map((digit) => digit * power).find((round) => round <= 100 * km) ?? power;
  const pixels = length / km;
  const [x, y] = [view.width - 14 - pixels, view.height - 10];
  return svgElement('g', {},
    svgElement('path', { d: `M${x},${y - 5}v5h${pixels}v-5`, fill: 'none', stroke: 'var(--quiet)' }),
    svgElement('text', { x: x + pixels / 2, y: y - 6, 'text-anchor': 'middle', class: 'quiet' }, `${length} km`));
}
