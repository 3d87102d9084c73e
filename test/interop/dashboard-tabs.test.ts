import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { adminDesk, laneSight, noticed } from '../support/admin-desk.ts';
import { type BrowserPage, openPage, until } from '../support/browser.ts';

const LIMIT = { timeout: 90_000 };
/** As many connections as a browser makes to one server. */
const CONNECTIONS = 6;
const LISTENERS = 256;

/** Puts a page into the background, or back in sight, as far as it can tell. */
const putOutOfSight = (page: BrowserPage, isHidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'))`);

test(
  'tabs that nobody sees give their connections back, and have missed nothing when they are seen again',
  LIMIT,
  async (t) => {
    const { port, lanes, emit } = await adminDesk(t);
    lanes.push(laneSight('shop.test'));
    const { page: first, faults } = await openPage(t, 'about:blank');
    const pages = [first];
    for (let i = 0; i <= CONNECTIONS; i += 1) {
      const page = pages[i] ?? (await first.context().newPage());
      pages[i] = page;
      await page.clock.install();
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.waitForSelector('tr[data-key="shop.test"]');
      await putOutOfSight(page, true);
      await page.clock.fastForward(9_000);
      assert.equal(await page.evaluate(`document.body.dataset.connection`), 'live');
      await page.clock.fastForward(2_000);
      await page.waitForSelector('#connection[data-kind="resting"]');
    }
    emit(noticed('while nobody looked'));
    lanes[0] = laneSight('shop.test', { state: 'isolated' });
    await putOutOfSight(first, false);
    await first.waitForSelector('#connection[data-kind="live"]');
    await until(first, `document.querySelector('tr[data-key]').textContent.includes('isolated')`);
    await first.click('nav a:text-is("Events")');
    await until(
      first,
      `document.querySelector('tbody').textContent.includes('while nobody looked')`,
    );
    assert.deepEqual(faults, []);
  },
);

test(
  'a page for which there is no connection says why, and comes in when one is free',
  LIMIT,
  async (t) => {
    const { port, lanes } = await adminDesk(t);
    lanes.push(laneSight('shop.test'));
    const streams = await Promise.all(
      Array.from({ length: LISTENERS }, async () => {
        const asked = get({ host: '127.0.0.1', port, path: '/api/v1/events', agent: false });
        const [answer] = (await once(asked, 'response')) as [IncomingMessage];
        assert.equal(answer.statusCode, 200);
        // It never reads.
        return answer;
      }),
    );
    t.after(() => streams.forEach((stream) => void stream.destroy()));
    const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/`);
    await page.waitForSelector('#connection[data-kind="lost"]');
    assert.match(
      String(await page.textContent('.stale')),
      /As many listen already as may at once: close another tab or listener\. Trying again/,
    );
    streams[0]?.destroy();
    await page.waitForSelector('#connection[data-kind="live"]');
    await page.waitForSelector('tr[data-key="shop.test"]');
    assert.deepEqual(faults, []);
  },
);
