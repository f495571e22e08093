// Files of edited instances say all that was read.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const source = join(dirname(fileURLToPath(import.meta.url)), '../src/rooms/routes/instance.ts');
const made = await build({ entryPoints: [source], bundle: true, write: false, format: 'esm' });
const { editable, instanceOf, newAmounts, renamed, written } = await import(`data:text/javascript,${encodeURIComponent(made.outputFiles[0].text)}`);

/** An answer of `/v1/read`. */
const read = (more) => ({ kind: 'routes', name: 't', n: 3, problem: 'p', title: 'a problem', maximises: false, metric: 'euclidean', unit: '', geographic: false, depot: true, notes: [], options: [], ...more });

const windows = read({
  columns: [{ name: 'demand', kind: 'amount' }, { name: 'ready', kind: 'time' }, { name: 'due', kind: 'time' }],
  options: [
    { name: 'capacity', value: '9', requested: true },
    { name: 'vehicles', value: '2', requested: false },
    { name: 'speed', value: '30', requested: false },
    { name: 'service_time', value: null, requested: false },
  ],
  nodes: [
    { id: 'hub', x: 0, y: 0, demand: 0, ready: 0, due: null },
    { id: 'a', x: 3, y: 0, demand: 2, ready: 5, due: 50 },
    { id: 'b', x: 0, y: 1, demand: 1, ready: 0, due: null },
  ],
});

it('a time that never ends stays an empty field, and every number stands above the table', () => {
  const found = written(instanceOf(windows), { name: 't.csv', content: '' }, { capacity: '7', time: '1s', column: 'x=X' });
  assert.equal(found.source.content, '# capacity: 7\n# vehicles: 2\n# speed: 30\nid,x,y,demand,ready,due\nhub,0,0,0,0,\na,3,0,2,5,50\nb,0,1,1,0,\n');
  assert.deepEqual(found.options, { time: '1s' });
  assert.deepEqual(newAmounts(instanceOf(windows)), { demand: 2, ready: null, due: null });
});

it('places that name others do so by their names, whatever these become', () => {
  const nodes = [{ id: '1', label: 'hub', x: 0, y: 0, pickup: null }, { id: '2', label: 'shop', x: 3, y: 0, pickup: null }, { id: '3', label: 'shop', x: 0, y: 1, pickup: '2' }, { id: '4', label: 'bar', x: 1, y: 1, pickup: '3' }];
  const instance = instanceOf(read({ columns: [{ name: 'pickup', kind: 'node' }], nodes }));
  const text = (places) => written({ ...instance, places }, null, {}).source.content;
  assert.equal(text(instance.places), 'id,x,y,pickup\nhub,0,0,\nshop,3,0,\n"shop#2",0,1,shop\nbar,1,1,"shop#2"\n');
  assert.match(text(renamed(instance.places, 'shop', 'store')), /\n"shop#2",0,1,store\n/);
  assert.match(text(renamed(instance.places, 'shop#2', null)), /\nbar,1,1,\n/);
});

it('a file of TSPLIB has all numbers as keywords', () => {
  const options = [{ name: 'capacity', value: '9', requested: true }, { name: 'max_length', value: '80', requested: true }, { name: 'service_time', value: '10', requested: false }];
  const columns = [{ name: 'demand', kind: 'amount' }];
  const nodes = [{ id: '1', x: 0, y: 0, demand: 0 }, { id: '2', x: 3, y: 4, demand: 5 }];
  const instance = instanceOf(read({ problem: 'cvrp', metric: 'EUC_2D', options, columns, nodes }));
  assert.ok(editable(instance));
  const found = written(instance, { name: 'a.vrp' }, { max_length: '70' });
  assert.match(found.source.content, /CAPACITY : 9\nDISTANCE : 70\nSERVICE_TIME : 10\n/);
  assert.deepEqual(found.options, {});
});
