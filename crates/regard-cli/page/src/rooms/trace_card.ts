// A card that shows every number of the forward pass behind a view, when it is opened.

import { html, nothing, type TemplateResult } from 'lit-html';
import { mountTrace } from '../trace/viewer.ts';
import type { Trace } from '../trace/trace.ts';

export class TraceCard {
  readonly #place = document.createElement('div');
  #shown: Trace | null = null;

  /** `load` asks for the trace; it is called when the card is opened or its input changed while it is open. */
  constructor(private readonly load: () => void) {}

  view(trace: Trace | null, open: boolean, toggle: (open: boolean) => void, note?: string): TemplateResult {
    if (trace && trace !== this.#shown && open) {
      this.#shown = trace;
      // The viewer measures its place, which is there only after this drawing.
      requestAnimationFrame(() => mountTrace(this.#place, trace, { untitled: true }));
    }
    const toggled = (event: Event): void => {
      const { open: now } = event.target as HTMLDetailsElement;
      if (now !== open) toggle(now);
      if (now && !trace) this.load();
    };
    return html`<details class="card every-number" ?open=${open} @toggle=${toggled}>
      <summary>Every number of this answer</summary>
      ${note ? html`<p class="quiet tiny">${note}</p>` : nothing}
      ${open && !trace ? html`<p class="quiet">Loading…</p>` : nothing}
      ${open && trace ? this.#place : nothing}
    </details>`;
  }
}
