import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Rotate } from '../src/core/action.ts';
import type { RateVerdict, Reply } from '../src/core/verdict.ts';
import { failure, play, response } from './support/playbook.ts';
import { policyWith } from './support/policy.ts';

const policy = policyWith();

test('a good page is delivered at the first try', async () => {
  assert.deepEqual(await play([response(200)], { policy }), [
    'attempt via a',
    'deliver',
    'answer 200',
  ]);
});

test('a ban rotates; a rate limit then waits as long as it was told and keeps its route', async () => {
  const script = await play([response(403), response(429, ['Retry-After', '2']), response(200)], {
    policy,
  });
  assert.deepEqual(script, [
    'attempt via a',
    'rotate charged',
    'attempt via b',
    'wait 2000',
    'attempt via b',
    'deliver',
    'answer 200',
  ]);
});

test('a 404 is an answer, not a failure', async () => {
  assert.deepEqual(await play([response(404)], { policy }), [
    'attempt via a',
    'deliver',
    'answer 404',
  ]);
});

test('a site in trouble is asked again on the same route until the attempts are used up', async () => {
  const script = await play(Array(5).fill(response(503)), { policy });
  assert.deepEqual(
    script.filter((l) => l.startsWith('attempt')),
    Array(5).fill('attempt via a'),
  );
  assert.deepEqual(script.slice(-2), ['stop: attempts_exhausted', 'answer 503']);
});

test('backoff doubles and stays below its ceiling', async () => {
  const script = await play(Array(5).fill(response(500)), { policy });
  assert.deepEqual(
    script.filter((l) => l.startsWith('wait')),
    ['wait 500 charged', 'wait 1000 charged', 'wait 2000 charged', 'wait 4000 charged'],
  );
});

test('without budget the first failure is the answer', async () => {
  assert.deepEqual(await play([response(503)], { policy, budget: 0 }), [
    'attempt via a',
    'fail',
    'stop: retry_budget_spent',
    'answer 503',
  ]);
});

test('a rate wait is free of charge: it passes with an empty budget', async () => {
  const script = await play([response(429, ['Retry-After', '1']), response(200)], {
    policy,
    budget: 0,
  });
  assert.deepEqual(script, [
    'attempt via a',
    'wait 1000',
    'attempt via a',
    'deliver',
    'answer 200',
  ]);
});

test('a wait longer than the patience ends the exchange at once, with the reply as it came', async () => {
  assert.deepEqual(await play([response(429, ['Retry-After', '600'])], { policy }), [
    'attempt via a',
    'fail',
    'stop: patience_exceeded',
    'answer 429',
  ]);
});

test('a wait beyond retry_after.max is never clipped and tried early', async () => {
  const long = policyWith({ patienceMs: 10 * 3_600_000 });
  assert.deepEqual(await play([response(429, ['Retry-After', '7200'])], { policy: long }), [
    'attempt via a',
    'fail',
    'stop: wait_too_long',
    'answer 429',
  ]);
});

test('not more than max_addresses addresses are shown to one host', async () => {
  const script = await play([response(403), response(403), response(403)], {
    policy,
    routes: ['a', 'b', 'c', 'd', 'e'],
  });
  assert.deepEqual(script.slice(-3), ['fail', 'stop: addresses_exhausted', 'answer 403']);
});

test('an address that is away costs the host nothing and another is taken', async () => {
  const away = failure('connection_refused', { phase: 'dial', leg: 'upstream', sent: false });
  const script = await play([away, response(200)], { policy, budget: 0 });
  assert.deepEqual(script, ['attempt via a', 'rotate', 'attempt via b', 'deliver', 'answer 200']);
});

test('the only address there is, when it is away, is waited for', async () => {
  const away = failure('connection_refused', { phase: 'dial', leg: 'upstream', sent: false });
  const script = await play([away, response(200)], { policy, routes: ['a'] });
  assert.deepEqual(script, ['attempt via a', 'wait 500', 'attempt via a', 'deliver', 'answer 200']);
});

test('in a session a block burns it and the address is never swapped', async () => {
  assert.deepEqual(await play([response(403)], { policy, session: 'tester/s1' }), [
    'attempt via a',
    'burn',
    'burn the session',
    'stop: session_burned',
    'answer 403',
  ]);
});

test('in a session a throttle and trouble keep the address', async () => {
  const script = await play([response(429, ['Retry-After', '2']), response(503), response(200)], {
    policy,
    session: 'tester/s1',
  });
  assert.deepEqual(
    script.filter((l) => l.startsWith('attempt')),
    Array(3).fill('attempt via a'),
  );
});

test('a POST that may have been executed is not sent twice', async () => {
  const script = await play([failure('connection_reset')], { policy, method: 'POST' });
  assert.deepEqual(script, ['attempt via a', 'fail', 'stop: maybe_executed', 'answer of its own']);
});

test('a POST that was refused before it was processed is sent again after the wait', async () => {
  const script = await play([response(429, ['Retry-After', '1']), response(200)], {
    policy,
    method: 'POST',
  });
  assert.deepEqual(script, [
    'attempt via a',
    'wait 1000',
    'attempt via a',
    'deliver',
    'answer 200',
  ]);
});

test('a POST with an Idempotency-Key is repeatable', async () => {
  const script = await play([failure('connection_reset'), response(200)], {
    policy,
    method: 'POST',
    headers: ['Idempotency-Key', 'k1'],
  });
  assert.equal(script.at(-1), 'answer 200');
});

test('a POST of which nothing left this machine is sent again', async () => {
  const away = failure('connection_refused', { phase: 'dial', leg: 'upstream', sent: false });
  const script = await play([away, response(200)], { policy, method: 'POST' });
  assert.equal(script.at(-1), 'answer 200');
});

test('a body too large to be kept is sent once', async () => {
  const script = await play([response(503)], { policy, method: 'PUT', bodyKept: false });
  assert.deepEqual(script.slice(-2), ['stop: body_not_replayable', 'answer 503']);
});

test('with retries off every reply is the answer', async () => {
  for (const status of [403, 429, 503])
    assert.deepEqual(await play([response(status)], { policy, retry: 'off' }), [
      'attempt via a',
      'fail',
      'stop: retry_off',
      `answer ${status}`,
    ]);
});

const anyReply: fc.Arbitrary<Reply> = fc.oneof(
  fc
    .constantFrom(200, 204, 301, 400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504)
    .chain((status) =>
      fc
        .constantFrom<readonly string[]>(
          [],
          ['Retry-After', '1'],
          ['X-RateLimit-Remaining', '0'],
          ['cf-mitigated', 'challenge'],
        )
        .map((headers) => response(status, headers)),
    ),
  fc.constantFrom(
    failure('connection_refused', { phase: 'dial', leg: 'upstream', sent: false }),
    failure('connection_reset'),
    failure('timeout'),
    failure('certificate', { phase: 'tls', sent: false }),
    failure('upstream_refused', {
      phase: 'upstream_handshake',
      leg: 'upstream',
      sent: false,
      upstreamReply: { status: 407, rawHeaders: [], text: '' },
    }),
  ),
);

test('whatever a site answers, a throttle is never followed by another address', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyReply, { maxLength: 12 }),
      fc.boolean(),
      async (replies, session) => {
        const script = await play([...replies, ...Array(20).fill(response(200))], {
          policy: policyWith({ patienceMs: 3_600_000, maxAttempts: 9, maxAddresses: 5 }),
          routes: ['a', 'b', 'c', 'd', 'e'],
          ...(session ? { session: 'tester/s' } : {}),
        });
        const attempts = script.filter((l) => l.startsWith('attempt'));
        const acts = script.filter((l) => /^(wait|rotate|deliver|burn$|fail)/.test(l));
        acts.forEach((act, n) => {
          const reply = replies[n];
          if (reply === undefined || !isThrottle(reply)) return;
          assert.doesNotMatch(act, /^rotate/);
          if (act.startsWith('wait')) assert.equal(attempts[n + 1] ?? attempts[n], attempts[n]);
        });
        if (session) assert.equal(new Set(attempts).size, 1);
        assert.ok(new Set(attempts).size <= 5);
      },
    ),
    { numRuns: 500 },
  );
});

const isThrottle = (reply: Reply): boolean =>
  reply.kind === 'response' &&
  !reply.rawHeaders.includes('cf-mitigated') &&
  (reply.status === 429 ||
    ([403, 413, 503].includes(reply.status) && reply.rawHeaders.includes('Retry-After')) ||
    (reply.status === 403 && reply.rawHeaders.includes('X-RateLimit-Remaining')));

test('a rotation cannot be made from a rate verdict', () => {
  const rate: RateVerdict = {
    fault: 'host',
    kind: 'rate',
    reason: 'rate_limited',
    evidence: { kind: 'status', status: 429 },
  };
  // @ts-expect-error The compiler refuses it; the type check of this file is the test.
  const rotation: Rotate = { kind: 'rotate', because: rate, charged: false };
  assert.ok(rotation);
});
