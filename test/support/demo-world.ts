import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ask } from './admin.ts';
import { startExit } from './exit-proxy.ts';
import { site } from './letters.ts';
import { get, startProxy, type WholeProxy } from './whole-proxy.ts';

/** What one site of the demo does. `into`: how much of the show is over, 0 to 1. */
type Manner = (at: Moment) => { status: number; retryAfter?: number };

interface Moment {
  readonly into: number;
  /** The address that asks. */
  readonly exit: string;
  /** Of the requests to this host, and to this path. */
  readonly nth: number;
  readonly tries: number;
  readonly path: string;
}

interface Host {
  readonly name: string;
  readonly client: string;
  readonly paths: readonly string[];
  readonly perSecond: number;
  /** Of an answer, ms and bytes. */
  readonly latency: number;
  readonly bytes: number;
  readonly manner: Manner;
}

const EXITS = ['127.0.1.1', '127.0.1.2', '127.0.1.3', '127.0.1.4', '127.0.1.5', '127.0.1.6'];
const fine: Manner = () => ({ status: 200 });

/** The sites: most do well, and each of the others shows one thing that can happen. */
const HOSTS: readonly Host[] = [
  {
    ...{ name: 'www.shop.example', client: 'catalogue', perSecond: 4, latency: 60, bytes: 48_000 },
    paths: ['/items/', '/reviews/'],
    manner: ({ nth, tries, path }) => {
      if (path.endsWith('37') && tries <= 3) return { status: tries === 2 ? 503 : 500 };
      return { status: nth % 19 === 7 ? 500 : 200 };
    },
  },
  {
    ...{ name: 'prices.example', client: 'prices', perSecond: 5, latency: 40, bytes: 9_000 },
    paths: ['/offers/'],
    // Late in the show a quarter of the attempts fails: retries make up for it, and the early warning tells of it.
    manner: ({ into, nth, exit }) => {
      if (into > 0.55 && exit.endsWith('3')) return { status: 403 };
      return { status: into > 0.7 && nth % 4 === 0 ? 500 : 200 };
    },
  },
  {
    ...{ name: 'news.example', client: 'archive', perSecond: 0.8, latency: 90, bytes: 26_000 },
    ...{ paths: ['/feed/'], manner: fine },
  },
  {
    ...{ name: 'api.maps.example', client: 'geo', perSecond: 1.6, latency: 25, bytes: 3_000 },
    paths: ['/tiles/', '/places/'],
    manner: ({ into, nth }) =>
      into > 0.9 || nth % 160 === 90
        ? { status: 429, retryAfter: into > 0.9 ? 95 : 4 }
        : { status: 200 },
  },
  {
    ...{ name: 'tickets.example', client: 'catalogue', perSecond: 1, latency: 120, bytes: 12_000 },
    paths: ['/events/'],
    manner: ({ into, nth }) => ({ status: into > 0.8 || nth % 11 === 4 ? 503 : 200 }),
  },
  {
    ...{ name: 'forum.example', client: 'archive', perSecond: 0.7, latency: 70, bytes: 15_000 },
    ...{ paths: ['/threads/'], manner: fine },
  },
  {
    ...{
      name: 'images.shop.example',
      client: 'catalogue',
      perSecond: 1.5,
      latency: 2_600,
      bytes: 90_000,
    },
    ...{ paths: ['/large/'], manner: fine },
  },
  {
    ...{ name: 'jobs.example', client: 'monitor', perSecond: 0.4, latency: 50, bytes: 7_000 },
    ...{ paths: ['/search/'], manner: fine },
  },
];

const CONFIG = [
  'policy:',
  '  patience: 120s',
  '  max_attempts: 5',
  '  backoff: { base: 400ms, cap: 3s }',
  '  breaker: { cooldown: 90s }',
  'targets:',
  '  - { match: "*/feed/**", pace: { delay: 1s..2s, concurrency: 1 } }',
];

/** A proxy with the traffic of several scrapers through six exits, for as long as the charts go back. */
export async function demoWorld(t: TestContext, lastsMs: number) {
  const startedAt = performance.now();
  const into = () => (performance.now() - startedAt) / lastsMs;
  const counts = new Map<string, number>();
  const count = (of: string) => {
    const now = (counts.get(of) ?? 0) + 1;
    counts.set(of, now);
    return now;
  };
  const far = await site(t, (_, response, request) => {
    const host = HOSTS.find(({ name }) => name === request.headers.host);
    if (!host) return void response.writeHead(404).end();
    const path = request.url ?? '';
    const tries = count(`${host.name}${path}`);
    const exit = request.socket.remoteAddress ?? '';
    const { status, retryAfter } = host.manner({
      into: into(),
      exit,
      nth: count(host.name),
      tries,
      path,
    });
    void answer(response, { ...host, status, retryAfter });
  });
  const port = Number(far.authority.split(':')[1]);
  const names = Object.fromEntries(HOSTS.map(({ name }) => [name, port]));
  const exits = await Promise.all(EXITS.map((exit) => startExit(t, { exit, names })));
  const urls = exits.map(({ url }) => url);
  const upstreams = [
    `{ name: datacenter, routes: [${urls.slice(0, 4).join(', ')}], price_per_gb: 0.60 }`,
    `{ name: residential, routes: [${urls.slice(4).join(', ')}], price_per_gb: 3.00 }`,
  ];
  const whole = await startProxy(t, [...CONFIG, `upstreams: [${upstreams.join(', ')}]`], {
    admin: true,
  });
  const traffic = new AbortController();
  t.after(() => traffic.abort());
  for (const host of HOSTS) void drive(whole, host, traffic.signal);
  return {
    ...whole,
    into,
    dashboard: `http://127.0.0.1:${whole.adminPort}/`,
    operate: () => operate(whole),
  };
}

async function answer(
  response: ServerResponse,
  o: { latency: number; bytes: number; status: number; retryAfter: number | undefined },
): Promise<void> {
  await delay(o.latency * (0.6 + 0.8 * Math.random()));
  if (response.destroyed) return;
  response.writeHead(o.status, {
    'Content-Type': 'text/html',
    ...(o.retryAfter !== undefined && { 'Retry-After': o.retryAfter }),
  });
  const size = o.status === 200 ? o.bytes * (0.7 + 0.6 * Math.random()) : 200;
  response.end(`<html><body>${'page '.repeat(size / 5)}</body></html>`);
}

/** One scraper's requests to one host, a few of them in sessions. */
async function drive({ port }: WholeProxy, host: Host, signal: AbortSignal): Promise<void> {
  for (let nth = 1; !signal.aborted; nth += 1) {
    const path = `${host.paths[nth % host.paths.length]}${4000 + nth}`;
    const session = host.client === 'catalogue' && nth % 6 === 0 ? `cart-${nth % 5}` : '';
    const login = Buffer.from(`${host.client}:x`).toString('base64');
    void get(port, `http://${host.name}${path}`, {
      headers: {
        'Proxy-Authorization': `Basic ${login}`,
        ...(session && { 'Forbear-Session': session }),
        // Those who are in a hurry are given up earlier: some letters.
        ...(nth % 9 === 0 && { 'Forbear-Patience': '20s' }),
      },
    });
    await delay((1000 / host.perSecond) * (0.4 + 1.2 * Math.random()), undefined, { signal }).catch(
      () => {},
    );
  }
}

/** What an operator has done by hand: a host held back, a route taken out. */
async function operate({ adminPort }: WholeProxy): Promise<void> {
  await ask(adminPort, 'POST', '/api/v1/lanes/forum.example/isolate');
  const { items } = (await ask(adminPort, 'GET', '/api/v1/routes')).json;
  const path = `/api/v1/routes/${encodeURIComponent(items[1].id)}/eject`;
  await ask(adminPort, 'POST', path, { body: { for_ms: 3_600_000 } });
}
