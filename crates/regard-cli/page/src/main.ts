// The page of `regard serve`: its rooms, the address that brings a view back, and saving.

import { html, nothing, render, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { saveText, svgText } from './files.ts';
import { readLink, writeLink } from './link.ts';
import type { Room, Shell } from './room.ts';
import { AttentionRoom } from './rooms/attention.ts';
import { GraphsRoom } from './rooms/graphs.ts';
import { RoutesRoom } from './rooms/routes/room.ts';
import { SeriesRoom } from './rooms/series.ts';
import { SetsRoom } from './rooms/sets/room.ts';
import { TrainingRoom } from './rooms/training.ts';
import { Service } from './service.ts';
import { onTheme, restoreTheme, setTheme, theme, type Theme } from './theme.ts';

const SCHEMA = 'regard-page/1';

/** A view as a file: the room and its state with all answers. */
interface SavedView {
  schema: string;
  room: string;
  state: object;
}

type AnyRoom = Room<object>;

class Page implements Shell {
  readonly service: Service;
  readonly rooms: AnyRoom[];
  readonly #root: HTMLElement;
  readonly #said = document.createElement('div');
  #room: AnyRoom;
  #drawn = false;
  #linked = 0;
  #toast = '';
  #toastTimer = 0;
  #token: ((token: string | null) => void) | null = null;
  #pasting = false;
  #dropping = false;

  constructor(root: HTMLElement, saved: SavedView | null) {
    this.#root = root;
    this.service = new Service(saved === null);
    this.service.askToken = () => new Promise((resolve) => {
      this.#token = resolve;
      this.refresh();
    });
    this.rooms = [new RoutesRoom(this), new SetsRoom(this), new GraphsRoom(this), new SeriesRoom(this), new AttentionRoom(this), new TrainingRoom(this)] as AnyRoom[];
    this.#room = this.rooms[0];
    this.#said.className = 'visually-hidden';
    this.#said.setAttribute('aria-live', 'polite');
    this.#said.setAttribute('role', 'status');
    document.body.append(this.#said);
    if (saved) this.restore(saved);
    else void this.follow(true);
    if (!saved) window.addEventListener('hashchange', () => void this.follow(false));
    window.addEventListener('resize', () => this.refresh());
    document.addEventListener('paste', (event) => this.#paste(event));
    document.addEventListener('dragover', (event) => this.#drag(event, true));
    document.addEventListener('dragleave', (event) => {
      if (event.relatedTarget === null) this.#drag(event, false);
    });
    document.addEventListener('drop', (event) => this.#drop(event));
    document.addEventListener('click', (event) => closeMenus(event.target as Node));
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') closeMenus(null);
    });
    onTheme(() => this.refresh());
  }

  // Drawing ---------------------------------------------------------------------------------------------------------

  refresh(): void {
    if (this.#drawn) return;
    this.#drawn = true;
    requestAnimationFrame(() => {
      this.#drawn = false;
      this.#draw();
      this.#keepLink();
    });
  }

  #draw(): void {
    render(this.#view(), this.#root);
    document.title = `${this.#room.title} · regard`;
    this.#root.querySelectorAll('dialog').forEach((dialog) => {
      if (!dialog.open) dialog.showModal();
    });
    const stage = this.#root.querySelector('[data-stage]');
    const width = stage ? Math.floor(stage.clientWidth) : 0;
    if (width > 0 && width !== this.#room.width) {
      this.#room.width = width;
      render(this.#view(), this.#root);
    }
  }

  #view(): TemplateResult {
    const room = this.#room;
    const shown = this.service.live ? this.rooms : [room];
    return html`
      <a class="skip" href="#main" @click=${skip}>Skip to the content</a>
      <header class="top">
        <a class="brand" href="#routes" aria-label="regard, first page">${MARK}regard</a>
        <nav class="rooms" aria-label="Rooms">${shown.map((one) => html`<a href=${`#${one.name}`} aria-current=${one === room ? 'page' : nothing}>${one.title}</a>`)}</nav>
        <div class="actions">
          ${this.service.live ? html`<button name="link" @click=${() => this.copyLink()}>Copy link</button>` : nothing}
          <details class="menu"><summary aria-label="Save this view">Save</summary><div>
            ${this.service.live ? html`<button name="save-html" @click=${() => this.saveHtml()}>Page (HTML)</button>` : nothing}
            <button name="save-svg" @click=${() => this.saveSvg()}>Picture (SVG)</button>
            <button name="save-json" @click=${() => this.saveJson()}>Numbers (JSON)</button>
          </div></details>
          <label><span class="visually-hidden">Colours</span><select name="theme" .value=${live(theme())} @change=${(event: Event) => setTheme((event.target as HTMLSelectElement).value as Theme)}>
            <option value="auto">Auto</option><option value="light">Light</option><option value="dark">Dark</option>
          </select></label>
        </div>
      </header>
      <main class="room ${room.name} ${this.#dropping ? 'dropping' : ''}" id="main" tabindex="-1" aria-busy=${room.busy ? 'true' : 'false'}>
        <header><h1>${room.title}</h1><p>${room.about}</p></header>
        ${room.failure()}
        ${room.view()}
      </main>
      ${this.#toast ? html`<div class="toast" role="status">${this.#toast}</div>` : nothing}
      ${this.#token ? this.#tokenDialog() : nothing}
      ${this.#pasting ? this.#pasteDialog() : nothing}`;
  }

  say(text: string): void {
    this.#said.textContent = text;
  }

  toast(text: string): void {
    this.#toast = text;
    window.clearTimeout(this.#toastTimer);
    this.#toastTimer = window.setTimeout(() => {
      this.#toast = '';
      this.refresh();
    }, 3500);
    this.refresh();
  }

  // The address -----------------------------------------------------------------------------------------------------

  /** Opens what the address says. */
  async follow(first: boolean): Promise<void> {
    const { room: name, state } = readLink(window.location.hash);
    const room = this.rooms.find((one) => one.name === name) ?? this.rooms[0];
    const changed = room !== this.#room;
    if (changed) this.#room.leave();
    this.#room = room;
    // A tab without a state shows what the room had.
    if (!first && changed && Object.keys(state).length === 0 && this.#opened.has(room)) {
      this.refresh();
      return;
    }
    this.#opened.add(room);
    this.refresh();
    await room.open(state).catch((error: unknown) => room['fail'](error));
    this.refresh();
  }

  readonly #opened = new Set<AnyRoom>();

  #keepLink(): void {
    if (!this.service.live) return;
    window.clearTimeout(this.#linked);
    this.#linked = window.setTimeout(async () => {
      const room = this.#room;
      if (room.busy) return;
      const hash = writeLink(room.name, await room.link());
      if (hash !== null && room === this.#room && hash !== window.location.hash) window.history.replaceState(null, '', hash);
    }, 250);
  }

  async copyLink(): Promise<void> {
    const hash = writeLink(this.#room.name, await this.#room.link());
    if (hash === null) {
      this.toast('This view is too large for a link; save it as HTML or JSON instead.');
      return;
    }
    window.history.replaceState(null, '', hash);
    const address = window.location.href;
    try {
      await navigator.clipboard.writeText(address);
      this.toast('The link is copied; it brings this view back.');
    } catch {
      this.toast('The address of this page brings this view back.');
    }
  }

  // Saving ----------------------------------------------------------------------------------------------------------

  saved(): SavedView {
    return { schema: SCHEMA, room: this.#room.name, state: this.#room.state };
  }

  restore(view: SavedView): void {
    const room = this.rooms.find((one) => one.name === view.room);
    if (!room) throw new Error(`there is no room ${view.room}`);
    if (room !== this.#room) this.#room.leave();
    this.#room = room;
    this.#opened.add(room);
    room.state = view.state;
    room.error = null;
    this.refresh();
  }

  saveJson(): void {
    saveText(`${this.#room.name}.json`, 'application/json', JSON.stringify(this.saved()));
  }

  saveSvg(): void {
    const pictures = [...this.#root.querySelectorAll<SVGSVGElement>('[data-picture] svg')];
    const captions = pictures.map((picture) => picture.parentElement?.querySelector('figcaption')?.textContent ?? '');
    if (pictures.length) saveText(`${this.#room.name}.svg`, 'image/svg+xml', svgText(pictures, captions));
    else this.toast('There is no picture here yet.');
  }

  /** The view as one file that needs no service: script, style and numbers stand in it. */
  async saveHtml(): Promise<void> {
    const [script, style] = await Promise.all(['assets/page.js', 'assets/page.css'].map(async (path) => (await fetch(path)).text()));
    const data = JSON.stringify(this.saved()).replaceAll('<', '\\u003c');
    const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";
    const title = `${this.#room.title} · regard`;
    const text = ['<!doctype html>', '<html lang="en">', '<head>', '<meta charset="utf-8">', '<meta name="viewport" content="width=device-width, initial-scale=1">', `<meta http-equiv="Content-Security-Policy" content="${policy}">`, '<meta name="generator" content="regard">', `<title>${title}</title>`, `<style>${style}</style>`, '</head>', '<body>', '<div id="page"></div>', `<script type="application/json" id="saved">${data}</script>`, `<script>${script.replaceAll('</script', '<\\/script')}</script>`, '</body>', '</html>', ''].join('\n');
    saveText(`${this.#room.name}.html`, 'text/html', text);
  }

  // Files that arrive -----------------------------------------------------------------------------------------------

  async receive(file: File): Promise<void> {
    if (/\.json$/i.test(file.name)) {
      const view = await file.text().then((text) => JSON.parse(text) as Partial<SavedView>).catch(() => null);
      if (view?.schema === SCHEMA) {
        this.restore(view as SavedView);
        return;
      }
    }
    await this.#room.receive(file);
  }

  #paste(event: ClipboardEvent): void {
    const target = event.target as HTMLElement | null;
    if (!this.service.live || target?.closest('input, textarea, select, dialog')) return;
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (text.trim().includes('\n')) {
      event.preventDefault();
      void this.receive(new File([text], 'pasted.csv'));
    }
  }

  pasteTable(): void {
    this.#pasting = true;
    this.refresh();
  }

  #drag(event: DragEvent, over: boolean): void {
    if (!this.service.live || !event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    if (over === this.#dropping) return;
    this.#dropping = over;
    this.refresh();
  }

  #drop(event: DragEvent): void {
    if (!this.#dropping) return;
    event.preventDefault();
    this.#dropping = false;
    const file = event.dataTransfer?.files[0];
    if (file) void this.receive(file);
    this.refresh();
  }

  // Dialogs ---------------------------------------------------------------------------------------------------------

  #tokenDialog(): TemplateResult {
    const answer = (token: string | null): void => {
      this.#token?.(token);
      this.#token = null;
      this.refresh();
    };
    const send = (event: SubmitEvent): void => {
      event.preventDefault();
      answer(String(new FormData(event.target as HTMLFormElement).get('token') ?? ''));
    };
    return html`<dialog aria-labelledby="token-title" @cancel=${() => answer(null)}><h2 id="token-title">This service needs a token</h2>
      <form @submit=${send}>
        <p>It is in the file that <code>regard serve --token-file</code> names. This browser keeps it until the tab is closed.</p>
        <label>Token <input type="password" name="token" autocomplete="off" required autofocus></label>
        <div class="row"><button class="main">Use it</button><button type="button" @click=${() => answer(null)}>Cancel</button></div>
      </form></dialog>`;
  }

  #pasteDialog(): TemplateResult {
    const close = (): void => {
      this.#pasting = false;
      this.refresh();
    };
    const send = (event: SubmitEvent): void => {
      event.preventDefault();
      const text = String(new FormData(event.target as HTMLFormElement).get('table') ?? '');
      close();
      if (text.trim()) void this.receive(new File([text], 'pasted.csv'));
    };
    return html`<dialog aria-labelledby="paste-title" @cancel=${close}><h2 id="paste-title">Paste a table</h2>
      <form @submit=${send}>
        <label><span class="visually-hidden">Table</span><textarea name="table" spellcheck="false" autofocus placeholder="id,x,y&#10;a,0,0&#10;b,3,4"></textarea></label>
        <div class="row"><button class="main">Open</button><button type="button" @click=${close}>Cancel</button></div>
      </form></dialog>`;
  }
}

const MARK = html`<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9.5" fill="none" stroke="var(--accent)" stroke-width="2"></circle><circle cx="12" cy="12" r="3.6" fill="var(--chosen)"></circle></svg>`;

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** Menus close when something else is pressed, or one of their buttons. */
function closeMenus(target: Node | null): void {
  document.querySelectorAll<HTMLDetailsElement>('details.menu[open]').forEach((menu) => {
    const summary = menu.querySelector('summary');
    if (target === null || !menu.contains(target) || (target instanceof Element && target.closest('button') && !summary?.contains(target))) menu.open = false;
  });
}

restoreTheme();
const root = document.getElementById('page');
const data = document.getElementById('saved')?.textContent;
if (root) new Page(root, data ? (JSON.parse(data) as SavedView) : null);
