// The script of a trace as one file: what `regard explain --html` writes.

import { mountTrace } from './viewer.ts';
import type { Trace } from './trace.ts';

const root = document.getElementById('trace');
const data = document.getElementById('trace-data');
if (root && data) mountTrace(root, JSON.parse(data.textContent ?? '') as Trace, { fragment: true });
