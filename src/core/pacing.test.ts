import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  heldQuiet,
  newPacing,
  type Pacing,
  started,
  succeeded,
  throttled,
  turn,
} from './pacing.ts';

const T0 = 1_767_225_600_000;

/** Sends one request at `now` that is answered well after 10 ms. */
function answered(pacing: Pacing, now: number): Pacing {
  return succeeded(started(pacing, now), { startedAt: now }, now + 10);
}

/** Sends as fast as the pace allows, for `ms`, all of it answered well. */
function busy(pacing: Pacing, from: number, ms: number): { pacing: Pacing; now: number } {
  let now = from;
  while (now < from + ms) {
    const next = turn(pacing, now, 0);
    if (next.kind === 'at') now = next.at;
    pacing = answered(pacing, now);
    if (pacing.rate === null) now += 10;
  }
  return { pacing, now };
}

/** A lane that knows floor and ceiling: 10 per second proved, throttled at about 13. */
function settled(): { pacing: Pacing; now: number } {
  const cold = busy(newPacing(), T0, 1000);
  const first = throttled(cold.pacing, { startedAt: cold.now, waitMs: 8000 }, cold.now);
  const warm = busy(first, first.pausedUntil, 2000);
  const second = throttled(warm.pacing, { startedAt: warm.now, waitMs: 1000 }, warm.now);
  return busy(second, second.pausedUntil, 20_000);
}

describe('opening', () => {
  test('a lane never seen before lets one request out, then two, four, eight', () => {
    let pacing = newPacing();
    const widths: number[] = [];
    for (let round = 0; round < 4; round++) {
      const width = pacing.window;
      widths.push(width);
      assert.deepEqual(turn(pacing, T0, width - 1), { kind: 'go' });
      assert.deepEqual(turn(pacing, T0, width), { kind: 'when_one_ends' });
      for (let i = 0; i < width; i++) pacing = answered(pacing, T0);
    }
    assert.deepEqual(widths, [1, 2, 4, 8]);
  });

  test('after a pause it opens the same way, at a pace', () => {
    const { pacing, now } = busy(newPacing(), T0, 1000);
    const paused = throttled(pacing, { startedAt: now, waitMs: 5000 }, now);
    assert.deepEqual(turn(paused, now + 4999, 0), { kind: 'at', at: now + 5000 });
    assert.deepEqual(turn(paused, now + 5000, 0), { kind: 'go' });
    assert.deepEqual(turn(paused, now + 5000, 1), { kind: 'when_one_ends' });
    const opened = answered(paused, now + 5000);
    assert.equal(opened.window, 2);
    const next = turn(opened, now + 5010, 0);
    assert.ok(next.kind === 'at' && next.at > now + 5010);
  });

  test('replies to requests from before the pause do not open it', () => {
    const { pacing, now } = busy(newPacing(), T0, 1000);
    const paused = throttled(pacing, { startedAt: now - 50, waitMs: 5000 }, now);
    assert.equal(succeeded(paused, { startedAt: now - 40 }, now + 30), paused);
  });

  test('a throttle of the very first request pauses the lane and says nothing about its rate', () => {
    const first = throttled(started(newPacing(), T0), { startedAt: T0, waitMs: 60_000 }, T0 + 10);
    assert.equal(first.rate, null);
    assert.equal(first.window, 1);
    assert.equal(first.pausedUntil, T0 + 60_010);
  });
});

describe('one event', () => {
  const { pacing, now } = settled();
  const once = throttled(pacing, { startedAt: now - 5, waitMs: 2000 }, now);

  test('replies in flight when the pause began change neither rate nor window, if they ask for no more', () => {
    const again = throttled(once, { startedAt: now - 1, waitMs: 1500 }, now + 20);
    assert.deepEqual(again, { ...once, ended: again.ended });
  });

  test('a later Retry-After among them extends the pause, a shorter one never shortens it', () => {
    const longer = throttled(once, { startedAt: now - 1, waitMs: 30_000 }, now + 20);
    assert.equal(longer.pausedUntil, now + 30_020);
    const shorter = throttled(longer, { startedAt: now - 1, waitMs: 1000 }, now + 25);
    assert.equal(shorter.pausedUntil, now + 30_020);
  });

  test('however many there are, the lane ends where the longest alone would have brought it', () => {
    const waits = fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(waits, (list) => {
        const many = list.reduce(
          (p, waitMs) => throttled(p, { startedAt: now - 5, waitMs }, now),
          pacing,
        );
        const one = throttled(pacing, { startedAt: now - 5, waitMs: Math.max(...list) }, now);
        assert.deepEqual(many, one);
      }),
    );
  });

  test('a pause that was too short goes on: the next one belongs to the same cycle', () => {
    const at = once.pausedUntil;
    const still = throttled(started(once, at), { startedAt: at, waitMs: 2000 }, at + 10);
    const longer = throttled(pacing, { startedAt: now - 5, waitMs: still.pausedUntil - now }, now);
    assert.deepEqual([still.rate, still.lo, still.hi], [longer.rate, longer.lo, longer.hi]);
    assert.equal(still.window, 1);
  });

  test('a straggler that comes when the lane is open again only makes it stay away', () => {
    const open = answered(once, once.pausedUntil);
    const late = throttled(open, { startedAt: now - 5, waitMs: 3000 }, once.pausedUntil + 50);
    assert.deepEqual(late, { ...open, pausedUntil: once.pausedUntil + 3050 });
  });
});

describe('the bracket', () => {
  test('the first throttle sets the rate to the goodput, pause included, and proves no floor', () => {
    const { pacing, now } = busy(newPacing(), T0, 2000);
    const first = throttled(pacing, { startedAt: now, waitMs: 8000 }, now);
    assert.ok(Math.abs((first.rate ?? 0) - pacing.good / 10) < 0.1);
    assert.deepEqual([first.lo, first.hi], [0, null]);
  });

  test('with the ceiling unknown the rate grows by 1.6 a second', () => {
    const { pacing, now } = busy(newPacing(), T0, 2000);
    const first = throttled(pacing, { startedAt: now, waitMs: 8000 }, now);
    const later = busy(first, first.pausedUntil, 3000);
    const growth = (later.pacing.rate ?? 0) / (first.rate ?? 1);
    assert.ok(growth > 1.6 ** 2.5 && growth < 1.6 ** 3.2, `${growth}`);
  });

  test('the rate that was throttled is the ceiling, and the next rate stays below it', () => {
    const { pacing, now } = settled();
    const struck = throttled(pacing, { startedAt: now, waitMs: 2000 }, now);
    assert.equal(struck.hi, Math.min(pacing.hi ?? 0, pacing.rate ?? 0));
    assert.ok((struck.rate ?? 0) <= 0.97 * (struck.hi ?? 0));
    assert.ok(struck.lo > 0 && struck.lo < (struck.hi ?? 0));
  });

  test('a throttle at the proved floor drops the floor: the limit fell', () => {
    const { pacing, now } = settled();
    const atFloor = { ...pacing, lo: pacing.rate ?? 0 };
    const struck = throttled(atFloor, { startedAt: now, waitMs: 2000 }, now);
    assert.ok(struck.lo <= 0.8 * (pacing.rate ?? 0));
    assert.equal(struck.hi, pacing.rate);
  });

  test('at the ceiling the rate stands still for 300 s, then the ceiling is forgotten', () => {
    const { pacing, now } = settled();
    const at = busy(pacing, now, 100_000);
    assert.ok(Math.abs((at.pacing.rate ?? 0) - 0.97 * (at.pacing.hi ?? 0)) < 1e-9);
    const stood = busy(at.pacing, at.now, 150_000);
    assert.equal(stood.pacing.rate, at.pacing.rate);
    const forgot = busy(stood.pacing, stood.now, 150_000);
    assert.ok((forgot.pacing.rate ?? 0) > 1.2 * (at.pacing.rate ?? 0));
  });
});

test('a new lane is paused by nothing, limited by nothing, and has had no good reply', () => {
  assert.deepEqual(turn(newPacing(), 0, 0), { kind: 'go' });
  const { rate, lo, hi, good, usedMs } = newPacing();
  assert.deepEqual([rate, lo, hi, good, usedMs], [null, 0, null, 0, 0]);
});

describe('demand below the rate', () => {
  test('proves nothing: neither rate nor ceiling nor floor rise', () => {
    let { pacing, now } = settled();
    const before = { rate: pacing.rate, lo: pacing.lo, hi: pacing.hi };
    for (let i = 0; i < 5000; i++) {
      now += 2000 / (pacing.rate ?? 1);
      pacing = answered(pacing, now);
    }
    const { rate, lo, hi } = pacing;
    assert.ok((rate ?? 0) <= (before.rate ?? 0) * 1.011, 'one second of unconfirmed use at most');
    assert.deepEqual([lo, hi], [before.lo, before.hi]);
  });

  test('an hour of silence changes nothing, and the lane goes on at its rate', () => {
    const { pacing, now } = settled();
    const later = now + 3_600_000;
    assert.deepEqual(turn(pacing, later, 0), { kind: 'go' });
    const after = answered(pacing, later);
    assert.ok((after.rate ?? 0) <= (pacing.rate ?? 0) * 1.011);
    const next = turn(answered(after, later), later + 10, 0);
    assert.ok(next.kind === 'at' && next.at > later + 10, 'no burst is saved up');
  });

  test('a throttle after an hour of silence does not take the silence for a low limit', () => {
    const { pacing, now } = settled();
    const floor = { ...pacing, lo: pacing.rate ?? 0 };
    const woke = busy(floor, now + 3_600_000, 10_000);
    const struck = throttled(woke.pacing, { startedAt: woke.now, waitMs: 1000 }, woke.now);
    assert.ok((struck.rate ?? 0) > 0.6 * (pacing.rate ?? 0), `${struck.rate} of ${pacing.rate}`);
  });

  test('an unlimited lane that was silent is not throttled down to its average', () => {
    let pacing = newPacing();
    for (let hour = 0; hour < 5; hour++) pacing = answered(pacing, T0 + hour * 3_600_000);
    const burst = busy(pacing, T0 + 18_000_000, 1000);
    const struck = throttled(burst.pacing, { startedAt: burst.now, waitMs: 1000 }, burst.now);
    assert.ok((struck.rate ?? 0) > 10, `${struck.rate}`);
  });
});

describe('nothing left', () => {
  test('a reply that says so holds the lane, without touching rate or window', () => {
    const { pacing, now } = settled();
    const held = heldQuiet(pacing, 30_000, now);
    assert.deepEqual(held, { ...pacing, pausedUntil: now + 30_000 });
    assert.deepEqual(turn(held, now, 0), { kind: 'at', at: now + 30_000 });
  });

  test('it never shortens a pause', () => {
    const { pacing, now } = settled();
    const paused = throttled(pacing, { startedAt: now, waitMs: 60_000 }, now);
    assert.equal(heldQuiet(paused, 30_000, now), paused);
  });
});

test('a late timer costs no throughput: 20 ms are made up for, more are not', () => {
  const { pacing, now } = settled();
  const intervalMs = 1000 / (pacing.rate ?? 1);
  const due = now + intervalMs;
  const at = { ...pacing, nextAt: due };
  assert.ok(Math.abs(started(at, due + 15).nextAt - (due + intervalMs)) < 1e-3);
  assert.ok(Math.abs(started(at, due + 500).nextAt - (due + 480 + intervalMs)) < 1e-3);
});

interface Step {
  readonly waitMs: number;
  readonly act: 'start' | 'good' | 'bad' | 'quiet';
  readonly agoMs: number;
  readonly askedMs: number;
}

function take(pacing: Pacing, { act, agoMs, askedMs }: Step, now: number): Pacing {
  const startedAt = now - agoMs;
  switch (act) {
    case 'start':
      return started(pacing, now);
    case 'good':
      return succeeded(pacing, { startedAt }, now);
    case 'bad':
      return throttled(pacing, { startedAt, waitMs: askedMs }, now);
    case 'quiet':
      return heldQuiet(pacing, askedMs, now);
  }
}

test('through any history the numbers stay finite, floor below ceiling, and storage changes nothing', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    waitMs: fc.oneof(fc.nat(200), fc.nat(100_000)),
    act: fc.constantFrom<Step['act']>('start', 'good', 'bad', 'quiet'),
    agoMs: fc.nat(3000),
    askedMs: fc.oneof(fc.integer({ min: 1, max: 60_000 }), fc.constant(1e15)),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      let pacing = newPacing();
      let now = T0;
      for (const one of steps) {
        now += one.waitMs;
        const before = pacing.pausedUntil;
        pacing = take(pacing, one, now);
        assert.ok(pacing.pausedUntil >= before, 'a pause was shortened');
        assert.ok((pacing.rate ?? 1) > 0 && Number.isFinite(pacing.rate ?? 1));
        assert.ok(pacing.lo >= 0 && pacing.lo <= (pacing.hi ?? pacing.lo));
        assert.ok(pacing.window >= 1 && Number.isFinite(pacing.nextAt));
        assert.deepEqual(JSON.parse(JSON.stringify(pacing)), pacing);
      }
    }),
    { numRuns: 300 },
  );
});

test('starts that only fill gaps never raise a rate that was learned', () => {
  const rate = 10;
  const cycle = {
    ...newPacing(),
    rate,
    lo: 5,
    hi: null,
    cycleAt: T0,
    nextAt: T0,
    last: T0,
    window: 8,
  };
  const after = (use: 'wanted' | 'filling') => {
    let pacing: Pacing = cycle;
    for (let n = 0; n < 600; n += 1) {
      const now = Math.max(T0, pacing.nextAt);
      pacing = succeeded(started(pacing, now, use), { startedAt: now }, now + 5);
    }
    return pacing.rate;
  };
  assert.equal(after('filling'), rate);
  assert.ok((after('wanted') ?? 0) > rate * 1.2);
});
