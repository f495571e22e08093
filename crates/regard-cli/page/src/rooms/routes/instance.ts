// An instance that the reader edits: its places and facts, read from the service and written as a file for it.

import type { Column, FileOption, RoutesRead } from '../../service.ts';
import type { Options, Source } from '../source.ts';

export interface Place {
  id: string;
  x: number;
  y: number;
  /** Amounts and times by the names of their columns; null where the file has none. */
  amounts: Record<string, number | null>;
  /** Ids of other places by the names of their columns; null where the place names none. */
  others: Record<string, string | null>;
}

export interface Instance {
  places: Place[];
  problem: string;
  title: string;
  maximises: boolean;
  metric: string;
  unit: string;
  geographic: boolean;
  depot: boolean;
  scaled: boolean;
  /** Columns of a table of the problem beside the places. */
  columns: Column[];
  /** Numbers that belong to no place. */
  numbers: FileOption[];
}

const CALLED: Record<string, string> = { max_length: 'Longest route' };

/** The name of a column or a number for a reader: `required_prize` is "Required prize". */
export function called(name: string): string {
  return CALLED[name] ?? (name[0].toUpperCase() + name.slice(1)).replaceAll('_', ' ');
}

/** Distances of TSPLIB that a file with places can say; with others places cannot be moved. */
const TSPLIB = ['EUC_2D', 'CEIL_2D', 'ATT', 'GEO', 'MAX_2D', 'MAN_2D'];
/** Options that say how a table is read; an edited instance is a table of the page's own. */
const READING = ['column', 'decimal', 'depot', 'duplicates', 'skip_bad'];

export function instanceOf(read: RoutesRead): Instance {
  const names = unlike(read.nodes.map((node) => String(node.label ?? node.id)));
  const nameOf = new Map(read.nodes.map((node, at) => [String(node.id), names[at]]));
  const { columns, options: numbers, problem, title, maximises, metric, unit, geographic, depot } = read;
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  const other = (value: unknown): string | null => (typeof value === 'string' ? (nameOf.get(value) ?? null) : null);
  const places = read.nodes.map((node, at): Place => ({
    id: names[at],
    x: node.x,
    y: node.y,
    amounts: Object.fromEntries(columns.filter(({ kind, name }) => kind !== 'node' && name in node).map(({ name }) => [name, number(node[name])])),
    others: Object.fromEntries(columns.filter(({ kind, name }) => kind === 'node' && name in node).map(({ name }) => [name, other(node[name])])),
  }));
  return { places, problem, title, maximises, metric, unit, geographic, depot, scaled: read.scaled_coordinates ?? false, columns, numbers };
}

/** Names that differ, for the answers name places. */
function unlike(names: string[]): string[] {
  const seen = new Set<string>();
  return names.map((name) => {
    let id = name;
    for (let copy = 2; seen.has(id); copy += 1) id = `${name}#${copy}`;
    seen.add(id);
    return id;
  });
}

/** If true, places may be added, moved and deleted. */
export function editable(instance: Instance): boolean {
  return !instance.scaled && (['euclidean', 'great-circle'].includes(instance.metric) || (TSPLIB.includes(instance.metric) && ['tsp', 'cvrp'].includes(instance.problem)));
}

/** The columns of numbers that the places have. */
export function amountsOf(instance: Instance): string[] {
  return instance.columns.filter(({ kind, name }) => kind !== 'node' && instance.places.some((place) => name in place.amounts)).map(({ name }) => name);
}

/** The columns that name other places. */
export function othersOf(instance: Instance): string[] {
  return instance.columns.filter(({ kind }) => kind === 'node').map(({ name }) => name);
}

/** The amount that is the size of a place in the picture, where there is one. */
export function sizeOf(instance: Instance): string | null {
  return instance.columns.find(({ kind }) => kind === 'amount')?.name ?? null;
}

/** The text of a number that belongs to no place: the reader's, else that of the file; empty where it has none. */
export function numberOf(instance: Instance, options: Options, name: string): string {
  return options[name] || (instance.numbers.find((one) => one.name === name)?.value ?? '');
}

/** The values of a new place: what places ask for on average, and no times. */
export function newAmounts(instance: Instance): Record<string, number | null> {
  const others = instance.places.slice(instance.depot ? 1 : 0);
  const mean = (name: string): number => Math.max(1, Math.round(others.reduce((sum, place) => sum + (place.amounts[name] ?? 0), 0) / Math.max(1, others.length)));
  const isTime = (name: string): boolean => instance.columns.some((column) => column.name === name && column.kind === 'time');
  return Object.fromEntries(amountsOf(instance).map((name) => [name, isTime(name) ? null : mean(name)]));
}

/** Places that name `after` where they named `before`, a place that has another name or is gone. */
export function renamed(places: Place[], before: string, after: string | null): Place[] {
  const name = (other: string | null): string | null => (other === before ? after : other);
  return places.map((place) => ({ ...place, others: Object.fromEntries(Object.entries(place.others).map(([column, other]) => [column, name(other)])) }));
}

/** A number that a file says, and that belongs to no place. */
interface FileNumber {
  name: string;
  value: string;
}

/** The file of an edited instance, and the options that go with it. */
export function written(instance: Instance, source: Source | null, options: Options): { source: Source; options: Options } {
  const stem = (source?.name ?? 'places').replace(/\.[^.]*$/, '');
  const numbers = instance.numbers.map(({ name }): FileNumber => ({ name, value: numberOf(instance, options, name) })).filter(({ value }) => value !== '');
  const inFile = (key: string): boolean => READING.includes(key) || numbers.some(({ name }) => name === key);
  const others = Object.fromEntries(Object.entries(options).filter(([key]) => !inFile(key)));
  if (TSPLIB.includes(instance.metric)) {
    const kind = instance.problem === 'cvrp' ? 'vrp' : 'tsp';
    return { source: { name: `${stem}.${kind}`, content: tsplib(instance, stem, numbers) }, options: others };
  }
  return { source: { name: `${stem}.csv`, content: table(instance, numbers) }, options: others };
}

export const quoted = (text: string): string => (/[",;\r\n#]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** The places and their values as CSV, below the numbers that belong to no place. */
function table(instance: Instance, numbers: FileNumber[]): string {
  const [amounts, others] = [amountsOf(instance), othersOf(instance)];
  const head = ['id', ...(instance.geographic ? ['latitude', 'longitude'] : ['x', 'y']), ...amounts, ...others];
  const line = (place: Place): string => {
    const where = instance.geographic ? [place.y, place.x] : [place.x, place.y];
    return [quoted(place.id), ...where, ...amounts.map((name) => place.amounts[name] ?? ''), ...others.map((name) => quoted(place.others[name] ?? ''))].join(',');
  };
  const comments = numbers.map(({ name, value }) => `# ${name}: ${value}`);
  return `${[...comments, head.join(','), ...instance.places.map(line)].join('\n')}\n`;
}

/** Degrees as TSPLIB writes them: the minutes after the point. */
const minutes = (degrees: number): number => Math.trunc(degrees) + 0.6 * (degrees - Math.trunc(degrees));

/** Keywords of TSPLIB for numbers that belong to no place. */
const KEYWORDS: Record<string, string> = { capacity: 'CAPACITY', max_length: 'DISTANCE', service_time: 'SERVICE_TIME' };

function tsplib(instance: Instance, name: string, numbers: FileNumber[]): string {
  const geo = instance.metric === 'GEO';
  const vehicles = instance.problem === 'cvrp';
  const lines = [`NAME : ${name}`, `TYPE : ${vehicles ? 'CVRP' : 'TSP'}`, `DIMENSION : ${instance.places.length}`, `EDGE_WEIGHT_TYPE : ${instance.metric}`];
  lines.push(...numbers.filter((one) => one.name in KEYWORDS).map((one) => `${KEYWORDS[one.name]} : ${one.value}`));
  lines.push('NODE_COORD_SECTION', ...instance.places.map((place, at) => `${at + 1} ${geo && instance.geographic ? `${minutes(place.y)} ${minutes(place.x)}` : `${place.x} ${place.y}`}`));
  if (vehicles) lines.push('DEMAND_SECTION', ...instance.places.map((place, at) => `${at + 1} ${place.amounts.demand ?? 0}`), 'DEPOT_SECTION', '1', '-1');
  return `${lines.join('\n')}\nEOF\n`;
}

/** The node of each name in answers: names of the page's file, or numbers where the file has no names. */
export function nodeNumbers(instance: Instance): (name: string) => number | undefined {
  const numbers = new Map(instance.places.map((place, at) => [place.id, at]));
  return (name) => numbers.get(name) ?? (/^\d+$/.test(name) && Number(name) >= 1 && Number(name) <= instance.places.length ? Number(name) - 1 : undefined);
}

export type RandomKind = 'tsp' | 'cvrp' | 'op' | 'pctsp';

/** The table of a random instance as the papers draw them, with coordinates from 0 to 100 (Kool et al. 2019, appendix). */
export function randomTable(kind: RandomKind, count: number): string {
  const uniform = (low: number, high: number): number => low + (high - low) * Math.random();
  const tenth = (value: number): number => Math.round(10 * value) / 10;
  const whole = (low: number, high: number): number => Math.floor(uniform(low, high + 1));
  const depot = kind !== 'tsp';
  const tour = 100 * (count <= 20 ? 2 : count <= 50 ? 3 : 4);
  const amounts: Record<RandomKind, () => Record<string, number>> = {
    tsp: () => ({}),
    cvrp: () => ({ demand: whole(1, 9) }),
    op: () => ({ prize: whole(1, 100) }),
    pctsp: () => ({ prize: whole(1, 100), penalty: tenth(uniform(0, (3 * tour) / count)) }),
  };
  const columns = Object.keys(amounts[kind]());
  let prizes = 0;
  const row = (at: number): string => {
    const none = depot && at === 0;
    const drawn = amounts[kind]();
    if (!none) prizes += drawn.prize ?? 0;
    return [none ? 'depot' : depot ? at : at + 1, tenth(uniform(0, 100)), tenth(uniform(0, 100)), ...columns.map((name) => (none ? 0 : drawn[name]))].join(',');
  };
  const rows = Array.from({ length: count + (depot ? 1 : 0) }, (_, at) => row(at));
  const comment: Record<RandomKind, string[]> = {
    tsp: [],
    cvrp: [`# capacity: ${count <= 20 ? 30 : count <= 50 ? 40 : 50}`],
    op: [`# max_length: ${tour}`],
    pctsp: [`# required_prize: ${Math.round(prizes / 2)}`],
  };
  return `${[...comment[kind], ['id', 'x', 'y', ...columns].join(','), ...rows].join('\n')}\n`;
}
