// An instance that the reader edits: its places and facts, read from the service and written as a file for it.

import type { RoutesRead } from '../../service.ts';
import type { Options, Source } from '../source.ts';

export interface Place {
  id: string;
  x: number;
  y: number;
  amounts: Record<string, number>;
}

export interface Instance {
  places: Place[];
  problem: string;
  metric: string;
  unit: string;
  geographic: boolean;
  depot: boolean;
  scaled: boolean;
  facts: Record<string, number>;
}

const FACTS: Record<string, string> = { max_length: 'Longest route' };

/** The name of an amount or a fact for a reader: `required_prize` is "Required prize". */
export function called(name: string): string {
  return FACTS[name] ?? (name[0].toUpperCase() + name.slice(1)).replaceAll('_', ' ');
}

/** Distances of TSPLIB that a file with places can say; with others places cannot be moved. */
const TSPLIB = ['EUC_2D', 'CEIL_2D', 'ATT', 'GEO', 'MAX_2D', 'MAN_2D'];
/** Facts that are options of the command line too. */
const OPTIONS = ['capacity', 'max_length', 'required_prize'];
/** Keys of a node that are no amounts. */
const PLACE = ['id', 'label', 'x', 'y'];
/** Options that say how a table is read; an edited instance is a table of the page's own. */
const READING = ['column', 'decimal', 'depot', 'duplicates', 'skip_bad'];

export function instanceOf(read: RoutesRead): Instance {
  const places = read.nodes.map((node) => ({
    id: String(node.label ?? node.id),
    x: node.x,
    y: node.y,
    amounts: Object.fromEntries(Object.entries(node).filter((entry): entry is [string, number] => typeof entry[1] === 'number' && !PLACE.includes(entry[0]))),
  }));
  return { places: unlike(places), problem: read.problem, metric: read.metric, unit: read.unit, geographic: read.geographic, depot: read.depot, scaled: read.scaled_coordinates ?? false, facts: { ...read.facts } };
}

/** Places with names that differ, for the answers name places. */
function unlike(places: Place[]): Place[] {
  const seen = new Set<string>();
  return places.map((place) => {
    let id = place.id;
    for (let copy = 2; seen.has(id); copy += 1) id = `${place.id}#${copy}`;
    seen.add(id);
    return { ...place, id };
  });
}

/** If true, places may be added, moved and deleted. */
export function editable(instance: Instance): boolean {
  return !instance.scaled && (['euclidean', 'great-circle'].includes(instance.metric) || (TSPLIB.includes(instance.metric) && ['tsp', 'cvrp'].includes(instance.problem)));
}

/** The kinds of amounts that the places have. */
export function amountsOf(instance: Instance): string[] {
  return [...new Set(instance.places.flatMap((place) => Object.keys(place.amounts)))];
}

/** The facts that a problem with these amounts has. */
export function factsOf(instance: Instance): string[] {
  const amounts = amountsOf(instance);
  const usual = amounts.includes('demand') ? ['capacity', 'max_length'] : amounts.includes('penalty') ? ['required_prize'] : amounts.includes('prize') ? ['max_length'] : [];
  return [...new Set([...usual, ...Object.keys(instance.facts).filter((fact) => OPTIONS.includes(fact))])];
}

/** The file of an edited instance, and the options that go with it. */
export function written(instance: Instance, source: Source | null, options: Options): { source: Source; options: Options } {
  const stem = (source?.name ?? 'places').replace(/\.[^.]*$/, '');
  const facts = Object.fromEntries(factsOf(instance).map((fact) => [fact, options[fact] || (instance.facts[fact] === undefined ? '' : String(instance.facts[fact]))]));
  const others = Object.fromEntries(Object.entries(options).filter(([key]) => !READING.includes(key)));
  if (TSPLIB.includes(instance.metric)) {
    const kind = instance.problem === 'cvrp' ? 'vrp' : 'tsp';
    const { capacity: _, ...rest } = { ...others, ...facts };
    return { source: { name: `${stem}.${kind}`, content: tsplib(instance, stem, facts.capacity) }, options: rest };
  }
  return { source: { name: `${stem}.csv`, content: csv(instance) }, options: { ...others, ...facts } };
}

export const quoted = (text: string): string => (/[",;\r\n#]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function csv(instance: Instance): string {
  const amounts = amountsOf(instance);
  const head = ['id', ...(instance.geographic ? ['latitude', 'longitude'] : ['x', 'y']), ...amounts];
  const line = (place: Place): string => {
    const where = instance.geographic ? [place.y, place.x] : [place.x, place.y];
    return [quoted(place.id), ...where, ...amounts.map((name) => place.amounts[name] ?? 0)].join(',');
  };
  return `${[head.join(','), ...instance.places.map(line)].join('\n')}\n`;
}

/** Degrees as TSPLIB writes them: the minutes after the point. */
const minutes = (degrees: number): number => Math.trunc(degrees) + 0.6 * (degrees - Math.trunc(degrees));

function tsplib(instance: Instance, name: string, capacity: string): string {
  const geo = instance.metric === 'GEO';
  const vehicles = instance.problem === 'cvrp';
  const lines = [`NAME : ${name}`, `TYPE : ${vehicles ? 'CVRP' : 'TSP'}`, `DIMENSION : ${instance.places.length}`, `EDGE_WEIGHT_TYPE : ${instance.metric}`];
  if (vehicles) lines.push(`CAPACITY : ${capacity}`);
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

/** A random instance as the papers draw them, with coordinates from 0 to 100 (Kool et al. 2019, appendix). */
export function randomInstance(kind: RandomKind, count: number): Instance {
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
  const place = (at: number): Place => {
    const none = depot && at === 0;
    const drawn = amounts[kind]();
    return { id: none ? 'depot' : String(depot ? at : at + 1), x: tenth(uniform(0, 100)), y: tenth(uniform(0, 100)), amounts: none ? Object.fromEntries(Object.keys(drawn).map((name) => [name, 0])) : drawn };
  };
  const places = Array.from({ length: count + (depot ? 1 : 0) }, (_, at) => place(at));
  const prizes = places.reduce((sum, one) => sum + (one.amounts.prize ?? 0), 0);
  const facts: Record<RandomKind, Record<string, number>> = {
    tsp: {},
    cvrp: { capacity: count <= 20 ? 30 : count <= 50 ? 40 : 50 },
    op: { max_length: tour },
    pctsp: { required_prize: Math.round(prizes / 2) },
  };
  return { places, problem: kind, metric: 'euclidean', unit: '', geographic: false, depot, scaled: false, facts: facts[kind] };
}
