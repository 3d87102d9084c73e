// npm run screenshots: a busy proxy, and its dashboard as the README shows it, in docs/images.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openPage, until } from '../support/browser.ts';
import { startExit } from '../support/exit-proxy.ts';
import { type Seen, site } from '../support/letters.ts';
import { get, startProxy } from '../support/whole-proxy.ts';

const IMAGES = new URL('../../docs/images/', import.meta.url);
const BUSY_MS = 45_000;
const HOSTS = ['shop', 'news', 'tickets', 'maps', 'jobs', 'homes', 'cars'].map(
  (name) => `${name}.test`,
);

test('screenshots', { timeout: 300_000 }, async (t) => {
  const { port, dashboard, api } = await busyWorld(t);
  const { page } = await openPage(t, dashboard, { width: 1440, height: 560 });
  const end = performance.now() + BUSY_MS;
  const clients = CLIENTS.map((client) => client(port, () => performance.now() < end));
  await pause(BUSY_MS - 6_000);
  await act(`${api}/lanes/jobs.test/isolate`);
  await act(`${api}/routes/${encodeURIComponent((await first(`${api}/routes`)).id)}/eject`);
  await until(page, `document.querySelectorAll('tr[data-key]').length >= ${HOSTS.length}`);
  const shoot = async (name: string) => {
    await pause(1_000);
    await page.screenshot({ path: fileURLToPath(new URL(`${name}.png`, IMAGES)) });
  };
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await shoot(`dashboard-${colorScheme}`);
  }
  const { id } = await first(`${api}/exchanges?state=done&lane=news.test&limit=500`);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(`${dashboard}#/exchanges/${id}`);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.waitForSelector('.panel');
  await shoot('trail');
  await Promise.all(clients);
});

async function act(url: string): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const { ok, status } = await fetch(url, { method: 'POST', headers });
  if (!ok) throw new Error(`${url}: ${status}`);
}

/** The first of a list; of exchanges, one that took more than one attempt. */
async function first(url: string): Promise<{ readonly id: string }> {
  const { items } = (await (await fetch(url)).json()) as {
    items: readonly { readonly id: string; readonly attempted?: number }[];
  };
  const found = items.find(({ attempted = 2 }) => attempted > 1);
  if (found === undefined) throw new Error(`${url} has none`);
  return found;
}

async function busyWorld(t: TestContext) {
  const far = await site(t, answer);
  const at = Number(far.authority.split(':')[1]);
  const names = Object.fromEntries(HOSTS.map((host) => [host, at]));
  const exits = await Promise.all(
    [1, 2, 3, 4].map((n) => startExit(t, { exit: `127.0.1.${n}`, names })),
  );
  const whole = await startProxy(
    t,
    [
      'policy: { patience: 60s, backoff: { base: 300ms }, budget: { floor_per_minute: 60 } }',
      `upstreams: [{ name: residential, routes: [${exits.map(({ url }) => url).join(', ')}], price_per_gb: 3 }]`,
      'targets: [{ match: maps.test, breaker: { min_attempts: 5, cooldown: 10m }, patience: 1s }]',
    ],
    { admin: true },
  );
  const admin = `http://127.0.0.1:${whole.adminPort}/`;
  return { ...whole, dashboard: admin, api: `${admin}api/v1` };
}

function answer(
  { rawHeaders, url }: Seen,
  response: ServerResponse,
  request: IncomingMessage,
): void {
  const host = rawHeaders[rawHeaders.findIndex((name) => /^host$/i.test(name)) + 1] ?? '';
  const n = Number(url.split('/').at(-1));
  const html = { 'Content-Type': 'text/html' };
  const good = () =>
    void response.writeHead(200, html).end(`<html><body>${'a page '.repeat(900)}</body></html>`);
  if (host === 'maps.test') return void response.writeHead(503).end('down');
  if (host === 'tickets.test' && n >= 12) {
    return void response.writeHead(429, { 'Retry-After': '47' }).end('slower');
  }
  if (host === 'news.test' && n % 5 === 0 && Math.random() < 0.7)
    return void response.writeHead(503).end('busy');
  if (host === 'homes.test' && request.socket.remoteAddress?.endsWith('.2'))
    return void response.writeHead(403, html).end('no');
  setTimeout(good, 40 + Math.random() * 120);
}

type Client = (port: number, goesOn: () => boolean) => Promise<void>;

/** Asks one page after the other, so many a second. */
const steady =
  (host: string, perSecond: number, headers: Record<string, string> = {}): Client =>
  async (port, goesOn) => {
    const asked: Promise<unknown>[] = [];
    for (let n = 1; goesOn(); n += 1) {
      asked.push(
        get(port, `http://${host}/item/${n}`, {
          headers: { 'Forbear-Patience': '20s', ...headers },
        }),
      );
      await pause(1000 / perSecond);
    }
    await Promise.all(asked);
  };

const CLIENTS: readonly Client[] = [
  steady('shop.test', 6),
  steady('shop.test', 0.4, { 'Forbear-Session': 'cart-7' }),
  steady('news.test', 4),
  steady('news.test', 0.3, { 'Forbear-Session': 'reader' }),
  steady('tickets.test', 1),
  steady('maps.test', 0.7),
  steady('jobs.test', 1),
  steady('homes.test', 3),
  steady('cars.test', 0.5),
];
