import type { Turn } from '../src/core/pacing.ts';

/** A way to pace a lane, as reducers over a state of its own. Times in ms. */
export interface Law<State> {
  init(): State;
  turn(state: State, now: number, inFlight: number): Turn;
  started(state: State, now: number): State;
  succeeded(state: State, reply: { startedAt: number }, now: number): State;
  throttled(state: State, reply: { startedAt: number; waitMs: number }, now: number): State;
}

/** A limit as the site keeps it: undefined lets the request in; else how long it is closed from now on. */
export type Limit = (now: number) => { readonly closedMs: number } | undefined;

export interface Site {
  readonly limit: Limit;
  /** Whether its 429 names the time in Retry-After. */
  readonly tells: boolean;
}

export interface Job {
  readonly requests: number;
  /** When the n-th request (from 0) is wanted; 0 for all is an endless backlog. */
  readonly wantedAt: (n: number) => number;
  /** What the lane waits where the site names no time; `n` is the throttle's number in a row. */
  readonly ownPauseMs: (n: number, roll: number) => number;
  readonly giveUpAt: number;
}

export interface Outcome {
  readonly endedAt: number;
  readonly done: number;
  readonly sent: number;
  /** Throttles, counted once for all requests that were in flight together. */
  readonly events: number;
  /** Requests that arrived although the site had said to stay away. */
  readonly strikes: number;
}

const CONCURRENCY = 20;
const LATENCY_MS = 30;
/** What arrives this shortly after the 429 had left before it could be known. */
const GRACE_MS = 250;

/** Runs one job against one site in virtual time. */
export function simulate<State>(law: Law<State>, site: Site, job: Job, seed = 1): Outcome {
  const random = mulberry32(seed);
  const timeline = newTimeline();
  const told = newTold();
  const tally = { sent: 0, done: 0, events: 0, inFlight: 0, inRow: 0, pauseEnd: -1, endedAt: -1 };
  let state = law.init();
  let wakeAt = Number.POSITIVE_INFINITY;

  const pumpAt = (at: number) => {
    if (at >= wakeAt) return;
    wakeAt = at;
    timeline.at(at, () => {
      if (wakeAt === at) wakeAt = Number.POSITIVE_INFINITY;
      pump();
    });
  };
  const pump = () => {
    const now = timeline.now();
    while (tally.done + tally.inFlight < job.requests && tally.inFlight < CONCURRENCY) {
      const wantedAt = job.wantedAt(tally.done + tally.inFlight);
      if (wantedAt > now) return pumpAt(wantedAt);
      const turn = law.turn(state, now, tally.inFlight);
      if (turn.kind === 'when_one_ends') return;
      if (turn.kind === 'at') return pumpAt(turn.at);
      send(now);
    }
  };
  const send = (now: number) => {
    state = law.started(state, now);
    tally.sent++;
    tally.inFlight++;
    const halfMs = (LATENCY_MS * (0.7 + 0.6 * random())) / 2;
    timeline.at(now + halfMs, () => {
      const closed = told.ask(site, timeline.now());
      timeline.at(now + 2 * halfMs, () => receive(now, closed));
    });
  };
  const receive = (startedAt: number, closed: ReturnType<Limit>) => {
    const now = timeline.now();
    tally.inFlight--;
    if (closed) {
      if (now > tally.pauseEnd) {
        tally.events++;
        tally.inRow++;
      }
      const waitMs = site.tells ? closed.closedMs : job.ownPauseMs(tally.inRow, random());
      state = law.throttled(state, { startedAt, waitMs }, now);
      tally.pauseEnd = Math.max(tally.pauseEnd, now + waitMs);
    } else {
      tally.done++;
      if (startedAt > tally.pauseEnd) tally.inRow = 0;
      state = law.succeeded(state, { startedAt }, now);
      if (tally.done === job.requests) tally.endedAt = now;
    }
    pump();
  };

  pumpAt(0);
  while (tally.endedAt < 0 && timeline.now() < job.giveUpAt && timeline.step());
  const endedAt = tally.endedAt < 0 ? timeline.now() : tally.endedAt;
  return {
    endedAt,
    done: tally.done,
    sent: tally.sent,
    events: tally.events,
    strikes: told.strikes(),
  };
}

function newTold() {
  let until = -1;
  let since = -1;
  let strikes = 0;
  return {
    ask(site: Site, now: number): ReturnType<Limit> {
      if (site.tells && now < until && now - since > GRACE_MS) strikes++;
      const closed = site.limit(now);
      if (!closed) return undefined;
      if (until < now) since = now;
      until = now + closed.closedMs;
      return closed;
    },
    strikes: () => strikes,
  };
}

function newTimeline() {
  const events: { at: number; n: number; run: () => void }[] = [];
  let now = 0;
  let n = 0;
  return {
    now: () => now,
    at(at: number, run: () => void) {
      // Few events are open at a time, and most new ones are the latest: insertion from the end is quick.
      let i = events.length;
      while (i > 0 && (events[i - 1]?.at ?? 0) > at) i--;
      events.splice(i, 0, { at, n: n++, run });
    },
    step(): boolean {
      const next = events.shift();
      if (!next) return false;
      now = next.at;
      next.run();
      return true;
    },
  };
}

/** A token bucket: `ratePerSecond` may change with time; empty, it asks for `waitMs`. */
export function bucket(
  ratePerSecond: (now: number) => number,
  burst: number,
  waitMs: number,
): Limit {
  let tokens = burst;
  let filledAt = 0;
  return (now) => {
    tokens = Math.min(burst, tokens + ((now - filledAt) * ratePerSecond(now)) / 1000);
    filledAt = now;
    if (tokens < 1) return { closedMs: waitMs };
    tokens -= 1;
    return undefined;
  };
}

/** So many requests per fixed window; when they are spent it asks for the rest of the window. */
export function fixedWindow(requests: number, windowMs: number): Limit {
  let current = -1;
  let used = 0;
  return (now) => {
    const window = Math.floor(now / windowMs);
    if (window !== current) {
      current = window;
      used = 0;
    }
    if (used >= requests) return { closedMs: (window + 1) * windowMs - now };
    used++;
    return undefined;
  };
}

/** Two limits at once; the first that is spent answers. */
export function bothOf(first: Limit, second: Limit): Limit {
  return (now) => first(now) ?? second(now);
}

/** A small seeded generator, so that every run can be repeated. */
export function mulberry32(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = s;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
