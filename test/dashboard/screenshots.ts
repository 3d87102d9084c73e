// npm run screenshots [-- --seconds 330]: pictures of the dashboard over a busy proxy, for the documents. Everything is on loopback.
import { mkdirSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type BrowserPage, openPage, until } from '../support/browser.ts';
import { demoWorld } from '../support/demo-world.ts';

const { values } = parseArgs({
  options: {
    // The charts go back five minutes.
    seconds: { type: 'string', default: '330' },
    to: { type: 'string', default: fileURLToPath(new URL('../../docs/images/', import.meta.url)) },
  },
});
const MOST_BYTES = 300 * 1024;
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 780 };

test('pictures of the dashboard', { timeout: 900_000 }, async (t) => {
  const lastsMs = Number(values.seconds) * 1000;
  mkdirSync(values.to, { recursive: true });
  const world = await demoWorld(t, lastsMs);
  const { page } = await openPage(t, world.dashboard, WIDE);
  const { page: narrow } = await openPage(t, world.dashboard, NARROW);
  await delay(lastsMs * 0.75);
  await world.operate();
  await delay(lastsMs * 0.25 - 1_000);
  const shoot = (name: string, on: BrowserPage = page) => picture(on, name);
  await page.waitForSelector('#connection[data-kind="live"]');
  await page.emulateMedia({ colorScheme: 'light' });
  await shoot('light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shoot('dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await narrow.emulateMedia({ colorScheme: 'light' });
  await shoot('narrow', narrow);
  // After a click the focus is not outlined, as for anybody with a mouse.
  await page.click('nav a[href="#/exchanges"]');
  await page.evaluate(`location.hash = '#/exchanges/${await telling(page)}?state=all'`);
  await page.waitForSelector('.timeline li');
  await shoot('trail');
  if (values.to.includes('docs/images')) return;
  for (const [name, hash] of VIEWS) {
    for (const [size, on] of [
      ['wide', page],
      ['narrow', narrow],
    ] as const) {
      await on.goto(`${world.dashboard}#/${hash}`);
      await delay(900);
      await on.screenshot({ path: `${values.to}/${size}-${name}.png` });
    }
  }
});

const VIEWS = [
  ['lane', 'lanes/prices.example'],
  ['exchanges', 'exchanges?state=waiting'],
  ['ended', 'exchanges?state=done'],
  ['routes', 'routes'],
  ['sessions', 'sessions'],
  ['letters', 'dead-letters'],
  ['spend', 'spend'],
  ['events', 'events'],
] as const;

/** The exchange with the most attempts, one that ended well if possible. */
async function telling(page: BrowserPage): Promise<string> {
  return page.evaluate<string>(`(async () => {
    const { items } = await (await fetch('/api/v1/exchanges?limit=500')).json();
    const rank = (one) => one.attempted + (one.end?.answered === 200 ? 2 : 0);
    return items.sort((a, b) => rank(b) - rank(a))[0].id;
  })()`);
}

async function picture(page: BrowserPage, name: string): Promise<void> {
  await until(page, `document.querySelector('tr[data-key]') !== null`);
  await delay(1_200);
  const path = `${values.to}/dashboard-${name}.png`;
  await page.screenshot({ path });
  const { size } = statSync(path);
  if (size > MOST_BYTES) throw new Error(`${path} has ${size} bytes: ${MOST_BYTES} at most`);
}
