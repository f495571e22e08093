// Light or dark: what the system prefers, or what the reader chose.

export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'regard-theme';
const prefers = window.matchMedia('(prefers-color-scheme: dark)');

/** The choice of the reader; `auto` follows the system. */
export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'light' || chosen === 'dark' ? chosen : 'auto';
}

/** If true, the page is drawn on a dark ground. */
export function isDark(): boolean {
  const chosen = theme();
  return chosen === 'auto' ? prefers.matches : chosen === 'dark';
}

/** Draws the page light or dark from now on and remembers it where the browser lets it. */
export function setTheme(chosen: Theme): void {
  if (chosen === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  try {
    if (chosen === 'auto') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // A page without storage keeps the choice as long as it is open.
  }
  document.dispatchEvent(new CustomEvent('regard-theme'));
}

/** The choice of the last visit. */
export function restoreTheme(): void {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
  } catch {
    // No storage: the system's preference holds.
  }
}

/** Calls `listener` whenever light turns into dark or back. */
export function onTheme(listener: () => void): void {
  prefers.addEventListener('change', listener);
  document.addEventListener('regard-theme', listener);
}
