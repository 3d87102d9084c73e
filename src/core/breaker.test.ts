import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Breaker,
  breakerRetryAt,
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
/** The draw that leaves a cool-down as it is. */
const MIDDLE = 0.5;

function after(breaker: Breaker, outcomes: readonly Outcome[], now = T0, by = policy): Breaker {
  const one = (b: Breaker, outcome: Outcome) =>
    record(b, { outcome, startedAt: now, lease: undefined }, now, by, MIDDLE);
  return outcomes.reduce(one, breaker);
}

function times(n: number, outcome: Outcome): Outcome[] {
  return Array.from({ length: n }, () => outcome);
}

function granted(breaker: Breaker, now: number, by = policy) {
  const passage = pass(breaker, now, by, LEASE_MS);
  assert.equal(passage.kind, 'granted');
  return passage;
}

/** Sends one probe at `now` and reports its outcome at once. */
function probe(
  breaker: Breaker,
  outcome: Outcome,
  now: number,
  more: Partial<Recorded> = {},
): Breaker {
  const { breaker: half, lease } = granted(breaker, now);
  assert.notEqual(lease, undefined);
  return record(half, { outcome, startedAt: now, lease, ...more }, now, policy, MIDDLE);
}

const open = after(newBreaker(), times(5, 'failure'));

describe('closed', () => {
  const rows: readonly [string, Outcome[], Breaker['state']][] = [
    ['100 that say nothing about the host', times(100, 'neutral'), 'closed'],
    ['100 answers that are no success (404, 429)', times(100, 'alive'), 'closed'],
    ['100 failures', times(100, 'failure'), 'open'],
    ['4 failures of 4 are too few', times(4, 'failure'), 'closed'],
    ['5 failures of 5', times(5, 'failure'), 'open'],
    ['1 failure at low traffic', times(1, 'failure'), 'closed'],
    ['half of ten', [...times(5, 'success'), ...times(5, 'failure')], 'open'],
    ['less than half', [...times(6, 'success'), ...times(5, 'failure')], 'closed'],
    [
      '95 × 404 and 5 × 503: only the 503 are counted',
      [...times(95, 'alive'), ...times(5, 'failure')],
      'open',
    ],
    ['7 in a row after many successes', [...times(100, 'success'), ...times(7, 'failure')], 'open'],
    [
      '6 in a row after many successes',
      [...times(100, 'success'), ...times(6, 'failure')],
      'closed',
    ],
    [
      'a success ends the row',
      [...times(100, 'success'), ...times(6, 'failure'), 'success', ...times(6, 'failure')],
      'closed',
    ],
    [
      'a 404 does not end the row',
      [...times(100, 'success'), ...times(6, 'failure'), 'alive', 'failure'],
      'open',
    ],
  ];
  for (const [name, outcomes, state] of rows) {
    test(`${name}: ${state}`, () => assert.equal(after(newBreaker(), outcomes).state, state));
  }

  test('failures that left the window no longer count towards the ratio', () => {
    const old = after(newBreaker(), times(4, 'failure'));
    assert.equal(after(old, ['failure'], T0 + 29_000).state, 'open');
    assert.equal(after(old, ['success', ...times(3, 'failure')], T0 + 1000).state, 'open');
    assert.equal(after(old, ['success', ...times(3, 'failure')], T0 + 60_000).state, 'closed');
  });

  test('everybody passes, without a lease', () => {
    const passage = granted(newBreaker(), T0);
    assert.equal(passage.lease, undefined);
    assert.equal(breakerRetryAt(newBreaker()), undefined);
  });
});

describe('open', () => {
  test('nobody passes until the cool-down is over', () => {
    const denied = { kind: 'denied', retryAt: T0 + 30_000, trips: 1 };
    assert.deepEqual(pass(open, T0 + 29_999, policy, LEASE_MS), denied);
    assert.equal(breakerRetryAt(open), T0 + 30_000);
    assert.equal(pass(open, T0 + 30_000, policy, LEASE_MS).kind, 'granted');
  });

  test('stragglers neither extend nor end it', () => {
    for (const outcome of ['success', 'failure', 'alive', 'neutral'] as const) {
      const recorded = { outcome, startedAt: T0 - 1, lease: undefined, retryAfterMs: 3_600_000 };
      assert.equal(record(open, recorded, T0 + 10, policy, MIDDLE), open);
    }
  });

  test('a longer Retry-After wins over the cool-down, a shorter one does not', () => {
    const tripped = (retryAfterMs: number) => {
      const recorded: Recorded = {
        outcome: 'failure',
        startedAt: T0,
        lease: undefined,
        retryAfterMs,
      };
      return record(after(newBreaker(), times(4, 'failure')), recorded, T0, policy, MIDDLE);
    };
    assert.equal(breakerRetryAt(tripped(45_000)), T0 + 45_000);
    assert.equal(breakerRetryAt(tripped(5_000)), T0 + 30_000);
    assert.equal(breakerRetryAt(tripped(30 * 86_400_000)), T0 + 30 * 86_400_000);
  });

  test('the cool-down is spread by a tenth around its length', () => {
    const tripped = (roll: number) => {
      const recorded: Recorded = { outcome: 'failure', startedAt: T0, lease: undefined };
      return breakerRetryAt(
        record(after(newBreaker(), times(4, 'failure')), recorded, T0, policy, roll),
      );
    };
    assert.equal(tripped(0), T0 + 27_000);
    assert.equal(tripped(0.75), T0 + 31_500);
  });

  test('it doubles with each trip in a row, up to its greatest length', () => {
    const cooldowns: number[] = [];
    let breaker = open;
    let now = T0;
    for (let i = 0; i < 8; i++) {
      const until = breakerRetryAt(breaker) ?? 0;
      cooldowns.push((until - now) / 1000);
      now = until;
      breaker = probe(breaker, 'failure', now);
    }
    assert.deepEqual(cooldowns, [30, 60, 120, 240, 480, 600, 600, 600]);
    const denied = pass(breaker, now, policy, LEASE_MS);
    assert.equal(denied.kind === 'denied' && denied.trips, 9);
  });

  test('30 days are 30 days', () => {
    const long = { ...policy, cooldownMs: 30 * 86_400_000, maxCooldownMs: 30 * 86_400_000 };
    const breaker = after(newBreaker(), times(5, 'failure'), T0, long);
    assert.equal(pass(breaker, T0 + 1000, long, LEASE_MS).kind, 'denied');
    assert.equal(pass(breaker, T0 + 86_400_000, long, LEASE_MS).kind, 'denied');
    assert.equal(pass(breaker, T0 + 30 * 86_400_000, long, LEASE_MS).kind, 'granted');
  });
});

describe('half open', () => {
  const DUE = T0 + 30_000;

  test('one probe at a time; the others are told when its lease ends', () => {
    const { breaker, lease } = granted(open, DUE);
    assert.notEqual(lease, undefined);
    const denied = { kind: 'denied', retryAt: DUE + LEASE_MS, trips: 1 };
    assert.deepEqual(pass(breaker, DUE + 1, policy, LEASE_MS), denied);
    assert.equal(breakerRetryAt(breaker), DUE + LEASE_MS);
  });

  const closing: readonly [string, Outcome[], Breaker['state']][] = [
    ['three successes', times(3, 'success'), 'closed'],
    ['two successes', times(2, 'success'), 'half_open'],
    ['404, 429 and a success: the host lives', ['alive', 'alive', 'success'], 'closed'],
    ['neutral ones prove nothing', ['success', 'neutral', 'success', 'neutral'], 'half_open'],
    ['and cost nothing', ['success', 'neutral', 'success', 'neutral', 'success'], 'closed'],
    ['a failure after two successes', ['success', 'success', 'failure'], 'open'],
  ];
  for (const [name, outcomes, state] of closing) {
    test(`${name}: ${state}`, () => {
      const end = outcomes.reduce((b, outcome) => probe(b, outcome, DUE), open);
      assert.equal(end.state, state);
    });
  }

  test('with one probe a single 404 closes it', () => {
    const { breaker, lease } = granted(open, DUE);
    const one = { ...policy, probes: 1 };
    const recorded: Recorded = { outcome: 'alive', startedAt: DUE, lease };
    assert.equal(record(breaker, recorded, DUE, one, MIDDLE).state, 'closed');
  });

  test('recovery resets the doubling', () => {
    let breaker = probe(open, 'failure', DUE);
    for (let i = 0; i < 3; i++) breaker = probe(breaker, 'success', DUE + 60_000);
    const again = after(breaker, times(5, 'failure'), DUE + 60_000);
    assert.equal(breakerRetryAt(again), DUE + 90_000);
  });

  test('failures from before the recovery do not trip it again', () => {
    const recovered = times(3, 'success').reduce((b, outcome) => probe(b, outcome, DUE), open);
    for (let i = 0; i < 20; i++) {
      const late: Recorded = { outcome: 'failure', startedAt: T0 - 1, lease: undefined };
      assert.equal(record(recovered, late, DUE + 5, policy, MIDDLE), recovered);
    }
  });

  test('stragglers neither close it nor trip it', () => {
    const { breaker } = granted(open, DUE);
    for (const outcome of ['success', 'failure', 'alive'] as const) {
      const late: Recorded = { outcome, startedAt: T0, lease: undefined };
      assert.equal(record(breaker, late, DUE + 1, policy, MIDDLE), breaker);
    }
  });

  test('a returned lease frees the place at once; returning it twice changes nothing', () => {
    const { breaker, lease } = granted(open, DUE);
    const back = returnLease(breaker, lease ?? -1);
    assert.equal(breakerRetryAt(back), undefined);
    assert.equal(returnLease(back, lease ?? -1), back);
    const next = granted(back, DUE + 1);
    assert.notEqual(next.lease, lease);
    assert.equal(returnLease(next.breaker, lease ?? -1), next.breaker);
  });

  test('a probe that hangs loses its place when its lease ends, and its late word does not count', () => {
    const hanging = granted(open, DUE);
    const next = granted(hanging.breaker, DUE + LEASE_MS);
    const late: Recorded = { outcome: 'failure', startedAt: DUE, lease: hanging.lease };
    assert.equal(record(next.breaker, late, DUE + LEASE_MS + 1, policy, MIDDLE), next.breaker);
  });

  test('a probe that is late, but whose place nobody took, still counts', () => {
    const { breaker, lease } = granted(open, DUE);
    const recorded: Recorded = { outcome: 'failure', startedAt: DUE, lease };
    assert.equal(record(breaker, recorded, DUE + LEASE_MS + 1, policy, MIDDLE).state, 'open');
  });
});
