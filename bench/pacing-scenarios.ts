import {
  bothOf,
  bucket,
  fixedWindow,
  type Job,
  type Law,
  type Site,
  simulate,
} from './simulation.ts';

/** One site and one amount of work, and how long it would take who knew the limit beforehand. */
export interface Case {
  readonly site: () => Site;
  readonly job: Job;
  /** The part of the run that counts begins here. */
  readonly fromMs: number;
  readonly idealMs: number;
}

export interface Scenario {
  readonly name: string;
  readonly cases: readonly Case[];
}

/** One line of the table. */
export interface Row {
  /** Time needed against the ideal: median and worst of the cases. */
  readonly median: number;
  readonly worst: number;
  /** Per case. */
  readonly events: number;
  readonly strikes: number;
  readonly sentPerDone: number;
}

const GIVE_UP_MS = 20_000_000;
const RUN_S = 600;

/** Runs all cases of a scenario under one law. */
export function measure<State>(law: Law<State>, scenario: Scenario): Row {
  const runs = scenario.cases.map((one) => {
    const outcome = simulate(law, one.site(), one.job);
    return { ...outcome, ratio: (outcome.endedAt - one.fromMs) / one.idealMs };
  });
  const ratios = runs.map((run) => run.ratio).sort((a, b) => a - b);
  const mean = (of: (run: (typeof runs)[number]) => number) =>
    runs.reduce((sum, run) => sum + of(run), 0) / runs.length;
  return {
    median: ratios[Math.floor(ratios.length / 2)] ?? Number.NaN,
    worst: ratios.at(-1) ?? Number.NaN,
    events: mean((run) => run.events),
    strikes: runs.reduce((sum, run) => sum + run.strikes, 0),
    sentPerDone: mean((run) => run.sent / run.done),
  };
}

/** All that docs/pacing.md shows. */
export function scenarios(): Scenario[] {
  const told = [1, 2, 10, 60].map((s) => buckets(`bucket, Retry-After ${s} s`, s * 1000, true));
  return [
    ...told,
    buckets('bucket, no Retry-After', 1000, false),
    ...[1, 10, 60].map((s) => windows(`window of ${s} s`, s, true)),
    windows('window of 60 s, no Retry-After', 60, false),
    halfDemand(),
    bursts(),
    changed('limit halves', 0.5),
    changed('limit doubles', 2),
    twoLimits(),
  ];
}

const RATES = [0.5, 2, 10, 50];
const BURSTS_S = [0.2, 1, 3];

function overBuckets(one: (rate: number, burst: number) => Case): Case[] {
  return RATES.flatMap((rate) => BURSTS_S.map((s) => one(rate, Math.max(1, Math.round(rate * s)))));
}

function backlog(requests: number): Job {
  return {
    requests: Math.round(requests),
    wantedAt: () => 0,
    // The default backoff (1 s, doubling to 60 s), never less than its half.
    ownPauseMs: (n, roll) => (Math.min(60_000, 1000 * 2 ** (n - 1)) / 2) * (1 + roll),
    giveUpAt: GIVE_UP_MS,
  };
}

function buckets(name: string, waitMs: number, tells: boolean): Scenario {
  const cases = overBuckets((rate, burst) => ({
    site: () => ({ limit: bucket(() => rate, burst, waitMs), tells }),
    job: backlog(RUN_S * rate + burst),
    fromMs: 0,
    idealMs: RUN_S * 1000,
  }));
  return { name, cases };
}

function windows(name: string, windowS: number, tells: boolean): Scenario {
  const cases = [2, 10].map((rate) => ({
    site: () => ({ limit: fixedWindow(rate * windowS, windowS * 1000), tells }),
    job: backlog(900 * rate),
    fromMs: 0,
    idealMs: 900_000,
  }));
  return { name, cases };
}

// A quiet lane must not believe that it has proved more: after twice ten minutes comes all the work at once.
function halfDemand(): Scenario {
  const quietS = 2 * RUN_S;
  const cases = overBuckets((rate, burst) => {
    const quiet = Math.round((quietS * rate) / 2);
    const wantedAt = (n: number) => (n < quiet ? (n * 2000) / rate : quietS * 1000);
    return {
      site: () => ({ limit: bucket(() => rate, burst, 2000), tells: true }),
      job: { ...backlog(quiet + RUN_S * rate), wantedAt },
      fromMs: quietS * 1000,
      idealMs: RUN_S * 1000,
    };
  });
  return { name: 'demand at half the limit, then backlog', cases };
}

// Every minute half a minute's work at once, for half an hour.
function bursts(): Scenario {
  const minutes = 30;
  const cases = overBuckets((rate, burst) => {
    const perMinute = 30 * rate;
    return {
      site: () => ({ limit: bucket(() => rate, burst, 2000), tells: true }),
      job: {
        ...backlog(minutes * perMinute),
        wantedAt: (n: number) => Math.floor(n / perMinute) * 60_000,
      },
      fromMs: 0,
      idealMs: (minutes - 1) * 60_000 + 30_000,
    };
  });
  return { name: 'bursts at half the limit', cases };
}

function changed(name: string, factor: number): Scenario {
  const cases = overBuckets((rate, burst) => ({
    site: () => {
      const limit = bucket((now) => (now < RUN_S * 1000 ? rate : rate * factor), burst, 2000);
      return { limit, tells: true };
    },
    job: backlog(RUN_S * rate * (1 + factor) + burst),
    fromMs: 0,
    idealMs: 2 * RUN_S * 1000,
  }));
  return { name: `${name} after 10 min`, cases };
}

// 5 per second and 1200 per ten minutes, for one hour: the ideal sends each window's share at once.
function twoLimits(): Scenario {
  const cases = [1, 4].map((burst) => ({
    site: () => ({
      limit: bothOf(
        bucket(() => 5, burst, 2000),
        fixedWindow(1200, 600_000),
      ),
      tells: true,
    }),
    job: backlog(7200),
    fromMs: 0,
    idealMs: 3_240_000,
  }));
  return { name: '5 per s and 1200 per 10 min', cases };
}
