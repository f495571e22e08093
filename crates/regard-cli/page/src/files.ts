// Files that leave the page and enter it.

import { element } from './dom.ts';

/** Hands a text to the browser as a download. */
export function saveText(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element('a', { href: address, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const PROPERTIES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin', 'stroke-opacity', 'fill-opacity', 'opacity', 'font-size', 'font-weight', 'font-family', 'text-anchor', 'visibility', 'paint-order'];

/** A drawing of the page as a file of its own: what style sheets say of its parts stands in them. */
export function svgText(picture: SVGSVGElement): string {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const parts: [Element, Element][] = [[picture, copy]];
  const [originals, copies] = [picture.querySelectorAll('*'), copy.querySelectorAll('*')];
  originals.forEach((original, at) => parts.push([original, copies[at]]));
  for (const [original, made] of parts) {
    const style = getComputedStyle(original);
    for (const property of PROPERTIES) {
      const value = style.getPropertyValue(property);
      if (value) made.setAttribute(property, value);
    }
    for (const name of ['class', 'style', 'tabindex', 'role', 'aria-roledescription', 'data-node', 'data-edge']) made.removeAttribute(name);
  }
  copy.querySelectorAll('.hit, [visibility="hidden"]').forEach((part) => part.remove());
  const box = picture.getBoundingClientRect();
  const [width, height] = [picture.getAttribute('width') ?? String(box.width), picture.getAttribute('height') ?? String(box.height)];
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  ground.setAttribute('width', width);
  ground.setAttribute('height', height);
  ground.setAttribute('fill', getComputedStyle(document.documentElement).getPropertyValue('--ground').trim() || getComputedStyle(document.body).backgroundColor);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

/** Lets the reader choose a file; null if none is chosen. */
export function chooseFile(accept: string): Promise<File | null> {
  return new Promise((resolve) => {
    const input = element('input', { type: 'file', accept });
    input.addEventListener('change', () => resolve(input.files?.[0] ?? null));
    input.addEventListener('cancel', () => resolve(null));
    input.click();
  });
}
