import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Action, Wait } from './action.ts';
import { begin, charge, newLedger } from './ledger.ts';

const route = { id: 'r1', upstream: 'u1' };
const evidence = { kind: 'status', status: 403 } as const;
const sent = begin(newLedger, 'r1', 5);
const wait = (ledger: Wait['ledger']): Action => ({
  kind: 'wait',
  ledger,
  delayMs: 9,
  charged: false,
});

test('a start counts the attempt, the wait before it, and each address once', () => {
  const twice = begin(sent, 'r1', 7);
  assert.equal(twice.attempts, 2);
  assert.equal(twice.waitedMs, 12);
  assert.deepEqual(begin(twice, 'r2', 0).addresses, ['r1', 'r2']);
});

test('each kind of wait has a book of its own, and all of them stay on the route', () => {
  const books = (['rate', 'account', 'transient', 'self', 'session_route'] as const).map((kind) => {
    const { rateWaits, accountWaits, transientRetries, rotations, stayOn } = charge(
      sent,
      wait(kind),
      route,
    );
    assert.equal(stayOn, 'r1');
    return [rateWaits, accountWaits, transientRetries, rotations];
  });
  assert.deepEqual(books, [
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 1, 0],
    [0, 0, 1, 0],
    [0, 0, 1, 0],
  ]);
});

test("a pause's length is no backoff to grow from", () => {
  assert.equal(charge(sent, wait('rate'), route).lastDelayMs, undefined);
  assert.equal(charge(sent, wait('account'), route).lastDelayMs, undefined);
  assert.equal(charge(sent, wait('transient'), route).lastDelayMs, 9);
});

test('a rotation leaves the route for good, and the upstream only when its account is at fault', () => {
  const stayed = charge(sent, wait('rate'), route);
  const blocked = { fault: 'route', reason: 'blocked', scope: 'lane', evidence } as const;
  const quota = { fault: 'account', reason: 'upstream_quota', evidence } as const;
  const one = charge(stayed, { kind: 'rotate', because: blocked, charged: true }, route);
  const other = charge(stayed, { kind: 'rotate', because: quota, charged: false }, route);
  assert.deepEqual(
    [one.rotations, one.stayOn, one.avoidRoutes, one.avoidUpstreams],
    [1, undefined, ['r1'], []],
  );
  assert.deepEqual(other.avoidUpstreams, ['u1']);
});

test('an end changes nothing', () => {
  assert.equal(charge(sent, { kind: 'deliver' }, route), sent);
  assert.equal(charge(sent, { kind: 'burn' }, route), sent);
  assert.equal(charge(sent, { kind: 'fail', stop: 'no_route' }, route), sent);
});
