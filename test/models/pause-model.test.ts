import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Admission } from '../../src/exchange/ports.ts';
import { seededRandom } from '../support/fake-clock.ts';
import {
  type Asked,
  notFound,
  ok,
  routeOf,
  Traffic,
  throttledFor,
} from '../support/lane-traffic.ts';
import { runs, schedule } from './runs.ts';

/** What a site says when it throttles without a time is answered with a pause of our own, within these. */
const LEAST_PAUSE_MS = 100;
const MOST_PAUSE_MS = 60_000;
/** An attempt without an answer holds the opening back no longer. */
const LONGEST_HOLD_MS = 5_000;

type Step =
  | { readonly kind: 'ask'; readonly patienceMs: number }
  | { readonly kind: 'good' | 'missing' | 'leave'; readonly which: number }
  | { readonly kind: 'throttle'; readonly which: number; readonly waitMs: number | undefined }
  | { readonly kind: 'pass'; readonly ms: number };

const which = fc.nat(30);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      patienceMs: fc.constantFrom(400, 5_000, 60_000, 900_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('good' as const, 'missing' as const), which }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('throttle' as const),
      which,
      waitMs: fc.constantFrom(undefined, 300, 3_000, 20_000, 300_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(0, 1, 200, 2_000, 21_000, 100_000),
    }),
  },
);

/** A host's pause as the discipline tells it, and what may start under it. */
class Model {
  pausedUntil = 0;
  /** When the pause began that is the last event: what had been sent by then is part of it. */
  #eventAt = -1;
  /** Answers to what was sent since the last pause ended. */
  #answers = 0;
  readonly #unanswered = new Map<Asked, number>();

  /** Whether nothing holds the next one back: no throttle ever, and all that was sent has its answer. */
  get isFree(): boolean {
    return this.#eventAt === -1 && this.#unanswered.size === 0;
  }

  started(one: Asked, now: number): void {
    assert.ok(now >= this.pausedUntil, 'started inside a pause');
    for (const [earlier, at] of this.#unanswered) {
      if (now - at >= LONGEST_HOLD_MS) this.#unanswered.delete(earlier);
    }
    assert.ok(this.#unanswered.size <= this.#answers, 'more at once than the opening allows');
    this.#unanswered.set(one, now);
  }

  answered(one: Asked, startedAt: number): void {
    this.#unanswered.delete(one);
    if (startedAt > this.#eventAt) this.#answers += 1;
  }

  left(one: Asked): void {
    this.#unanswered.delete(one);
  }

  /** The bounds of the pause after a throttle. */
  throttled(
    one: Asked,
    o: { startedAt: number; waitMs: number | undefined; now: number },
  ): [number, number] {
    this.#unanswered.delete(one);
    const { startedAt, waitMs, now } = o;
    const isNew = startedAt > this.#eventAt;
    if (isNew) {
      this.#eventAt = now;
      this.#answers = 0;
      this.#unanswered.clear();
    }
    if (waitMs === undefined && !isNew) return [this.pausedUntil, this.pausedUntil];
    if (waitMs === undefined) {
      const from = Math.max(this.pausedUntil, now + LEAST_PAUSE_MS);
      return [from, Math.max(this.pausedUntil, now + MOST_PAUSE_MS)];
    }
    const told = Math.max(this.pausedUntil, now + waitMs);
    if (told > this.pausedUntil) this.#unanswered.clear();
    return [told, told];
  }
}

class Play {
  readonly traffic: Traffic;
  readonly model = new Model();
  readonly waiting = new Set<Asked>();
  readonly #out = new Map<Asked, number>();
  readonly #streaming: Asked[] = [];
  /** What went wrong in the course of an admission. */
  readonly #faults: unknown[] = [];

  constructor(seed: number) {
    this.traffic = new Traffic({ random: seededRandom(seed) });
  }

  async act(step: Step): Promise<void> {
    const { clock } = this.traffic;
    if (step.kind === 'ask') this.#ask(step.patienceMs);
    else if (step.kind === 'pass') {
      await clock.advance(step.ms);
      for (const one of this.#streaming.splice(0)) one.place.release();
    } else this.#end(step);
    await clock.advance(0);
    if (this.#faults.length > 0) throw this.#faults[0];
    assert.ok(!this.model.isFree || this.waiting.size === 0, 'waits for nothing');
    const impatient = [...this.waiting].filter(
      ({ exchange }) => exchange.deadline <= this.model.pausedUntil,
    );
    assert.equal(this.model.pausedUntil > clock.now() ? impatient.length : 0, 0, 'waits in vain');
  }

  #ask(patienceMs: number): void {
    const one = this.traffic.make({ patienceMs, policy: { pace: { concurrency: 1000 } } });
    this.waiting.add(one);
    const onAdmission = (admission: Admission) => {
      this.waiting.delete(one);
      const now = this.traffic.clock.now();
      if (admission.kind === 'admitted') {
        this.model.started(one, now);
        this.#out.set(one, now);
      } else if (admission.stop === 'lane_paused') {
        assert.ok(one.exchange.deadline <= this.model.pausedUntil);
        assert.equal(admission.retryAfterMs, Math.ceil(this.model.pausedUntil - now));
      } else assert.equal(admission.stop, 'patience_exceeded');
    };
    void one
      .admit()
      .then(onAdmission)
      .catch((fault: unknown) => this.#faults.push(fault));
  }

  #end(step: Exclude<Step, { kind: 'ask' | 'pass' }>): void {
    const all = [...this.#out];
    const [one, startedAt] = all[step.which % (all.length || 1)] ?? [];
    if (!one || startedAt === undefined) return;
    this.#out.delete(one);
    if (step.kind === 'leave') {
      one.abort();
      this.model.left(one);
      one.place.release();
      return;
    }
    if (step.kind !== 'throttle') {
      this.model.answered(one, startedAt);
      // The verdict is in with the head; the place is held until the body has ended.
      const verdict = step.kind === 'good' ? ok : notFound;
      const { lane, exchange, place } = one;
      lane.record({ exchange, admission: place, verdict, route: routeOf('direct') });
      this.#streaming.push(one);
      return;
    }
    const now = this.traffic.clock.now();
    const { waitMs } = step;
    const [from, to] = this.model.throttled(one, { startedAt, waitMs, now });
    one.finish(throttledFor(waitMs));
    const { pausedUntil } = one.lane;
    assert.ok(pausedUntil >= from && pausedUntil <= to, `${from} ${pausedUntil} ${to}`);
    this.model.pausedUntil = pausedUntil;
  }

  /** All that wait get their turn once everything is answered well. */
  async finish(): Promise<void> {
    const { clock } = this.traffic;
    for (let round = 0; round < 2_000 && this.waiting.size + this.#out.size > 0; round += 1) {
      for (const [one, startedAt] of [...this.#out]) {
        this.#out.delete(one);
        this.model.answered(one, startedAt);
        one.finish(ok);
      }
      await clock.advance(1_000);
    }
    assert.equal(this.waiting.size + this.#out.size, 0, 'somebody waits for ever');
  }
}

test('a throttle pauses the lane as long as it says, nobody starts inside, and it opens one by one', async () => {
  await fc.assert(
    fc.asyncProperty(schedule(step, 70), fc.nat(), async (steps, seed) => {
      const play = new Play(seed);
      for (const one of steps) await play.act(one);
      await play.finish();
    }),
    runs(60),
  );
});
