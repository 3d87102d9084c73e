import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { newLedger } from '../../src/core/ledger.ts';
import type { Delivery } from '../../src/exchange/ports.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { adminDesk, laneSight, noticed } from '../support/admin-desk.ts';
import { exchangeTo } from '../support/attempts.ts';
import { openPage, pageSize, until } from '../support/browser.ts';

const LIMIT = { timeout: 90_000 };
const LANES = 1_000;
const FEW_LANES = 10;

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
    const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/`);
    const loaded = async (count: number) => {
      lanes.length = 0;
      for (let i = 0; i < count; i += 1)
        lanes.push(laneSight(`h${String(i).padStart(4, '0')}.test`));
      await page.reload();
      await until(page, `document.querySelector('[role="grid"]').ariaRowCount === '${count + 1}'`);
      return page.evaluate<number>('performance.now()');
    };
    const few: number[] = [];
    const all: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      few.push(await loaded(FEW_LANES));
      all.push(await loaded(LANES));
    }
    const [ofFew, ofAll] = [Math.min(...few), Math.min(...all)];
    t.diagnostic(`${LANES} lanes are there after ${ofAll} ms, ${FEW_LANES} after ${ofFew} ms`);
    // A machine that has no second for a few lanes has none for many.
    assert.ok(ofAll < Math.max(1_000, 2 * ofFew), `${ofAll} ms, and ${ofFew} ms with a few`);
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
    await delay(1_000);
    const idle = frameMs(await page.evaluate<number[]>('window.seen.frames.splice(0)'));
    await page.evaluate('void window.seen.tasks.splice(0)');
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
    const busy = frameMs(frames);
    t.diagnostic(
      `long tasks: ${tasks.join(', ') || 'none'} ms; a frame each ${busy.toFixed(1)} ms of ${frames.length}, idle ${idle.toFixed(1)} ms`,
    );
    assert.ok(busy < Math.max(20, 1.5 * idle), `a frame each ${busy} ms, and ${idle} ms when idle`);
    // Somebody else may have had the processor, once or twice.
    assert.ok(tasks.filter((ms) => ms > 100).length <= 2, `${tasks} ms`);
    assert.deepEqual(faults, []);
  },
);

/** The median time between two frames. */
function frameMs(frames: readonly number[]): number {
  const gaps = frames.slice(1).map((at, i) => at - (frames[i] ?? at));
  return gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
}

/** Hours in which hosts come and go and things happen; each is told in a moment. */
const HOURS = 24;

test(
  'a page that is open for a day does not grow, whatever is looked at meanwhile',
  LIMIT,
  async (t) => {
    const { port, emit, lanes, clock } = await adminDesk(t);
    const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/#/events`);
    await page.waitForSelector('#connection[data-kind="live"]');
    const live = async (hour: number) => {
      lanes.length = 0;
      for (let i = 0; i < 200; i += 1)
        lanes.push(laneSight(`h${hour}-${i}.test`, { waiting: hour }));
      for (let i = 0; i < 200; i += 1) for (const event of happening(hour, i)) emit(event);
      await clock.advance(1_000);
      emit(noticed(`hour ${hour} is over`));
      for (const view of ['lanes', 'exchanges', 'dead-letters']) {
        await page.click(`nav a[href="#/${view}"]`);
        if (view === 'lanes') await page.click(`tr[data-key^="h${hour}-"]`);
      }
      await page.click('nav a[href="#/events"]');
      await until(
        page,
        `document.querySelector('tbody').textContent.includes('hour ${hour} is over')`,
      );
    };
    for (let hour = 0; hour < 6; hour += 1) await live(hour);
    const morning = await pageSize(page);
    for (let hour = 6; hour < HOURS; hour += 1) await live(hour);
    const night = await pageSize(page);
    t.diagnostic(`after 6 and 24 hours: ${JSON.stringify([morning, night])}`);
    assert.equal(
      await page.evaluate(`document.querySelector('[role="grid"]').ariaRowCount`),
      '501',
    );
    assert.ok(
      night.heap < morning.heap * 1.15 + 1_000_000,
      `${morning.heap} to ${night.heap} bytes`,
    );
    assert.ok(night.nodes < morning.nodes * 1.15 + 200, `${morning.nodes} to ${night.nodes} nodes`);
    assert.ok(night.listeners < morning.listeners * 1.15 + 50, `${night.listeners} listeners`);
    assert.deepEqual(faults, []);
  },
);

/** An exchange with a host of its own, and what is told of it. */
function happening(hour: number, i: number): ProxyEvent[] {
  const at = Date.UTC(2026, 0, 1, hour) + i * 1_000;
  const host = `h${hour}-${i}.test`;
  const exchange = {
    ...exchangeTo({ host, port: 80 }, { path: `/page/${i}` }),
    id: `x${hour}-${i}`,
  };
  const nothing = {
    received: undefined,
    verdict: undefined,
    retryAfterMs: undefined,
    route: undefined,
  };
  const delivery: Delivery = { ...nothing, stop: 'queue_full', ledger: newLedger };
  const bytes = { sentBytes: 100, receivedBytes: 1_000 };
  return [
    { type: 'exchange_started', at, exchange },
    { type: 'lane_paused', at, lane: host, untilAt: at + 5_000 },
    { type: 'exchange_finished', at, exchange, delivery, answered: 503, ...bytes },
  ];
}
