// node bench/chaos.ts [--minutes 60] [--rate 12] [--seed 1] [--only N --legs JSON]: trouble on all three legs, and one honest answer for every request.

import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Asking, askingOf } from './chaos-asking.ts';
import { converse } from './chaos-client.ts';
import type { Outcome } from './chaos-judge.ts';
import type { Toxic } from './chaos-legs.ts';
import type { Look } from './chaos-proxy.ts';
import { HOSTS, hostOf, openWorld } from './chaos-world.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '12' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    legs: { type: 'string', default: '{}' },
  },
});
const { seed } = values;
const minutes = Number(values.minutes);
const ratePerSecond = Number(values.rate);
const WARM_UP_MS = 30_000;
const ROUND_MS = 120_000;
/** Long enough for every idle limit of the configuration. */
const SETTLED_WITHIN_MS = 20_000;
const HEAP_GROWTH_MIB = 12;
/** With the faults that are drawn, one in twenty is beyond retries. */
const MOST_GIVEN_UP = 0.2;

const world = await openWorld(seed);
const table = new Map<string, Map<string, number>>();
const violations: string[] = [];
const free = Array.from({ length: HOSTS }, (_, at) => at);
const round = { given: 0, givenUp: 0 };
let next = 0;

if (values.only === undefined) await run();
else await replay(Number(values.only), JSON.parse(values.legs) as Record<string, Toxic[]>);
world.close();
report();
process.exit(); // Half-closed sockets of the legs may still be there, and are nobody's any more.

async function run(): Promise<void> {
  await load(WARM_UP_MS);
  const base = await settled(undefined);
  console.log('base line', base);
  const until = performance.now() + minutes * 60_000;
  for (let left = minutes * 60_000; left > 0; left = until - performance.now()) {
    round.given = 0;
    round.givenUp = 0;
    await load(Math.min(ROUND_MS, left));
    checkService();
    console.log(`${next} conversations`, await settled(base), `${violations.length} violations`);
  }
}

/** Conversations at an even pace, each with a site that is free. */
async function load(forMs: number): Promise<void> {
  const until = performance.now() + forMs;
  const open = new Set<Promise<void>>();
  while (performance.now() < until) {
    const host = free.shift();
    if (host !== undefined) {
      const asking = askingOf(seed, next++, host);
      const one = observed(asking).then(() => {
        free.push(host);
        open.delete(one);
      });
      open.add(one);
    }
    await pause(1000 / ratePerSecond);
  }
  await Promise.all(open);
}

async function observed(asking: Asking): Promise<void> {
  const startedAt = performance.now();
  const { outcomes, toxic } = await converse(asking, world);
  const trouble = { asking, startedAt, near: toxic ?? { kind: 'clean' } } as const;
  for (const outcome of outcomes) count(asking, outcome);
  for (const outcome of outcomes) {
    if (outcome.kind === 'violation') violated(outcome.what, trouble);
  }
  for (const fault of world.faults()) violated(fault, trouble);
}

/** A proxy that refuses everything is honest, too: places, leases and budgets that are not given back show here. */
function checkService(): void {
  const { given, givenUp } = round;
  if (givenUp <= MOST_GIVEN_UP * given) return;
  violations.push(`${givenUp} of ${given} requests in a round were given up`);
  console.log('VIOLATION', violations.at(-1));
}

function count({ kind }: Asking, outcome: Outcome): void {
  if (kind === 'plain' || kind === 'secure' || kind.startsWith('h2')) {
    round.given += 1;
    if (outcome.kind === 'own_status') round.givenUp += 1;
  }
  const row = table.get(kind) ?? new Map<string, number>();
  table.set(kind, row);
  row.set(outcome.kind, (row.get(outcome.kind) ?? 0) + 1);
}

/** With everything that it takes to see it again. */
function violated(
  what: string,
  { asking, startedAt, near }: { asking: Asking; startedAt: number; near: Toxic },
): void {
  const host = hostOf(asking);
  const legs: Record<string, Toxic[]> = { near: [near] };
  for (const leg of world.legs) {
    const passed = leg.since(leg.name === 'far' ? host : undefined, startedAt);
    if (leg.name !== 'near') legs[leg.name] = passed.map(({ toxic }) => toxic);
  }
  const again = `node bench/chaos.ts --seed ${seed} --only ${asking.n} --legs '${JSON.stringify(legs)}'`;
  const text = `${what}\n  ${JSON.stringify(asking)}\n  ${again}`;
  violations.push(text);
  console.log('VIOLATION', text);
}

async function replay(n: number, legs: Record<string, Toxic[]>): Promise<void> {
  for (const leg of world.legs) leg.forced = [...(legs[leg.name] ?? [])];
  const asking = askingOf(seed, n, 0);
  console.log(JSON.stringify(asking));
  await observed(asking);
}

/** What is open once everything has had time to close. */
async function settled(base: Look | undefined): Promise<Look> {
  const until = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const seen = await world.look();
    const open = openOf(seen, base);
    if (open.length === 0) return seen;
    if (performance.now() > until) {
      violations.push(`not back to base line: ${open.join(', ')}`);
      console.log('VIOLATION', violations.at(-1));
      return seen;
    }
    await pause(500);
  }
}

function openOf(seen: Look, base: Look | undefined): string[] {
  const open = [];
  for (const name of ['connections', 'exchanges', 'sockets', 'unfinished', 'handles'] as const) {
    if (seen[name] > 0) open.push(`${seen[name]} ${name}`);
  }
  if (base === undefined) return open;
  if (seen.timers > base.timers + 2) open.push(`${seen.timers - base.timers} more timers`);
  if (seen.files > base.files + 2) open.push(`${seen.files - base.files} more files`);
  const grown = seen.heapMiB - base.heapMiB;
  if (grown > HEAP_GROWTH_MIB) open.push(`${grown} MiB more heap`);
  return open;
}

function report(): void {
  const rows = Object.fromEntries([...table].map(([kind, row]) => [kind, Object.fromEntries(row)]));
  console.table(rows);
  console.log(
    violations.length === 0
      ? `seed ${seed}: every request had one whole answer or one honest end`
      : `seed ${seed}: ${violations.length} violations`,
  );
  process.exitCode = violations.length === 0 ? 0 : 1;
}
