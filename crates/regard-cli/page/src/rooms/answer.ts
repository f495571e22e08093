// The answer of a model for one example: a number with its intervals, several numbers, or a class with probabilities.

import { html, nothing, type TemplateResult } from 'lit-html';
import { percent, short, signed } from '../dom.ts';
import type { Prediction } from '../service.ts';

interface Interval {
  level: number;
  low: number;
  high: number;
}

/** `before`: the answer to compare with, and what it is of. */
export function answerCard(now: Prediction, before: Prediction | null, of: string, name = 'Answer'): TemplateResult {
  const { prediction, probabilities, predictions, intervals } = now as Prediction & { predictions?: Record<string, number>; intervals?: Interval[] };
  const many = predictions && typeof predictions === 'object' ? Object.entries(predictions) : [];
  const shares = probabilities && !Array.isArray(probabilities) ? Object.entries(probabilities) : [];
  const number = typeof prediction === 'number';
  const old = before?.prediction;
  return html`<section class="card result" aria-label="Result"><p class="quiet">${name}</p>
    ${many.length ? nothing : html`<p class="big"><span name="answer">${number ? short(prediction, 5) : String(prediction ?? '–')}</span></p>`}
    ${number && typeof old === 'number' ? html`<p class="tiny">${of}: <span class="number">${short(old, 5)}</span>, change <strong class="number">${signed(prediction - old, 3)}</strong></p>` : nothing}
    ${!number && typeof old === 'string' ? html`<p class="tiny">${of}: ${old}</p>` : nothing}
    ${(intervals ?? []).length ? html`<p class="tiny quiet">${(intervals as Interval[]).map(({ level, low, high }) => html`<span class="number">${level} %: ${short(low, 4)} to ${short(high, 4)}</span> `)}</p>` : nothing}
    ${many.length ? html`<table class="plain"><tbody>${many.map(([target, value]) => html`<tr><th class="text" scope="row">${target}</th><td>${short(value, 5)}</td></tr>`)}</tbody></table>` : nothing}
    ${shares.length
      ? html`<table class="plain"><tbody>${shares.map(([label, share]) => {
          const was = before && before.probabilities && !Array.isArray(before.probabilities) ? before.probabilities[label] : undefined;
          return html`<tr><th class="text" scope="row">${label}</th><td class="text"><span class="track"><span class="meter" .style=${`width:${100 * share}%`}></span></span></td><td>${percent(share)}</td><td class="quiet">${was === undefined ? '' : `was ${percent(was)}`}</td></tr>`;
        })}</tbody></table>`
      : nothing}
  </section>`;
}
