// Walks each room as a user would: open, change, explain, save, come back by the link.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { downloaded, missing, openPage, saveView, settled, startBrowser, startService } from './service.mjs';

describe('the page', { skip: missing, concurrency: false, timeout: 600_000 }, () => {
  let service;
  let browser;

  before(async () => {
    const runs = mkdtempSync(join(tmpdir(), 'regard-runs-'));
    writeFileSync(join(mkdir(runs, 'demo'), 'metrics.jsonl'), metrics(30));
    writeFileSync(join(runs, 'demo', 'experiment.toml'), '# demo\n[task]\nfamily = "routes"\n');
    service = await startService('--runs', runs);
    service.runs = runs;
    browser = await startBrowser();
  });

  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const at = (hash = '') => openPage(browser, service.address + hash);
  const number = async (page, selector) => Number((await page.locator(selector).first().textContent()).replaceAll(',', '').replace('−', '-'));

  /** The view comes back by its link, and as a file without the service; it saves as SVG and JSON. */
  async function keeps(page, wrong, picture, word) {
    await page.waitForTimeout(600);
    const hash = await page.evaluate(() => window.location.hash);
    const again = await at(hash);
    const text = await again.page.locator('main').innerText();
    assert.match(text, word, 'the link brings the view back');
    assert.deepEqual(again.wrong, []);
    await again.context.close();
    const json = JSON.parse((await saveView(page, 'json')).text);
    assert.equal(json.schema, 'regard-page/1');
    if (picture) assert.match((await saveView(page, 'svg')).text, picture);
    const html = await saveView(page, 'html');
    const folder = mkdtempSync(join(tmpdir(), 'regard-page-'));
    writeFileSync(join(folder, 'view.html'), html.text);
    const saved = await openPage(browser, `file://${join(folder, 'view.html')}`);
    assert.match(await saved.page.locator('main').innerText(), word, 'the saved page shows the view');
    assert.deepEqual(saved.wrong, []);
    await saved.context.close();
    assert.deepEqual(wrong, []);
  }

  it('routes: a place is dragged, the tour follows, decisions are shown', async () => {
    const { page, wrong, context } = await at('#routes&example=capitals.csv');
    const whole = await number(page, '[name="cost"]');
    assert.ok(whole > 21_000 && whole < 24_000, `${whole}`);
    const place = await page.locator('svg.plane circle.place').nth(30).boundingBox();
    await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
    await page.mouse.down();
    for (let step = 1; step <= 25; step += 1) {
      await page.mouse.move(place.x + 4 * step, place.y - 2 * step);
      await page.waitForTimeout(25);
    }
    const latencies = await page.evaluate(() => performance.getEntriesByName('regard-edit').map((entry) => entry.duration).sort((a, b) => a - b));
    assert.ok(latencies.length >= 3, `${latencies.length} tours while the place moved`);
    console.log(`edit to tour: median ${Math.round(latencies[latencies.length >> 1])} ms, p95 ${Math.round(latencies[Math.floor(0.95 * (latencies.length - 1))])} ms`);
    await page.mouse.up();
    await settled(page);
    assert.notEqual(await number(page, '[name="cost"]'), whole);
    // Undo brings the length back.
    await page.click('[name="undo"]');
    await settled(page);
    assert.equal(await number(page, '[name="cost"]'), whole);
    // A place is taken away with the keyboard and another is added.
    await page.focus('svg.plane');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Delete');
    await settled(page);
    assert.equal(await page.locator('svg.plane circle.place').count(), 46);
    await page.keyboard.press('a');
    await settled(page);
    assert.equal(await page.locator('svg.plane circle.place').count(), 47);
    await page.click('[name="view-decisions"]');
    await settled(page);
    await page.locator('input[name="step"]').fill('12');
    await settled(page);
    assert.equal(await page.locator('table.alternatives tbody tr').count(), 10);
    assert.match(await page.locator('table.alternatives tbody tr[aria-selected]').innerText(), /chosen/);
    const before = await page.locator('table.alternatives tbody tr').first().innerText();
    await page.locator('input[name="temperature"]').fill('1');
    assert.notEqual(await page.locator('table.alternatives tbody tr').first().innerText(), before, 'temperature flattens');
    await page.locator('input[name="temperature"]').fill('0');
    await page.selectOption('select[name="shown"]', 'glimpse');
    await settled(page);
    await keeps(page, wrong, /<circle/, /Decision 13 of 47/);
    await context.close();
  });

  it('routes: vehicles, their capacity, files of the solution, another file', async () => {
    const { page, wrong, context } = await at('#routes&example=deliveries.csv');
    const few = await number(page, '[name="cost"]');
    await page.locator('input[name="capacity"]').fill('120');
    await page.keyboard.press('Enter');
    await settled(page);
    assert.ok((await number(page, '[name="cost"]')) < few, 'larger vehicles drive less');
    await page.click('text=Save tour');
    const csv = await downloaded(page, () => page.click('[name="save-csv"]'));
    assert.ok(csv.text.split('\n').length > 40, csv.text);
    await page.click('[name="view-search"]');
    await settled(page);
    const folder = mkdtempSync(join(tmpdir(), 'regard-file-'));
    writeFileSync(join(folder, 'square.csv'), 'id,x,y\na,0,0\nb,0,10\nc,10,10\nd,10,0\n');
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('[name="open"]')]);
    await chooser.setFiles(join(folder, 'square.csv'));
    await settled(page);
    assert.equal(await number(page, '[name="cost"]'), 40);
    writeFileSync(join(folder, 'bad.csv'), 'id,x,y\na,zero,0\n');
    const [again] = await Promise.all([page.waitForEvent('filechooser'), page.click('[name="open"]')]);
    await again.setFiles(join(folder, 'bad.csv'));
    await settled(page);
    assert.match(await page.locator('.failure').innerText(), /zero/, 'an error is said in words');
    assert.deepEqual(wrong, []);
    await context.close();
  });

  it('routes: an edited file is solved as the same problem', async () => {
    const { page, wrong, context } = await at('#routes&example=capitals.csv');
    const folder = mkdtempSync(join(tmpdir(), 'regard-file-'));
    const tables = {
      'pickups.csv': ['id,x,y,pickup\nhub,0,0,\nshop,30,0,\nbar,0,10,shop\ninn,20,20,\n', /Pickup and delivery/, /^id,x,y,pickup\n[^]*\nbar,[^\n]*,shop\n/],
      'windows.csv': ['# capacity: 9\n# vehicles: 2\n# speed: 30\nid,x,y,demand,due\nhub,0,0,,\na,3,0,2,500\nb,0,1,1,\n', /Vehicle routing with time windows/, /^# capacity: 9\n# vehicles: 2\n# speed: 30\nid,x,y,demand,ready,due,service\nhub,0,0,0,0,,0\n/],
    };
    for (const [name, [content, title, written]] of Object.entries(tables)) {
      writeFileSync(join(folder, name), content);
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('[name="open"]')]);
      await chooser.setFiles(join(folder, name));
      await settled(page);
      assert.match(await page.locator('section[aria-label="Problem"]').innerText(), title);
      await page.focus('svg.plane');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      const [request] = await Promise.all([page.waitForRequest(/v1\/solve/), page.keyboard.press('ArrowUp')]);
      await page.keyboard.press('Enter');
      assert.match(request.postDataJSON().file.content, written);
      const answer = await (await request.response())?.json();
      assert.match(title.source.toLowerCase(), answer.problem === 'pdp' ? /pickup/ : answer.problem === 'cvrptw' ? /windows/ : /none/);
      await settled(page);
      assert.equal(await page.locator('.failure').count(), 0);
    }
    assert.deepEqual(wrong, []);
    await context.close();
  });

  it('sets: a row is taken away, attention beside attribution, clusters are dragged', async () => {
    const { page, wrong, context } = await at('#sets&example=bags.csv');
    const whole = await number(page, '[name="answer"]');
    assert.ok(Math.abs(whole - 41) < 2, `the largest value is 41: ${whole}`);
    await page.selectOption('select[name="method"]', 'leave-one-out');
    await settled(page);
    assert.match(await page.locator('table.rows').innerText(), /Attribution/);
    await page.click('input[name="row-2"]');
    await settled(page);
    assert.ok(Math.abs((await number(page, '[name="answer"]')) - 25) < 2, 'without 41 it is 25');
    await keeps(page, wrong, /<rect/, /3 of 4 rows/);
    await page.selectOption('select[name="example"]', 'clouds.csv');
    await settled(page);
    const before = await page.locator('section.result').innerText();
    const point = await page.locator('svg.plane circle.place').first().boundingBox();
    await page.mouse.move(point.x + 6, point.y + 6);
    await page.mouse.down();
    await page.mouse.move(point.x + 120, point.y + 90, { steps: 8 });
    await page.mouse.up();
    await settled(page);
    assert.notEqual(await page.locator('section.result').innerText(), before);
    await keeps(page, wrong, /<ellipse/, /Clusters/);
    await context.close();
  });

  it('graphs: a molecule is typed, weights by layer and head, a bond is deleted', async () => {
    const { page, wrong, context } = await at('#graphs');
    await page.locator('input[name="smiles"]').fill('Cc1ccccc1O');
    await page.waitForTimeout(500);
    await settled(page);
    assert.equal(await page.locator('svg.graph .bond').count(), 8);
    assert.ok((await page.locator('svg.graph .dashed').count()) + (await page.locator('svg.graph .bond line.stroke').count()) > 8, 'second lines in the ring');
    const whole = await number(page, '[name="answer"]');
    await page.selectOption('select[name="layer"]', '1');
    await page.selectOption('select[name="head"]', '2');
    assert.ok((await page.locator('svg.graph .weight').count()) >= 16, 'a weight for each direction');
    await page.focus('svg.graph');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Delete');
    await settled(page);
    assert.equal(await page.locator('svg.graph .bond').count(), 7);
    assert.notEqual(await number(page, '[name="answer"]'), whole);
    await page.selectOption('select[name="colour"]', 'eigenvector');
    await settled(page);
    await keeps(page, wrong, /<line/, /Eigenvector/);
    await page.locator('input[name="smiles"]').fill('C1CC');
    await page.waitForTimeout(500);
    assert.match(await page.locator('#smiles-message').innerText(), /ring/, 'a wrong SMILES is said in words');
    await context.close();
  });

  it('series: a forecast with intervals, what made a value, a past value is edited', async () => {
    const { page, wrong, context } = await at('#series&example=station.csv&model=regard-etth1&series=OT&at=405');
    await settled(page);
    const value = await number(page, '[name="answer"]');
    const text = await page.locator('section.result').innerText();
    assert.match(text, /lags, by the linear map/);
    assert.match(text, /80 %/);
    await page.focus('.stage.series');
    for (let times = 0; times < 6; times += 1) await page.keyboard.press('ArrowLeft');
    const past = page.locator('input[name="past"]');
    await past.fill('30');
    await past.press('Enter');
    await settled(page);
    await page.focus('.stage.series');
    for (let times = 0; times < 6; times += 1) await page.keyboard.press('ArrowRight');
    assert.notEqual(await number(page, '[name="answer"]'), value);
    await keeps(page, wrong, /<path/, /6 ahead/);
    await context.close();
  });

  it('attention: a number is changed and the weights follow', async () => {
    const { page, wrong, context } = await at('#attention');
    const attention = page.locator('section[aria-label="Attention"] tbody td');
    assert.equal((await attention.first().innerText()).trim(), '0.6698');
    await page.locator('input[name="x-0-0"]').fill('3');
    await settled(page);
    assert.notEqual((await attention.first().innerText()).trim(), '0.6698');
    await attention.first().hover();
    assert.match(await page.locator('section[aria-label="Attention"]').innerText(), /e\^/);
    await keeps(page, wrong, /<line/, /Who attends to whom/);
    await context.close();
  });

  it('training: curves grow while a run goes on', async () => {
    const { page, wrong, context } = await at('#training');
    const last = page.locator('section[aria-label="Values"] tbody tr').first();
    const before = await last.innerText();
    writeFileSync(join(service.runs, 'demo', 'metrics.jsonl'), metrics(60));
    await page.waitForTimeout(5000);
    assert.notEqual(await last.innerText(), before);
    await keeps(page, wrong, /<path/, /demo/);
    await context.close();
  });

  it('every room can be read out and has enough contrast', async () => {
    const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
    for (const colorScheme of ['light', 'dark']) {
      for (const hash of ['routes', 'routes&example=deliveries.csv&view=decisions', 'sets', 'sets&example=bags.csv&method=leave-one-out', 'graphs', 'series', 'attention', 'training']) {
        const { page, context } = await openPage(browser, `${service.address}#${hash}`, { colorScheme });
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] }));
        assert.deepEqual(violations.map(({ id, nodes }) => `${colorScheme} ${hash}: ${id} ${nodes[0].html}`), []);
        await context.close();
      }
    }
  });

  it('every room fits on a telephone and is drawn dark', async () => {
    for (const room of ['routes', 'sets', 'graphs', 'series', 'attention', 'training']) {
      const { page, wrong, context } = await openPage(browser, `${service.address}#${room}`, { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true });
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(beyond <= 0, `${room} is ${beyond} pixels too wide`);
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(ground, 'rgb(20, 24, 28)');
      assert.deepEqual(wrong, []);
      await context.close();
    }
  });
});

function mkdir(folder, name) {
  const made = join(folder, name);
  return mkdirSync(made, { recursive: true }) ?? made;
}

function metrics(count) {
  return Array.from({ length: count }, (_, at) => `${JSON.stringify({ step: 10 * at, cost: 6 + 4 / (1 + at), loss: -1 / (1 + at) })}\n`).join('');
}
