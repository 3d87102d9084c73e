import { createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { replay } from '../src/cli/replay.ts';
import { ownVersion } from '../src/cli/version.ts';
import { loadConfig } from '../src/config/load.ts';
import type { Verdict } from '../src/core/verdict.ts';
import {
  type AttemptLine,
  type EndLine,
  type LoggedAction,
  loggedPolicy,
} from '../src/telemetry/attempt-line.ts';

// How long a million recorded attempts take, and how much memory. Exit status 1 if a promise was broken.
// Argument: the number of attempts, 1000000 if left out. KEEP=1 leaves the log behind.
const ATTEMPTS = Number(process.argv[2] ?? 1_000_000);
const LIMIT_S = 20;
const LIMIT_MB = 512;
const HOSTS = 200;
const PAGE = `<html><head><title>sorry</title></head><body>${'some words of a page '.repeat(30)}</body></html>`;
const UNPROCESSED = { bodyKept: true, repeatable: true, sent: true, unprocessed: true };
const folder = mkdtempSync(join(tmpdir(), 'forbear-replay-'));
const log = join(folder, 'attempts.jsonl');
const config = join(folder, 'new.yaml');

try {
  await generate();
  writeFileSync(
    config,
    'policy: { patience: 20s, retry_after: { max: 2s }, budget: { floor_per_minute: 2 } }\n' +
      'targets: [{ match: "h1*.test", transient_statuses: [500], replies: [{ when: { status: 403, body_contains: "no entry" }, verdict: terminal, label: no-entry }] }]\n',
  );
  const before = performance.now();
  const cpuBefore = process.cpuUsage();
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 50);
  let out = '';
  const code = await replay(
    { log: [log], config, examples: 3 },
    { out: (text) => (out += text), err: () => {}, env: {} },
  );
  clearInterval(watch);
  const seconds = (performance.now() - before) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  const mb = peak / 1e6;
  console.log(out.split('\n').slice(0, 24).join('\n'));
  console.log(
    `\n${ATTEMPTS} attempts (${(statSync(log).size / 1e6).toFixed(0)} MB) in ${seconds.toFixed(1)} s ` +
      `(${((cpu.user + cpu.system) / 1e6).toFixed(1)} s of CPU), ` +
      `${Math.round(ATTEMPTS / seconds)} per second, at most ${mb.toFixed(0)} MB of memory`,
  );
  const limit = (LIMIT_S * Math.max(ATTEMPTS, 10_000)) / 1_000_000;
  if (code !== 0 || seconds > limit || mb > LIMIT_MB) process.exitCode = 1;
} finally {
  if (!process.env.KEEP) rmSync(folder, { recursive: true, force: true });
}

/** Traffic of some hundred hosts: mostly good, some overload that is retried, some throttles, some 403. */
async function generate(): Promise<void> {
  const loaded = loadConfig({ file: undefined, env: {}, flags: {} });
  if (loaded.kind !== 'ok') throw new Error('the defaults do not load');
  const { policy } = loaded.config;
  const out = createWriteStream(log);
  const write = async (entry: object): Promise<void> => {
    if (!out.write(`${JSON.stringify(entry)}\n`))
      await new Promise<void>((go) => void out.once('drain', () => go()));
  };
  await write({ v: 1, kind: 'head', at: 0, forbear: ownVersion() });
  await write({ v: 1, kind: 'policy', id: 'p', policy: loggedPolicy(policy) });
  let at = Date.UTC(2026, 0, 1);
  for (let made = 0, id = 0; made < ATTEMPTS; id += 1) {
    const host = `h${id % HOSTS}.test`;
    const isRetried = id % 17 === 0;
    const tries = isRetried ? [503, 200] : [id % 29 === 0 ? 429 : id % 41 === 0 ? 403 : 200];
    for (const [i, status] of tries.entries()) {
      at += 2;
      await write(line({ at, host, id, n: i + 1, status, patienceMs: policy.patienceMs }));
      made += 1;
    }
    const end: EndLine = {
      ...{ v: 1, kind: 'end', at, exchange: `x${id}`, lane: host, attempts: tries.length },
      ...{ waitedMs: 0, answered: tries.at(-1) ?? 200 },
    };
    await write(end);
  }
  await new Promise<void>((done) => out.end(done));
}

function line(o: {
  at: number;
  host: string;
  id: number;
  n: number;
  status: number;
  patienceMs: number;
}): AttemptLine {
  const { at, host, id, n, status } = o;
  const startedAt = at - 150;
  return {
    ...{ v: 1, kind: 'attempt', at, exchange: `x${id}`, n, lane: host, authority: host },
    request: {
      ...{ method: 'GET', scheme: 'https', host, path: `/item/${id}?page=${id % 9}` },
      ...{ client: 'bench', startedAt },
    },
    route: { id: `list/${id % 20}`, label: `list/${id % 20}`, upstream: 'list' },
    policy: 'p',
    reply: {
      ...{ kind: 'response', via: 'tunnel', status, headMs: 80 },
      rawHeaders: [
        ...['Date', 'Thu, 01 Jan 2026 00:00:00 GMT', 'Server', 'nginx', 'Vary', 'Accept-Encoding'],
        ...['Content-Type', 'text/html; charset=utf-8', 'Cache-Control', 'no-store'],
        ...(status === 429 ? ['Retry-After', '3'] : []),
      ],
      body: {
        kind: 'seen',
        ...{ receivedBytes: 21_000, end: 'complete', coding: 'ok', marker: null },
        ...(status === 200 ? { text: '', chars: 21_000 } : { text: PAGE }),
      },
    },
    ...{ ms: 100, sent: 800, received: 2_100 },
    ...judged(status, at),
    basis: {
      progress: {
        ...{ now: at, deadline: startedAt + o.patienceMs, roll: 0.5, routesLeft: true },
        ...(status === 429 ? { replay: UNPROCESSED } : {}),
        ...(n > 1 ? { ledger: { transientRetries: n - 1, waitedMs: 500 } } : {}),
      },
      ...{ retriesLeft: 6, nowWall: at },
    },
  };
}

function judged(status: number, at: number): { verdict: Verdict; action: LoggedAction } {
  const evidence = { kind: 'status', status } as const;
  switch (status) {
    case 503:
      return {
        verdict: { fault: 'host', kind: 'transient', reason: 'overloaded', evidence },
        action: { kind: 'wait', ledger: 'transient', delayMs: 500, charged: true },
      };
    case 429:
      return {
        verdict: {
          ...{ fault: 'host', kind: 'rate', reason: 'rate_limited', waitMs: 3_000 },
          evidence: { kind: 'header', name: 'retry-after', value: '3', status },
        },
        action: { kind: 'wait', ledger: 'rate', delayMs: 3_000 + (at % 1), charged: false },
      };
    case 403:
      return {
        verdict: { fault: 'route', reason: 'blocked', scope: 'lane', evidence },
        action: { kind: 'rotate', charged: true },
      };
    default:
      return { verdict: { fault: 'none', reason: 'ok', evidence }, action: { kind: 'deliver' } };
  }
}
