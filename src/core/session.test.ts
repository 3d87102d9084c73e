import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ActiveSession,
  bind,
  burn,
  nextLife,
  type Session,
  sessionAt,
  sessionEndsAt,
  touch,
} from './session.ts';

const T = 1_000_000;
const MINUTE = 60_000;
const terms = { idleMs: 10 * MINUTE, maxAgeMs: 30 * MINUTE, burnedForMs: 60 * MINUTE };
const lease = { upstream: 'residential', routeId: 'residential:x1', country: undefined };

const bound = (o: { previous?: Session; ttlMs?: number | null } = {}): ActiveSession =>
  bind(o.previous, lease, { now: T, terms, ttlMs: o.ttlMs ?? null });

test('a session lives while it is used, and expires when idle', () => {
  const session = bound();
  assert.equal(sessionAt(session, T + 10 * MINUTE - 1), session);
  const until = T + 10 * MINUTE + 60 * MINUTE;
  const expired = { state: 'expired', life: 0, untilAt: until };
  assert.deepEqual(sessionAt(session, T + 10 * MINUTE), expired);
  assert.deepEqual(sessionAt(session, until - 1), expired);
  assert.equal(sessionAt(session, until), undefined);
});

test('use puts off the idle end, but not the end of its age', () => {
  let session = bound();
  for (let at = T; at < T + 30 * MINUTE; at += 9 * MINUTE) session = touch(session, at);
  assert.equal(sessionEndsAt(session), T + 30 * MINUTE);
  assert.equal(sessionAt(session, T + 30 * MINUTE - 1)?.state, 'active');
  assert.equal(sessionAt(session, T + 30 * MINUTE)?.state, 'expired');
});

test('a use that is told late does not turn back the last one', () => {
  const session = touch(bound(), T + 5 * MINUTE);
  assert.equal(touch(session, T + MINUTE).lastUsedAt, T + 5 * MINUTE);
});

test("the provider's own time to live bounds the age", () => {
  assert.equal(sessionEndsAt(bound({ ttlMs: 2 * MINUTE })), T + 2 * MINUTE);
  assert.equal(bound({ ttlMs: 99 * MINUTE }).terms.maxAgeMs, 30 * MINUTE);
});

test('a burned session is refused for its time, and then its id is new', () => {
  const burned = burn(bound(), T + 5, 60 * MINUTE);
  assert.deepEqual(burned, { state: 'burned', life: 0, untilAt: T + 5 + 60 * MINUTE });
  assert.equal(sessionAt(burned, burned.untilAt - 1), burned);
  assert.equal(sessionAt(burned, burned.untilAt), undefined);
});

test('each life of an id has the next number', () => {
  assert.equal(nextLife(undefined), 0);
  const first = bound();
  const second = bound({ previous: burn(first, T, 0) });
  assert.equal(second.life, 1);
  assert.equal(nextLife(second), 2);
});

test('nothing about the lease changes by use, and the state survives JSON', () => {
  const session = bound();
  const used = touch(session, T + MINUTE);
  assert.deepEqual({ ...used, lastUsedAt: T }, session);
  assert.deepEqual(JSON.parse(JSON.stringify(burn(used, T, 5))), burn(used, T, 5));
  assert.equal(sessionAt(undefined, T), undefined);
});
