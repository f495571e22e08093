// A service of its own for a test, and a browser to look at it.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = dirname(fileURLToPath(import.meta.url));
export const repository = join(here, '../../../..');
const browsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const browserPath = process.env.CHROMIUM ?? browsers.find(existsSync);
export const program = process.env.REGARD_BIN ?? join(repository, 'target/debug/regard');

/** The reason why the tests cannot run, or false. */
export const missing = !browserPath ? 'no Chromium (Debian: chromium)' : !existsSync(program) ? `no program at ${program} (REGARD_BIN)` : false;
if (missing) console.log(`skipped: ${missing}`);

const freePort = () => new Promise((resolve, reject) => {
  const server = createServer();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

/** Starts `regard serve` with more arguments and waits until it answers. */
export async function startService(...more) {
  const port = await freePort();
  const child = spawn(program, ['serve', '--listen', `127.0.0.1:${port}`, ...more], { stdio: ['ignore', 'ignore', 'pipe'], cwd: repository });
  let said = '';
  child.stderr.on('data', (data) => { said += data; });
  const address = `http://127.0.0.1:${port}/`;
  for (let tries = 0; tries < 300; tries += 1) {
    if (child.exitCode !== null) throw new Error(`regard serve ended: ${said}`);
    const answer = await fetch(`${address}readyz`).catch(() => null);
    if (answer?.ok) return { address, stop: () => new Promise((resolve) => { child.once('exit', resolve); child.kill('SIGTERM'); }) };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill('SIGKILL');
  throw new Error(`regard serve does not answer: ${said}`);
}

export const startBrowser = () => chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** A page on which nothing may go wrong: errors of scripts and requests to other places are kept. */
export async function openPage(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const wrong = [];
  const origin = new URL(address).origin;
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) wrong.push(message.text()); });
  page.on('request', (request) => { if (!request.url().startsWith(origin) && !/^(data|blob|file):/.test(request.url())) wrong.push(`asks ${request.url()}`); });
  await page.goto(address);
  await settled(page);
  return { page, wrong, context };
}

/** Waits until nothing is asked any more. */
export async function settled(page) {
  await page.waitForTimeout(150);
  await page.waitForFunction(() => document.querySelector('main')?.getAttribute('aria-busy') === 'false', null, { timeout: 60_000 });
  await page.waitForTimeout(350);
}

/** The text of a file that pressing something saves. */
export async function downloaded(page, press) {
  const [download] = await Promise.all([page.waitForEvent('download'), press()]);
  const stream = await download.createReadStream();
  let text = '';
  for await (const part of stream) text += part;
  return { name: download.suggestedFilename(), text, path: await download.path() };
}

/** Saves the view in one of its forms. */
export async function saveView(page, form) {
  return downloaded(page, async () => {
    await page.click('.actions .menu > summary');
    await page.click(`button[name="save-${form}"]`);
  });
}
