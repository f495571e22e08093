// A matrix of numbers as colours, with names and a cursor that the pointer and the arrow keys move.

import { colourBar, inkOn, type Scale } from '../colour.ts';
import { element, shortened, shown, svgElement } from '../dom.ts';
import type { Axis } from './trace.ts';

export interface HeatMap {
  /** Named for readers of the screen: the step that the numbers are of. */
  name: string;
  caption?: string;
  values: (number | null)[];
  rows: Axis;
  columns: Axis;
  range: Scale;
  /** Width that it may take, in pixels. */
  room: number;
  /** Says the number under the cursor. */
  say: (text: string) => void;
  choose?: (row: number, column: number) => void;
}

const longest = (labels: string[], most: number): number => Math.max(...labels.slice(0, 400).map((label) => Math.min(label.length, most)));

export function heatMap({ name, caption, values, rows, columns, range, room, say, choose }: HeatMap): HTMLElement {
  const [height, width] = [rows.labels.length, columns.labels.length];
  const left = Math.min(124, 12 + 7 * Math.max(longest(rows.labels, 16), Math.min(rows.name.length, 12)));
  // The names of the axes stand above the slanted names of columns.
  const top = 32 + Math.min(90, 5.4 * longest(columns.labels, 14));
  const written = width <= 8 && height <= 16;
  const cell = Math.max(width > 300 ? 1.5 : 3, Math.min(written ? 50 : 26, (room - left - 44) / width, 560 / Math.min(height, 60)));
  const [drawnWidth, drawnHeight] = [cell * width, cell * height];
  const picture = svgElement('svg', {
    xmlns: 'http://www.w3.org/2000/svg',
    width: Math.ceil(left + Math.max(drawnWidth + 44, 130)),
    height: Math.ceil(top + drawnHeight + 30),
    tabindex: 0,
    role: 'img',
    'aria-label': `${name}${caption ? `, ${caption}` : ''}: ${height} by ${width} numbers, ${rows.name} by ${columns.name}. Arrow keys move a cursor.`,
  });
  picture.append(svgElement('image', { href: pixels(values, width, height, range), x: left, y: top, width: drawnWidth, height: drawnHeight, preserveAspectRatio: 'none', 'image-rendering': 'pixelated' }));
  picture.append(svgElement('rect', { x: left, y: top, width: drawnWidth, height: drawnHeight, fill: 'none', stroke: 'currentColor', 'stroke-opacity': 0.25 }));
  const everyRow = Math.max(1, Math.ceil(11 / cell));
  rows.labels.forEach((label, at) => {
    if (at % everyRow === 0) picture.append(svgElement('text', { x: left - 4, y: top + cell * (at + 0.5) + 4, 'text-anchor': 'end' }, shortened(label, 16)));
  });
  const everyColumn = Math.max(1, Math.ceil(12 / cell));
  columns.labels.forEach((label, at) => {
    if (at % everyColumn !== 0) return;
    const x = left + cell * (at + 0.5) + 3;
    picture.append(svgElement('text', { x, y: top - 4, transform: `rotate(-60 ${x} ${top - 4})` }, shortened(label, 14)));
  });
  if (written && cell > 36) {
    values.forEach((value, at) => {
      const text = svgElement('text', { x: left + cell * ((at % width) + 0.5), y: top + cell * (Math.floor(at / width) + 0.5) + 4, 'text-anchor': 'middle', 'pointer-events': 'none' }, shortened(value === null ? '–' : String(Number(value.toPrecision(3))), 8));
      text.style.fill = inkOn(range.colour(value));
      picture.append(text);
    });
  }
  picture.append(svgElement('text', { x: 0, y: 11, class: 'axis' }, `${rows.name} \\ ${columns.name}`));
  picture.append(colourBar(range, left, top + drawnHeight + 6, Math.min(160, Math.max(drawnWidth, 120))));
  const cursor = svgElement('rect', { width: cell, height: cell, fill: 'none', stroke: 'var(--chosen)', 'stroke-width': 2, visibility: 'hidden' });
  picture.append(cursor);
  let [row, column] = [0, 0];
  const move = (nextRow: number, nextColumn: number): void => {
    row = Math.max(0, Math.min(height - 1, nextRow));
    column = Math.max(0, Math.min(width - 1, nextColumn));
    cursor.setAttribute('x', String(left + cell * column));
    cursor.setAttribute('y', String(top + cell * row));
    cursor.setAttribute('visibility', 'visible');
    const place = `${rows.name} ${rows.labels[row]}, ${columns.name} ${columns.labels[column]}`;
    say(`${caption ? `${caption}, ` : ''}${place}: ${shown(values[row * width + column])}`);
  };
  const under = (event: MouseEvent): [number, number] => {
    const box = picture.getBoundingClientRect();
    return [Math.floor((event.clientY - box.top - top) / cell), Math.floor((event.clientX - box.left - left) / cell)];
  };
  picture.addEventListener('pointermove', (event) => {
    const [nextRow, nextColumn] = under(event);
    if (nextRow >= 0 && nextRow < height && nextColumn >= 0 && nextColumn < width) move(nextRow, nextColumn);
  });
  picture.addEventListener('click', (event) => {
    const [nextRow, nextColumn] = under(event);
    if (nextRow >= 0 && nextRow < height) choose?.(nextRow, Math.max(0, Math.min(width - 1, nextColumn)));
  });
  picture.addEventListener('keydown', (event) => {
    const by = ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] } as Record<string, [number, number]>)[event.key];
    if (by) {
      event.preventDefault();
      move(row + by[0], column + by[1]);
    } else if (event.key === 'Enter') {
      choose?.(row, column);
    }
  });
  return element('figure', {}, caption ? element('figcaption', {}, caption) : null, picture);
}

/** A picture with a pixel for each number. */
function pixels(values: (number | null)[], width: number, height: number, range: Scale): string {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext('2d');
  if (!pen || !width || !height) return '';
  const image = pen.createImageData(width, height);
  values.forEach((value, at) => {
    image.data.set([...range.colour(value), 255], 4 * at);
  });
  pen.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
