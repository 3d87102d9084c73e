import {
  isStrained,
  type Levels,
  type Sighting,
  type Silence,
  type Votes,
} from '../core/diagnose.ts';
import type { Reply, Verdict } from '../core/verdict.ts';
import type { Exchange, Route } from './ports.ts';
import { type LaneRecord, type Outcome, Records } from './records.ts';
import { isBad, isGood } from './testimony.ts';

/** An attempt under way or just ended. */
export interface Watched {
  readonly exchange: Exchange;
  readonly laneId: string;
  readonly route: Route;
  /** The machine that is dialled for it. */
  readonly door: string;
  readonly startedAt: number;
  /** Attempts of the lane under way when it began, itself included. */
  readonly inFlight: number;
}

interface Failed {
  readonly at: number;
  readonly attempt: Watched;
  readonly connected: boolean;
}

/** How far back evidence goes where there is none of the attempt's own time. */
const WINDOW_MS = 60_000;
/** A failure that came at once is held against at least this much of its past. */
const LEAST_SPAN_MS = 10_000;
const MOST_FAILED = 256;
/** An attempt that has hung for less than this tells nothing yet. */
const LEAST_SILENCE_MS = 500;
const LEVEL_SHARE = 0.1;
/** What a site can do at once may change. */
const OVER_MS = 5 * 60_000;

/** Counts what others saw while an attempt was under way. */
export class Sightings {
  readonly #upstreams: () => number;
  readonly #records = new Records();
  readonly #pending = new Set<Watched>();
  #failed: Failed[] = [];
  #answeredAt = 0;

  constructor(upstreams: () => number) {
    this.#upstreams = upstreams;
  }

  begin(exchange: Exchange, o: { laneId: string; route: Route }, now: number): Watched {
    const lane = this.#records.lane(o.laneId);
    lane.inFlight += 1;
    const { target } = exchange;
    const door = o.route.way.kind === 'direct' ? target.authority : o.route.way.host;
    const attempt = { ...o, exchange, door, startedAt: now, inFlight: lane.inFlight };
    this.#pending.add(attempt);
    this.#records.pair(attempt).pending.add(attempt);
    return attempt;
  }

  end(attempt: Watched): void {
    if (!this.#pending.delete(attempt)) return;
    this.#records.lane(attempt.laneId).inFlight -= 1;
    this.#records.pair(attempt).pending.delete(attempt);
  }

  answered(now: number): void {
    this.#answeredAt = now;
    // Whatever failed before, it was not for want of a network.
    this.#failed = [];
  }

  couldNotConnect(attempt: Watched, now: number): void {
    this.#fail({ at: now, attempt, connected: false });
  }

  /** Whether the lane has ever been answered. */
  isKnown({ laneId }: Watched): boolean {
    return this.#records.lane(laneId).wasGood;
  }

  around(attempt: Watched, now: number): Omit<Sighting, 'network' | 'look'> {
    const lane = this.#records.lane(attempt.laneId);
    return {
      route: this.#recent(attempt, now, (since) => this.#votesOnRoute(attempt, since, now)),
      lane: this.#recent(attempt, now, (since) => this.#votesOnLane(attempt, since, now)),
      here: this.#here(attempt, now),
      load: {
        inFlight: attempt.inFlight,
        ...levelsOf(lane, now),
        failedBelow: lane.failedBelow.filter((at) => now - at < WINDOW_MS).length,
      },
      silence: this.silence(attempt, now),
    };
  }

  /** Enters what became of an attempt. What we did to ourselves speaks against nobody. */
  judged(attempt: Watched, reply: Reply, verdict: Verdict, now: number): void {
    const lane = this.#records.lane(attempt.laneId);
    if (isGood(verdict) && reply.kind === 'response') {
      lane.wasGood = true;
      if (!isQuick(reply.headMs, attempt.exchange)) return;
      this.#records.enter(attempt, { ...spanOf(attempt, now), good: true });
      lane.fastLevel = smoothed(lane.fastLevel, attempt.inFlight);
    }
    if (verdict.reason === 'overrun') lane.over = lowered(lane, attempt.inFlight, now);
    if (!isBad(verdict)) return;
    this.#fail({ at: now, attempt, connected: true });
    this.#records.enter(attempt, { ...spanOf(attempt, now), good: false });
    // A failure a little above the level that goes well says neither that it was too much nor that it was not.
    if (verdict.fault !== 'host' || attempt.inFlight > (lane.fastLevel ?? attempt.inFlight)) return;
    lane.failedBelow = [...lane.failedBelow.slice(-7), now];
  }

  /** Of the attempt's own time, or of the whole window where that is empty. */
  #recent(attempt: Watched, now: number, ballot: (since: number) => Ballot): Votes {
    const own = ballot(sinceOf(attempt, now));
    // Where all that was seen has trouble of its own, nobody votes; older votes would be for another time.
    const isEmpty = own.every(([here]) => here === 'unknown');
    return votesOf(isEmpty ? ballot(now - WINDOW_MS) : own);
  }

  #votesOnRoute({ laneId, route }: Watched, since: number, now: number): Ballot {
    const others = this.#records.lanesOf(route.id).filter((other) => other !== laneId);
    return others.map((other) => [
      this.#mood({ laneId: other, route }, since, now),
      () =>
        this.#moods(this.#records.routesOf(other), route.id, (id) =>
          this.#mood({ laneId: other, route: { id } }, since, now),
        ),
    ]);
  }

  #votesOnLane({ laneId, route }: Watched, since: number, now: number): Ballot {
    const others = this.#records.routesOf(laneId).filter((other) => other !== route.id);
    return others.map((other) => [
      this.#mood({ laneId, route: { id: other } }, since, now),
      () =>
        this.#moods(this.#records.lanesOf(other), laneId, (id) =>
          this.#mood({ laneId: id, route: { id: other } }, since, now),
        ),
    ]);
  }

  /** How the other party of a pair fares without this one. */
  #moods(ids: readonly string[], except: string, moodOf: (id: string) => Mood): Mood {
    const moods = ids.filter((id) => id !== except).map(moodOf);
    const count = (mood: Mood) => moods.filter((one) => one === mood).length;
    if (count('good') === 0 && count('bad') === 0) return 'unknown';
    return count('good') >= count('bad') ? 'good' : 'bad';
  }

  /** How a lane and a route got on since then; an attempt that hangs for as long as a slow one counts as failed. */
  #mood(pair: PairKey, since: number, now: number): Mood {
    const known = this.#records.known(pair);
    if (!known) return 'unknown';
    const { good, bad } = tally(known.outcomes, since);
    const hanging = this.#hanging(pair, known.pending, now).length;
    if (good + bad + hanging === 0) return 'unknown';
    return good > bad + hanging || (good > 0 && bad === 0 && hanging < 3) ? 'good' : 'bad';
  }

  #here(attempt: Watched, now: number): { good: number; bad: number } {
    const { outcomes, pending } = this.#records.pair(attempt);
    const recent = outcomes.filter((one) => now - one.at < WINDOW_MS);
    const run = recent.slice(recent.findLastIndex((one) => one.good) + 1);
    const hanging = this.#hanging(attempt, pending, now);
    const others = new Set([
      ...run.map((one) => one.exchangeId),
      ...hanging.map(({ exchange }) => exchange.id),
    ]);
    others.delete(attempt.exchange.id);
    return { good: tally(recent, sinceOf(attempt, now)).good, bad: others.size };
  }

  /** What hangs because we asked for too much at once is our own doing, and no sign of anything else. */
  #hanging({ laneId }: PairKey, pending: ReadonlySet<Watched>, now: number): readonly Watched[] {
    const levels = levelsOf(this.#records.lane(laneId), now);
    return [...pending].filter((one) => hasHung(one, now) && !isStrained(one.inFlight, levels));
  }

  /** What has no answer since the attempt began. */
  silence(attempt: Watched, now: number): Silence {
    const since = sinceOf(attempt, now);
    const failed = this.#failed.filter((one) => one.at >= since);
    const hanging = [...this.#pending].filter((one) => hasWaited(one, now));
    const all = [attempt, ...failed.map((one) => one.attempt), ...hanging];
    const count = (values: readonly string[]) => new Set(values).size;
    const upstreams = count(all.map(({ route }) => route.upstream));
    return {
      answered: this.#answeredAt >= since,
      hosts: count(all.map(({ exchange }) => exchange.target.authority)),
      doors: count(all.map(({ door }) => door)),
      upstreams: upstreams >= Math.min(2, this.#upstreams()) ? 'all' : 'some',
      unconnected: failed.filter((one) => !one.connected).length,
    };
  }

  #fail(failed: Failed): void {
    this.#failed = [...this.#failed.slice(1 - MOST_FAILED), failed];
  }
}

type Mood = 'good' | 'bad' | 'unknown';
/** How each of the others fares here, and elsewhere. */
type Ballot = readonly (readonly [here: Mood, elsewhere: () => Mood])[];
interface PairKey {
  readonly laneId: string;
  readonly route: { readonly id: string };
}

/** Who fails with this one and with all others has trouble of its own, and no vote. */
function votesOf(pairs: Ballot): Votes {
  const votes = { good: 0, bad: 0, unsure: 0 };
  for (const [here, elsewhere] of pairs) {
    if (here === 'good') votes.good += 1;
    if (here !== 'bad') continue;
    const otherwise = elsewhere();
    if (otherwise === 'good') votes.bad += 1;
    if (otherwise === 'unknown') votes.unsure += 1;
  }
  return votes;
}

/** The attempt's own time. One that failed at once is held against a little of what was before. */
function sinceOf({ startedAt }: Watched, now: number): number {
  return now - startedAt < LEAST_SILENCE_MS ? now - LEAST_SPAN_MS : startedAt;
}

function tally(outcomes: readonly Outcome[], since: number): { good: number; bad: number } {
  // What was asked before may have been answered before the trouble began; what failed, failed in it.
  const good = outcomes.filter((one) => one.good && one.startedAt >= since).length;
  const bad = outcomes.filter((one) => !one.good && one.at >= since).length;
  return { good, bad };
}

/** A quick answer is one that came within half of the time after which it is called a timeout. */
const isQuick = (ms: number, { policy }: Exchange): boolean =>
  ms <= policy.timeouts.firstByteMs / 2;

/** The reverse of quick: whatever it brings now is late. */
function hasHung(attempt: Watched, now: number): boolean {
  const waitedMs = now - attempt.startedAt;
  return waitedMs >= LEAST_SILENCE_MS && !isQuick(waitedMs, attempt.exchange);
}

/** Long enough to be missed where nobody else has an answer either. */
function hasWaited({ startedAt, exchange }: Watched, now: number): boolean {
  const { connectMs, firstByteMs } = exchange.policy.timeouts;
  return now - startedAt >= Math.max(LEAST_SILENCE_MS, Math.min(connectMs, firstByteMs) / 4);
}

const spanOf = ({ startedAt, exchange }: Watched, at: number) => ({
  startedAt,
  at,
  exchangeId: exchange.id,
});

function levelsOf({ fastLevel, over }: LaneRecord, now: number): Levels {
  const isRecent = over !== null && now - over.at < OVER_MS;
  return { fastLevel, overLevel: isRecent ? over.level : null };
}

function lowered({ over }: LaneRecord, level: number, now: number): LaneRecord['over'] {
  if (over === null || now - over.at >= OVER_MS) return { level, at: now };
  return { level: Math.min(over.level, level), at: now };
}

const smoothed = (mean: number | null, level: number): number =>
  mean === null ? level : mean + (level - mean) * LEVEL_SHARE;
