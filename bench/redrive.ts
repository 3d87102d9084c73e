// node bench/redrive.ts [--letters 1000] [--hosts 3] [--learned]: an outage, then all its letters again, beside live
// traffic. The rate of each site is configured, or with --learned has to be found: the site refuses what is above it.
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadConfig } from '../src/config/load.ts';
import { createProxy } from '../src/proxy.ts';

const { values } = parseArgs({
  options: {
    letters: { type: 'string', default: '1000' },
    hosts: { type: 'string', default: '3' },
    learned: { type: 'boolean', default: false },
  },
});
const LETTERS = Number(values.letters);
const HOSTS = Number(values.hosts);
/** What each site stands, and how long a page takes there. Redrives alone would take 80 a second: the rate binds. */
const RATE = 60;
const PAGE_MS = 100;
const LIVE_PER_SECOND = 30;
const QUIET_MS = 30_000;
const MOST_P99_CHANGE = 0.1;

interface Site {
  readonly url: string;
  readonly server: Server;
  readonly arrivals: number[];
  throttled: number;
  isUp: boolean;
}

const home = mkdtempSync(join(tmpdir(), 'forbear-redrive-'));
const sites = await Promise.all(Array.from({ length: HOSTS }, openSite));
const text = `listen: 127.0.0.1:0
policy:
  max_attempts: 1
  pace: { rate: ${values.learned ? 'null' : RATE}, queue: 5000 }
  # All of them wait for the command, so that all are measured.
  dead_letters: { max_redrives: 0 }
  breaker: { when_open: refuse, cooldown: 1s, max_cooldown: 1s }
`;
const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.faults));
const proxy = await createProxy({ config: loaded.config, home });
const { port } = (await proxy.start()).proxy;
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const failures: string[] = [];
try {
  const letters = await outage();
  for (const site of sites) site.isUp = true;
  await Promise.all(sites.map(reopened));
  const before = await live(() => sleep(QUIET_MS));
  for (const site of sites) Object.assign(site, { arrivals: [], throttled: 0 });
  const beside = await live(() => redriven(letters));
  reportRates();
  const after = await live(() => sleep(QUIET_MS));
  reportLive({ before, beside, after });
} finally {
  await proxy.stop();
  agent.destroy();
  for (const { server } of sites) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(home, { recursive: true, force: true });
}
console.log(failures.length === 0 ? 'all within bounds' : `out of bounds: ${failures.join(', ')}`);
process.exitCode = failures.length === 0 ? 0 : 1;

async function openSite(): Promise<Site> {
  const site = { url: '', arrivals: [] as number[], throttled: 0, isUp: false };
  const server = createServer((_, response) => {
    site.arrivals.push(performance.now());
    if (!site.isUp) return void response.writeHead(503).end('down');
    if (values.learned && withinTheLastSecond(site.arrivals) > RATE) {
      site.throttled += 1;
      return void response.writeHead(429, { 'Retry-After': '1' }).end('slower');
    }
    setTimeout(() => response.end('<html>a page</html>'), PAGE_MS);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  site.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(site, { server });
}

/** Every page is asked for once while all sites are down; the letters that clients were told of. */
async function outage(): Promise<ReadonlySet<string>> {
  const pages = Array.from({ length: LETTERS }, (_, n) => `${sites[n % HOSTS]?.url}/page/${n}`);
  const since = performance.now();
  const told = new Set<string>();
  const worker = async () => {
    for (let page = pages.pop(); page; page = pages.pop()) {
      const { letter } = await ask(page);
      if (letter !== undefined) told.add(letter);
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  const perSecond = LETTERS / ((performance.now() - since) / 1000);
  console.log(`outage: ${told.size} letters of ${LETTERS} requests, ${perSecond.toFixed(0)}/s`);
  bound('every request left a letter', told.size === LETTERS);
  return told;
}

/** Waits until the breaker is closed and the lane has opened; where the rate is to be learned, until it has been met. */
async function reopened(site: Site): Promise<void> {
  // Not kept when they fail: they would be letters besides.
  const probe = () => ask(`${site.url}/open`, { 'Forbear-Retry': 'off' });
  const good = async (times: number) => {
    for (let n = 0; n < times; ) {
      if ((await probe()).status === 200) n += 1;
      else await sleep(200);
    }
  };
  await good(40);
  if (!values.learned) return;
  while (site.throttled < 1) await Promise.all(Array.from({ length: 16 }, probe));
  await good(40);
}

/** Every letter that a client was told of is sent again, and asked for afterwards. */
async function redriven(letters: ReadonlySet<string>): Promise<void> {
  const since = performance.now();
  const summary = await proxy.deadLetters.redrive({ kind: 'all' });
  const seconds = (performance.now() - since) / 1000;
  console.log(`redriven in ${seconds.toFixed(1)} s: ${JSON.stringify(summary)}`);
  const found = await Promise.all([...letters].map((id) => proxy.deadLetters.get(id)));
  bound(
    'all letters are done',
    found.every((letter) => letter?.state === 'done'),
  );
  bound('each was sent once', summary.done === LETTERS);
}

/** Steady live traffic to all sites while something else goes on; how long each request took. */
async function live(meanwhile: () => Promise<void>): Promise<number[]> {
  const took: number[] = [];
  const asked: Promise<void>[] = [];
  let isOver = false;
  const client = async ({ url }: Site) => {
    const since = performance.now();
    for (let n = 0; !isOver; n += 1) {
      await sleep(Math.max(0, since + (n * 1000) / LIVE_PER_SECOND - performance.now()));
      const sentAt = performance.now();
      const answered = ask(`${url}/live/${n}`).then(({ status }) => {
        took.push(status === 200 ? performance.now() - sentAt : Number.POSITIVE_INFINITY);
      });
      asked.push(answered);
    }
  };
  const clients = sites.map(client);
  await meanwhile();
  isOver = true;
  await Promise.all(clients);
  await Promise.all(asked);
  return took.sort((a, b) => a - b);
}

function reportRates(): void {
  const busiest = Math.max(...sites.map(({ arrivals }) => mostWithinASecond(arrivals)));
  const throttled = sites.map((site) => site.throttled).join(', ');
  console.log(`busiest second of any site: ${busiest} requests (it stands ${RATE})`);
  if (values.learned) console.log(`refused by the sites as too fast: ${throttled}`);
  // The clocks of both ends differ by the way between them.
  bound('rate of each site', busiest <= RATE * 1.05);
}

/**
 * Quiet times before and after tell how much of a difference is the machine's. The calmer one is the measure: a lane
 * that is still opening would make any redrive look harmless.
 */
function reportLive(
  took: Readonly<Record<'before' | 'beside' | 'after', readonly number[]>>,
): void {
  const at = (times: readonly number[], part: number) =>
    times[Math.floor(times.length * part)] ?? 0;
  for (const [when, times] of Object.entries(took)) {
    const [p50, p99] = [at(times, 0.5), at(times, 0.99)];
    console.log(
      `live, ${when}: ${times.length} requests, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
    );
  }
  const calmest = Math.min(at(took.before, 0.99), at(took.after, 0.99));
  const change = at(took.beside, 0.99) / calmest - 1;
  const noise = at(took.after, 0.99) / at(took.before, 0.99) - 1;
  console.log(
    `p99 changes by ${(change * 100).toFixed(1)} %; between the quiet times by ${(noise * 100).toFixed(1)} %`,
  );
  bound('p99 of live traffic', change < MOST_P99_CHANGE);
}

function mostWithinASecond(arrivals: readonly number[]): number {
  let from = 0;
  return arrivals.reduce((most, at, n) => {
    while ((arrivals[from] ?? at) <= at - 1000) from += 1;
    return Math.max(most, n - from + 1);
  }, 0);
}

function withinTheLastSecond(arrivals: readonly number[]): number {
  const since = performance.now() - 1000;
  let from = arrivals.length;
  while (from > 0 && (arrivals[from - 1] ?? 0) > since) from -= 1;
  return arrivals.length - from;
}

function ask(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; letter: string | undefined }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    letter: string | undefined;
  }>();
  const asking = request({ host: '127.0.0.1', port, path: url, headers, agent }, (reply) => {
    const { statusCode: status = 0, headers } = reply;
    const letter = headers['forbear-dead-letter'];
    reply.resume();
    reply.on('end', () => resolve({ status, letter: letter?.toString() }));
  });
  asking.on('error', reject);
  asking.end();
  return promise;
}

function bound(name: string, holds: boolean): void {
  if (!holds) failures.push(name);
}
