import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { adminDesk, laneSight, noticed } from '../support/admin-desk.ts';
import { openPage, until } from '../support/browser.ts';

const LIMIT = { timeout: 90_000 };
const LANES = 1_000;

/** Tasks of the page that took longer than a tenth of a second, and the frames that were drawn. */
const WATCH = `
  window.seen = { tasks: [], frames: [] };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.seen.tasks.push(Math.round(duration));
  }).observe({ type: 'longtask' });
  requestAnimationFrame(function frame(at) {
    window.seen.frames.push(at);
    requestAnimationFrame(frame);
  });
  undefined`;

test(
  'a thousand lanes are there within a second, and only those in sight are in the page',
  LIMIT,
  async (t) => {
    const { lanes, port } = await adminDesk(t);
    for (let i = 0; i < LANES; i += 1) lanes.push(laneSight(`h${String(i).padStart(4, '0')}.test`));
    const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/`);
    const times: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      await page.reload();
      await until(page, `document.querySelector('[role="grid"]').ariaRowCount === '${LANES + 1}'`);
      times.push(await page.evaluate<number>('performance.now()'));
    }
    t.diagnostic(`all lanes are there after ${times.map(Math.round).join(', ')} ms`);
    assert.ok(Math.min(...times) < 1_000, `${times} ms`);
    assert.ok(
      (await page.evaluate<number>(`document.querySelectorAll('tr[data-key]').length`)) < 60,
    );
    await page.click('tr[data-key="h0003.test"]');
    await page.keyboard.press('Escape');
    await page.keyboard.press('End');
    await until(page, `document.activeElement.dataset.key === 'h0999.test'`);
    await page.fill('input[type="search"]', 'h0500');
    await until(page, `document.querySelectorAll('tr[data-key]').length === 1`);
    assert.deepEqual(faults, []);
  },
);

test(
  'a thousand lanes that change each second, and events in between, do not hold the page up',
  LIMIT,
  async (t) => {
    const { lanes, port, clock, emit } = await adminDesk(t);
    for (let i = 0; i < LANES; i += 1) lanes.push(laneSight(`h${i}.test`));
    const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/#/lanes`);
    await page.waitForSelector('#connection[data-kind="live"]');
    await until(page, `document.querySelector('[role="grid"]').ariaRowCount === '${LANES + 1}'`);
    await page.evaluate(WATCH);
    for (let second = 1; second <= 4; second += 1) {
      for (let i = 0; i < LANES; i += 1) {
        const state = (i + second) % 3 === 0 ? 'active' : 'paused';
        lanes[i] = laneSight(`h${i}.test`, { state, waiting: (i * second) % 40, inFlight: second });
      }
      for (let burst = 0; burst < 10; burst += 1) {
        for (let i = 0; i < 30; i += 1) emit(noticed(`something ${second} ${burst} ${i}`));
        // The page is in a process of its own, whose time no test can wind.
        await delay(100);
      }
      await clock.advance(1_000);
    }
    await until(page, `document.querySelector('tr[data-key] .c-flight').textContent === '4 of 32'`);
    const { tasks, frames } = await page.evaluate<{ tasks: number[]; frames: number[] }>(
      'window.seen',
    );
    const gaps = frames.slice(1).map((at, i) => at - (frames[i] ?? at));
    gaps.sort((a, b) => a - b);
    const median = gaps[Math.floor(gaps.length / 2)] ?? 0;
    t.diagnostic(
      `long tasks: ${tasks.join(', ') || 'none'} ms; median frame ${median.toFixed(1)} ms of ${frames.length}`,
    );
    assert.ok(median < 20, `a frame each ${median} ms`);
    // Somebody else may have had the processor once.
    assert.ok(tasks.filter((ms) => ms > 100).length <= 1, `${tasks} ms`);
    assert.deepEqual(faults, []);
  },
);

test('however much happens, the page does not grow', LIMIT, async (t) => {
  const { port, emit } = await adminDesk(t);
  const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/#/events`);
  await page.waitForSelector('#connection[data-kind="live"]');
  const nodes = () => page.evaluate<number>(`document.querySelectorAll('*').length`);
  for (let i = 0; i < 600; i += 1) emit(noticed(`early ${i}`));
  await until(page, `document.querySelector('tbody').textContent.includes('early 599')`);
  const before = await nodes();
  for (let round = 0; round < 20; round += 1) {
    for (let i = 0; i < 500; i += 1) emit(noticed(`late ${round} ${i}`));
    await until(page, `document.querySelector('tbody').textContent.includes('late ${round} 499')`);
  }
  assert.equal(await page.evaluate(`document.querySelector('[role="grid"]').ariaRowCount`), '501');
  assert.ok((await nodes()) <= before + 20);
  assert.deepEqual(faults, []);
});
