// node --expose-gc bench/soak.ts [--minutes 10] [--rate 40]: mixed faults at moderate load; what is open must come back to base line.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { loadConfig } from '../src/config/load.ts';
import { createProxy } from '../src/proxy.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
  },
});
const minutes = Number(values.minutes);
const ratePerSecond = Number(values.rate);
const roll = mulberry(Number(values.seed));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const PAGE = `<html>${'content '.repeat(2000)}</html>`;
const origin = createServer(answer);
origin.listen(0, '127.0.0.1');
await once(origin, 'listening');
const port = (origin.address() as AddressInfo).port;

const home = mkdtempSync(join(tmpdir(), 'forbear-soak-'));
const text = `
listen: 127.0.0.1:0
policy:
  patience: 5s
  timeouts: { connect: 2s, first_byte: 1s, idle: 1s }
  backoff: { base: 100ms }
  breaker: { cooldown: 1s, max_cooldown: 2s }
log: { level: error }
`;
const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.faults));
const proxy = await createProxy({ config: loaded.config, home });
const { proxy: listen } = await proxy.start();
const agent = new Agent({ keepAlive: true, maxSockets: 100 });
const outcomes = new Map<string, number>();

await load(15_000);
const base = await settled();
console.log('base line', base);
for (let minute = 1; minute <= minutes; minute++) {
  await load(60_000);
  console.log(`minute ${minute}`, { ...(await looked()), ...Object.fromEntries(outcomes) });
}
const end = await settled();
console.log('at the end', end);

agent.destroy();
await proxy.stop();
origin.closeAllConnections();
origin.close();
rmSync(home, { recursive: true });
const grown = end.heapMiB - base.heapMiB;
const leaks = [
  end.sockets > base.sockets ? 'sockets' : '',
  end.connections > base.connections ? 'connections' : '',
  end.exchanges > 0 ? 'exchanges' : '',
  end.timers > base.timers + 2 ? 'timers' : '',
  grown > 10 ? 'heap' : '',
].filter((name) => name !== '');
console.log(
  leaks.length === 0 ? 'back to base line' : `not back to base line: ${leaks.join(', ')}`,
);
process.exitCode = leaks.length === 0 ? 0 : 1;

/** A page, or one of the faults that sites have. */
function answer(req: IncomingMessage, res: ServerResponse): void {
  req.resume();
  const fault = roll();
  if (fault < 0.03) return void req.socket.destroy();
  if (fault < 0.05) return void req.socket.resetAndDestroy();
  if (fault < 0.08) return void res.writeHead(503).end('busy');
  if (fault < 0.09) return void res.writeHead(500).end('broken');
  if (fault < 0.095) return void res.writeHead(429, { 'Retry-After': '1' }).end('slow down');
  if (fault < 0.11) return void res.writeHead(404).end('not here');
  if (fault < 0.12) return; // Silent until the first-byte timeout.
  if (fault < 0.15) return void cutShort(req, res);
  if (fault < 0.16) return void stall(res);
  if (fault < 0.3) return void gzipped(res);
  res.writeHead(200, { 'Content-Type': 'text/html' });
  res.end(PAGE);
}

function cutShort(req: IncomingMessage, res: ServerResponse): void {
  res.writeHead(200, { 'Content-Type': 'text/html', 'Content-Length': '99999' });
  res.write(PAGE);
  setTimeout(() => req.socket.destroy(), 5);
}

function stall(res: ServerResponse): void {
  res.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': '99999' });
  res.write(PAGE);
}

function gzipped(res: ServerResponse): void {
  res.writeHead(200, { 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' });
  res.end(gzipSync(PAGE));
}

/** Requests at an even pace; one in ten posts a body, one in twenty hangs up early. */
async function load(forMs: number): Promise<void> {
  const until = performance.now() + forMs;
  const open: Promise<void>[] = [];
  while (performance.now() < until) {
    open.push(ask());
    await pause(1000 / ratePerSecond);
  }
  await Promise.all(open);
}

async function ask(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const posts = roll() < 0.1;
  const req = request({
    host: listen.host,
    port: listen.port,
    agent,
    method: posts ? 'PUT' : 'GET',
    path: `http://127.0.0.1:${port}/page/${Math.floor(roll() * 1e6)}`,
    headers: { Host: `127.0.0.1:${port}` },
  });
  req.on('response', (res) => {
    res.resume();
    res.on('end', () => resolve(String(res.statusCode)));
    res.on('error', () => resolve('broken off'));
  });
  req.on('error', () => resolve('hung up'));
  req.end(posts ? 'x'.repeat(20_000) : undefined);
  if (roll() < 0.05) setTimeout(() => req.destroy(), 20 * roll());
  const outcome = await promise;
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}

/** What is open once all idle limits have passed. */
async function settled() {
  agent.destroy();
  await pause(8_000);
  return looked();
}

async function looked() {
  globalThis.gc?.();
  await pause(50);
  globalThis.gc?.();
  return {
    ...proxy.activity(),
    timers: process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length,
    heapMiB: Math.round(process.memoryUsage().heapUsed / 2 ** 20),
  };
}

function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
