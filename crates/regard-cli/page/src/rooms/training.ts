import { html } from 'lit-html';
import { Room, type Shell } from '../room.ts';
export class TrainingRoom extends Room<object> {
  readonly name = 'training'; readonly title = 'training'; readonly about = '';
  constructor(shell: Shell) { super(shell, {}); }
  view() { return html``; }
  async open() {} link() { return {}; } async receive() {}
}
