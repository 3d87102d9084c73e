import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { policyWith } from '../../test/support/policy.ts';
import type { Action, Ledger, Progress, Replay } from './action.ts';
import { decide } from './decide.ts';
import { newLedger } from './ledger.ts';
import type { Verdict } from './verdict.ts';

const policy = policyWith();
const status = (n: number) => ({ kind: 'status', status: n }) as const;
const rate = (waitMs?: number): Verdict => ({
  fault: 'host',
  kind: 'rate',
  reason: 'rate_limited',
  evidence: status(429),
  ...(waitMs === undefined ? {} : { waitMs }),
});
const overloaded: Verdict = {
  fault: 'host',
  kind: 'transient',
  reason: 'overloaded',
  evidence: status(503),
};
const route = (reason: 'blocked' | 'challenged' | 'unreachable' | 'refused' | 'slow_route') =>
  ({ fault: 'route', reason, scope: 'lane', evidence: status(403) }) as const;
const account = (
  reason: 'upstream_auth' | 'upstream_quota' | 'upstream_rate_limited',
  waitMs?: number,
) =>
  ({
    fault: 'account',
    reason,
    evidence: { kind: 'upstream', status: 407, said: '' },
    ...(waitMs === undefined ? {} : { waitMs }),
  }) as const;
const self: Verdict = { fault: 'self', reason: 'local_network', evidence: status(0) };
const rule: Verdict = {
  fault: 'client',
  reason: 'rule',
  evidence: { kind: 'rule', label: 'gone' },
};
const good: Verdict = { fault: 'none', reason: 'ok', evidence: status(200) };

interface Change extends Partial<Omit<Progress, 'ledger' | 'replay'>> {
  readonly ledger?: Partial<Ledger>;
  readonly replay?: Partial<Replay>;
}

function progress({ ledger, replay, ...rest }: Change = {}): Progress {
  return {
    ledger: { ...newLedger, attempts: 1, addresses: ['a'], ...ledger },
    now: 0,
    deadline: 60_000,
    roll: 0.5,
    replay: { bodyKept: true, repeatable: true, sent: true, unprocessed: false, ...replay },
    retry: 'on',
    inSession: false,
    budgetLeft: true,
    bytesLeft: true,
    laneFailures: 1,
    pausedUntil: -1,
    routesLeft: true,
    upstreamsLeft: false,
    ...rest,
  };
}

const wait = (ledger: string, delayMs: number, charged = false) => ({
  kind: 'wait',
  ledger,
  delayMs,
  charged,
});
const fail = (stop: string) => ({ kind: 'fail', stop });
const used = { transientRetries: 2, rotations: 2 };
const posted = { repeatable: false };
const noBytes = { bytesLeft: false };

type Row = readonly [name: string, verdict: Verdict, change: Change, action: unknown];

const rows: readonly Row[] = [
  ['a good reply is delivered', good, {}, { kind: 'deliver' }],
  ["the client's fault is delivered", rule, {}, { kind: 'deliver' }],
  ['it is delivered with retries off too', rule, { retry: 'off' }, { kind: 'deliver' }],

  ['a throttle waits as long as it says', rate(3000), {}, wait('rate', 3000)],
  [
    "a throttle waits out the lane's pause when that is longer",
    rate(3000),
    { pausedUntil: 9000 },
    wait('rate', 9000),
  ],
  [
    'a throttle without a time waits out the pause',
    rate(),
    { pausedUntil: 700 },
    wait('rate', 700),
  ],
  ['a throttle does not need budget', rate(10), { budgetLeft: false }, wait('rate', 10)],
  ['no bytes left for retries: a throttle ends it', rate(10), noBytes, fail('byte_budget_spent')],
  ['nor for another try of a failure', overloaded, noBytes, fail('byte_budget_spent')],
  ['nor for another address', route('blocked'), noBytes, fail('byte_budget_spent')],
  ['nor for our own fault', self, noBytes, fail('byte_budget_spent')],
  ['a good reply is delivered whatever it has cost', good, noBytes, { kind: 'deliver' }],
  [
    'what may not be repeated anyway says so first',
    rate(10),
    { ...noBytes, replay: { bodyKept: false } },
    fail('body_not_replayable'),
  ],
  ['a throttle does not count against max_attempts', rate(10), { ledger: used }, wait('rate', 10)],
  ['nine rate waits leave one more', rate(10), { ledger: { rateWaits: 9 } }, wait('rate', 10)],
  [
    'ten rate waits are enough',
    rate(10),
    { ledger: { rateWaits: 10 } },
    fail('rate_waits_exhausted'),
  ],
  ['a wait as long as the patience does not fit', rate(60_000), {}, fail('patience_exceeded')],
  ['a wait just within the patience fits', rate(59_999), {}, wait('rate', 59_999)],
  [
    'retry_after.max is the longest wait',
    rate(3_600_000),
    { deadline: 9e9 },
    wait('rate', 3_600_000),
  ],
  ['a longer one is not waited for', rate(3_600_001), { deadline: 9e9 }, fail('wait_too_long')],
  ['a throttle in a session waits too', rate(10), { inSession: true }, wait('rate', 10)],
  [
    'a throttled POST was not processed and goes again',
    rate(10),
    { replay: { ...posted, unprocessed: true } },
    wait('rate', 10),
  ],
  [
    'a POST behind a throttle page may have been executed',
    rate(10),
    { replay: posted },
    fail('maybe_executed'),
  ],
  [
    'a body that is gone cannot be sent again',
    rate(10),
    { replay: { bodyKept: false } },
    fail('body_not_replayable'),
  ],
  ['retries off means off', rate(10), { retry: 'off' }, fail('retry_off')],

  ['trouble backs off on the same route', overloaded, {}, wait('transient', 500, true)],
  [
    'the second time it waits twice as long',
    overloaded,
    { ledger: { transientRetries: 1 } },
    wait('transient', 1000, true),
  ],
  [
    'four tries leave one more',
    overloaded,
    { ledger: { transientRetries: 1, rotations: 2 } },
    wait('transient', 1000, true),
  ],
  [
    'retries and rotations share max_attempts',
    overloaded,
    { ledger: used },
    fail('attempts_exhausted'),
  ],
  ['no budget, no retry', overloaded, { budgetLeft: false }, fail('retry_budget_spent')],
  [
    'replay is asked before attempts',
    overloaded,
    { ledger: used, replay: posted },
    fail('maybe_executed'),
  ],
  [
    'attempts are asked before the budget',
    overloaded,
    { ledger: used, budgetLeft: false },
    fail('attempts_exhausted'),
  ],
  [
    'the budget is asked before the patience',
    overloaded,
    { budgetLeft: false, deadline: 1 },
    fail('retry_budget_spent'),
  ],
  ['a backoff that does not fit ends it', overloaded, { deadline: 500 }, fail('patience_exceeded')],
  [
    'a POST that never left goes again',
    overloaded,
    { replay: { ...posted, sent: false } },
    wait('transient', 500, true),
  ],
  [
    'trouble in a session keeps the address',
    overloaded,
    { inSession: true },
    wait('transient', 500, true),
  ],

  [
    'a block rotates, charged to the budget',
    route('blocked'),
    {},
    { kind: 'rotate', because: route('blocked'), charged: true },
  ],
  [
    'a challenge rotates, charged to the budget',
    route('challenged'),
    {},
    { kind: 'rotate', because: route('challenged'), charged: true },
  ],
  [
    'a dead address rotates free of charge',
    route('unreachable'),
    { budgetLeft: false },
    { kind: 'rotate', because: route('unreachable'), charged: false },
  ],
  [
    'a slow address rotates free of charge',
    route('slow_route'),
    {},
    { kind: 'rotate', because: route('slow_route'), charged: false },
  ],
  [
    'a refusing upstream rotates free of charge',
    route('refused'),
    {},
    { kind: 'rotate', because: route('refused'), charged: false },
  ],
  [
    'a block without budget is the answer',
    route('blocked'),
    { budgetLeft: false },
    fail('retry_budget_spent'),
  ],
  [
    'three addresses are enough',
    route('blocked'),
    { ledger: { addresses: ['a', 'b', 'c'] } },
    fail('addresses_exhausted'),
  ],
  [
    'rotations count as attempts',
    route('unreachable'),
    { ledger: used },
    fail('attempts_exhausted'),
  ],
  [
    'a block on the only address is the answer',
    route('blocked'),
    { routesLeft: false },
    fail('no_route'),
  ],
  [
    'a refusal by the only upstream is the answer',
    route('refused'),
    { routesLeft: false },
    fail('no_route'),
  ],
  [
    'the only address, when away, is waited for',
    route('unreachable'),
    { routesLeft: false },
    wait('transient', 500),
  ],
  [
    'the next upstream will do when this one has no route left',
    route('blocked'),
    { routesLeft: false, upstreamsLeft: true },
    { kind: 'rotate', because: route('blocked'), charged: true },
  ],
  [
    'a POST that met a block may have been executed',
    route('blocked'),
    { replay: posted },
    fail('maybe_executed'),
  ],
  ['no time left, no rotation', route('blocked'), { now: 60_000 }, fail('patience_exceeded')],
  ['retries off, no rotation', route('blocked'), { retry: 'off' }, fail('retry_off')],

  ['a block burns the session', route('blocked'), { inSession: true }, { kind: 'burn' }],
  ['a challenge burns the session', route('challenged'), { inSession: true }, { kind: 'burn' }],
  [
    'a block burns the session with retries off too',
    route('blocked'),
    { inSession: true, retry: 'off' },
    { kind: 'burn' },
  ],
  [
    'a dead address is waited for in a session',
    route('unreachable'),
    { inSession: true },
    wait('session_route', 500),
  ],
  [
    'a refusal is waited for in a session',
    route('refused'),
    { inSession: true },
    wait('session_route', 500),
  ],
  [
    'if it stays away the session burns',
    route('unreachable'),
    { inSession: true, ledger: { transientRetries: 4 } },
    { kind: 'burn' },
  ],
  [
    'a session does not burn because the patience ends',
    route('unreachable'),
    { inSession: true, deadline: 1 },
    fail('patience_exceeded'),
  ],

  [
    'bad credentials move to the next upstream',
    account('upstream_auth'),
    { upstreamsLeft: true },
    { kind: 'rotate', because: account('upstream_auth'), charged: false },
  ],
  ['without another upstream they are the end', account('upstream_auth'), {}, fail('no_route')],
  ['so is an empty account', account('upstream_quota'), {}, fail('no_route')],
  [
    "the upstream's own throttle is waited out on it",
    account('upstream_rate_limited', 2000),
    {},
    wait('account', 2000),
  ],
  ['without a time it backs off', account('upstream_rate_limited'), {}, wait('account', 500)],
  [
    'but another upstream comes first',
    account('upstream_rate_limited', 2000),
    { upstreamsLeft: true },
    { kind: 'rotate', because: account('upstream_rate_limited', 2000), charged: false },
  ],
  [
    'and it has a bound',
    account('upstream_rate_limited', 10),
    { ledger: { accountWaits: 10 } },
    fail('rate_waits_exhausted'),
  ],
  [
    'and a longest wait',
    account('upstream_rate_limited', 3_600_001),
    { deadline: 9e9 },
    fail('wait_too_long'),
  ],
  ['and the patience', account('upstream_rate_limited', 60_000), {}, fail('patience_exceeded')],
  [
    'an account fault burns a session',
    account('upstream_auth'),
    { inSession: true, upstreamsLeft: true },
    { kind: 'burn' },
  ],

  ['our own fault waits free of charge', self, { budgetLeft: false }, wait('self', 500)],
  ['and is not bounded by attempts', self, { ledger: used }, wait('self', 2000)],
  ['but by patience', self, { deadline: 500 }, fail('patience_exceeded')],
];

describe('decide', () => {
  for (const [name, verdict, change, action] of rows) {
    test(name, () => {
      assert.deepEqual(decide(verdict, progress(change), policy), action as Action);
    });
  }

  test("backoff can count the lane's failures instead of the exchange's", () => {
    const slow = policyWith({
      backoff: { baseMs: 20_000, factor: 3, capMs: 300_000, jitter: 0.2, count: 'lane' },
    });
    const delays = [1, 2, 3, 9].map((laneFailures) => {
      const action = decide(overloaded, progress({ laneFailures, deadline: 9e9 }), slow);
      return action.kind === 'wait' ? action.delayMs : undefined;
    });
    assert.deepEqual(delays, [20_000, 60_000, 180_000, 300_000]);
  });
});
