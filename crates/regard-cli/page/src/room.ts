// What all rooms have in common: a state that a link, a file and a saved page carry, and messages.

import { html, nothing, type TemplateResult } from 'lit-html';
import type { LinkState } from './link.ts';
import { ServiceError, type Service } from './service.ts';

/** The page around the rooms. */
export interface Shell {
  service: Service;
  /** Draws the page anew and puts the state into the address. */
  refresh(): void;
  /** Says something to readers of the screen. */
  say(text: string): void;
  /** Shows something for a moment. */
  toast(text: string): void;
  /** Asks for a table as text. */
  pasteTable(): void;
}

export abstract class Room<State extends object> {
  abstract readonly name: string;
  abstract readonly title: string;
  /** One sentence under the title. */
  abstract readonly about: string;
  /** Width of the largest picture, in pixels; measured after each drawing. */
  width = 640;
  error: ServiceError | null = null;
  /** Tasks that have not ended. */
  protected pending = 0;

  constructor(protected readonly shell: Shell, public state: State) {}

  protected get service(): Service {
    return this.shell.service;
  }

  get busy(): boolean {
    return this.pending > 0;
  }

  /** The content of the room. */
  abstract view(): TemplateResult;

  /** Opens what a link says; an empty link opens the first example. */
  abstract open(link: LinkState): Promise<void>;

  /** The state as a link says it. */
  abstract link(): LinkState | Promise<LinkState>;

  /** A file that was dropped or pasted. */
  abstract receive(file: File): Promise<void>;

  /** Called when another room is shown. */
  leave(): void {}

  protected update(change: Partial<State>): void {
    Object.assign(this.state, change);
    this.shell.refresh();
  }

  /** Runs a task; its error is shown, and the last error goes when it begins. */
  protected async task(work: () => Promise<void>, signal?: AbortSignal): Promise<boolean> {
    this.pending += 1;
    this.shell.refresh();
    try {
      await work();
      this.error = null;
      return true;
    } catch (error) {
      if (!signal?.aborted) this.fail(error);
      return false;
    } finally {
      this.pending -= 1;
      this.shell.refresh();
    }
  }

  protected fail(error: unknown): void {
    this.error = error instanceof ServiceError ? error : new ServiceError(0, error instanceof Error ? error.message : String(error));
    if (!(error instanceof ServiceError)) console.error(error);
    this.shell.say(`Error: ${this.error.what}`);
  }

  /** The error, in words, with its way out. */
  failure(): TemplateResult | typeof nothing {
    const { error } = this;
    if (!error) return nothing;
    const line = (name: string, text: string | undefined): TemplateResult | typeof nothing => (text ? html`<p><span class="quiet">${name}</span> ${text}</p>` : nothing);
    const dismiss = (): void => {
      this.error = null;
      this.shell.refresh();
    };
    return html`<div class="failure" role="alert">
      <p class="what">${error.what}</p>
      <button class="small" @click=${dismiss} aria-label="Close this message">Close</button>
      ${line('where:', error.where)} ${line('expected:', error.expected)} ${line('hint:', error.hint)}
    </div>`;
  }

  /** Notes of the service: what was left out, filled in or guessed. */
  protected notes(...lists: (string[] | undefined)[]): TemplateResult | typeof nothing {
    const all = [...new Set(lists.flatMap((list) => list ?? []))];
    if (!all.length) return nothing;
    return html`<details class="card notes" ?open=${all.length <= 2}><summary>${all.length === 1 ? '1 note' : `${all.length} notes`}</summary><ul>${all.map((note) => html`<li>${note}</li>`)}</ul></details>`;
  }
}
