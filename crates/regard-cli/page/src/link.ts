// The state of a view as the fragment of its address: `#room&key=value…`.

export type LinkState = Record<string, string>;

/** Longest fragment; browsers and messengers cut longer addresses. */
const MOST = 60_000;

/** The room and the state that an address names. */
export function readLink(hash: string): { room: string; state: LinkState } {
  const [room, ...rest] = hash.replace(/^#/, '').split('&');
  return { room: decodeURIComponent(room), state: Object.fromEntries(new URLSearchParams(rest.join('&'))) };
}

/** The fragment of a room and its state; null if it is too long for an address. */
export function writeLink(room: string, state: LinkState): string | null {
  const query = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== '')).toString();
  const hash = `#${room}${query ? `&${query}` : ''}`;
  return hash.length <= MOST ? hash : null;
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** A value as letters, digits, `-` and `_`: JSON, deflated. */
export async function pack(value: unknown): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream('deflate-raw'));
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The value that `pack` packed. */
export async function unpack<T>(text: string): Promise<T> {
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw')))) as T;
}
