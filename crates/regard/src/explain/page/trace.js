'use strict';
// Draws a trace (schema regard-trace/1): its steps, their numbers as heat maps, bars and lines, and, where the items of
// the input have places on a plane, the numbers on these. No library, no request.

/** Shows `trace` in `root`. `options.fragment`: the state stands in the address, so that a link brings it back. */
function mountTrace(root, trace, options = {}) {
  const SVG = 'http://www.w3.org/2000/svg';
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const steps = new Map(trace.steps.map((step) => [step.name, step]));
  const usedBy = new Map();
  for (const step of trace.steps) {
    for (const name of step.from) usedBy.set(name, [...(usedBy.get(name) ?? []), step.name]);
  }
  const layout = trace.layout ?? null;
  const decodeSteps = numbersAfter(['decode']);
  const layers = numbersAfter(['encoder', 'layer']);
  const OVERVIEW = 'overview';
  const state = { step: OVERVIEW, head: 'all', row: 0, column: 0, ...fromFragment() };
  if (state.step !== OVERVIEW && !steps.has(state.step)) state.step = OVERVIEW;

  // Elements --------------------------------------------------------------------------------------------------------

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, '');
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  function svg(name, attributes = {}, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  // Numbers ---------------------------------------------------------------------------------------------------------

  function shown(value) {
    if (value === null) return 'barred';
    if (value === 0) return '0';
    const size = Math.abs(value);
    if (Number.isInteger(value) && size < 1e6) return String(value);
    return size >= 1e5 || size < 1e-4 ? value.toExponential(3) : value.toPrecision(5);
  }

  function shortened(text, most) {
    return text.length > most ? text.slice(0, most - 1) + '…' : text;
  }

  /** The values of a step as one list, the last axis fastest; null is minus infinity. */
  function flat(step) {
    if (step.flat === undefined) {
      Object.defineProperty(step, 'flat', { value: step.shape.length === 0 ? [step.values].flat() : step.values.flat(Infinity) });
    }
    return step.flat;
  }

  function axisAt(step, name) {
    return step.axes.findIndex((axis) => axis.name === name);
  }

  /** The numbers that follow a word at the beginning of names: `encoder.2.…`. */
  function numbersAfter(words) {
    const found = new Set();
    for (const name of steps.keys()) {
      const [word, number] = name.split('.');
      if (words.includes(word) && /^\d+$/.test(number ?? '')) found.add(Number(number));
    }
    return [...found].sort((a, b) => a - b);
  }

  /** The number after one of `words` in a name, or null. */
  function numberIn(name, words) {
    const [word, number] = name.split('.');
    return words.includes(word) && /^\d+$/.test(number ?? '') ? Number(number) : null;
  }

  // Colours ---------------------------------------------------------------------------------------------------------

  const RAMPS = {
    light: { low: [246, 247, 248], high: [18, 62, 92], negative: [176, 70, 40], barred: [214, 216, 219] },
    dark: { low: [30, 37, 43], high: [133, 205, 240], negative: [240, 138, 93], barred: [74, 84, 92] },
  };

  /** The range of finite numbers and a function from a number to a colour: from 0 in two directions where there are both. */
  function scale(values) {
    let low = Infinity;
    let high = -Infinity;
    for (const value of values) {
      if (value === null || !Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (low > high) [low, high] = [0, 0];
    const ramp = dark.matches ? RAMPS.dark : RAMPS.light;
    const signed = low < 0 && high > 0;
    if (signed) {
      high = Math.max(high, -low);
      low = -high;
    }
    const mix = (from, to, share) => from.map((value, at) => Math.round(value + (to[at] - value) * share));
    const colour = (value) => {
      if (value === null || !Number.isFinite(value)) return ramp.barred;
      if (signed) return mix(ramp.low, value < 0 ? ramp.negative : ramp.high, Math.min(1, Math.abs(value) / (high || 1)));
      return mix(ramp.low, ramp.high, high > low ? (value - low) / (high - low) : 0.5);
    };
    return { low, high, colour };
  }

  const css = (rgb) => `rgb(${rgb.join(',')})`;

  /** A bar of the colours with its ends. */
  function colourBar(range, x, y, width) {
    const group = svg('g', { transform: `translate(${x},${y})` });
    const cells = 48;
    for (let at = 0; at < cells; at += 1) {
      const value = range.low + ((range.high - range.low) * at) / (cells - 1);
      group.append(svg('rect', { x: (at * width) / cells, y: 0, width: width / cells + 0.6, height: 9, fill: css(range.colour(value)) }));
    }
    group.append(svg('text', { x: 0, y: 21, class: 'quiet' }, shown(range.low)));
    group.append(svg('text', { x: width, y: 21, 'text-anchor': 'end', class: 'quiet' }, shown(range.high)));
    return group;
  }

  // Heat maps -------------------------------------------------------------------------------------------------------

  /** The places of the axes before the last two that are shown: `[{ index, name }]`. */
  function panels(step) {
    const before = step.axes.slice(0, -2);
    let all = [{ index: 0, name: '' }];
    for (const axis of before) {
      const next = [];
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

  /** One matrix with names, colours and a cursor that the mouse and the arrow keys move. */
  function heatMap(step, values, rows, columns, caption, range, room, readout, choose) {
    const [height, width] = [rows.labels.length, columns.labels.length];
    const left = Math.min(124, 12 + 7 * Math.max(...rows.labels.slice(0, 400).map((label) => Math.min(label.length, 16)), rows.name.length));
    // The names of the axes stand above the slanted names of columns.
    const top = 32 + Math.min(90, 5.4 * Math.max(...columns.labels.slice(0, 400).map((label) => Math.min(label.length, 14))));
    const written = width <= 8 && height <= 16;
    const cell = Math.max(width > 300 ? 1.5 : 3, Math.min(written ? 50 : 26, (room - left - 44) / width, 560 / Math.min(height, 60)));
    const [drawnWidth, drawnHeight] = [cell * width, cell * height];
    const canvas = document.createElement('canvas');
    canvas.width = width;
    canvas.height = height;
    const pen = canvas.getContext('2d');
    const pixels = pen.createImageData(width, height);
    values.forEach((value, at) => {
      pixels.data.set([...range.colour(value), 255], 4 * at);
    });
    pen.putImageData(pixels, 0, 0);
    const picture = svg('svg', {
      xmlns: SVG,
      width: Math.ceil(left + Math.max(drawnWidth + 44, 130)),
      height: Math.ceil(top + drawnHeight + 30),
      tabindex: 0,
      role: 'img',
      'aria-label': `${step.name}${caption ? `, ${caption}` : ''}: ${height} by ${width} numbers, ${rows.name} by ${columns.name}. Arrow keys move a cursor.`,
    });
    picture.append(svg('image', { href: canvas.toDataURL(), x: left, y: top, width: drawnWidth, height: drawnHeight, preserveAspectRatio: 'none', style: 'image-rendering: pixelated' }));
    picture.append(svg('rect', { x: left, y: top, width: drawnWidth, height: drawnHeight, fill: 'none', stroke: 'currentColor', 'stroke-opacity': 0.25 }));
    const everyRow = Math.max(1, Math.ceil(11 / cell));
    rows.labels.forEach((label, at) => {
      if (at % everyRow === 0) picture.append(svg('text', { x: left - 4, y: top + cell * (at + 0.5) + 4, 'text-anchor': 'end' }, shortened(label, 16)));
    });
    const everyColumn = Math.max(1, Math.ceil(12 / cell));
    columns.labels.forEach((label, at) => {
      if (at % everyColumn !== 0) return;
      const x = left + cell * (at + 0.5) + 3;
      picture.append(svg('text', { x, y: top - 4, transform: `rotate(-60 ${x} ${top - 4})` }, shortened(label, 14)));
    });
    if (written && cell > 36) {
      values.forEach((value, at) => {
        const [red, green, blue] = range.colour(value);
        const ink = 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? '#14181c' : '#ffffff';
        const text = value === null ? '–' : String(Number(value.toPrecision(3)));
        picture.append(svg('text', { x: left + cell * ((at % width) + 0.5), y: top + cell * (Math.floor(at / width) + 0.5) + 4, 'text-anchor': 'middle', style: `fill:${ink}`, 'pointer-events': 'none' }, shortened(text, 8)));
      });
    }
    picture.append(svg('text', { x: 0, y: 11, class: 'axis' }, `${rows.name} \\ ${columns.name}`));
    picture.append(colourBar(range, left, top + drawnHeight + 6, Math.min(160, Math.max(drawnWidth, 120))));
    const cursor = svg('rect', { width: cell, height: cell, fill: 'none', stroke: 'var(--chosen)', 'stroke-width': 2, visibility: 'hidden' });
    picture.append(cursor);
    let [row, column] = [0, 0];
    const move = (nextRow, nextColumn) => {
      row = Math.max(0, Math.min(height - 1, nextRow));
      column = Math.max(0, Math.min(width - 1, nextColumn));
      cursor.setAttribute('x', left + cell * column);
      cursor.setAttribute('y', top + cell * row);
      cursor.setAttribute('visibility', 'visible');
      const place = `${rows.name} ${rows.labels[row]}, ${columns.name} ${columns.labels[column]}`;
      readout.textContent = `${caption ? `${caption}, ` : ''}${place}: ${shown(values[row * width + column])}`;
    };
    const under = (event) => {
      const box = picture.getBoundingClientRect();
      return [Math.floor((event.clientY - box.top - top) / cell), Math.floor((event.clientX - box.left - left) / cell)];
    };
    picture.addEventListener('mousemove', (event) => {
      const [nextRow, nextColumn] = under(event);
      if (nextRow >= 0 && nextRow < height && nextColumn >= 0 && nextColumn < width) move(nextRow, nextColumn);
    });
    picture.addEventListener('click', (event) => {
      const [nextRow, nextColumn] = under(event);
      if (nextRow >= 0 && nextRow < height) choose(nextRow, Math.max(0, Math.min(width - 1, nextColumn)));
    });
    picture.addEventListener('keydown', (event) => {
      const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (by) {
        event.preventDefault();
        move(row + by[0], column + by[1]);
      } else if (event.key === 'Enter') {
        choose(row, column);
      }
    });
    return element('figure', {}, caption ? element('figcaption', {}, caption) : null, picture);
  }

  /** Bars of a list of numbers, with names and notes. */
  function bars(step, values, axis) {
    const MOST = 200;
    const range = scale(values);
    const extent = Math.max(Math.abs(range.low), Math.abs(range.high)) || 1;
    const table = element('table', {}, element('thead', {}, element('tr', {}, element('th', { class: 'text', scope: 'col' }, axis.name), element('th', { scope: 'col' }, 'value'), element('th', { class: 'text', scope: 'col' }, ''))));
    const body = element('tbody');
    // Of many named items the largest stand first; numbered ones keep their order.
    const order = values.map((_, at) => at);
    const sorted = values.length > 12 && !/^-?\d+$/.test(axis.labels[0]);
    if (sorted) order.sort((a, b) => (values[b] ?? -Infinity) - (values[a] ?? -Infinity));
    order.slice(0, MOST).forEach((at) => {
      const value = values[at];
      const width = value === null ? 0 : (140 * Math.abs(value)) / extent;
      const colour = value === null ? 'var(--barred)' : css(range.colour(value));
      const note = step.notes[at] ?? '';
      body.append(element('tr', {}, element('th', { class: 'text', scope: 'row' }, axis.labels[at]), element('td', {}, shown(value)), element('td', { class: 'text' }, element('span', { class: 'bar', style: `width:${width.toFixed(1)}px;background:${colour}` }), note ? ` ${note}` : '')));
    });
    table.append(body);
    const said = [sorted ? 'the largest first' : '', values.length > MOST ? `${MOST} of ${values.length}` : ''].filter(Boolean).join(', ');
    const more = said ? element('p', { class: 'quiet' }, said) : null;
    return element('div', {}, element('div', { class: 'wide' }, table), more);
  }

  /** Lines of one or more lists over the same axis. */
  function lines(lists, axis, readout) {
    const [width, height, left, bottom] = [Math.min(760, room()), 240, 56, 30];
    const range = scale(lists.flatMap(([, values]) => values));
    const [low, high] = [Math.min(...lists.flatMap(([, values]) => values)), Math.max(...lists.flatMap(([, values]) => values))];
    const count = lists[0][1].length;
    const x = (at) => left + ((width - left - 10) * at) / Math.max(1, count - 1);
    const y = (value) => 10 + ((height - bottom - 10) * (high - value)) / (high - low || 1);
    const colours = ['var(--accent)', 'var(--chosen)', 'var(--quiet)', '#4f8a4b', '#8d5a97', '#b04a4a'];
    const names = lists.map(([name]) => name).join(', ');
    const picture = svg('svg', { xmlns: SVG, width, height, role: 'img', 'aria-label': `${names} over ${axis.name}, from ${shown(range.low)} to ${shown(range.high)}` });
    for (const value of [low, (low + high) / 2, high]) {
      picture.append(svg('line', { x1: left, x2: width - 10, y1: y(value), y2: y(value), stroke: 'var(--line)' }));
      picture.append(svg('text', { x: left - 5, y: y(value) + 4, 'text-anchor': 'end', class: 'quiet' }, String(Number(value.toPrecision(3)))));
    }
    lists.forEach(([name, values], at) => {
      const points = values.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
      picture.append(svg('polyline', { points, fill: 'none', stroke: colours[at % colours.length], 'stroke-width': 1.6 }));
      if (lists.length > 1) picture.append(svg('text', { x: left + 6 + 130 * at, y: height - 2, style: `fill:${colours[at % colours.length]}` }, name));
    });
    picture.append(svg('text', { x: left, y: height - 16, class: 'quiet' }, axis.labels[0]));
    picture.append(svg('text', { x: width - 10, y: height - 16, 'text-anchor': 'end', class: 'quiet' }, axis.labels[count - 1]));
    picture.addEventListener('mousemove', (event) => {
      const box = picture.getBoundingClientRect();
      const at = Math.max(0, Math.min(count - 1, Math.round(((event.clientX - box.left - left) / (width - left - 10)) * (count - 1))));
      readout.textContent = `${axis.name} ${axis.labels[at]}: ${lists.map(([name, values]) => `${name} ${shown(values[at])}`).join(', ')}`;
    });
    return element('figure', {}, picture);
  }

  /** All numbers of a matrix, or as many as can be read. */
  function numberTable(values, rows, columns) {
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

  /** What a step says of the items: `{ nodes, edges, what }`, values for each; null where it says nothing of them. */
  function onLayout(step) {
    if (!layout) return null;
    const values = flat(step);
    const items = layout.places.length;
    const names = step.axes.map((axis) => axis.name);
    const last = names[names.length - 1];
    const size = (at) => step.shape[at];
    const mean = (lists) => lists[0].map((_, at) => {
      const all = lists.map((list) => list[at]).filter((value) => value !== null);
      return all.length ? all.reduce((sum, value) => sum + value, 0) / all.length : null;
    });
    if (names[0] === 'edge' && size(0) === layout.edges.length && layout.edges.length > 0) {
      const width = values.length / size(0);
      const all = names[1] === 'head' && state.head === 'all';
      const column = names[1] === 'head' ? Math.min(Number(state.head) || 0, width - 1) : Math.min(state.column, width - 1);
      const of = (edge) => (all ? mean([...Array(width).keys()].map((head) => [values[edge * width + head]]))[0] : values[edge * width + column]);
      const what = width === 1 ? '' : all ? 'mean of the heads' : `${names[1]} ${step.axes[1].labels[column]}`;
      return { edges: layout.edges.map((_, edge) => of(edge)), what, pick: names[1] !== 'head' && width > 1 ? step.axes[1] : null };
    }
    const isItems = (at) => at >= 0 && step.shape[at] === items && (names[at] === layout.axis || (names[at] === 'row' && layout.axis === 'node'));
    const end = names.length - 1;
    if (last !== undefined && isItems(end)) {
      // [head, row, item]: one row of it, for one head or the mean of all.
      const lists = [];
      const row = isItems(end - 1) ? Math.min(state.row, items - 1) : null;
      const rows = end > 0 && names[end - 1] !== 'head' ? size(end - 1) : 1;
      const heads = values.length / (rows * items);
      const at = row ?? Math.min(state.row, rows - 1);
      for (let head = 0; head < heads; head += 1) {
        if (state.head !== 'all' && heads > 1 && head !== Math.min(Number(state.head), heads - 1)) continue;
        lists.push(values.slice((head * rows + at) * items, (head * rows + at + 1) * items));
      }
      const parts = [];
      if (heads > 1) parts.push(state.head === 'all' ? 'mean of the heads' : `head ${state.head}`);
      if (rows > 1) parts.push(`${names[end - 1]} ${step.axes[end - 1].labels[at]}`);
      return { nodes: mean(lists), what: parts.join(', '), focus: row, pickRow: row === null && rows > 1 ? step.axes[end - 1] : null };
    }
    if (names.length === 2 && isItems(0)) {
      const column = Math.min(state.column, size(1) - 1);
      const nodes = layout.places.map((_, item) => values[item * size(1) + column]);
      return { nodes, what: `${names[1]} ${step.axes[1].labels[column]}`, pick: step.axes[1] };
    }
    return null;
  }

  /** The nodes chosen before decoding step `until`. */
  function chosenBefore(until) {
    const found = [];
    for (let at = 0; at < until; at += 1) {
      const choice = steps.get(`decode.${at}.choice`);
      if (!choice) break;
      found.push(flat(choice)[0]);
    }
    return found;
  }

  function drawing(step, shownValues, readout) {
    const width = Math.min(680, room());
    const [xs, ys] = [0, 1].map((axis) => layout.places.map((place) => place[axis]));
    const [lowX, highX, lowY, highY] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const margin = 34;
    const unit = Math.min((width - 2 * margin) / (highX - lowX || 1), 520 / (highY - lowY || 1), layout.edges.length ? 62 : Infinity);
    const height = Math.max(120, (highY - lowY) * unit + 2 * margin);
    const offset = (width - (highX - lowX) * unit) / 2;
    const point = ([x, y]) => [offset + (x - lowX) * unit, height - margin - (y - lowY) * unit];
    const points = layout.places.map(point);
    const values = shownValues?.nodes ?? shownValues?.edges ?? [];
    const range = scale(values);
    const what = step ? `${step.name}${shownValues?.what ? `, ${shownValues.what}` : ''}` : layout.routes.length ? 'the solution' : '';
    const picture = svg('svg', { xmlns: SVG, width, height: height + (step ? 30 : 0), role: 'img', 'aria-label': `${what}, drawn on ${layout.places.length} places` });
    drawEdges(picture, points, shownValues?.edges, range, readout);
    const until = step ? numberIn(step.name, ['decode']) : null;
    const path = until !== null ? chosenBefore(until) : [];
    const routes = until === null ? (step ? [] : layout.routes) : [layout.depot ? [0, ...path] : path];
    for (const route of routes) {
      const line = route.map((node) => points[node].map((value) => value.toFixed(1)).join(',')).join(' ');
      if (route.length > 1) picture.append(svg('polyline', { points: line, fill: 'none', stroke: 'var(--quiet)', 'stroke-width': 1.6 }));
    }
    const choice = until !== null ? steps.get(`decode.${until}.choice`) : null;
    const chosen = choice ? flat(choice)[0] : null;
    const mask = until !== null ? steps.get(`decode.${until}.mask`) : null;
    const many = points.length > 200;
    const taken = points.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]);
    points.forEach(([x, y], at) => {
      const value = shownValues?.nodes ? shownValues.nodes[at] : undefined;
      const open = !mask || flat(mask)[at] !== 0;
      const note = mask?.notes[at] ? `, ${mask.notes[at]}` : '';
      const fill = value === undefined ? 'var(--accent)' : open ? css(range.colour(value)) : 'var(--card)';
      const radius = layout.edges.length ? 11 : many ? 4 : 7;
      const ring = at === chosen ? 'var(--chosen)' : at === shownValues?.focus ? 'var(--chosen)' : open ? 'var(--quiet)' : 'var(--barred)';
      const text = `${layout.labels[at]}${value === undefined ? '' : `: ${shown(value)}`}${note}${at === chosen ? ', chosen' : ''}`;
      const circle = svg('circle', { cx: x, cy: y, r: radius, fill, stroke: ring, 'stroke-width': at === chosen || at === shownValues?.focus ? 3 : 1.2 }, svg('title', {}, text));
      circle.addEventListener('mouseenter', () => { readout.textContent = text; });
      if (shownValues?.focus !== undefined && shownValues.focus !== null) {
        circle.setAttribute('style', 'cursor:pointer');
        circle.addEventListener('click', () => set({ row: at }));
      }
      picture.append(circle);
      if (layout.depot && at === 0) picture.append(svg('rect', { x: x - radius - 3, y: y - radius - 3, width: 2 * radius + 6, height: 2 * radius + 6, fill: 'none', stroke: 'var(--chosen)', 'pointer-events': 'none' }));
      if (many) return;
      // A name stands where it covers nothing; where there is no room, the pointer shows it.
      const name = shortened(layout.labels[at], 14);
      const long = 6.4 * name.length;
      const sides = [[radius + 3, -radius + 2, 'start'], [-radius - 3, -radius + 2, 'end'], [radius + 3, radius + 8, 'start'], [-radius - 3, radius + 8, 'end']];
      for (const [dx, dy, anchor] of sides) {
        const from = anchor === 'start' ? x + dx : x + dx - long;
        const box = [from, y + dy - 10, from + long, y + dy + 2];
        const free = box[0] >= 0 && box[2] <= width && taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
        if (!free) continue;
        taken.push(box);
        picture.append(svg('text', { x: x + dx, y: y + dy, 'text-anchor': anchor, 'pointer-events': 'none' }, name));
        break;
      }
    });
    if (step && values.length) picture.append(colourBar(range, 10, height + 4, 160));
    return element('figure', {}, element('figcaption', {}, what + (shownValues?.focus !== undefined && shownValues.focus !== null ? '; click a place for its row' : '')), picture);
  }

  /** Edges as a chemist draws them; with values each direction is a line of its own. */
  function drawEdges(picture, points, values, range, readout) {
    const LINES = { double: [-2.5, 2.5], triple: [-4, 0, 4], aromatic: [-2.5, 2.5] };
    const drawn = new Set();
    layout.edges.forEach(([source, target], at) => {
      if (source === target) return;
      const [[x1, y1], [x2, y2]] = [points[source], points[target]];
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const [nx, ny] = [-(y2 - y1) / length, (x2 - x1) / length];
      const line = (by, attributes) => svg('line', { x1: x1 + nx * by, y1: y1 + ny * by, x2: x2 + nx * by, y2: y2 + ny * by, ...attributes });
      if (values) {
        const text = `${layout.labels[source]} → ${layout.labels[target]}: ${shown(values[at])}${layout.edge_kinds[at] ? `, ${layout.edge_kinds[at]}` : ''}`;
        const made = line(3.4, { stroke: css(range.colour(values[at])), 'stroke-width': 5 });
        made.append(svg('title', {}, text));
        made.addEventListener('mouseenter', () => { readout.textContent = text; });
        picture.append(made);
        return;
      }
      const key = [Math.min(source, target), Math.max(source, target)].join();
      if (drawn.has(key)) return;
      drawn.add(key);
      const kind = (layout.edge_kinds[at] ?? '').toLowerCase();
      (LINES[kind] ?? [0]).forEach((by, index) => {
        picture.append(line(by, { stroke: 'var(--quiet)', 'stroke-width': 1.8, 'stroke-dasharray': kind === 'aromatic' && index === 1 ? '4 3' : null }));
      });
    });
  }

  // The overview ----------------------------------------------------------------------------------------------------

  function decisions(readout) {
    if (!decodeSteps.length) return null;
    const head = element('tr', {}, element('th', { scope: 'col' }, 'step'), element('th', { class: 'text', scope: 'col' }, 'chosen'), element('th', { scope: 'col' }, 'probability'), element('th', { class: 'text', scope: 'col' }, 'regret of others'), element('th', { class: 'text', scope: 'col' }, 'barred'));
    const body = element('tbody');
    for (const at of decodeSteps) {
      const [probability, choice, regret, mask] = ['probability', 'choice', 'regret', 'mask'].map((name) => steps.get(`decode.${at}.${name}`));
      if (!probability || !choice) continue;
      const node = flat(choice)[0];
      const others = regret ? regret.axes[0].labels.map((label, place) => `${label} ${flat(regret)[place] < 0 ? '' : '+'}${Number(flat(regret)[place].toPrecision(5))}`).join(', ') : '';
      const counts = new Map();
      (mask?.notes ?? []).filter(Boolean).forEach((note) => counts.set(note, (counts.get(note) ?? 0) + 1));
      const barred = [...counts].map(([note, count]) => `${count} ${note}`).join(', ');
      body.append(element('tr', {}, element('td', {}, element('button', { onclick: () => set({ step: `decode.${at}.probability` }) }, String(at))), element('td', { class: 'text' }, probability.axes[0].labels[node]), element('td', {}, `${(100 * flat(probability)[node]).toFixed(1)} %`), element('td', { class: 'text' }, others), element('td', { class: 'text' }, barred)));
    }
    const last = steps.get(`decode.${decodeSteps[decodeSteps.length - 1]}.log_likelihood`);
    const stages = steps.get('solution.cost');
    return element('section', {}, element('h2', {}, 'Decisions'),
      last ? element('p', {}, `log-probability of the whole: ${shown(flat(last)[0])}`) : null,
      stages ? element('p', {}, `cost after each stage of regard solve: ${stages.axes[0].labels.map((label, at) => `${label} ${shown(flat(stages)[at])}`).join(', ')}`) : null,
      layout ? drawing(null, null, readout) : null,
      readout,
      element('div', { class: 'wide' }, element('table', {}, element('thead', {}, head), body)));
  }

  /** One training step: the sampled tours beside the baseline's, with what they cost, and what followed from that. */
  function learning(readout) {
    const [instances, tours, costs, values, advantages] = ['instances', 'sampled.tour', 'sampled.cost', 'baseline', 'advantage'].map((name) => steps.get(name));
    if (!instances || !tours || !costs || !values || !advantages) return null;
    const MOST_INSTANCES = 6;
    const MOST_TOURS = 4;
    const [count, nodes, features] = instances.shape;
    const [, trajectories, length] = tours.shape;
    const own = steps.get('baseline.tour');
    const places = (instance) => Array.from({ length: nodes }, (_, node) => flat(instances).slice((instance * nodes + node) * features, (instance * nodes + node) * features + 2));
    // After its end a tour is filled with node 0, of which one is kept: it may be the last node, or the depot.
    const ended = (order) => {
      let end = order.length;
      while (end > 1 && order[end - 1] === 0 && order[end - 2] === 0) end -= 1;
      return order.slice(0, end);
    };
    const picture = (points, order, caption) => {
      const SIZE = 190;
      const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
      const extent = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) || 1;
      const at = (node) => `${(8 + ((points[node][0] - Math.min(...xs)) / extent) * (SIZE - 16)).toFixed(1)},${(SIZE - 8 - ((points[node][1] - Math.min(...ys)) / extent) * (SIZE - 16)).toFixed(1)}`;
      const drawn = svg('svg', { xmlns: SVG, width: SIZE, height: SIZE, role: 'img', 'aria-label': `${caption}: ${order.join(', ')}` });
      drawn.append(svg('polygon', { points: order.map(at).join(' '), fill: 'none', stroke: 'var(--accent)', 'stroke-width': 1.5 }));
      points.forEach((_, node) => {
        const [cx, cy] = at(node).split(',');
        const dot = svg('circle', { cx, cy, r: node === order[0] ? 4.5 : 3, fill: node === order[0] ? 'var(--chosen)' : 'var(--ink)' });
        dot.append(svg('title', {}, `node ${node}`));
        drawn.append(dot);
      });
      return element('figure', { style: 'width: 12.5rem' }, element('figcaption', {}, caption), drawn);
    };
    const parts = [element('h2', {}, 'Sampled tours beside the baseline')];
    for (let instance = 0; instance < Math.min(count, MOST_INSTANCES); instance += 1) {
      const points = places(instance);
      const row = element('div', { class: 'panels' });
      for (let tour = 0; tour < Math.min(trajectories, MOST_TOURS); tour += 1) {
        const place = instance * trajectories + tour;
        const order = ended(flat(tours).slice(place * length, (place + 1) * length));
        row.append(picture(points, order, `sampled${trajectories > 1 ? ` ${tour}` : ''}: cost ${shown(flat(costs)[place])}, baseline ${shown(flat(values)[place])}, advantage ${shown(flat(advantages)[place])}`));
      }
      if (own) {
        const steps_ = own.shape[1];
        const cost = steps.get('baseline.rollout');
        row.append(picture(points, ended(flat(own).slice(instance * steps_, (instance + 1) * steps_)), `baseline: cost ${cost ? shown(flat(cost)[instance]) : '–'}`));
      }
      parts.push(element('h3', {}, `instance ${instance}`), row);
    }
    if (count > MOST_INSTANCES) parts.push(element('p', { class: 'quiet' }, `the first ${MOST_INSTANCES} of ${count} instances`));
    const layer = steps.get('gradient.layer');
    if (layer) parts.push(element('h2', {}, 'Gradient norm of each layer'), bars(layer, flat(layer), layer.axes[0]));
    const decision = steps.get('comparison.baseline_updated');
    const numbers = ['mean_difference', 't', 'p'].map((name) => [name.replace('_', ' '), steps.get(`comparison.${name}`)]).filter(([, step]) => step).map(([name, step]) => `${name} ${shown(flat(step)[0])}`);
    if (decision) parts.push(element('h2', {}, 'Paired t-test of the baseline'), element('p', {}, [...numbers, ...decision.notes].join('; ')));
    return element('section', {}, ...parts, readout);
  }

  /** The last answer of other models, and for series the part of the map and that of the network. */
  function answer(readout) {
    const inUnits = ['forecast', 'forecast_of_map', 'forecast_of_network'].map((name) => [name.replaceAll('_', ' '), steps.get(`${name}.in_units`)]).filter(([, step]) => step);
    if (inUnits.length) {
      const all = inUnits[0][1];
      const axis = all.axes[all.axes.length - 1];
      const width = axis.labels.length;
      const several = flat(all).length > width;
      const seriesAxis = all.axes.find((axis) => axis.name === 'series');
      // What the network adds is small beside the forecast: lines of its own, in the same unit, show it.
      const panel = (some, series) => lines(some.map(([name, step]) => [name, flat(step).slice(series * width, (series + 1) * width)]), axis, readout);
      const figures = Array.from({ length: flat(all).length / width }, (_, series) => element('div', {},
        several ? element('h3', {}, seriesAxis ? seriesAxis.labels[series] : String(series)) : null,
        panel(inUnits.slice(0, 2), series),
        inUnits.length > 2 ? element('p', {}, 'what the network adds') : null,
        inUnits.length > 2 ? panel(inUnits.slice(2), series) : null));
      const said = inUnits.length > 1 ? 'Forecast = forecast of the map alone + what the network adds' : 'Forecast';
      return element('section', {}, element('h2', {}, said), element('p', { class: 'quiet' }, 'in the unit of the file'), ...figures, readout);
    }
    const last = steps.get('answer') ?? trace.steps[trace.steps.length - 1];
    const named = last.axes[last.axes.length - 1]?.labels.length === 1 && /\D/.test(last.axes[last.axes.length - 1].labels[0]) ? ` (${last.axes[last.axes.length - 1].labels[0]})` : '';
    return element('section', {}, element('h2', {}, `${last.name}${named}`), views(last, readout), readout, layout ? drawing(null, null, readout) : null);
  }

  // The page --------------------------------------------------------------------------------------------------------

  function room() {
    return Math.max(280, (main.clientWidth || 900) - 40);
  }

  /** The numbers of a step: one number, bars, lines or heat maps. */
  function views(step, readout) {
    const values = flat(step);
    if (step.axes.length === 0 || values.length === 1) return element('p', { class: 'formula' }, [shown(values[0]), ...step.notes].join(': '));
    const whole = step.axes.filter((axis) => axis.labels.length > 1);
    const overTime = ['lag', 'time', 'ahead', 'step ahead', 'horizon'].includes(whole[whole.length - 1]?.name);
    if (overTime && (whole.length === 1 || (whole.length === 2 && whole[0].labels.length <= 6)) && whole[whole.length - 1].labels.length > 8) {
      const axis = whole[whole.length - 1];
      const width = axis.labels.length;
      const lists = Array.from({ length: Math.min(6, values.length / width) }, (_, at) => [whole.length > 1 ? whole[0].labels[at] : step.name, values.slice(at * width, (at + 1) * width)]);
      return lines(lists, axis, readout);
    }
    if (step.axes.length === 1) return bars(step, values, step.axes[0]);
    const [rows, columns] = step.axes.slice(-2);
    const size = rows.labels.length * columns.labels.length;
    const all = panels(step);
    const MOST = 24;
    const range = scale(all.length === 1 ? values.slice(all[0].index * size, (all[0].index + 1) * size) : values);
    const each = all.length > 1 ? Math.max(300, room() / Math.min(all.length, columns.labels.length > 24 ? 2 : 4) - 16) : room();
    const choose = (row, column) => set({ row, column });
    const box = element('div', { class: 'panels' });
    for (const { index, name } of all.slice(0, MOST)) {
      box.append(heatMap(step, values.slice(index * size, (index + 1) * size), rows, columns, name, range, each, readout, choose));
    }
    const first = all[0].index * size;
    const details = element('details', {}, element('summary', {}, `numbers${all[0].name ? ` of ${all[0].name}` : ''}`));
    details.addEventListener('toggle', () => {
      if (details.open && details.children.length === 1) details.append(numberTable(values.slice(first, first + size), rows, columns));
    });
    return element('div', {}, box, all.length > MOST ? element('p', { class: 'quiet' }, `the first ${MOST} of ${all.length}`) : null, details);
  }

  function link(name) {
    if (!steps.has(name)) return element('span', { class: 'quiet', title: 'not in this part of the trace' }, `${name} `);
    return element('button', { onclick: () => set({ step: name }), title: 'show this step' }, name);
  }

  function stepPage(step, readout) {
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
    const onPlane = onLayout(step);
    if (onPlane) {
      const picker = onPlane.pick ?? onPlane.pickRow;
      const choose = picker
        ? element('label', {}, picker.name, element('select', { onchange: (event) => set(onPlane.pick ? { column: Number(event.target.value) } : { row: Number(event.target.value) }) },
          ...picker.labels.map((label, at) => element('option', { value: at, selected: at === Math.min(onPlane.pick ? state.column : state.row, picker.labels.length - 1) }, label))))
        : null;
      parts.push(element('section', { id: 'drawing' }, choose, drawing(step, onPlane, readout)));
    }
    parts.push(element('section', { id: 'numbers' }, readout, views(step, readout)));
    return parts;
  }

  function fromFragment() {
    if (!options.fragment) return {};
    const found = Object.fromEntries(new URLSearchParams(window.location.hash.slice(1)));
    for (const key of ['row', 'column']) if (key in found) found[key] = Number(found[key]) || 0;
    return found;
  }

  function set(change) {
    Object.assign(state, change);
    if (options.fragment) {
      const kept = Object.entries(state).filter(([key, value]) => key === 'step' || (value !== 0 && value !== 'all'));
      window.history.replaceState(null, '', `#${new URLSearchParams(kept)}`);
    }
    render();
  }

  /** The step of the same name in another layer or decoding step, or the first one there. */
  function sameIn(words, number) {
    const rest = state.step.split('.').slice(2).join('.');
    const named = (word) => `${word}.${number}.${rest}`;
    const same = words.map(named).find((name) => numberIn(state.step, words) !== null && steps.has(name));
    return same ?? [...steps.keys()].find((name) => numberIn(name, words) === number && /\.(probability|attention)$/.test(name)) ?? [...steps.keys()].find((name) => numberIn(name, words) === number);
  }

  function save(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    element('a', { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  function saveDrawing() {
    const pictures = [...main.querySelectorAll('svg')];
    if (!pictures.length) return;
    // One below the other: the drawing, and the heat maps under their captions.
    const style = getComputedStyle(root.firstChild);
    const all = svg('svg', { xmlns: SVG });
    let [top, width] = [0, 0];
    for (const picture of pictures) {
      const caption = picture.parentNode.querySelector('figcaption')?.textContent;
      if (caption) {
        all.append(svg('text', { x: 4, y: top + 14, fill: style.color }, caption));
        top += 20;
      }
      const copy = picture.cloneNode(true);
      const box = picture.getBoundingClientRect();
      copy.setAttribute('y', top);
      copy.setAttribute('width', box.width);
      copy.setAttribute('height', box.height);
      all.append(copy);
      top += box.height + 12;
      width = Math.max(width, box.width);
    }
    all.setAttribute('width', Math.ceil(width));
    all.setAttribute('height', Math.ceil(top));
    const text = new XMLSerializer().serializeToString(all).replace(/var\((--[a-z]+)\)/g, (_, name) => style.getPropertyValue(name).trim()).replaceAll('currentColor', style.color);
    save(`${state.step}.svg`, 'image/svg+xml', text.replace('<svg ', '<svg font-family="sans-serif" font-size="11" '));
  }

  const heads = Math.max(0, ...trace.steps.map((step) => step.axes[axisAt(step, 'head')]?.labels.length ?? 0));
  const filter = element('input', { type: 'search', placeholder: 'filter steps', 'aria-label': 'filter steps', oninput: () => list() });
  const entries = element('ul');
  const nav = element('nav', { 'aria-label': 'steps' }, filter, entries);
  const main = element('main');
  const controls = element('div', { class: 'controls', role: 'group', 'aria-label': 'what is shown' });
  root.replaceChildren(element('div', { class: 'trace' },
    element('header', {}, element('h1', {}, `${trace.model}: ${trace.input}`), element('p', { class: 'quiet' }, steps.has('sampled.tour') ? `${trace.steps.length} steps of one training step` : `${trace.steps.length} steps of one forward pass`)),
    controls, nav, main));

  function list() {
    const text = filter.value.trim();
    const entry = (name, note) => element('li', {}, element('button', { 'aria-current': name === state.step ? 'true' : 'false', onclick: () => set({ step: name }) }, name, ' ', element('small', {}, note)));
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
  function makeControls() {
    const parts = [];
    const update = [];
    if (decodeSteps.length) {
      const last = decodeSteps[decodeSteps.length - 1];
      const slider = element('input', { type: 'range', min: 0, max: last, id: 'decode-step', oninput: (event) => set({ step: sameIn(['decode'], Number(event.target.value)) }) });
      const said = element('output', { for: 'decode-step' });
      parts.push(element('label', {}, 'decoding step', slider, said));
      update.push(() => {
        const at = numberIn(state.step, ['decode']);
        slider.value = at ?? 0;
        slider.setAttribute('aria-valuetext', at === null ? 'none' : `decoding step ${at} of ${last}`);
        said.textContent = at === null ? '–' : `${at} of ${last}`;
      });
    }
    const choice = (label, id, options, chosen, change) => {
      const select = element('select', { id, onchange: (event) => change(event.target.value) }, ...options.map(([value, text]) => element('option', { value }, text)));
      parts.push(element('label', {}, label, select));
      update.push(() => { select.value = chosen(); });
    };
    if (layers.length) {
      const options = [['', '–'], ...layers.map((number) => [String(number), String(number)])];
      const now = () => String(numberIn(state.step, ['encoder', 'layer']) ?? '');
      choice('layer', 'layer', options, now, (value) => value !== '' && set({ step: sameIn(['encoder', 'layer'], Number(value)) }));
    }
    if (heads > 1) {
      const options = [['all', 'all'], ...Array.from({ length: heads }, (_, head) => [String(head), String(head)])];
      choice('head', 'head', options, () => String(state.head), (value) => set({ head: value }));
    }
    parts.push(element('button', { onclick: saveDrawing }, 'Save drawing (SVG)'));
    parts.push(element('button', { onclick: () => save('trace.json', 'application/json', JSON.stringify(trace)) }, 'Save numbers (JSON)'));
    controls.replaceChildren(...parts);
    return () => update.forEach((one) => one());
  }

  function render() {
    const readout = element('p', { class: 'readout quiet', 'aria-live': 'polite' }, ' ');
    renderControls();
    list();
    const step = steps.get(state.step);
    const parts = step ? stepPage(step, readout) : [decisions(readout) ?? learning(readout) ?? answer(readout)];
    main.replaceChildren(...parts);
  }

  const renderControls = makeControls();
  dark.addEventListener('change', render);
  let resized = null;
  window.addEventListener('resize', () => {
    clearTimeout(resized);
    resized = setTimeout(render, 150);
  });
  if (options.fragment) {
    window.addEventListener('hashchange', () => {
      Object.assign(state, { head: 'all', row: 0, column: 0 }, fromFragment());
      if (!steps.has(state.step)) state.step = OVERVIEW;
      render();
    });
  }
  render();
  return { set, state };
}
