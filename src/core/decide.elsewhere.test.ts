import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policyWith } from '../../test/support/policy.ts';
import type { Progress } from './action.ts';
import { decide } from './decide.ts';
import { explain } from './explain.ts';
import { begin, charge, newLedger } from './ledger.ts';
import type { TransientVerdict } from './verdict.ts';

const ambiguous: TransientVerdict = {
  fault: 'host',
  kind: 'transient',
  reason: 'overloaded',
  evidence: { kind: 'status', status: 502 },
  ambiguous: true,
};
const base: Progress = {
  ledger: begin(newLedger, 'a', 0),
  now: 0,
  deadline: 60_000,
  roll: 0.5,
  replay: { bodyKept: true, repeatable: true, sent: true, unprocessed: false },
  retry: 'on',
  inSession: false,
  budgetLeft: true,
  bytesLeft: true,
  laneFailures: 1,
  pausedUntil: -1,
  routesLeft: true,
  upstreamsLeft: false,
};
const goesElsewhere = (change: Partial<Progress>, verdict = ambiguous): boolean => {
  const action = decide(verdict, { ...base, ...change }, policyWith({ maxAddresses: 2 }));
  return action.kind === 'wait' && action.elsewhere === true;
};

test('what site and upstream may both have said is asked again over another route, after the same backoff and charge', () => {
  const action = decide(ambiguous, base, policyWith());
  assert.deepEqual(action, {
    kind: 'wait',
    ledger: 'transient',
    delayMs: 500,
    charged: true,
    elsewhere: true,
  });
  assert.match(explain(ambiguous, action), /another route/);
  const ledger = charge(base.ledger, action, { id: 'a', upstream: 'u' });
  assert.deepEqual([ledger.stayOn, ledger.avoidRoutes], [undefined, ['a']]);
  assert.deepEqual([ledger.transientRetries, ledger.rotations], [1, 0]);
});

test('it stays where it is in a session, without another route, after max_addresses, and when the site itself spoke', () => {
  assert.equal(goesElsewhere({}), true);
  assert.equal(goesElsewhere({ inSession: true }), false);
  assert.equal(goesElsewhere({ routesLeft: false }), false);
  assert.equal(goesElsewhere({ routesLeft: false, upstreamsLeft: true }), false);
  assert.equal(goesElsewhere({ ledger: begin(base.ledger, 'b', 0) }), false);
  const { ambiguous: _, ...sure } = ambiguous;
  assert.equal(goesElsewhere({}, sure), false);
});
