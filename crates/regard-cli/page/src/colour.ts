// Colours of numbers and of groups, readable with every colour vision, light and dark.

import { short, shown, svgElement } from './dom.ts';
import { isDark } from './theme.ts';

type Rgb = readonly [number, number, number];

const RAMPS: Record<'light' | 'dark', Record<'low' | 'high' | 'negative' | 'barred', Rgb>> = {
  light: { low: [241, 243, 245], high: [18, 62, 92], negative: [176, 70, 40], barred: [214, 216, 219] },
  dark: { low: [38, 46, 53], high: [133, 205, 240], negative: [240, 138, 93], barred: [74, 84, 92] },
};

/** Colours of groups (Okabe & Ito 2008, the yellow and the light blue darkened on a light ground). */
const GROUPS = {
  light: ['#0072b2', '#d55e00', '#008a64', '#b0588f', '#a07a00', '#3b9ac6', '#6b4fa0', '#5f6b73'],
  dark: ['#56b4e9', '#f08a4b', '#2fc79a', '#df9cc4', '#e8c24a', '#8fcdf2', '#ab97e0', '#a3b0b9'],
};

/** The colour of group `at`; after eight they begin again. */
export function groupColour(at: number): string {
  const all = isDark() ? GROUPS.dark : GROUPS.light;
  return all[((at % all.length) + all.length) % all.length];
}

export const css = (rgb: Rgb): string => `rgb(${rgb.join(',')})`;

/** Black or white, whichever is read on a colour. */
export function inkOn(rgb: Rgb): string {
  return 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] > 140 ? '#14181c' : '#ffffff';
}

export interface Scale {
  low: number;
  high: number;
  colour: (value: number | null | undefined) => Rgb;
}

const mix = (from: Rgb, to: Rgb, share: number): Rgb => [0, 1, 2].map((at) => Math.round(from[at] + (to[at] - from[at]) * share)) as unknown as Rgb;

/** The range of finite numbers and a colour for each: from 0 in two directions where there are both signs. */
export function scale(values: Iterable<number | null | undefined>, around?: { low?: number; high?: number }): Scale {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = [0, 0];
  low = around?.low ?? low;
  high = around?.high ?? high;
  const ramp = isDark() ? RAMPS.dark : RAMPS.light;
  const bothSigns = low < 0 && high > 0;
  if (bothSigns) {
    high = Math.max(high, -low);
    low = -high;
  }
  const share = (value: number): number => Math.min(1, Math.max(0, value));
  const colour = (value: number | null | undefined): Rgb => {
    if (value === null || value === undefined || !Number.isFinite(value)) return ramp.barred;
    if (bothSigns) return mix(ramp.low, value < 0 ? ramp.negative : ramp.high, share(Math.abs(value) / (high || 1)));
    if (high <= 0 && low < 0) return mix(ramp.low, ramp.negative, share(value / low));
    return mix(ramp.low, ramp.high, high > low ? share((value - low) / (high - low)) : 0.5);
  };
  return { low, high, colour };
}

/** A bar of the colours with its ends. */
export function colourBar(range: Scale, x: number, y: number, width: number, text: (value: number) => string = shown): SVGGElement {
  const group = svgElement('g', { transform: `translate(${x},${y})` });
  const cells = 48;
  for (let at = 0; at < cells; at += 1) {
    const value = range.low + ((range.high - range.low) * at) / (cells - 1);
    group.append(svgElement('rect', { x: (at * width) / cells, y: 0, width: width / cells + 0.6, height: 9, fill: css(range.colour(value)) }));
  }
  group.append(svgElement('text', { x: 0, y: 21, class: 'quiet' }, text(range.low)));
  group.append(svgElement('text', { x: width, y: 21, 'text-anchor': 'end', class: 'quiet' }, text(range.high)));
  return group;
}

/** The bar of the colours as a picture of its own. */
export function colourKey(range: Scale, width = 130): SVGSVGElement {
  return svgElement('svg', { width, height: 24, role: 'img', 'aria-label': `colours from ${short(range.low, 3)} to ${short(range.high, 3)}` }, colourBar(range, 0, 1, width, (value) => short(value, 3)));
}
