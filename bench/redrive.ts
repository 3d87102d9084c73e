// node bench/redrive.ts [--letters 1000] [--hosts 3]: an outage, then all its letters again, beside live traffic.
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
  },
});
const LETTERS = Number(values.letters);
const HOSTS = Number(values.hosts);
/** What each site is known to stand, and how long a page takes there. */
const RATE = 120;
const PAGE_MS = 100;
const LIVE_PER_SECOND = 30;
const QUIET_MS = 6_000;
const MOST_P99_CHANGE = 0.1;

interface Site {
  readonly url: string;
  readonly server: Server;
  readonly arrivals: number[];
  isUp: boolean;
}

const home = mkdtempSync(join(tmpdir(), 'forbear-redrive-'));
const sites = await Promise.all(Array.from({ length: HOSTS }, openSite));
const text = `listen: 127.0.0.1:0
policy:
  max_attempts: 1
  pace: { rate: ${RATE}, queue: 5000 }
  breaker: { when_open: refuse, cooldown: 1s, max_cooldown: 1s }
`;
const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.faults));
const proxy = await createProxy({ config: loaded.config, home });
const { port } = (await proxy.start()).proxy;
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const failures: string[] = [];
try {
  await outage();
  for (const site of sites) site.isUp = true;
  await reopened();
  const quiet = await live(() => sleep(QUIET_MS));
  for (const site of sites) site.arrivals.length = 0;
  const redriven = await live(async () => {
    const since = performance.now();
    const summary = await proxy.deadLetters.redrive({ kind: 'all' });
    const seconds = (performance.now() - since) / 1000;
    console.log(`redriven in ${seconds.toFixed(1)} s: ${JSON.stringify(summary)}`);
    const counts = await proxy.deadLetters.counts();
    const done = counts.filter(({ state }) => state === 'done');
    const sum = done.reduce((all, { letters }) => all + letters, 0);
    bound('all letters are done', sum === LETTERS);
  });
  report(quiet, redriven);
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
  const site = { url: '', arrivals: [] as number[], isUp: false };
  const server = createServer((_, response) => {
    site.arrivals.push(performance.now());
    if (!site.isUp) return void response.writeHead(503).end('down');
    setTimeout(() => response.end('<html>a page</html>'), PAGE_MS);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  site.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(site, { server });
}

/** Every page is asked for once while all sites are down. */
async function outage(): Promise<void> {
  const pages = Array.from({ length: LETTERS }, (_, n) => `${sites[n % HOSTS]?.url}/page/${n}`);
  const since = performance.now();
  let told = 0;
  const worker = async () => {
    for (let page = pages.pop(); page; page = pages.pop()) {
      if ((await ask(page)).letter !== undefined) told += 1;
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  const perSecond = LETTERS / ((performance.now() - since) / 1000);
  console.log(`outage: ${told} letters of ${LETTERS} requests, ${perSecond.toFixed(0)}/s`);
  bound('every request left a letter', told === LETTERS);
}

/** Waits until the breakers are closed and the lanes have opened. */
async function reopened(): Promise<void> {
  for (const { url } of sites) {
    for (let good = 0; good < 40; ) {
      if ((await ask(`${url}/open`)).status === 200) good += 1;
      else await sleep(200);
    }
  }
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

function report(quiet: readonly number[], redriven: readonly number[]): void {
  const at = (took: readonly number[], part: number) => took[Math.floor(took.length * part)] ?? 0;
  for (const [name, took] of Object.entries({ quiet, 'beside redrives': redriven })) {
    const [p50, p99] = [at(took, 0.5), at(took, 0.99)];
    console.log(
      `live, ${name}: ${took.length} requests, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
    );
  }
  const change = at(redriven, 0.99) / at(quiet, 0.99) - 1;
  console.log(`p99 changes by ${(change * 100).toFixed(1)} %`);
  bound('p99 of live traffic', change < MOST_P99_CHANGE);
  const busiest = Math.max(...sites.map(({ arrivals }) => mostWithinASecond(arrivals)));
  console.log(`busiest second of any site: ${busiest} requests (it stands ${RATE})`);
  // The clocks of both ends differ by the way between them.
  bound('rate of each site', busiest <= RATE * 1.05);
}

function mostWithinASecond(arrivals: readonly number[]): number {
  let from = 0;
  return arrivals.reduce((most, at, n) => {
    while ((arrivals[from] ?? at) <= at - 1000) from += 1;
    return Math.max(most, n - from + 1);
  }, 0);
}

function ask(url: string): Promise<{ status: number; letter: string | undefined }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    letter: string | undefined;
  }>();
  const asking = request({ host: '127.0.0.1', port, path: url, agent }, (reply) => {
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
