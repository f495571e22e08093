import { html } from 'lit-html';
import { Room, type Shell } from '../room.ts';
export class AttentionRoom extends Room<object> {
  readonly name = 'attention'; readonly title = 'attention'; readonly about = '';
  constructor(shell: Shell) { super(shell, {}); }
  view() { return html``; }
  async open() {} link() { return {}; } async receive() {}
}
