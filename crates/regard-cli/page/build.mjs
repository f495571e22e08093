// Builds the page: dist/ for `regard serve`, and the script and style of traces for `regard explain --html`.
//
//     node build.mjs            writes the files
//     node build.mjs --check    ends with exit code 1 where a file is not what the sources build

import { build } from 'esbuild';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../..');
const dist = join(here, 'dist');
const explain = join(here, '../../regard/src/explain/page');
const BUILT = 'Built by `npm run build` in crates/regard-cli/page.';
const common = { absWorkingDir: here, bundle: true, write: false, metafile: true, target: ['es2022'], charset: 'utf8', legalComments: 'none', logLevel: 'warning' };

/** The only file that a bundle consists of, and the packages in it. */
async function bundle(entry, options) {
  const made = await build({ ...common, ...options, entryPoints: [entry] });
  const inputs = Object.entries(Object.values(made.metafile.outputs)[0].inputs).filter(([, part]) => part.bytesInOutput > 0);
  const packages = new Set(inputs.map(([path]) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  return { text: made.outputFiles[0].text, packages: [...packages].sort() };
}

/** The licences of packages, as a comment that stays with the code. */
async function notices(packages) {
  const parts = await Promise.all(packages.map(async (name) => {
    const folder = join(here, 'node_modules', name);
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const licence = await readFile(join(folder, 'LICENSE'), 'utf8');
    return `${name} ${version}\n\n${licence.trim()}`;
  }));
  return parts.length ? `/*!\n${parts.join('\n\n---\n\n').replaceAll('*/', '* /')}\n*/\n` : '';
}

const page = await bundle('src/main.ts', { format: 'iife', minify: true, loader: { '.json': 'json' } });
const style = await bundle('src/style/page.css', { minify: true });
const trace = await bundle('src/trace/page.ts', { format: 'iife', minify: true });
const traceStyle = await bundle('src/style/trace_page.css', { minify: true });
const files = new Map([
  [join(dist, 'index.html'), await readFile(join(here, 'src/index.html'), 'utf8')],
  [join(dist, 'assets/page.js'), `// ${BUILT}\n${page.text}${await notices(page.packages)}`],
  [join(dist, 'assets/page.css'), `/* ${BUILT} */\n${style.text}`],
  [join(explain, 'trace.js'), `// ${BUILT}\n${trace.text}${await notices(trace.packages)}`],
  [join(explain, 'trace.css'), `/* ${BUILT} */\n${traceStyle.text}`],
]);

let stale = 0;
for (const [path, text] of files) {
  if (process.argv.includes('--check')) {
    const found = await readFile(path, 'utf8').catch(() => '');
    if (found !== text) {
      console.error(`${path} is not what the sources build: run \`npm run build\``);
      stale += 1;
    }
  } else {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
if (stale) process.exit(1);
for (const [path, text] of files) console.log(`${relative(root, path)} ${Math.ceil(text.length / 1024)} KiB`);
