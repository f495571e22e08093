// Files that leave the page and enter it.

import { element, svgElement } from './dom.ts';

/** Hands a text to the browser as a download. */
export function saveText(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element('a', { href: address, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const PROPERTIES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin', 'stroke-opacity', 'fill-opacity', 'opacity', 'font-size', 'font-weight', 'font-family', 'text-anchor', 'visibility', 'paint-order'];

/** Drawings of the page as one file, one below the other under their captions: what style sheets say of their parts stands in it. */
export function svgText(pictures: SVGSVGElement[], captions: string[] = []): string {
  const all = svgElement('svg', { xmlns: 'http://www.w3.org/2000/svg' });
  const style = getComputedStyle(document.body);
  let [top, wide] = [0, 0];
  pictures.forEach((picture, at) => {
    if (captions[at]) {
      all.append(svgElement('text', { x: 4, y: top + 14, fill: style.color, 'font-family': 'sans-serif', 'font-size': 12 }, captions[at]));
      top += 20;
    }
    const { copy, width, height } = styled(picture);
    copy.setAttribute('y', String(top));
    all.append(copy);
    top += height + (at + 1 < pictures.length ? 12 : 0);
    wide = Math.max(wide, width);
  });
  all.setAttribute('width', String(Math.ceil(wide)));
  all.setAttribute('height', String(Math.ceil(top)));
  all.setAttribute('viewBox', `0 0 ${Math.ceil(wide)} ${Math.ceil(top)}`);
  const ground = getComputedStyle(document.documentElement).getPropertyValue('--ground');
  all.prepend(svgElement('rect', { width: Math.ceil(wide), height: Math.ceil(top), fill: plainColour(ground) || style.backgroundColor }));
  return new XMLSerializer().serializeToString(all);
}

/** A colour of a style sheet as other programs know it: `light-dark()` is resolved. */
function plainColour(colour: string): string {
  const probe = element('span', {});
  probe.style.color = colour;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** A copy of a picture in which every part has its style as attributes. */
function styled(picture: SVGSVGElement): { copy: SVGSVGElement; width: number; height: number } {
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
  const width = Number(picture.getAttribute('width')) || box.width;
  const height = Number(picture.getAttribute('height')) || box.height;
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  return { copy, width, height };
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
