import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  beyondCap,
  type Ejection,
  eject,
  isOut,
  isVolley,
  newVolley,
  shot,
  takeOut,
} from './ejection.ts';

const T = 1_000_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const cause = { reason: 'blocked', retireForMs: 15 * MINUTE, roll: 0 } as const;

test('an ejection lasts its time, and then the route is in again', () => {
  const ejection = eject(undefined, cause, T);
  assert.deepEqual(ejection, { reason: 'blocked', times: 1, untilAt: T + 15 * MINUTE });
  assert.ok(isOut(ejection, T + 15 * MINUTE - 1));
  assert.ok(!isOut(ejection, T + 15 * MINUTE));
  assert.ok(!isOut(undefined, T));
});

test('each ejection in a row lasts twice as long, up to a day', () => {
  const spans: number[] = [];
  let now = T;
  let ejection: Ejection | undefined;
  for (let i = 0; i < 9; i += 1) {
    ejection = eject(ejection, cause, now);
    spans.push((ejection.untilAt - now) / MINUTE);
    now = ejection.untilAt + 1;
  }
  assert.deepEqual(spans, [15, 30, 60, 120, 240, 480, 960, 1440, 1440]);
});

test('stragglers do not extend an ejection', () => {
  const first = eject(undefined, cause, T);
  assert.equal(eject(first, cause, T + MINUTE), first);
});

test('a day after its return the past is forgotten', () => {
  const first = eject(undefined, cause, T);
  assert.equal(eject(first, cause, first.untilAt + DAY).times, 1);
  assert.equal(eject(first, cause, first.untilAt + DAY - 1).times, 2);
});

test('the dice only lengthen an ejection, by a tenth at most', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (roll) => {
      const span = eject(undefined, { ...cause, roll }, T).untilAt - T;
      assert.ok(span >= 15 * MINUTE && span <= 16.5 * MINUTE);
    }),
  );
});

test('bad credentials put an account out for five minutes, doubling', () => {
  const bad = { reason: 'upstream_auth', waitMs: undefined } as const;
  const first = takeOut(undefined, bad, T);
  assert.equal(first.untilAt, T + 5 * MINUTE);
  assert.equal(takeOut(first, bad, first.untilAt).untilAt, first.untilAt + 10 * MINUTE);
  assert.deepEqual(takeOut(first, bad, T + 1), first);
});

test('an empty account is out for fifteen minutes, or as long as it says', () => {
  const reason = 'upstream_quota' as const;
  assert.equal(takeOut(undefined, { reason, waitMs: undefined }, T).untilAt, T + 15 * MINUTE);
  assert.equal(takeOut(undefined, { reason, waitMs: DAY }, T).untilAt, T + DAY);
});

test("an upstream's own rate limit is waited out as it says, else for half a minute, without growing", () => {
  const reason = 'upstream_rate_limited' as const;
  const first = takeOut(undefined, { reason, waitMs: undefined }, T);
  assert.equal(first.untilAt, T + 30_000);
  assert.equal(takeOut(first, { reason, waitMs: undefined }, T + 30_000).untilAt, T + 60_000);
  assert.equal(takeOut(undefined, { reason, waitMs: 4000 }, T).untilAt, T + 4000);
  assert.equal(takeOut(first, { reason, waitMs: 90_000 }, T).untilAt, T + 90_000);
  assert.equal(takeOut(first, { reason, waitMs: 1000 }, T).untilAt, T + 30_000);
});

test('beyond the cap the earliest to return are used again', () => {
  const until: Record<string, number> = { a: 30, b: 10, c: 20 };
  const outUntil = (route: string) => until[route];
  assert.deepEqual(beyondCap(['a', 'b', 'c', 'd'], outUntil, 0.5), ['b']);
  assert.deepEqual(beyondCap(['a', 'b', 'c', 'd'], outUntil, 0.25), ['b', 'c']);
  assert.deepEqual(beyondCap(['a', 'b', 'c', 'd'], outUntil, 0.75), []);
  assert.deepEqual(beyondCap(['a'], outUntil, 0.5), ['a']);
});

test('whatever the cap, some route of a list is usable, and no more are out than it allows', () => {
  const list = fc.array(fc.option(fc.nat(100), { nil: undefined }), {
    minLength: 1,
    maxLength: 20,
  });
  fc.assert(
    fc.property(list, fc.double({ min: 0, max: 1, noNaN: true }), (untils, ratio) => {
      const routes = untils.map((_, i) => String(i));
      const outUntil = (route: string) => untils[Number(route)];
      const again = beyondCap(routes, outUntil, ratio);
      const stillOut = routes.filter((r) => outUntil(r) !== undefined && !again.includes(r));
      assert.ok(stillOut.length <= routes.length * ratio);
      assert.ok(stillOut.length < routes.length);
    }),
  );
});

test('three of four failing within a second are a volley; two, half of a list, or slow ones are not', () => {
  const fire = (routes: readonly string[], everyMs: number) =>
    routes.reduce((volley, route, i) => shot(volley, route, T + i * everyMs), newVolley);
  assert.ok(isVolley(fire(['a', 'b', 'c'], 100), 4));
  assert.ok(!isVolley(fire(['a', 'b'], 100), 2));
  assert.ok(!isVolley(fire(['a', 'b', 'c'], 100), 6));
  assert.ok(!isVolley(fire(['a', 'a', 'a', 'a'], 100), 4));
  assert.ok(!isVolley(fire(['a', 'b', 'c'], 600), 4));
});

test('all state survives JSON', () => {
  const volley = shot(newVolley, 'a', T);
  const outage = takeOut(undefined, { reason: 'unreachable', waitMs: undefined }, T);
  for (const state of [eject(undefined, cause, T), outage, volley]) {
    assert.deepEqual(JSON.parse(JSON.stringify(state)), state);
  }
});
