// Does the early warning come before it hurts, and never without cause? Lanes of one request a second in virtual time.
// Prints two markdown tables. Flags: --drifts 200 --weeks 20
import { parseArgs } from 'node:util';
import { newTrend, observe } from '../src/core/trend.ts';
import type { Reason } from '../src/core/verdict.ts';
import { chance } from '../test/support/chance.ts';

const { values: flags } = parseArgs({
  options: {
    drifts: { type: 'string', default: '200' },
    weeks: { type: 'string', default: '20' },
  },
});

const SECOND = 1000;
const HOUR = 3600;
const WEEK = 7 * 24 * HOUR;
const ROUTES = 5;
const MAX_ADDRESSES = 3;
const MAX_ATTEMPTS = 5;
/** The success rate that a user watches: of the last quarter of an hour. */
const WATCHED = 900;
const DROP = 0.02;

type Outcome = Reason;
/** What an attempt in second `at` over a route comes to; `dice` is uniform in [0, 1). */
type World = (at: number, route: number, dice: number) => Outcome;

/** Lives one exchange: every failed attempt is made again as the discipline does it. */
function live(
  at: number,
  world: World,
  seed: string,
): { outcomes: [Outcome, number][]; ok: boolean } {
  const outcomes: [Outcome, number][] = [];
  let route = Math.floor(chance(seed, at, 'route') * ROUTES);
  let addresses = 1;
  for (let n = 0; n < MAX_ATTEMPTS; n += 1) {
    const outcome = world(at + n, route, chance(seed, at, n));
    outcomes.push([outcome, route]);
    if (outcome === 'ok') return { outcomes, ok: true };
    if (outcome !== 'challenged') continue;
    if (addresses === MAX_ADDRESSES) break;
    addresses += 1;
    route = (route + 1) % ROUTES;
  }
  return { outcomes, ok: false };
}

interface Story {
  /** Seconds. */
  readonly warnedAt: readonly number[];
  readonly words: readonly string[];
  readonly droppedAt: number | undefined;
}

function tell(world: World, o: { seconds: number; seed: string; watchFrom: number }): Story {
  let trend = newTrend();
  const warnedAt: number[] = [];
  const words: string[] = [];
  const ends: boolean[] = [];
  let good = 0;
  let usual = 1;
  let droppedAt: number | undefined;
  for (let at = 0; at < o.seconds; at += 1) {
    const { outcomes, ok } = live(at, world, o.seed);
    for (const [reason, route] of outcomes) {
      const seen = { at: at * SECOND, reason, bad: reason !== 'ok', route: `r${route}` };
      const result = observe(trend, seen);
      trend = result.trend;
      for (const one of result.warnings) {
        if (one.kind === 'cleared') continue;
        warnedAt.push(at);
        words.push(one.signal);
      }
    }
    ends.push(ok);
    good += Number(ok) - Number(ends[at - WATCHED] ?? false);
    if (at === o.watchFrom) usual = good / Math.min(WATCHED, at + 1);
    if (at > o.watchFrom && good / WATCHED < usual - DROP) droppedAt ??= at;
  }
  return { warnedAt, words, droppedAt };
}

const START = 3 * HOUR;
const END = 9 * HOUR;

interface Drift {
  readonly name: string;
  world(seed: number): World;
}

/** How much of the drift is there: at once, or rising for up to four hours. */
function ramp(seed: number): (at: number) => number {
  const rises = chance(seed, 'step') < 0.4 ? 1 : 60 + chance(seed, 'ramp') * 4 * HOUR;
  return (at) => Math.min(1, Math.max(0, (at - START) / rises));
}

const between = (low: number, high: number, ...seed: (string | number)[]): number =>
  low + (high - low) * chance(...seed);

/** A site that has its moments: for some seconds, a few times a day, most attempts fail. */
function hiccups(seed: number): (at: number) => boolean {
  return (at) => {
    const slot = Math.floor(at / 600);
    if (chance(seed, 'hiccup', slot) > 0.03) return false;
    const begins = chance(seed, 'begins', slot) * 550;
    const into = at - slot * 600 - begins;
    return into >= 0 && into < between(5, 40, seed, 'lasts', slot);
  };
}

function noisy(seed: number, share: number): World {
  const bad = hiccups(seed);
  return (at, _route, dice) => (dice < (bad(at) ? 0.8 : share) ? 'overloaded' : 'ok');
}

const drifts: readonly Drift[] = [
  {
    name: 'defences change (challenges on every route)',
    world: (seed) => {
      const noise = noisy(seed, between(0, 0.05, seed, 'base'));
      const rise = ramp(seed);
      const to = between(0.15, 0.8, seed, 'to');
      return (at, route, dice) =>
        chance(seed, at, route, 'drift') < rise(at) * to ? 'challenged' : noise(at, route, dice);
    },
  },
  {
    name: 'pacing drifts (throttles grow)',
    world: (seed) => {
      const noise = noisy(seed, between(0, 0.05, seed, 'base'));
      const rise = ramp(seed);
      const to = between(0.15, 0.8, seed, 'to');
      return (at, route, dice) =>
        chance(seed, at, route, 'drift') < rise(at) * to ? 'rate_limited' : noise(at, route, dice);
    },
  },
  {
    name: 'one bad subnet (one route of five)',
    world: (seed) => {
      const noise = noisy(seed, between(0, 0.05, seed, 'base'));
      const rise = ramp(seed);
      const to = between(0.5, 1, seed, 'to');
      return (at, route, dice) =>
        route === 0 && dice < rise(at) * to ? 'challenged' : noise(at, route, dice);
    },
  },
  {
    name: 'the site gets weak (failures grow)',
    world: (seed) => {
      const noise = noisy(seed, between(0, 0.05, seed, 'base'));
      const rise = ramp(seed);
      const to = between(0.15, 0.8, seed, 'to');
      return (at, route, dice) =>
        chance(seed, at, route, 'drift') < rise(at) * to ? 'overloaded' : noise(at, route, dice);
    },
  },
];

const quiet: readonly { name: string; world(seed: number): World }[] = [
  { name: 'no failures', world: () => () => 'ok' },
  ...[0.01, 0.05, 0.2].map((share) => ({
    name: `${100 * share} % fail by chance`,
    world: (): World => (_at, _route, dice) => (dice < share ? 'overloaded' : 'ok'),
  })),
  {
    name: '1 % by chance, and hiccups (about 4 a day, up to 40 s)',
    world: (seed) => noisy(seed, 0.01),
  },
  {
    name: 'a daily tide (1 % at night, 4 % by day)',
    world: (): World => (at, _route, dice) => {
      const share = 0.025 - 0.015 * Math.cos((2 * Math.PI * at) / (24 * HOUR));
      return dice < share ? 'overloaded' : 'ok';
    },
  },
  {
    name: 'challenges on 2 %, throttles on 3 %',
    world: (): World => (_at, _route, dice) => {
      if (dice < 0.02) return 'challenged';
      return dice < 0.05 ? 'rate_limited' : 'ok';
    },
  },
];

const print = (line: string) => process.stdout.write(`${line}\n`);

print(
  '| drift | runs | success fell 2 points | warned before | warned where it never fell | median lead | before the drift |',
);
print('|---|---|---|---|---|---|---|');
let inTime = 0;
let all = 0;
for (const { name, world } of drifts) {
  const runs = Number(flags.drifts);
  const leads: number[] = [];
  let fell = 0;
  let warnedAnyway = 0;
  let early = 0;
  for (let seed = 1; seed <= runs; seed += 1) {
    const story = tell(world(seed), { seconds: END, seed: `${name}${seed}`, watchFrom: START });
    const first = story.warnedAt.find((at) => at >= START);
    if (story.warnedAt.some((at) => at < START)) early += 1;
    if (story.droppedAt === undefined) warnedAnyway += Number(first !== undefined);
    else {
      fell += 1;
      if (first !== undefined && first < story.droppedAt) leads.push(story.droppedAt - first);
    }
  }
  inTime += leads.length + warnedAnyway;
  all += runs;
  leads.sort((a, b) => a - b);
  const median = leads[Math.floor(leads.length / 2)] ?? 0;
  print(
    `| ${name} | ${runs} | ${fell} | ${leads.length} | ${warnedAnyway} of ${runs - fell} | ${Math.round(median / 60)} min | ${early} |`,
  );
}
print(`\nwarned in time: ${((100 * inTime) / all).toFixed(1)} %\n`);

print('| noise only | lane-weeks | false alarms | per lane and week |');
print('|---|---|---|---|');
for (const { name, world } of quiet) {
  const weeks = Number(flags.weeks);
  let alarms = 0;
  const named: string[] = [];
  for (let seed = 1; seed <= weeks; seed += 1) {
    const story = tell(world(seed), { seconds: WEEK, seed: `${name}${seed}`, watchFrom: WEEK });
    alarms += story.warnedAt.length;
    named.push(...story.words);
  }
  print(`| ${name} | ${weeks} | ${alarms} | ${(alarms / weeks).toFixed(2)} |`);
}
