import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Breaker,
  newBreaker,
  type Outcome,
  pass,
  type Recorded,
  record,
  returnLease,
} from './breaker.ts';
import type { BreakerPolicy } from './policy.ts';

const policy: BreakerPolicy = {
  failureRatio: 0.5,
  minAttempts: 5,
  consecutive: 7,
  windowMs: 30_000,
  cooldownMs: 30_000,
  maxCooldownMs: 600_000,
  probes: 3,
  whenOpen: 'auto',
};
const T0 = 1_767_225_600_000;
const LEASE_MS = 60_000;

const step: fc.Arbitrary<Step> = fc.record({
  waitMs: fc.nat(40_000),
  act: fc.constantFrom<Step['act']>('pass', 'report', 'straggler', 'return', 'forget'),
  outcome: fc.constantFrom<Outcome>('success', 'failure', 'alive', 'neutral'),
  roll: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

interface Step {
  readonly waitMs: number;
  readonly act: 'pass' | 'report' | 'straggler' | 'return' | 'forget';
  readonly outcome: Outcome;
  readonly roll: number;
}

interface World {
  breaker: Breaker;
  now: number;
  /** Attempts that have not reported yet, oldest first. */
  readonly out: { startedAt: number; lease: number | undefined }[];
}

function take(world: World, { act, outcome, roll }: Step): void {
  const { breaker, now, out } = world;
  if (act === 'pass') {
    const passage = pass(breaker, now, policy, LEASE_MS);
    if (passage.kind === 'granted') {
      world.breaker = passage.breaker;
      out.push({ startedAt: now, lease: passage.lease });
    } else assert.ok(passage.retryAt > now);
    return;
  }
  if (act === 'straggler') {
    const late = { outcome, startedAt: now - 50_000, lease: undefined };
    world.breaker = record(breaker, late, now, policy, roll);
    return;
  }
  const one = out.shift();
  if (one && act === 'report')
    world.breaker = record(breaker, { outcome, ...one }, now, policy, roll);
  if (one?.lease !== undefined && act === 'return') world.breaker = returnLease(breaker, one.lease);
}

function checkProbes({ breaker, now, out }: World): void {
  if (breaker.state !== 'half_open') return;
  const lease = breaker.probe?.lease;
  const holders = out.filter((o) => o.lease === lease && now < o.startedAt + LEASE_MS);
  if (lease !== undefined) assert.ok(holders.length <= 1);
  const free = pass(breaker, now, policy, LEASE_MS).kind === 'granted';
  assert.ok(!free || lease === undefined || holders.length === 0, 'two probes at once');
}

/** Takes all steps and checks after each what must always hold. */
function play(steps: readonly Step[]): World {
  const world: World = { breaker: newBreaker(), now: T0, out: [] };
  for (const step of steps) {
    world.now += step.waitMs;
    take(world, step);
    checkProbes(world);
  }
  return world;
}

test('at most one probe is out at a time, through ten thousand steps of any kind', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 100 }), (steps) => {
      play(steps);
    }),
    { numRuns: 150 },
  );
});

test('no history wedges it: after the longest cool-down it lets a probe pass, and three successes close it', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { breaker, now } = play(steps);
      let healed = breaker;
      for (let i = 0; i < 3; i++) {
        const at = now + 1.1 * policy.maxCooldownMs + i;
        const passage = pass(healed, at, policy, LEASE_MS);
        assert.ok(passage.kind === 'granted');
        const probe: Recorded = { outcome: 'success', startedAt: at, lease: passage.lease };
        healed = record(passage.breaker, probe, at, policy, 0.5);
      }
      assert.equal(healed.state, 'closed');
    }),
  );
});

test('a breaker survives storage unchanged', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { breaker } = play(steps);
      assert.deepEqual(JSON.parse(JSON.stringify(breaker)), breaker);
    }),
  );
});
