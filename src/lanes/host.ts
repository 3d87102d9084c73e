import type { Turn } from '../core/pacing.ts';
import type { Policy } from '../core/policy.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Admission, Exchange, Route } from '../exchange/ports.ts';
import { type Changes, Health, type Surroundings } from './health.ts';
import { Heap, type Place } from './heap.ts';
import { Opening } from './opening.ts';
import { PacedLane } from './paced-lane.ts';
import type { Waiter } from './queue.ts';
import { type Refused, refusalOf, refused, retryAfterMs, standingRefusal } from './refusal.ts';
import { type Applicant, Slot } from './slot.ts';
import { waitingStage } from './stage.ts';

interface Waiting {
  readonly lane: PacedLane;
  readonly deadline: Place<Waiter>;
  readonly unlisten: () => void;
}

type Granted = Extract<ReturnType<Health['passage']>, { kind: 'granted' }>;
/** Who starts next, or when to ask again; without an instant, when something ends. */
type Next =
  | { readonly kind: 'start'; readonly lane: PacedLane; readonly granted: Granted }
  | { readonly kind: 'wait'; readonly at: number };

const NEVER = Number.POSITIVE_INFINITY;
/** A redrive leaves at least this many times the usual distance to the start before it: room for whoever comes. */
const REST = 2;
/** Lanes of one host beyond this are forgotten while they are idle. */
const MANY_LANES = 64;

/** One host: its health, shared by all its lanes, and whoever waits for a turn there. One timer, whoever waits. */
export class Host {
  readonly authority: string;
  readonly health: Health;
  usedAt: number;
  readonly #around: Surroundings;
  /** In order of their turns. */
  readonly #lanes = new Map<string, PacedLane>();
  readonly #opening = new Opening();
  readonly #waiting = new Map<Waiter, Waiting>();
  readonly #deadlines = new Heap<Waiter>((a, b) => a.exchange.deadline < b.exchange.deadline);
  /** Exchanges that were sent already, and their place in the order of first arrival. */
  readonly #sentBefore = new WeakMap<Exchange, number>();
  #inFlight = 0;
  #startedAt = Number.NEGATIVE_INFINITY;
  #arrivals = 0;
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(authority: string, around: Surroundings) {
    this.authority = authority;
    this.health = new Health(authority, around);
    this.usedAt = around.clock.now();
    this.#around = around;
  }

  /** Whether anybody is waiting or under way. */
  get isBusy(): boolean {
    return this.#waiting.size > 0 || this.#inFlight > 0;
  }

  lanes(): IterableIterator<PacedLane> {
    return this.#lanes.values();
  }

  lane(key: string | undefined, policy: Policy): PacedLane {
    const id = laneId(this.authority, key);
    const known = this.#lanes.get(id);
    if (known) {
      known.policy = policy;
      return known;
    }
    if (this.#lanes.size >= MANY_LANES) this.#forgetIdleLanes();
    const lane = new PacedLane(id, policy);
    this.#lanes.set(id, lane);
    return lane;
  }

  admit(applicant: Applicant): Promise<Admission> {
    const { exchange } = applicant;
    const now = this.#now();
    const lane = this.lane(applicant.laneKey, exchange.policy);
    const refusal = refusalOf(applicant, lane, this.health, now);
    if (refusal) return Promise.resolve(refusal);
    const { promise, resolve } = Promise.withResolvers<Admission>();
    this.#arrivals += 1;
    const earlier = this.#sentBefore.get(exchange);
    const waiter: Waiter = {
      exchange,
      credential: applicant.credential,
      order: earlier ?? this.#arrivals,
      returning: earlier !== undefined,
      settle: resolve,
    };
    this.#enqueue(waiter, lane);
    this.#pump(now);
    this.#bound(waiter, lane, now);
    return promise;
  }

  record(slot: Slot, o: { exchange: Exchange; verdict: Verdict; route: Route }): void {
    if (slot.recorded) return;
    slot.recorded = true;
    this.#opening.answered(slot);
    const now = this.#now();
    const { startedAt, lease, lane, credential } = slot;
    const changes = this.health.record({ ...o, startedAt, lease, credential });
    if (o.verdict.reason === 'overrun') lane.overran(startedAt, now);
    if (o.verdict.fault === 'none') lane.succeeded(startedAt);
    if (Object.values(changes).some(Boolean)) this.#around.keep?.(this);
    this.#tellWaiters(changes, now);
    this.#pump(now);
  }

  /** Refuses all who wait. */
  turnAway(stop: 'draining' | 'isolated'): void {
    const now = this.#now();
    for (const [waiter, { lane }] of [...this.#waiting]) {
      const backMs = stop === 'draining' ? retryAfterMs(lane, this.health, now) : undefined;
      this.#refuse(waiter, refused(stop, backMs));
    }
    this.#arm(NEVER);
  }

  #enqueue(waiter: Waiter, lane: PacedLane): void {
    const { signal } = waiter.exchange;
    const onAbort = () => {
      this.#refuse(waiter, refused('client_gone'));
      this.#pump(this.#now());
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const unlisten = () => signal.removeEventListener('abort', onAbort);
    lane.queue.add(waiter);
    this.#waiting.set(waiter, { lane, deadline: this.#deadlines.add(waiter), unlisten });
    waiter.exchange.stage = waitingStage(waiter, lane, this.health, this.#around.clock);
  }

  /** A full queue takes nobody new; who was sent before has a place already. */
  #bound(waiter: Waiter, lane: PacedLane, now: number): void {
    const isRedrive = waiter.exchange.priority === 'redrive';
    const size = isRedrive ? lane.queue.size : lane.queue.live;
    if (waiter.returning || size <= waiter.exchange.policy.pace.queue) return;
    if (!this.#waiting.has(waiter)) return;
    this.#refuse(waiter, refused('queue_full', retryAfterMs(lane, this.health, now)));
    this.#pump(now);
  }

  /** Starts whoever may start now, and sets the timer for what comes next. */
  #pump(now: number): void {
    this.#expire(now);
    let wakeAt = NEVER;
    while (this.#waiting.size > 0) {
      const next = this.#next(now);
      if (next.kind === 'wait') {
        wakeAt = next.at;
        break;
      }
      this.#start(next.lane, next.granted, now);
    }
    this.#arm(Math.min(wakeAt, this.#deadlines.peek()?.value.exchange.deadline ?? NEVER));
  }

  #next(now: number): Next {
    const network = this.#around.network?.turn(this.authority, now);
    if (network?.kind === 'at') return { kind: 'wait', at: network.at };
    const turn = this.health.turn(now, this.#opening.count(now));
    if (turn.kind === 'at') return { kind: 'wait', at: turn.at };
    if (turn.kind === 'when_one_ends') return { kind: 'wait', at: this.#opening.nextAt ?? NEVER };
    let at = NEVER;
    let redrive: PacedLane | undefined;
    for (const lane of this.#lanes.values()) {
      const head = lane.queue.peek();
      if (!head) continue;
      const own = this.#turnIn(lane, head, now);
      if (own.kind === 'at') at = Math.min(at, own.at);
      if (own.kind !== 'go') continue;
      if (head.exchange.priority !== 'redrive') return this.#pass(lane, head, now);
      redrive ??= lane;
    }
    const head = redrive?.queue.peek();
    return redrive && head ? this.#pass(redrive, head, now) : { kind: 'wait', at };
  }

  #turnIn(lane: PacedLane, { exchange }: Waiter, now: number): Turn {
    const { pace } = exchange.policy;
    const own = lane.turn(pace, now);
    if (own.kind !== 'go' || exchange.priority !== 'redrive') return own;
    const at = this.#startedAt + REST * this.health.gapMs(pace);
    return at > now ? { kind: 'at', at } : own;
  }

  #pass(lane: PacedLane, { exchange }: Waiter, now: number): Next {
    const passage = this.health.passage(exchange.policy, now);
    if (passage.kind === 'denied') return { kind: 'wait', at: passage.retryAt };
    return { kind: 'start', lane, granted: passage };
  }

  #start(lane: PacedLane, granted: Granted, now: number): void {
    const waiter = lane.queue.take();
    if (!waiter) return;
    // The next turn is another lane's.
    if (this.#lanes.delete(lane.id)) this.#lanes.set(lane.id, lane);
    const { exchange, credential } = waiter;
    this.#around.network?.started(this.authority, now);
    this.health.start(granted, now, exchange.priority === 'redrive' ? 'filling' : 'wanted');
    this.#startedAt = now;
    lane.start(exchange.policy.pace, now, this.#around.random());
    this.#inFlight += 1;
    this.#sentBefore.set(exchange, waiter.order);
    const onRelease = (slot: Slot) => this.#released(slot);
    const slot = new Slot({ lane, credential, startedAt: now, lease: granted.lease, onRelease });
    this.#opening.sent(slot);
    exchange.stage = { kind: 'dialling', sinceAt: now, untilAt: undefined };
    this.#settle(waiter, slot);
  }

  #released(slot: Slot): void {
    slot.lane.end();
    this.#inFlight -= 1;
    this.#opening.answered(slot);
    if (!slot.recorded && slot.lease !== undefined) this.health.returnLease(slot.lease);
    this.#pump(this.#now());
  }

  /** Answers those whom the news leaves without a chance now, before they leave by themselves. */
  #tellWaiters(changes: Changes, now: number): void {
    if (changes.paused) {
      this.#opening.reset();
      this.#refuseImpatient(now);
    }
    if (!changes.tripped && !changes.blown) return;
    for (const waiter of [...this.#waiting.keys()]) {
      const refusal = standingRefusal(waiter, this.health, now);
      if (refusal) this.#refuse(waiter, refusal);
    }
  }

  #refuseImpatient(now: number): void {
    const { pausedUntil } = this.health.pacing;
    for (let first = this.#deadlines.peek()?.value; first; first = this.#deadlines.peek()?.value) {
      if (first.exchange.deadline > pausedUntil) return;
      this.#refuse(first, refused('lane_paused', pausedUntil - now));
    }
  }

  #expire(now: number): void {
    for (let first = this.#deadlines.peek()?.value; first; first = this.#deadlines.peek()?.value) {
      if (first.exchange.deadline > now) return;
      const lane = this.#waiting.get(first)?.lane;
      if (!lane) return;
      this.#refuse(first, refused('patience_exceeded', retryAfterMs(lane, this.health, now)));
    }
  }

  #refuse(waiter: Waiter, admission: Refused): void {
    const waiting = this.#waiting.get(waiter);
    waiting?.lane.queue.remove(waiter);
    this.#settle(waiter, admission);
  }

  #settle(waiter: Waiter, admission: Admission): void {
    const waiting = this.#waiting.get(waiter);
    if (!waiting) return;
    this.#waiting.delete(waiter);
    this.#deadlines.remove(waiting.deadline);
    waiting.unlisten();
    waiter.settle(admission);
  }

  /** One timer for all: for the next start, or the next patience to end. */
  #arm(at: number): void {
    if (this.#timer?.at === at) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (at === NEVER) return;
    const now = this.#now();
    const cancel = this.#around.clock.after(at - now, () => {
      this.#timer = undefined;
      this.#pump(this.#now());
    });
    this.#timer = { at, cancel };
  }

  #forgetIdleLanes(): void {
    const now = this.#now();
    for (const lane of [...this.#lanes.values()]) {
      if (lane.isIdle(now)) this.#lanes.delete(lane.id);
    }
  }

  #now(): number {
    return this.#around.clock.now();
  }
}

/** The host's main lane bears the host's name. */
const laneId = (authority: string, key: string | undefined): string =>
  key === undefined ? authority : `${authority}#${key}`;
