// What does telemetry cost? All subscribers of the admin server over a thousand lanes, against the CPU of a whole request
// through the proxy, and how long /metrics takes with every label in use. Exit status 1 if a promise was broken.
// Flags: --requests 20000  --lanes 1000

import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { timeOfDay } from '../src/clock.ts';
import { loadConfig } from '../src/config/load.ts';
import { newLedger } from '../src/core/ledger.ts';
import type { Reply, Verdict } from '../src/core/verdict.ts';
import type { Route } from '../src/exchange/ports.ts';
import { createProxy } from '../src/proxy.ts';
import { createBus } from '../src/telemetry/bus.ts';
import type { ProxyEvent } from '../src/telemetry/events.ts';
import { Interception } from '../src/telemetry/interception.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { createRecent } from '../src/telemetry/recent.ts';
import { Spend } from '../src/telemetry/spend.ts';
import { createWarnings } from '../src/telemetry/warnings.ts';
import { exchangeFor } from '../test/support/playbook.ts';
import { policyWith } from '../test/support/policy.ts';
import { get } from '../test/support/whole-proxy.ts';

const { values: flags } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    lanes: { type: 'string', default: '1000' },
  },
});
const requests = Number(flags.requests);
const lanes = Number(flags.lanes);
const MOST_SHARE = 0.05;
const MOST_RENDER_MS = 50;

const loaded = loadConfig({ file: undefined, text: 'listen: 127.0.0.1:0', env: {}, flags: {} });
if (loaded.kind !== 'ok') throw new Error('the defaults do not load');
const { config } = loaded;

const policy = policyWith();
const route: Route = {
  ...{ id: 'r1', label: 'pool/r1', upstream: 'pool', session: undefined, generation: 0 },
  way: { kind: 'direct' },
};
const status = (code: number) => ({ kind: 'status', status: code }) as const;
const VERDICTS: readonly Verdict[] = [
  ...Array.from({ length: 16 }, () => ({ fault: 'none', reason: 'ok', evidence: status(200) })),
  { fault: 'host', kind: 'rate', reason: 'rate_limited', evidence: status(429), waitMs: 1000 },
  { fault: 'host', kind: 'transient', reason: 'overloaded', evidence: status(503) },
  { fault: 'route', reason: 'blocked', scope: 'lane', evidence: status(403) },
  { fault: 'client', reason: 'not_found', evidence: status(404) },
] as Verdict[];

const perExchangeUs = telemetryCost();
const perRequestUs = await requestCost();
const renderMs = await renderCost();
const share = perExchangeUs / perRequestUs;
const print = (line: string) => process.stdout.write(`${line}\n`);
print('| what | measured | promised |');
print('|---|---|---|');
print(`| telemetry per exchange, ${lanes} lanes | ${perExchangeUs.toFixed(1)} µs | |`);
print(`| a whole request through the proxy | ${perRequestUs.toFixed(0)} µs CPU | |`);
print(`| telemetry's share | ${(100 * share).toFixed(1)} % | < ${100 * MOST_SHARE} % |`);
print(
  `| /metrics with ${config.metrics.maxLanes} lanes of ${lanes} | ${renderMs.toFixed(0)} ms | < ${MOST_RENDER_MS} ms |`,
);
process.exitCode = share < MOST_SHARE && renderMs < MOST_RENDER_MS ? 0 : 1;

function telemetryCost(): number {
  const { emit } = subscribed();
  const events = Array.from({ length: 20_000 }, (_, n) => eventsOf(n));
  const cost = () => {
    const before = process.cpuUsage();
    for (const four of events) for (const event of four) emit(event);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / events.length;
  };
  // The first round warms up; of the others the middle one counts.
  return median(Array.from({ length: 6 }, cost).slice(1));
}

async function renderCost(): Promise<number> {
  const { emit, metrics } = subscribed();
  for (let n = 0; n < lanes * VERDICTS.length; n += 1) for (const one of eventsOf(n)) emit(one);
  const times: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    const before = performance.now();
    await metrics.render();
    times.push(performance.now() - before);
  }
  return median(times.slice(5));
}

/** All that listens beside the admin server. */
function subscribed() {
  const bus = createBus();
  const warnings = createWarnings({ emit: bus.emit, timeOfDay });
  const metrics = createMetrics({
    priceOf: () => 3,
    mostLanes: () => config.metrics.maxLanes,
    state: {
      now: () => Date.now(),
      lanes: () =>
        Array.from({ length: lanes }, (_, n) => ({
          ...{ id: `host${n}.test`, waiting: n % 7, budget: 6, breaker: 'closed' as const },
          ...{ pausedUntil: undefined, rate: 2 },
        })),
      routes: () => ({ routes: [{ upstream: 'pool', state: 'in' }], sessions: [] }),
      letters: async () => [],
      warnings: warnings.raised,
      failures: () => bus.failures,
    },
  });
  const spend = new Spend(Date.now(), () => 3);
  const listeners = [createRecent(), spend, metrics, warnings, new Interception()];
  for (const { record } of listeners) bus.subscribe(record);
  return { emit: bus.emit, metrics };
}

/** What is told of one exchange with one attempt. */
function eventsOf(n: number): ProxyEvent[] {
  const at = Date.UTC(2026, 0, 1) + n * 10;
  const host = `host${n % lanes}.test`;
  const made = exchangeFor({ policy }, at);
  const exchange = { ...made, id: `x${n}`, target: { ...made.target, host, authority: host } };
  const verdict = VERDICTS[Math.floor(n / lanes + n) % VERDICTS.length] as Verdict;
  const bytes = { sentBytes: 700, receivedBytes: 20_000 };
  const which = { at: at + 200, exchange, lane: host, n: 1, route, ...bytes };
  const reply: Reply = {
    kind: 'response',
    via: 'direct',
    status: 200,
    rawHeaders: [],
    headMs: 150,
    body: { kind: 'unseen' },
  };
  const ledger = { ...newLedger, attempts: 1 };
  return [
    { type: 'exchange_started', at, exchange },
    {
      ...{ type: 'attempt_finished', ...which, reply, verdict, durationMs: 190 },
      action: verdict.reason === 'blocked' ? rotated(verdict) : { kind: 'deliver' },
    },
    { type: 'attempt_closed', ...which, cause: 'first_try' },
    {
      ...{ type: 'exchange_finished', at: at + 210, exchange, answered: 200, ...bytes },
      delivery: {
        ...{ received: undefined, verdict, stop: undefined, retryAfterMs: undefined },
        ...{ ledger, route },
      },
    },
  ];
}

function rotated(because: Verdict) {
  return { kind: 'rotate', because: because as never, charged: true } as const;
}

/** CPU of a proxy per request, without what the admin server listens to. */
async function requestCost(): Promise<number> {
  const page = 'x'.repeat(10_000);
  const origin = createServer((_, reply) => reply.end(page));
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  const { port: originPort } = origin.address() as AddressInfo;
  const home = mkdtempSync(join(tmpdir(), 'forbear-telemetry-'));
  const proxy = await createProxy({ config, home });
  const { port } = (await proxy.start()).proxy;
  const url = `http://127.0.0.1:${originPort}/page`;
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const round = async (count: number, base: number) => {
    const before = process.cpuUsage();
    for (let n = 0; n < count; n += 20) {
      await Promise.all(Array.from({ length: 20 }, () => get(base, url, { agent })));
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  };
  await round(2_000, port);
  const through = await round(requests, port);
  // Client and origin share the process: what they take is taken off.
  await round(1_000, originPort);
  const without = await round(requests, originPort);
  agent.destroy();
  await proxy.stop();
  origin.close();
  origin.closeAllConnections();
  rmSync(home, { recursive: true });
  return through - without;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
