// One decision of the policy: what it may choose, how probable each choice is, and what another one would cost.

import { flat, meanOf, Steps, type Step, type Trace } from '../../trace/trace.ts';

/** Steps of a trace that the room shows. */
const SHOWN = /^decode\.\d+\.(probability|clipped|mask|choice|regret|glimpse)$/;

export function decisionsOnly(trace: Trace): Step[] {
  return trace.steps.filter((step) => SHOWN.test(step.name));
}

export interface Candidate {
  node: number;
  probability: number;
  clipped: number | null;
  regret: number | null;
}

export interface Decision {
  at: number;
  chosen: number;
  /** Nodes visited before, with the depot where there is one. */
  path: number[];
  /** By node; 0 where a node is barred. */
  probabilities: number[];
  open: boolean[];
  reasons: string[];
  candidates: Candidate[];
  /** Attention of the decoder by head and node. */
  glimpse: (number | null)[][];
}

export class Decoding {
  readonly #steps: Steps;
  readonly count: number;
  readonly choices: number[];

  constructor(steps: Step[], private readonly depot: boolean) {
    this.#steps = new Steps({ schema: '', model: '', input: '', steps });
    this.choices = [];
    for (let at = 0; ; at += 1) {
      const choice = this.#steps.values(`decode.${at}.choice`);
      if (!choice) break;
      this.choices.push(choice[0] as number);
    }
    this.count = this.choices.length;
  }

  /** If true, the numbers of a step are here. */
  has(at: number): boolean {
    return this.#steps.get(`decode.${at}.clipped`) !== undefined;
  }

  /** The probability of the choice of a step. */
  confidence(at: number): number | null {
    return this.#steps.values(`decode.${at}.probability`)?.[this.choices[at]] ?? null;
  }

  /** A step with the softmax of its clipped logits at a temperature. */
  decision(at: number, temperature: number): Decision | null {
    const [clipped, mask, probability] = ['clipped', 'mask', 'probability'].map((name) => this.#steps.get(`decode.${at}.${name}`));
    if (!clipped || !mask) return null;
    const logits = flat(clipped);
    const open = flat(mask).map((value) => value !== 0);
    const probabilities = temperature === 1 && probability ? flat(probability).map((value) => value ?? 0) : softmax(logits, open, temperature);
    const regret = this.#steps.get(`decode.${at}.regret`);
    const labels = clipped.axes[0].labels;
    const regrets = new Map(regret?.axes[0].labels.map((label, place) => [label, flat(regret)[place]]));
    const chosen = this.choices[at];
    const candidates = logits
      .map((value, node) => ({ node, probability: probabilities[node], clipped: value, regret: node === chosen ? 0 : regrets.get(labels[node]) ?? null }))
      .filter(({ node }) => open[node])
      .sort((a, b) => b.probability - a.probability || (b.clipped ?? 0) - (a.clipped ?? 0));
    const glimpse = this.#steps.get(`decode.${at}.glimpse`);
    const heads = glimpse ? glimpse.shape[0] : 0;
    const all = glimpse ? flat(glimpse) : [];
    const path = this.choices.slice(0, at);
    return {
      at,
      chosen,
      path: this.depot ? [0, ...path] : path,
      probabilities,
      open,
      reasons: mask.notes,
      candidates,
      glimpse: Array.from({ length: heads }, (_, head) => all.slice(head * logits.length, (head + 1) * logits.length)),
    };
  }
}

export function softmax(logits: (number | null)[], open: boolean[], temperature: number): number[] {
  const scaled = logits.map((value, at) => (open[at] && value !== null ? value / temperature : -Infinity));
  const most = scaled.reduce((a, b) => Math.max(a, b), -Infinity);
  const exponentials = scaled.map((value) => Math.exp(value - most));
  const total = exponentials.reduce((a, b) => a + b, 0);
  return exponentials.map((value) => value / total);
}

/** One head of several, or their mean. */
export function headOf(heads: (number | null)[][], head: number | null): (number | null)[] {
  if (!heads.length) return [];
  return head === null ? meanOf(heads) : heads[Math.min(head, heads.length - 1)];
}
