import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tally } from '../src/replay/findings.ts';
import { MadeLog } from './support/attempt-lines.ts';
import { replayed } from './support/recorded.ts';

const RETRY_30 = ['Retry-After', '30'];
const of = (...exchanges: string[]): Tally => ({ count: exchanges.length, exchanges });

/** Replays a log under a policy in YAML; what is found in its one lane and one host comes first. */
async function under(log: MadeLog, policy: string, ...args: string[]) {
  const found = await replayed(log.file(), `policy: { ${policy} }\n`, ...args);
  return { found, lane: found.lanes[0], host: found.hosts[0] };
}

/** Three exchanges that met a 503, of which two were retried with success. */
const overloads = () =>
  new MadeLog()
    .add({ exchange: 'a', status: 503 })
    .add({ exchange: 'a', n: 2, status: 200 })
    .add({ exchange: 'b', status: 503 })
    .add({ exchange: 'b', n: 2, status: 200 })
    .add({ exchange: 'c', status: 500 })
    .add({ exchange: 'd', status: 200 });

test('a status that is not transient any more is delivered, and ends the comparison', async () => {
  const { found, lane } = await under(overloads(), 'transient_statuses: [500]');
  assert.deepEqual(
    [found.attempts, found.exchanges, found.compared, found.different],
    [6, 4, 4, of('a', 'b')],
  );
  assert.deepEqual(lane?.verdicts, { 'host/overloaded -> client/rejected': of('a', 'b') });
  assert.deepEqual(lane?.actions, { 'wait (transient) -> deliver': of('a', 'b') });
  assert.deepEqual(lane?.waits_ms, { recorded: 1_500, what_if: 500 });
  assert.deepEqual(found.not_compared, [
    { why: 'behind the first difference of their exchange', ...of('a', 'b') },
  ]);
  const [rule] = found.rules;
  assert.deepEqual([found.rules.length, rule?.key, rule?.what_if], [1, 'transientStatuses', [500]]);
});

test('exchanges are named as often as asked for, and all are counted', async () => {
  const { lane } = await under(overloads(), 'transient_statuses: [502]', '--examples', '1');
  assert.deepEqual(lane?.actions, {
    'wait (transient) -> deliver': { count: 3, exchanges: ['a'] },
  });
});

test('retry_after.max decides which waits are given up', async () => {
  const log = new MadeLog()
    .add({ exchange: 'a', status: 429, headers: RETRY_30 })
    .add({ exchange: 'b', status: 429, headers: ['Retry-After', '2'] });
  const { lane } = await under(log, 'retry_after: { max: 10s }');
  assert.deepEqual(lane?.actions, { 'wait (rate) -> fail: wait_too_long': of('a') });
  assert.deepEqual(lane?.waits_ms, { recorded: 32_000, what_if: 2_000 });

  const long = new MadeLog().add({
    ...{ exchange: 'c', status: 429, headers: ['Retry-After', '7200'] },
  });
  const after = await under(long, 'patience: 4h, retry_after: { max: 3h }');
  assert.deepEqual(after.lane?.actions, { 'fail: wait_too_long -> wait (rate)': of('c') });
});

test('a smaller budget denies the retries that it does not pay for', async () => {
  const log = new MadeLog();
  for (const exchange of ['a', 'b', 'c', 'd', 'e']) {
    log.add({ exchange, status: 503 }).add({ exchange, n: 2, status: 200 });
  }
  const { lane, host } = await under(log, 'budget: { ratio: 0, floor_per_minute: 3 }');
  assert.deepEqual(lane?.actions, {
    'wait (transient) -> fail: retry_budget_spent': of('d', 'e'),
  });
  assert.deepEqual(lane?.budget_denials, { recorded: 0, what_if: 2 });
  assert.equal(host?.lowest_budget.what_if, 0);
  assert.ok((host?.lowest_budget.recorded ?? 0) >= 1);
});

test('a larger budget pays for retries that were denied', async () => {
  const log = new MadeLog({ budget: { ratio: 0, floorPerMinute: 1, windowMs: 60_000 } })
    .add({ exchange: 'a', status: 503 })
    .add({ exchange: 'b', status: 503, progress: { budgetLeft: false } })
    .add({ exchange: 'c', status: 503, progress: { budgetLeft: false } });
  const { lane } = await under(log, 'budget: { ratio: 0, floor_per_minute: 2 }');
  assert.deepEqual(lane?.actions, { 'fail: retry_budget_spent -> wait (transient)': of('b') });
  assert.deepEqual(lane?.budget_denials, { recorded: 2, what_if: 1 });
});

test('a breaker that opens sooner holds back what started meanwhile', async () => {
  const log = new MadeLog({ maxAttempts: 1 });
  for (const exchange of ['a', 'b', 'c', 'd']) log.add({ exchange, status: 503 });
  log.add({ exchange: 'late', atS: 120, status: 200 });
  const { found, lane, host } = await under(log, 'max_attempts: 1, breaker: { consecutive: 2 }');
  assert.deepEqual(lane?.held.breaker, of('c', 'd'));
  assert.deepEqual(host?.breaker_trips, { recorded: 0, what_if: 1 });
  assert.deepEqual(found.different, of('c', 'd'));
});

test('a breaker that opens later lets through what was refused', async () => {
  const log = new MadeLog({
    maxAttempts: 1,
    breaker: { consecutive: 2, minAttempts: 2 },
  });
  for (const exchange of ['a', 'b']) log.add({ exchange, status: 503 });
  const refused = { v: 1, kind: 'end', exchange: 'c', lane: 'shop.test', attempts: 0 } as const;
  const at = Date.UTC(2026, 0, 1) + 4_000;
  log.lines.push({ ...refused, at, waitedMs: 0, stop: 'breaker_open', answered: 503 });
  const { found, lane, host } = await under(log, 'max_attempts: 1');
  assert.deepEqual(lane?.held.released, of('c'));
  assert.deepEqual(host?.breaker_trips, { recorded: 1, what_if: 0 });
  assert.deepEqual(found.different, of('c'));
});

test('max_attempts ends the retries of an exchange earlier', async () => {
  const log = new MadeLog()
    .add({ exchange: 'a', status: 500 })
    .add({ exchange: 'a', n: 2, status: 500 })
    .add({ exchange: 'a', n: 3, status: 200 });
  const { found, lane } = await under(log, 'max_attempts: 2');
  assert.deepEqual(lane?.actions, { 'wait (transient) -> fail: attempts_exhausted': of('a') });
  assert.deepEqual([found.compared, found.not_compared[0]?.count], [2, 1]);
});

test('patience is counted from the start of the exchange', async () => {
  const log = new MadeLog()
    .add({ exchange: 'a', status: 503, sinceS: 15 })
    .add({ exchange: 'b', status: 503, sinceS: 5 });
  const { lane } = await under(log, 'patience: 10s');
  assert.deepEqual(lane?.actions, { 'wait (transient) -> fail: patience_exceeded': of('a') });
});

test('what the client itself asked for stays in force', async () => {
  const log = new MadeLog().add({ exchange: 'a', status: 503, sinceS: 15 });
  const [, , attempt] = log.lines;
  assert.ok(attempt?.kind === 'attempt');
  const request = { ...attempt.request, wished: { patienceMs: 60_000 } };
  log.lines[2] = { ...attempt, request };
  const { found } = await under(log, 'patience: 10s');
  assert.deepEqual([found.different, found.rules], [of(), []]);
});

test('max_addresses turns rotations into an end, or a block into one of the whole path', async () => {
  const log = new MadeLog()
    .add({ exchange: 'a', status: 403, route: 'r1' })
    .add({
      ...{ exchange: 'a', n: 2, status: 403, route: 'r2', blockedAddresses: ['r1'] },
      ledger: { transientRetries: 0, rotations: 1, addresses: ['r1', 'r2'] },
    })
    .add({
      ...{ exchange: 'b', n: 2, status: 403, route: 'r3', path: '/other' },
      ledger: { transientRetries: 0, rotations: 1, addresses: ['r1', 'r3'] },
    });
  const { lane } = await under(log, 'max_addresses: 2');
  assert.deepEqual(lane?.verdicts, { 'route/blocked -> client/persistent_block': of('a') });
  assert.deepEqual(lane?.actions, {
    'rotate -> deliver': of('a'),
    'rotate -> fail: addresses_exhausted': of('b'),
  });
  assert.deepEqual(lane?.rotations, { recorded: 3, what_if: 1 });
});

test('rules over replies give other verdicts, whether or not anything else is done', async () => {
  const log = new MadeLog()
    .add({ exchange: 'a', status: 400, text: 'ENTRY_DELETED' })
    .add({ exchange: 'b', status: 400, text: 'bad input' })
    .add({ exchange: 'c', status: 404, text: 'indexing, come back' });
  const terminal = '{ when: { status: 400, body_contains: DELETED }, verdict: terminal }';
  const transient = '{ when: { status: 404, body_contains: indexing }, verdict: transient }';
  const { found, lane } = await under(log, `replies: [${terminal}, ${transient}]`);
  assert.deepEqual(lane?.verdicts, {
    'client/rejected -> client/rule': of('a'),
    'client/not_found -> host/overloaded': of('c'),
  });
  assert.deepEqual(lane?.actions, { 'deliver -> wait (transient)': of('c') });
  assert.deepEqual(found.different, of('c'));
});

const EXPECT = 'expect: [{ when: { status: 200 }, body_contains: price, else: address }]';

test('what a good page must show is looked for in bodies that were kept', async () => {
  const log = new MadeLog({}, { goodChars: 1_000, otherChars: 1_000 })
    .add({ exchange: 'a', status: 200, text: 'price: 3' })
    .add({ exchange: 'b', status: 200, text: 'please enable scripts' });
  const { found, lane } = await under(log, EXPECT);
  assert.deepEqual(lane?.actions, { 'deliver -> rotate': of('b') });
  assert.deepEqual(lane?.rotations, { recorded: 0, what_if: 1 });
  assert.deepEqual(found.doubtful, []);
});

test('of bodies that were not kept it is said that nothing is known', async () => {
  const log = new MadeLog().add({ exchange: 'a', status: 200, text: 'please enable scripts' });
  const { found } = await under(log, EXPECT);
  assert.deepEqual(found.different, of());
  assert.deepEqual(found.doubtful, [
    {
      why: 'bodies that are not whole in the log, under rules that look into them',
      ...of('a'),
    },
  ]);
  const replies = 'replies: [{ when: { status: 404, body_contains: x }, verdict: terminal }]';
  assert.deepEqual((await under(log, replies)).found.doubtful, []);
});

test("the user's own markers are looked for", async () => {
  const log = new MadeLog({}, { goodChars: 1_000, otherChars: 1_000 })
    .add({ exchange: 'a', status: 200, text: 'please wait in the queue' })
    .add({ exchange: 'b', status: 200, text: 'a page' });
  const { lane } = await under(log, 'markers: [{ id: queue, kind: wall, body: ["in the queue"] }]');
  assert.deepEqual(lane?.verdicts, { 'none/ok -> route/challenged': of('a') });
});

test('replay_methods says what may be sent again', async () => {
  const log = new MadeLog()
    .add({ exchange: 'a', status: 500, method: 'POST' })
    .add({ exchange: 'b', status: 500, method: 'PUT' });
  const { lane } = await under(log, 'replay_methods: [GET, POST]');
  assert.deepEqual(lane?.actions, {
    'fail: maybe_executed -> wait (transient)': of('a'),
    'wait (transient) -> fail: maybe_executed': of('b'),
  });
});

/** An exchange that waits twice, for half of 1 s and half of 2 s. */
const backedOff = () =>
  new MadeLog()
    .add({ exchange: 'a', status: 503, sinceS: 1 })
    .add({ exchange: 'a', n: 2, status: 503, sinceS: 2 })
    .add({ exchange: 'a', n: 3, status: 200, sinceS: 4 });

test('a wait of another length ends the comparison, unless the same replies are assumed', async () => {
  const { found, lane } = await under(backedOff(), 'backoff: { base: 4s }');
  assert.deepEqual(lane?.longer_waits, of('a'));
  assert.deepEqual(lane?.waits_ms, { recorded: 500, what_if: 2_000 });
  assert.deepEqual(found.not_compared[0]?.count, 2);

  const on = await under(backedOff(), 'backoff: { base: 4s }', '--assume-same-replies');
  assert.deepEqual(on.lane?.longer_waits, { count: 2, exchanges: ['a'] });
  assert.deepEqual(on.lane?.waits_ms, { recorded: 1_500, what_if: 6_000 });
  assert.deepEqual([on.found.different, on.found.not_compared], [of('a'), []]);
  const short = await under(backedOff(), 'backoff: { base: 500ms }', '--assume-same-replies');
  assert.deepEqual(short.lane?.shorter_waits.count, 2);
});

test('longer waits use up patience where the same replies are assumed', async () => {
  const { lane } = await under(
    backedOff(),
    'patience: 6s, backoff: { base: 4s }',
    '--assume-same-replies',
  );
  assert.deepEqual(lane?.longer_waits, of('a'));
  assert.deepEqual(lane?.actions, { 'wait (transient) -> fail: patience_exceeded': of('a') });
});

test('what changes when attempts start is named as not replayed', async () => {
  const { found } = await under(
    overloads(),
    'pace: { concurrency: 1 }, byte_budget: { per_day: 5MB }',
  );
  assert.deepEqual(found.rules.map(({ key, replayed: isPlayed }) => [key, isPlayed]).sort(), [
    ['byteBudget.perDay', false],
    ['pace.concurrency', false],
  ]);
  assert.equal(found.different.count, 0);
});

test('targets of the other configuration are found by host, path and method', async () => {
  const log = new MadeLog()
    .add({ exchange: 'a', status: 503, path: '/slow/1' })
    .add({ exchange: 'b', status: 503, path: '/fast/1' });
  const target = '{ match: "shop.test/slow/**", max_attempts: 1 }';
  const found = await replayed(log.file(), `targets: [${target}]\n`);
  assert.deepEqual(found.lanes[0]?.actions, {
    'wait (transient) -> fail: attempts_exhausted': of('a'),
  });
});

test('parts of a body, lost lines and rules that are not in the log are told', async () => {
  const log = overloads();
  const last = log.lines.at(-1);
  assert.ok(last?.kind === 'attempt');
  const { basis: _basis, ...part } = last;
  log.lines.push({ ...part, exchange: 'part' }, { ...last, exchange: 'odd', policy: 'gone' });
  log.lines.push({ v: 1, kind: 'gap', at: 0, lines: 7 });
  const found = await replayed(log.file(), 'policy: {}\n');
  assert.deepEqual(found.not_compared, [
    { why: 'requests for the rest of a body', ...of('part') },
    { why: 'under rules that are not in the log', ...of('odd') },
  ]);
  assert.equal(found.missing_lines, 7);
});

test('a judgement of another version is compared as well, and called doubtful', async () => {
  const log = new MadeLog().add({ exchange: 'a', status: 404 });
  const [, , attempt] = log.lines;
  assert.ok(attempt?.kind === 'attempt');
  const evidence = { kind: 'status', status: 404 } as const;
  log.lines[0] = { v: 1, kind: 'head', at: 0, forbear: '0.0.1-other' };
  log.lines[2] = { ...attempt, verdict: { fault: 'client', reason: 'rejected', evidence } };
  const { found } = await under(log, '');
  assert.deepEqual(found.lanes[0]?.verdicts, { 'client/rejected -> client/not_found': of('a') });
  assert.deepEqual(found.doubtful, [
    { why: 'judged differently now although the rules are the same', ...of('a') },
  ]);
});
