import type { Clock, Random } from '../clock.ts';
import { backoff } from '../core/backoff.ts';
import type { Breaker, Outcome, Passage } from '../core/breaker.ts';
import * as circuit from '../core/breaker.ts';
import type { Budget } from '../core/budget.ts';
import { budgetLeft, deposit, giveBack, newBudget, withdraw } from '../core/budget.ts';
import type { FuseState } from '../core/fuse.ts';
import type { Pacing, Turn } from '../core/pacing.ts';
import { heldQuiet, newPacing, started, succeeded, throttled, turn } from '../core/pacing.ts';
import type { Policy } from '../core/policy.ts';
import type { RateVerdict, Verdict } from '../core/verdict.ts';
import type { Exchange, Route } from '../exchange/ports.ts';
import type { Emit } from '../telemetry/events.ts';
import { AuthFuse, type Probe } from './auth-fuse.ts';
import { ByteMeter } from './byte-meter.ts';
import { ForbiddenPaths } from './forbidden-paths.ts';
import type { Host } from './host.ts';
import { leastGapMs } from './paced-lane.ts';
import type { SavedHost } from './saved-state.ts';
import { authSign, breakerOutcome, metForbidden, type Showing, showingOf } from './showing.ts';

/** Asked before any attempt starts: is there a network, and whose turn is it to find out? */
export interface NetworkGate {
  turn(host: string, now: number): Turn;
  started(host: string, now: number): void;
}

/** What all lanes are given from outside. */
export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  readonly probe: Probe | undefined;
  readonly network: NetworkGate | undefined;
  /** Called when a host is left alone from now on, or for longer: that must not be forgotten. */
  readonly keep: ((host: Host) => void) | undefined;
}

export interface Recorded {
  readonly exchange: Exchange;
  readonly credential: string | undefined;
  readonly startedAt: number;
  readonly lease: number | undefined;
  readonly verdict: Verdict;
  readonly route: Route;
}

/** What those who wait must be told after a record. */
export interface Changes {
  readonly paused: boolean;
  readonly tripped: boolean;
  readonly blown: boolean;
  /** A good reply asked for a rest. */
  readonly held: boolean;
}

// Spread over the end of a told pause, so that lanes paused by the same word do not come back as one; never early.
const SPREAD_SHARE = 0.02;
const MOST_SPREAD_MS = 1_000;
/** A host that names no time is left alone at least this long, whatever the backoff says. */
const LEAST_PAUSE_MS = 100;
/** An extension of a running pause by less than this is not news. */
const NEWS_MS = 1_000;

/** How one host is doing, as all its lanes know it: pause and rate, breaker, budget, auth fuse, blocked paths. */
export class Health {
  readonly #authority: string;
  readonly #around: Surroundings;
  readonly #fuse: AuthFuse;
  readonly #forbidden = new ForbiddenPaths();
  /** Exchanges whose refused credentials are counted: once each, over however many addresses. */
  readonly #struck = new WeakSet<Exchange>();
  pacing: Pacing = newPacing();
  breaker: Breaker = circuit.newBreaker();
  budget: Budget = newBudget();
  readonly bytes = new ByteMeter(() => this.#around.clock.now());
  failuresInRow = 0;
  #failedAt = 0;
  #throttlesInRow = 0;
  #announcedUntil = 0;
  /** The last two that failed and were not answered since. */
  #failedRoutes: readonly { readonly routeId: string; readonly at: number }[] = [];

  constructor(authority: string, around: Surroundings) {
    this.#authority = authority;
    this.#around = around;
    this.#fuse = new AuthFuse({
      probe: around.probe,
      report: (report) =>
        around.emit({ type: 'fuse_changed', at: around.clock.now(), lane: authority, ...report }),
    });
  }

  fuseState(credential: string | undefined, now: number, policy: Policy): FuseState {
    return this.#fuse.stateOf(credential, now, policy);
  }

  /** Asks the breaker and changes nothing. */
  passage(policy: Policy, now: number): Passage {
    return circuit.pass(this.breaker, now, policy.breaker, leaseMs(policy));
  }

  /** Whether the host's pace lets another attempt start. */
  turn(now: number, unanswered: number): Turn {
    return turn(this.pacing, now, unanswered);
  }

  /** The distance between two starts that host and pace ask for. */
  gapMs(pace: Policy['pace']): number {
    const { rate } = this.pacing;
    return Math.max(rate === null ? 0 : 1000 / rate, leastGapMs(pace));
  }

  /** An attempt starts, with the breaker's leave just asked for. */
  start({ breaker }: { breaker: Breaker }, now: number, use: 'wanted' | 'filling'): void {
    this.#setBreaker(breaker);
    this.pacing = started(this.pacing, now, use);
  }

  returnLease(lease: number): void {
    this.#setBreaker(circuit.returnLease(this.breaker, lease));
  }

  budgetLeft(policy: Policy): number {
    return budgetLeft(this.budget, this.#around.clock.now(), policy.budget);
  }

  withdraw(policy: Policy): () => void {
    const takenAt = this.#around.clock.now();
    this.budget = withdraw(this.budget, takenAt, policy.budget);
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.budget = giveBack(this.budget, takenAt, this.#around.clock.now(), policy.budget);
    };
  }

  forbiddenAddresses(path: string): readonly string[] {
    return this.#forbidden.addresses(path, this.#around.clock.now());
  }

  /** Books what an attempt showed, each part with its owner. */
  record(recorded: Recorded): Changes {
    const { verdict, exchange } = recorded;
    const now = this.#around.clock.now();
    const showing = showingOf(verdict);
    const pausedUntil = this.pacing.pausedUntil;
    const { nextAt } = this.pacing;
    const wasOpen = this.breaker.state === 'open';

    this.#charge(recorded, showing, now);
    this.#recordPace(recorded, showing, now);
    this.#recordRow(showing, recorded.startedAt, now);
    this.#recordPath(recorded, now);
    if (verdict.fault === 'none') this.budget = deposit(this.budget, now, exchange.policy.budget);
    return {
      paused: this.pacing.pausedUntil > pausedUntil,
      tripped: !wasOpen && this.breaker.state === 'open',
      blown: this.#recordAuth(recorded, now),
      held: this.pacing.nextAt > Math.max(nextAt, now + NEWS_MS),
    };
  }

  /** Whether it should be kept for as long as there are others to forget. */
  isTroubled(now: number): boolean {
    if (this.pacing.pausedUntil > now) return true;
    if ((circuit.breakerRetryAt(this.breaker) ?? 0) > now) return true;
    return this.#fuse.state.strikes.some((strike) => strike.blownUntil > now);
  }

  save(): Omit<SavedHost, 'host' | 'usedAt'> {
    const { pacing, breaker, budget, failuresInRow } = this;
    const throttlesInRow = this.#throttlesInRow;
    return { pacing, breaker, budget, fuse: this.#fuse.state, failuresInRow, throttlesInRow };
  }

  load(saved: SavedHost): void {
    this.pacing = saved.pacing;
    this.breaker = saved.breaker;
    this.budget = saved.budget;
    if (saved.bytes) this.bytes.book = saved.bytes;
    this.#fuse.state = saved.fuse;
    this.failuresInRow = saved.failuresInRow;
    this.#throttlesInRow = saved.throttlesInRow;
  }

  #charge(recorded: Recorded, showing: Showing, now: number): void {
    const { startedAt, lease } = recorded;
    const outcome = this.#outcome(recorded, showing, now);
    this.#setBreaker(
      circuit.record(
        this.breaker,
        { outcome, startedAt, lease },
        now,
        recorded.exchange.policy.breaker,
        this.#around.random(),
      ),
    );
  }

  /** What the site and its upstream may both have said is the site's once a second route agrees. */
  #outcome({ verdict, route, exchange }: Recorded, showing: Showing, now: number): Outcome {
    const others = this.#failedRoutes.filter(({ routeId }) => routeId !== route.id);
    if (showing !== 'failed') {
      if (showing === 'well' || showing === 'answered') this.#failedRoutes = others;
      return breakerOutcome(showing);
    }
    this.#failedRoutes = [...others.slice(-1), { routeId: route.id, at: now }];
    const sure = !('ambiguous' in verdict && verdict.ambiguous);
    if (sure) return 'failure';
    const { windowMs } = exchange.policy.breaker;
    return others.some(({ at }) => now - at < windowMs) ? 'failure' : 'neutral';
  }

  #recordPace({ verdict, startedAt, exchange }: Recorded, showing: Showing, now: number): void {
    if (verdict.fault === 'host' && verdict.kind === 'rate') {
      this.#throttle(verdict, startedAt, exchange.policy, now);
    } else if (showing === 'well' || showing === 'answered') {
      if (startedAt > this.pacing.event) this.#throttlesInRow = 0;
      this.pacing = succeeded(this.pacing, { startedAt }, now);
    }
    if (verdict.fault === 'none' && verdict.paceMs !== undefined && verdict.paceMs > 0) {
      this.pacing = heldQuiet(this.pacing, verdict.paceMs, now);
    }
    this.#announcePause(now);
  }

  #throttle(verdict: RateVerdict, startedAt: number, policy: Policy, now: number): void {
    const isNew = startedAt > this.pacing.event;
    if (isNew) this.#throttlesInRow += 1;
    const told = verdict.waitMs !== undefined && verdict.waitMs > 0 ? verdict.waitMs : undefined;
    // Replies of the same event that name no time add nothing to the pause that the first of them began.
    if (!isNew && told === undefined) return;
    const waitMs = told ?? this.#ownPauseMs(policy);
    this.pacing = throttled(this.pacing, { startedAt, waitMs }, now);
    const spreadMs = this.#around.random() * Math.min(MOST_SPREAD_MS, waitMs * SPREAD_SHARE);
    const nextAt = Math.max(this.pacing.nextAt, this.pacing.pausedUntil + spreadMs);
    this.pacing = { ...this.pacing, nextAt };
  }

  /** Grows with each throttle in a row, and is never near zero: half of it is fixed. */
  #ownPauseMs({ backoff: policy }: Policy): number {
    const jitter = typeof policy.jitter === 'number' ? policy.jitter : 'equal';
    const roll = this.#around.random();
    return Math.max(LEAST_PAUSE_MS, backoff({ ...policy, jitter }, this.#throttlesInRow, { roll }));
  }

  /** Failures that were under way together are one in the row; so is a success no end to one that began later. */
  #recordRow(showing: Showing, startedAt: number, now: number): void {
    if (startedAt < this.#failedAt) return;
    if (showing === 'well' || showing === 'answered') this.failuresInRow = 0;
    if (showing !== 'failed' && showing !== 'answered_badly' && showing !== 'throttled') return;
    this.failuresInRow += 1;
    this.#failedAt = now;
  }

  #recordPath({ verdict, exchange, route }: Recorded, now: number): void {
    const { path } = exchange.target;
    if (metForbidden(verdict)) this.#forbidden.forbidden(path, route.id, now);
    else if (verdict.fault === 'none') this.#forbidden.good(path);
  }

  #recordAuth({ verdict, exchange, credential }: Recorded, now: number): boolean {
    if (credential === undefined) return false;
    const sign = authSign(verdict);
    if (sign.kind === 'turned_down') {
      if (this.#struck.has(exchange)) return false;
      this.#struck.add(exchange);
    }
    return this.#fuse.record(credential, sign, now, exchange);
  }

  #announcePause(now: number): void {
    const { pausedUntil } = this.pacing;
    if (pausedUntil <= now) return;
    const running = this.#announcedUntil > now;
    if (running && pausedUntil < this.#announcedUntil + NEWS_MS) return;
    this.#announcedUntil = pausedUntil;
    const lane = this.#authority;
    this.#around.emit({ type: 'lane_paused', at: now, lane, untilAt: pausedUntil });
  }

  #setBreaker(breaker: Breaker): void {
    const before = this.breaker.state;
    this.breaker = breaker;
    if (breaker.state === before) return;
    this.#around.emit({
      type: 'breaker_changed',
      at: this.#around.clock.now(),
      lane: this.#authority,
      state: breaker.state,
      untilAt: breaker.state === 'open' ? breaker.until : undefined,
    });
  }
}

/** A probe has reported when all its timeouts have passed: TCP, the upstream's handshake and TLS among them. */
const leaseMs = ({ timeouts }: Policy): number =>
  timeouts.connectMs * 3 + timeouts.firstByteMs + timeouts.idleMs;
