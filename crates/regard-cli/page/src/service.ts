// The service behind the page, and the types of its answers.

import type { Trace } from './trace/trace.ts';

export type Family = 'routes' | 'sets' | 'graphs' | 'series';

export interface Model {
  name: string;
  family: Family;
  problem?: string;
  task?: string;
  description?: string;
  parameters?: number;
  source?: string;
  layers?: number;
  heads?: number;
  features?: string[];
  targets?: string[];
  horizon?: number;
  look_back?: number;
  default?: boolean;
}

export interface Example {
  name: string;
  family: Family;
  model?: string;
  options?: Record<string, unknown>;
  content: string;
}

export interface FileBody {
  name: string;
  content?: string;
  base64?: string;
}

export interface Stage {
  by: string;
  name: string;
  cost: number;
  gain: number | null;
  seconds: number;
  tour?: string[];
  routes?: string[][];
}

export interface Solution {
  instance: string;
  n: number;
  cost: number;
  best_known: number | null;
  gap: number | null;
  problem: string;
  tour?: string[];
  routes?: string[][];
  loads?: number[];
  lengths?: number[];
  metric: string;
  unit: string;
  stages: Stage[];
  model: string | null;
  seconds: number;
  checked: boolean;
  files?: Record<string, string>;
  notes: string[];
}

/** A column of a table of places: its fields hold amounts, times (or nothing), or the ids of other places (or nothing). */
export interface Column {
  name: string;
  kind: 'amount' | 'time' | 'node';
}

/** A number of an instance that belongs to no node. */
export interface FileOption {
  name: string;
  value: string | null;
  /** If true, requests may give it by this name. */
  requested: boolean;
}

export interface RoutesRead {
  kind: 'routes';
  name: string;
  n: number;
  problem: string;
  title: string;
  maximises: boolean;
  metric: string;
  unit: string;
  geographic: boolean;
  depot: boolean;
  scaled_coordinates?: boolean;
  columns: Column[];
  options: FileOption[];
  nodes: ({ id: string; label?: string; x: number; y: number } & Record<string, unknown>)[];
  notes: string[];
}

export interface SetsRead {
  kind: 'sets';
  columns: string[];
  sets: { id: string; rows: (number | null)[][]; lines?: number[] }[];
  notes: string[];
}

export interface GraphsRead {
  kind: 'graphs';
  graphs: { id: string; smiles?: string; nodes: { label: string; x?: number; y?: number }[]; edges: [number, number, string][] }[];
  notes: string[];
}

export interface SeriesRead {
  kind: 'series';
  frequency: string | null;
  season: number | null;
  series: { id: string; stamps: string[]; values: (number | null)[] }[];
  notes: string[];
}

export interface Prediction {
  id: string;
  prediction?: number | string | (number | null)[] | Record<string, unknown>;
  probabilities?: Record<string, number> | number[];
  importance?: number[];
  rows?: number;
  nodes?: number;
  edges?: number;
  components?: { weight: number; mean: number[]; deviation: number[] }[];
  row_components?: number[];
  log_likelihood?: number;
  [key: string]: unknown;
}

export interface Faithfulness {
  deletion_area: number;
  random_area: number;
}

export interface Attribution {
  id: string;
  answer: number;
  attribution: number[] | { nodes?: number[]; edges?: { source: string | number; target: string | number; attribution: number }[]; patches?: LagPart[]; lags?: LagPart[] };
  attention_rank_correlation: number | null;
  faithfulness: Faithfulness | null;
  standard_errors?: number[];
  [key: string]: unknown;
}

export interface LagPart {
  first_lag: number;
  last_lag: number;
  attribution: number;
}

export interface ForecastRow {
  unique_id: string;
  ds: string;
  forecast: number;
  intervals?: { level: number; low: number; high: number }[];
}

export interface Forecast {
  model: string | null;
  horizon: number;
  frequency: string | null;
  season: number | null;
  look_back: number;
  forecast: ForecastRow[];
  backtest: {
    rows: number;
    mase: number;
    smape?: number;
    seasonal_naive_mase?: number | null;
    naive_mase?: number | null;
    mase_of_series?: (number | null)[];
    coverage?: { level: number; coverage: number }[];
    members?: Member[];
    [key: string]: unknown;
  } | null;
  members?: Member[];
  notes: string[];
}

export interface Member {
  name: string;
  weight: number;
  mase?: number | null;
  validation_mase?: number | null;
}

export interface Run {
  name: string;
  family?: string;
  experiment?: string;
  steps?: number;
}

export type { Trace };

/** An answer that is no result: what, where, what was expected, and a way out. */
export class ServiceError extends Error {
  constructor(readonly status: number, readonly what: string, readonly where?: string, readonly expected?: string, readonly hint?: string) {
    super(what);
  }
}

const TOKEN = 'regard-token';

/** Asks the service; an answer that is an error is thrown as `ServiceError`. */
export class Service {
  /** False in a saved page, where nothing answers. */
  readonly live: boolean;
  /** Asks the reader for the token and gives it back, or null. */
  askToken: () => Promise<string | null> = async () => null;
  #token: string | null = null;
  #asking: Promise<string | null> | null = null;
  #models: Promise<Model[]> | null = null;
  #examples: Promise<Example[]> | null = null;

  constructor(live: boolean) {
    this.live = live;
    try {
      this.#token = sessionStorage.getItem(TOKEN);
    } catch {
      this.#token = null;
    }
  }

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.#ask<T>('GET', path, undefined, signal);
  }

  post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return this.#ask<T>('POST', path, JSON.stringify(body), signal);
  }

  /** The models of a family; the list is asked for once. */
  async models(family?: Family): Promise<Model[]> {
    if (!this.live) return [];
    this.#models ??= this.get<{ models: Model[] }>('/v1/models').then(({ models }) => models);
    const all = await this.#models.catch((error: unknown) => {
      this.#models = null;
      throw error;
    });
    return family ? all.filter((model) => model.family === family) : all;
  }

  async examples(family: Family): Promise<Example[]> {
    if (!this.live) return [];
    this.#examples ??= this.get<{ examples: Example[] }>('/v1/examples').then(({ examples }) => examples);
    const all = await this.#examples.catch((error: unknown) => {
      this.#examples = null;
      throw error;
    });
    return all.filter((example) => example.family === family);
  }

  async #ask<T>(method: string, path: string, body: string | undefined, signal?: AbortSignal, again = 2): Promise<T> {
    if (!this.live) throw new ServiceError(0, 'This is a saved page: it shows the numbers of one view and computes no others', undefined, undefined, 'open `regard serve` to change it');
    const headers: Record<string, string> = {};
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (this.#token !== null) headers.Authorization = `Bearer ${this.#token}`;
    let answer: Response;
    try {
      answer = await fetch(path, { method, headers, body, signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ServiceError(0, 'The service does not answer', undefined, undefined, 'see whether `regard serve` still runs, then try again');
    }
    if (answer.ok) return (await answer.json()) as T;
    if (answer.status === 401 && again > 0) {
      // Requests that were refused together wait for one answer of the reader.
      this.#asking ??= this.askToken().finally(() => { this.#asking = null; });
      const token = await this.#asking;
      if (token !== null) {
        this.#keepToken(token);
        return this.#ask<T>(method, path, body, signal, again - 1);
      }
    }
    const wait = Number(answer.headers.get('Retry-After'));
    if (answer.status === 429 && again > 0 && wait <= 3) {
      await new Promise((done) => window.setTimeout(done, 1000 * Math.max(0.2, wait)));
      return this.#ask<T>(method, path, body, signal, again - 1);
    }
    throw await failure(answer);
  }

  #keepToken(token: string): void {
    this.#token = token;
    try {
      sessionStorage.setItem(TOKEN, token);
    } catch {
      // Without storage the token lasts until the page is reloaded.
    }
  }
}

async function failure(answer: Response): Promise<ServiceError> {
  const text = await answer.text();
  try {
    const { error } = JSON.parse(text) as { error: { what: string; where?: string; expected?: string; hint?: string } };
    return new ServiceError(answer.status, error.what, error.where, error.expected, error.hint);
  } catch {
    return new ServiceError(answer.status, `The service answered ${answer.status} ${answer.statusText}`.trim());
  }
}

/**
 * Runs one task at a time; of those that arrive meanwhile only the newest follows, so that answers come in order while
 * something is dragged and the last one is of the last position.
 */
export class Latest {
  #running: AbortController | null = null;
  #started = 0;
  #waiting: ((signal: AbortSignal) => Promise<void>) | null = null;

  /** `patience`: milliseconds after which a running task is given up for a newer one. */
  constructor(readonly patience: number) {}

  get busy(): boolean {
    return this.#running !== null;
  }

  run(task: (signal: AbortSignal) => Promise<void>): void {
    this.#waiting = task;
    if (this.#running === null) void this.#next();
    else if (performance.now() - this.#started > this.patience) this.#running.abort();
  }

  cancel(): void {
    this.#waiting = null;
    this.#running?.abort();
  }

  async #next(): Promise<void> {
    while (this.#waiting !== null) {
      const task = this.#waiting;
      this.#waiting = null;
      this.#running = new AbortController();
      this.#started = performance.now();
      try {
        await task(this.#running.signal);
      } catch (error) {
        if (!this.#running.signal.aborted) console.error(error);
      }
      this.#running = null;
    }
  }
}
