import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Breaker,
  newBreaker,
  type Outcome,
  pass,
  record,
  returnLease,
} from '../../src/core/breaker.ts';
import type { BreakerPolicy } from '../../src/core/policy.ts';
import { runs, schedule } from './runs.ts';

const T0 = 1_767_225_600_000;
const SLOTS = 10;

type Step =
  | { readonly kind: 'ask' }
  | {
      readonly kind: 'report';
      readonly which: number;
      readonly outcome: Outcome;
      readonly roll: number;
      readonly retryAfterMs: number | undefined;
    }
  | { readonly kind: 'give_back'; readonly which: number }
  | { readonly kind: 'lose'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number };

const which = fc.nat(30);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ask' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      which,
      outcome: fc.constantFrom<Outcome>('success', 'failure', 'failure', 'alive', 'neutral'),
      roll: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      retryAfterMs: fc.constantFrom(undefined, undefined, 1_000, 200_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('give_back' as const, 'lose' as const), which }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 500, 4_000, 31_000, 90_000),
    }),
  },
);
const policies: fc.Arbitrary<BreakerPolicy> = fc.record({
  failureRatio: fc.constantFrom(0.3, 0.5, 1),
  minAttempts: fc.constantFrom(1, 5, 10),
  consecutive: fc.constantFrom(2, 7, 100),
  windowMs: fc.constantFrom(10_000, 30_000),
  cooldownMs: fc.constant(30_000),
  maxCooldownMs: fc.constantFrom(60_000, 600_000),
  probes: fc.constantFrom(1, 3),
  whenOpen: fc.constant('auto' as const),
});

interface Attempt {
  readonly startedAt: number;
  readonly isProbe: boolean;
  readonly lease: number | undefined;
}

/** The circuit as the discipline tells it: a diary of outcomes, and which probe is out. */
class Model {
  state: 'closed' | 'open' | 'half_open' = 'closed';
  /** Between these the cool-down ends, whatever the dice say. */
  opensAt: readonly [from: number, to: number] = [0, 0];
  #trips = 0;
  #since = 0;
  #row = 0;
  #alive = 0;
  #probe: { readonly attempt: Attempt; readonly until: number } | undefined;
  #diary: { readonly at: number; readonly good: boolean }[] = [];
  readonly #policy: BreakerPolicy;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
  }

  /** Whether an attempt may go now; undefined where that is for the dice. */
  mayGo(now: number): boolean | undefined {
    if (this.state === 'closed') return true;
    if (this.state === 'half_open') return !this.#probe || now >= this.#probe.until;
    if (now < this.opensAt[0]) return false;
    return now >= this.opensAt[1] ? true : undefined;
  }

  goes(attempt: Attempt, until: number): void {
    if (this.state === 'closed') return;
    if (this.state === 'open') this.#alive = 0;
    this.state = 'half_open';
    this.#probe = { attempt, until };
  }

  letGo(attempt: Attempt): void {
    if (this.#probe?.attempt === attempt) this.#probe = undefined;
  }

  report(attempt: Attempt, outcome: Outcome, now: number, retryAfterMs: number): void {
    if (this.state === 'closed') this.#count(attempt, outcome, now, retryAfterMs);
    if (this.state !== 'half_open' || this.#probe?.attempt !== attempt) return;
    this.#probe = undefined;
    if (outcome === 'failure') this.#trip(now, retryAfterMs);
    if (outcome === 'success' || outcome === 'alive') this.#alive += 1;
    if (this.#alive < this.#policy.probes || this.state !== 'half_open') return;
    this.state = 'closed';
    this.#trips = 0;
    this.#since = now;
    this.#row = 0;
    this.#diary = [];
  }

  #count({ startedAt }: Attempt, outcome: Outcome, now: number, retryAfterMs: number): void {
    if (startedAt < this.#since || outcome === 'alive' || outcome === 'neutral') return;
    const good = outcome === 'success';
    this.#row = good ? 0 : this.#row + 1;
    this.#diary.push({ at: now, good });
    const slotMs = this.#policy.windowMs / SLOTS;
    const oldest = Math.floor(now / slotMs) - SLOTS + 1;
    const lately = this.#diary.filter(({ at }) => Math.floor(at / slotMs) >= oldest);
    const bad = lately.filter((entry) => !entry.good).length;
    const isMany = lately.length >= this.#policy.minAttempts;
    const isBad = isMany && bad / lately.length >= this.#policy.failureRatio;
    if (!good && (this.#row >= this.#policy.consecutive || isBad)) this.#trip(now, retryAfterMs);
  }

  #trip(now: number, retryAfterMs: number): void {
    this.#trips += 1;
    this.state = 'open';
    const { cooldownMs, maxCooldownMs } = this.#policy;
    const plainMs = Math.min(maxCooldownMs, cooldownMs * 2 ** (this.#trips - 1));
    const at = (share: number) => now + Math.max(retryAfterMs, Math.ceil(plainMs * share));
    this.opensAt = [at(0.9), at(1.1)];
  }
}

const LEASE_MS = 60_000;

class Play {
  breaker: Breaker = newBreaker();
  now = T0;
  readonly model: Model;
  readonly #policy: BreakerPolicy;
  readonly #out: Attempt[] = [];

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
    this.model = new Model(policy);
  }

  act(step: Step): void {
    if (step.kind === 'pass') this.now += step.ms;
    else if (step.kind === 'ask') this.#ask();
    else this.#end(step);
    assert.equal(this.breaker.state, this.model.state);
    assert.deepEqual(JSON.parse(JSON.stringify(this.breaker)), this.breaker);
  }

  #ask(): void {
    const expected = this.model.mayGo(this.now);
    const passage = pass(this.breaker, this.now, this.#policy, LEASE_MS);
    if (expected !== undefined) assert.equal(passage.kind, expected ? 'granted' : 'denied');
    if (passage.kind === 'denied') {
      assert.ok(passage.retryAt > this.now);
      return;
    }
    const isProbe = this.model.state !== 'closed';
    assert.equal(passage.lease !== undefined, isProbe);
    const attempt = { startedAt: this.now, isProbe, lease: passage.lease };
    this.breaker = passage.breaker;
    this.model.goes(attempt, this.now + LEASE_MS);
    this.#out.push(attempt);
  }

  #end(step: Exclude<Step, { kind: 'pass' | 'ask' }>): void {
    const [attempt] = this.#out.splice(step.which % (this.#out.length || 1), 1);
    if (!attempt || step.kind === 'lose') return;
    const { lease } = attempt;
    if (step.kind === 'give_back') {
      if (lease !== undefined) this.breaker = returnLease(this.breaker, lease);
      this.model.letGo(attempt);
      return;
    }
    const { outcome, roll, retryAfterMs } = step;
    const told = retryAfterMs === undefined ? {} : { retryAfterMs };
    const recorded = { outcome, startedAt: attempt.startedAt, lease, ...told };
    this.breaker = record(this.breaker, recorded, this.now, this.#policy, roll);
    this.model.report(attempt, outcome, this.now, retryAfterMs ?? 0);
    if (this.breaker.state !== 'open' || this.model.state !== 'open') return;
    const [from, to] = this.model.opensAt;
    assert.ok(this.breaker.until >= from && this.breaker.until <= to, 'the cool-down');
  }
}

test('the breaker opens, waits, probes and closes as a diary of outcomes says', () => {
  fc.assert(
    fc.property(policies, schedule(step, 150), (policy, steps) => {
      const play = new Play(policy);
      for (const one of steps) play.act(one);
    }),
    runs(400),
  );
});
