// The trace of a forward pass (schema regard-trace/1) and reading of it.

export interface Axis {
  name: string;
  labels: string[];
}

export interface Step {
  name: string;
  formula: string;
  source: string;
  axes: Axis[];
  shape: number[];
  values: unknown;
  notes: string[];
  from: string[];
  parameters: string[];
}

export interface Layout {
  axis: string;
  labels: string[];
  places: [number, number][];
  edges: [number, number][];
  edge_kinds: string[];
  routes: number[][];
  depot: boolean;
}

export interface Trace {
  schema: string;
  model: string;
  input: string;
  layout?: Layout | null;
  steps: Step[];
  parameters?: { name: string; shape: number[]; values: unknown }[];
  notes?: string[];
}

const kept = new WeakMap<object, (number | null)[]>();

/** The values of a step as one list, the last axis fastest; null is minus infinity. */
export function flat(step: { values: unknown; shape: number[] }): (number | null)[] {
  let list = kept.get(step);
  if (list === undefined) {
    list = ([step.values] as unknown[]).flat(Infinity) as (number | null)[];
    kept.set(step, list);
  }
  return list;
}

/** The steps of a trace by name, and the numbers in these names. */
export class Steps {
  readonly byName: Map<string, Step>;

  constructor(readonly trace: Trace) {
    this.byName = new Map(trace.steps.map((step) => [step.name, step]));
  }

  get(name: string): Step | undefined {
    return this.byName.get(name);
  }

  /** The values of a step, or nothing where the trace lacks it. */
  values(name: string): (number | null)[] | undefined {
    const step = this.byName.get(name);
    return step && flat(step);
  }

  /** The numbers that follow one of `words` at the beginning of names, such as 2 in `encoder.2.norm`. */
  numbersAfter(words: string[]): number[] {
    const found = new Set<number>();
    for (const name of this.byName.keys()) {
      const number = numberIn(name, words);
      if (number !== null) found.add(number);
    }
    return [...found].sort((a, b) => a - b);
  }

  /** The names of steps that end in `.attention` or are that word. */
  attentions(): string[] {
    return [...this.byName.keys()].filter((name) => name === 'attention' || name.endsWith('.attention'));
  }
}

/** The number after one of `words` at the beginning of a name, or null. */
export function numberIn(name: string, words: string[]): number | null {
  const [word, number] = name.split('.');
  return words.includes(word) && /^\d+$/.test(number ?? '') ? Number(number) : null;
}

/** The mean over several lists of the numbers that are not barred. */
export function meanOf(lists: (number | null)[][]): (number | null)[] {
  return lists[0].map((_, at) => {
    let [sum, count] = [0, 0];
    for (const list of lists) {
      const value = list[at];
      if (value !== null && value !== undefined) {
        sum += value;
        count += 1;
      }
    }
    return count ? sum / count : null;
  });
}
