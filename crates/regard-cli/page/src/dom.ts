// Builders of elements, and the text of numbers.

const SVG = 'http://www.w3.org/2000/svg';

type Value = string | number | boolean | null | undefined;
type Listener = (event: never) => void;
export type Attributes = Record<string, Value | Listener>;
export type Child = Node | string | null | undefined;

/** Sets attributes; `on…` adds a listener, `true` an empty attribute, and no value none. */
function assign(made: Element, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key.slice(2), value as unknown as EventListener);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, String(value));
  }
}

const present = (child: Child): child is Node | string => child !== null && child !== undefined;

/** An element of HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  assign(made, attributes);
  made.append(...children.filter(present));
  return made;
}

/** An element of SVG. */
export function svgElement<K extends keyof SVGElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, name) as SVGElementTagNameMap[K];
  assign(made, attributes);
  made.append(...children.filter(present));
  return made;
}

/** A number of a trace with five digits; null is minus infinity, which only a mask makes. */
export function shown(value: number | null | undefined): string {
  if (value === null || value === undefined) return 'barred';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size >= 1e5 || size < 1e-4 ? value.toExponential(3) : value.toPrecision(5);
}

/** A number for a reader: at most `digits` significant digits, thousands apart, no trailing zeros. */
export function short(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return value.toExponential(2).replace('-', '−');
  const decimals = Math.max(0, Math.min(8, digits - 1 - Math.floor(Math.log10(size))));
  const text = Number(value.toFixed(decimals)).toLocaleString('en-GB', { maximumFractionDigits: decimals });
  return text.replace('-', '−');
}

/** A share in percent with one decimal, or two digits where it is small. */
export function percent(share: number): string {
  const value = 100 * share;
  if (value === 0) return '0\u00a0%';
  return `${Math.abs(value) >= 0.1 ? value.toFixed(1).replace('-', '−') : value.toPrecision(1).replace('-', '−')}\u00a0%`;
}

/** A difference with its sign. */
export function signed(value: number, digits = 4): string {
  return value > 0 ? `+${short(value, digits)}` : short(value, digits);
}

export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
