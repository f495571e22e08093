import { html } from 'lit-html';
import { Room, type Shell } from '../room.ts';
export class SeriesRoom extends Room<object> {
  readonly name = 'series'; readonly title = 'series'; readonly about = '';
  constructor(shell: Shell) { super(shell, {}); }
  view() { return html``; }
  async open() {} link() { return {}; } async receive() {}
}
