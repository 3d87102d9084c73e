import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Verdict } from '../../src/core/verdict.ts';
import type { Admission } from '../../src/exchange/ports.ts';
import { seededRandom } from '../support/fake-clock.ts';
import {
  type Asked,
  blocked,
  notFound,
  ok,
  overloaded,
  Traffic,
  throttledFor,
} from '../support/lane-traffic.ts';
import { runs, schedule } from './runs.ts';

const TIMEOUTS = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000 };
/** After all its timeouts a probe must have reported. */
const LEASE_MS = 3 * TIMEOUTS.connectMs + TIMEOUTS.firstByteMs + TIMEOUTS.idleMs;
const BREAKER = {
  consecutive: 3,
  minAttempts: 4,
  cooldownMs: 10_000,
  maxCooldownMs: 40_000,
  probes: 2,
};
const LONGEST_COOLDOWN_MS = 1.1 * BREAKER.maxCooldownMs;

const verdicts: Readonly<Record<string, Verdict>> = {
  well: ok,
  fails: overloaded,
  answers: notFound,
  throttles: throttledFor(1_000),
  elsewhere: blocked,
};

type Step =
  | { readonly kind: 'ask' }
  | { readonly kind: 'report'; readonly which: number; readonly verdict: string }
  | { readonly kind: 'release' | 'abort'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number };

const which = fc.nat(20);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ask' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      which,
      verdict: fc.constantFrom('fails', 'fails', 'fails', ...Object.keys(verdicts)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'abort' as const), which }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(10, 900, 6_000, 15_000),
    }),
  },
);

interface Under {
  readonly one: Asked;
  readonly startedAt: number;
  readonly isProbe: boolean;
  reported: boolean;
}

class Play {
  readonly traffic: Traffic;
  readonly #waiting = new Set<Asked>();
  readonly #out: Under[] = [];
  readonly #faults: unknown[] = [];
  /** When the circuit opened last. */
  #openedAt = 0;
  #openUntil = 0;
  #seen = 0;
  #isThrottled = false;

  constructor(seed: number) {
    this.traffic = new Traffic({ random: seededRandom(seed) });
  }

  get state(): 'closed' | 'open' | 'half_open' {
    return this.traffic.eventsOf('breaker_changed').at(-1)?.state ?? 'closed';
  }

  async act(step: Step): Promise<void> {
    const before = this.state;
    switch (step.kind) {
      case 'ask':
        this.#ask();
        break;
      case 'pass':
        await this.traffic.clock.advance(step.ms);
        break;
      case 'report':
        this.#report(step.which, verdicts[step.verdict] ?? ok);
        break;
      case 'release':
        await this.#release(step.which);
        break;
      case 'abort':
        [...this.#waiting][step.which % (this.#waiting.size || 1)]?.abort();
        break;
    }
    await this.traffic.clock.advance(0);
    if (this.#faults.length > 0) throw this.#faults[0];
    this.#watchCircuit(before);
  }

  #ask(): void {
    const policy = {
      breaker: { ...BREAKER, whenOpen: 'wait' as const },
      timeouts: TIMEOUTS,
      pace: { concurrency: 1000 },
    };
    const one = this.traffic.make({ policy, patienceMs: 1e9 });
    this.#waiting.add(one);
    const onAdmission = (admission: Admission) => {
      this.#waiting.delete(one);
      if (admission.kind === 'admitted') this.#started(one, admission.lease);
      else assert.equal(admission.stop, 'client_gone');
    };
    void one
      .admit()
      .then(onAdmission)
      .catch((fault: unknown) => this.#faults.push(fault));
  }

  #started(one: Asked, lease: number | undefined): void {
    const now = this.traffic.clock.now();
    assert.ok(now >= this.#openUntil, 'sent while the circuit was open');
    const isProbe = lease !== undefined;
    assert.equal(isProbe, this.state === 'half_open', 'a lease is for probes');
    const others = this.#out.filter((other) => {
      return other.isProbe && !other.reported && now < other.startedAt + LEASE_MS;
    });
    if (isProbe) assert.deepEqual(others.length, 0, 'two probes at once');
    this.#out.push({ one, startedAt: now, isProbe, reported: false });
  }

  /** A probe that lets go without a report gives its place to whoever waits. */
  async #release(index: number): Promise<void> {
    const [under] = this.#out.splice(index % (this.#out.length || 1), 1);
    if (!under) return;
    const { clock } = this.traffic;
    const isLive = under.isProbe && clock.now() < under.startedAt + LEASE_MS;
    // Throttles and what else is unanswered may hold the next one back for reasons of their own.
    const isFree = this.#out.length === 0 && !this.#isThrottled && this.state === 'half_open';
    under.one.place.release();
    await clock.advance(0);
    const isTaken = this.#out.length > 0 || this.#waiting.size === 0;
    assert.ok(!isLive || !isFree || isTaken, 'a place was free, and nobody took it');
  }

  /** A report is made once, and the place goes on being held by every other one. */
  #report(index: number, verdict: Verdict): void {
    const under = this.#out[index % (this.#out.length || 1)];
    if (!under || under.reported) return;
    const wasOpen = this.state === 'open';
    const until = this.#openUntil;
    under.reported = true;
    this.#isThrottled ||= verdict.reason === 'rate_limited';
    under.one.finish(verdict);
    this.#out.splice(this.#out.indexOf(under), 1);
    if (wasOpen) assert.ok(this.state === 'open' && this.#openUntil === until, 'a straggler told');
  }

  #watchCircuit(before: string): void {
    const changes = this.traffic.eventsOf('breaker_changed');
    for (const { state, at, untilAt } of changes.slice(this.#seen)) {
      if (state !== 'open') continue;
      this.#openedAt = at;
      this.#openUntil = untilAt ?? 0;
      assert.ok(this.#openUntil - at <= LONGEST_COOLDOWN_MS + 1, 'open for too long');
      assert.ok(this.#openUntil - at >= 0.9 * BREAKER.cooldownMs - 1, 'open for too short');
    }
    this.#seen = changes.length;
    const isEarly = this.traffic.clock.now() < this.#openUntil;
    assert.ok(!isEarly || this.state === 'open' || before === 'closed', 'closed before its time');
    assert.ok(this.#openedAt <= this.#openUntil);
  }

  /** Whatever went before, even with probes that never report: good answers close it, and all are served. */
  async heal(): Promise<void> {
    this.#ask();
    await this.traffic.clock.advance(LONGEST_COOLDOWN_MS + 1);
    for (
      let round = 0;
      round < 400 && (this.state !== 'closed' || this.#waiting.size > 0);
      round += 1
    ) {
      if (this.#waiting.size === 0) this.#ask();
      await this.traffic.clock.advance(LEASE_MS);
      for (const under of this.#out.splice(0)) {
        if (!under.reported && under.startedAt >= this.#openedAt) under.one.finish(ok);
        else under.one.place.release();
      }
      await this.traffic.clock.advance(1_000);
      if (this.#faults.length > 0) throw this.#faults[0];
      this.#watchCircuit(this.state);
    }
    assert.equal(this.state, 'closed');
    assert.equal(this.#waiting.size, 0, 'somebody waits for ever');
  }
}

test('probes go one at a time under a lease, stragglers say nothing, and no schedule wedges the circuit', async () => {
  await fc.assert(
    fc.asyncProperty(schedule(step, 90), fc.nat(), async (steps, seed) => {
      const play = new Play(seed);
      for (const one of steps) await play.act(one);
      await play.heal();
    }),
    runs(60),
  );
});
