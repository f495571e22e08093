// The file that a room shows: an example, or one that the reader opened, dropped or pasted.

import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { chooseFile } from '../files.ts';
import { pack, unpack, type LinkState } from '../link.ts';
import type { Example, Family, FileBody, Model, Service } from '../service.ts';

export interface Source extends FileBody {
  /** The example that it is, unchanged. */
  example?: string;
  /** Files beside it, such as the edges of a file of nodes. */
  beside?: FileBody[];
}

/** Options of the command line that say how a file is read and answered. */
export type Options = Record<string, string>;

const TABLE = ['column', 'decimal', 'depot', 'duplicates', 'skip_bad', 'capacity', 'max_length', 'required_prize'];
const STAMPS = ['date', 'date_format', 'frequency', 'duplicates', 'id', 'target', 'covariates'];

/** The options that each command takes; the service refuses others. */
const TAKES = {
  'read routes': TABLE,
  'read sets': ['group_by'],
  'read graphs': ['smiles', 'id', 'skip_bad'],
  'read series': STAMPS,
  solve: [...TABLE, 'time', 'seed', 'decode', 'augment', 'temperature', 'top_p', 'no_improve'],
  predict: ['only', 'levels', 'group_by', 'samples', 'steps', 'smiles', 'skip_bad', 'id', 'refine', 'rescale', 'seed'],
  forecast: [...STAMPS, 'horizon', 'levels', 'season', 'only', 'time', 'seed'],
  explain: [...TABLE, 'group_by', 'smiles'],
};

export type Command = keyof typeof TAKES;

/** The body of a request about a file: those of the options that the command takes, and more. */
export function body(command: Command, source: Source, options: Options, more: Record<string, unknown> = {}): Record<string, unknown> {
  const file: FileBody = source.base64 === undefined ? { name: source.name, content: source.content ?? '' } : { name: source.name, base64: source.base64 };
  const given = Object.fromEntries(Object.entries(options).filter(([key, value]) => value !== '' && TAKES[command].includes(key)).map(([key, value]) => [key, valueOf(key, value)]));
  return { file, ...(source.beside?.length ? { files: source.beside } : {}), ...given, ...more };
}

const LISTS = ['column', 'levels', 'season', 'targets', 'covariates'];
const NUMBERS = ['capacity', 'max_length', 'required_prize', 'horizon', 'seed', 'refine', 'samples', 'steps'];
const SWITCHES = ['skip_bad', 'rescale', 'importance', 'no_improve'];

/** An option as the service takes it: numbers as numbers, lists as lists. */
function valueOf(key: string, text: string): unknown {
  if (LISTS.includes(key)) {
    const parts = text.split(',').map((part) => part.trim()).filter(Boolean);
    return key === 'levels' || key === 'season' ? parts.map((part) => (Number.isFinite(Number(part)) ? Number(part) : part)) : parts;
  }
  if (NUMBERS.includes(key)) return Number.isFinite(Number(text)) ? Number(text) : text;
  if (SWITCHES.includes(key)) return text === 'true';
  return text;
}

/** A file of the reader's as a source: text where it is UTF-8, else its bytes. */
export async function sourceOf(file: File): Promise<Source> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return { name: file.name, content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    let text = '';
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return { name: file.name, base64: btoa(text) };
  }
}

export function ofExample(example: Example): { source: Source; options: Options; model: string } {
  const options = Object.fromEntries(Object.entries(example.options ?? {}).map(([key, value]) => [key, Array.isArray(value) ? value.join(',') : String(value)]));
  return { source: { name: example.name, content: example.content, example: example.name }, options, model: example.model ?? '' };
}

/** A source in a link: the name of an example, or the whole file, deflated. */
export async function sourceLink(source: Source | null): Promise<LinkState> {
  if (!source) return {};
  return source.example ? { example: source.example } : { file: await pack(source) };
}

/** The source that a link names, with the options of the example where it is one. */
export async function linkedSource(link: LinkState, service: Service, family: Family, first: string[]): Promise<{ source: Source; options: Options; model: string } | null> {
  if (link.file) return { source: await unpack<Source>(link.file), options: {}, model: '' };
  const examples = await service.examples(family);
  const wanted = link.example ? [link.example] : first;
  const example = wanted.map((name) => examples.find((one) => one.name === name)).find(Boolean) ?? (link.example ? undefined : examples[0]);
  if (link.example && !example) throw new Error(`there is no example ${link.example} in this program`);
  return example ? ofExample(example) : null;
}

export function optionsLink(options: Options): LinkState {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== '').map(([key, value]) => [`o.${key}`, value]));
}

export function linkedOptions(link: LinkState): Options {
  return Object.fromEntries(Object.entries(link).filter(([key]) => key.startsWith('o.')).map(([key, value]) => [key.slice(2), value]));
}

export interface SourceBar {
  source: Source | null;
  edited?: boolean;
  examples: Example[];
  accept: string;
  open: (file: File) => void;
  choose: (example: Example) => void;
  paste: () => void;
}

/** The controls that choose a file. */
export function sourceBar(bar: SourceBar): TemplateResult {
  const own = bar.source !== null && (!bar.source.example || bar.edited);
  const name = bar.source ? `${bar.source.name}${bar.edited ? ', edited' : ''}` : '';
  const choose = (event: Event): void => {
    const value = (event.target as HTMLSelectElement).value;
    const example = bar.examples.find((one) => one.name === value);
    if (example) bar.choose(example);
  };
  const open = async (): Promise<void> => {
    const file = await chooseFile(bar.accept);
    if (file) bar.open(file);
  };
  return html`<label><span class="visually-hidden">Example</span><select name="example" .value=${live(own ? '' : bar.source?.example ?? '')} @change=${choose}>
      ${own || !bar.source ? html`<option value="">${own ? name : 'Examples'}</option>` : nothing}
      ${bar.examples.map((example) => html`<option value=${example.name} ?selected=${!own && example.name === bar.source?.example}>${example.name}</option>`)}
    </select></label>
    <button name="open" @click=${open}>Open file…</button>
    <button name="paste" @click=${bar.paste}>Paste…</button>`;
}

/** A choice of a model. `none` names what is taken without one. */
export function modelChoice(models: Model[], chosen: string, change: (name: string) => void, none?: string): TemplateResult {
  return html`<label>Model <select name="model" .value=${live(chosen)} @change=${(event: Event) => change((event.target as HTMLSelectElement).value)}>
    ${none === undefined ? nothing : html`<option value="" ?selected=${chosen === ''}>${none}</option>`}
    ${models.map((model) => html`<option value=${model.name} ?selected=${model.name === chosen}>${model.name}</option>`)}
    ${chosen && !models.some((model) => model.name === chosen) ? html`<option value=${chosen} selected>${chosen}</option>` : nothing}
  </select></label>`;
}

export interface Field {
  key: string;
  label: string;
  hint?: string;
  type?: 'text' | 'number' | 'checkbox';
}

/** Fields for options of the command line. */
export function optionFields(fields: Field[], options: Options, change: (key: string, value: string) => void): TemplateResult {
  const input = (field: Field): TemplateResult => {
    if (field.type === 'checkbox') {
      return html`<label>${field.label}<input type="checkbox" name=${field.key} .checked=${live(options[field.key] === 'true')} @change=${(event: Event) => change(field.key, (event.target as HTMLInputElement).checked ? 'true' : '')}></label>`;
    }
    return html`<label>${field.label}<input type=${field.type ?? 'text'} step="any" name=${field.key} placeholder=${field.hint ?? ''} .value=${live(options[field.key] ?? '')} @change=${(event: Event) => change(field.key, (event.target as HTMLInputElement).value.trim())}></label>`;
  };
  return html`<div class="fields">${fields.map(input)}</div>`;
}
