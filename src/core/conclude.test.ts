import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Conclusion, conclude, type Ending } from './conclude.ts';
import type { FailureReply, ResponseReply, Verdict } from './verdict.ts';

const reply = (status: number, rawHeaders: string[] = []): ResponseReply => ({
  kind: 'response',
  via: 'tunnel',
  status,
  rawHeaders,
  body: { kind: 'seen', text: '', receivedBytes: 0, end: 'complete', coding: 'ok' },
  headMs: 1,
});
const failed = (
  code: FailureReply['code'],
  phase: FailureReply['phase'] = 'first_byte',
): FailureReply => ({
  kind: 'failure',
  via: 'tunnel',
  phase,
  code,
  leg: 'origin',
  sent: true,
  detail: '',
});
const seen = { kind: 'status', status: 0 } as const;
const verdicts = {
  good: { fault: 'none', reason: 'ok', evidence: seen },
  missing: { fault: 'client', reason: 'not_found', evidence: seen },
  rule: { fault: 'client', reason: 'rule', evidence: seen },
  rate: { fault: 'host', kind: 'rate', reason: 'rate_limited', evidence: seen, waitMs: 7000 },
  overloaded: { fault: 'host', kind: 'transient', reason: 'overloaded', evidence: seen },
  unexpected: { fault: 'host', kind: 'transient', reason: 'unexpected', evidence: seen },
  truncated: { fault: 'host', kind: 'transient', reason: 'truncated', evidence: seen },
  reset: { fault: 'host', kind: 'transient', reason: 'reset', evidence: seen },
  slow: { fault: 'host', kind: 'transient', reason: 'slow', evidence: seen },
  blocked: { fault: 'route', reason: 'blocked', scope: 'lane', evidence: seen },
  challenged: { fault: 'route', reason: 'challenged', scope: 'lane', evidence: seen },
  auth: { fault: 'account', reason: 'upstream_auth', evidence: seen },
  certificate: { fault: 'client', reason: 'untrusted_certificate', evidence: seen },
  malformed: { fault: 'client', reason: 'malformed_reply', evidence: seen },
  prohibited: { fault: 'client', reason: 'prohibited', evidence: seen },
  badRequest: { fault: 'client', reason: 'bad_request', evidence: seen },
} satisfies Record<string, Verdict>;

function ending(change: Partial<Ending>): Ending {
  return {
    verdict: undefined,
    stop: undefined,
    reply: undefined,
    deliverable: true,
    retryAfterMs: undefined,
    ...change,
  };
}

const told = (c: Conclusion) =>
  c.kind === 'pass' ? ['pass', c.addRetryAfterMs] : [c.status, c.token, c.retryAfterMs];

const rows: readonly (readonly [string, Partial<Ending>, unknown[]])[] = [
  ['a good reply passes', { reply: reply(200), verdict: verdicts.good }, ['pass', undefined]],
  ['a 404 passes', { reply: reply(404), verdict: verdicts.missing }, ['pass', undefined]],
  [
    'a final 200 of a rule passes',
    { reply: reply(200), verdict: verdicts.rule },
    ['pass', undefined],
  ],
  [
    'a 503 passes as it came',
    { reply: reply(503), verdict: verdicts.overloaded, stop: 'attempts_exhausted' },
    ['pass', undefined],
  ],
  [
    'a 403 passes as it came',
    { reply: reply(403), verdict: verdicts.blocked, stop: 'addresses_exhausted' },
    ['pass', undefined],
  ],
  [
    'a burned session hands over its 403',
    { reply: reply(403), verdict: verdicts.blocked, stop: 'session_burned' },
    ['pass', undefined],
  ],
  [
    'a 429 keeps its own Retry-After',
    { reply: reply(429, ['Retry-After', '7']), verdict: verdicts.rate, stop: 'patience_exceeded' },
    ['pass', undefined],
  ],
  [
    'a 429 whose wait came from another header gets one',
    { reply: reply(429), verdict: verdicts.rate, stop: 'patience_exceeded' },
    ['pass', 7000],
  ],
  [
    'a 503 does not get one',
    { reply: reply(503), verdict: verdicts.rate, stop: 'patience_exceeded' },
    ['pass', undefined],
  ],
  [
    'a challenge behind a 200 never passes',
    { reply: reply(200), verdict: verdicts.challenged, stop: 'no_route' },
    [502, 'destination_unavailable', undefined],
  ],
  [
    'not even when it burns a session',
    { reply: reply(200), verdict: verdicts.challenged, stop: 'session_burned' },
    [502, 'http_request_denied', undefined],
  ],
  [
    'an unexpected 201 never passes',
    { reply: reply(201), verdict: verdicts.unexpected, stop: 'attempts_exhausted' },
    [502, 'destination_unavailable', undefined],
  ],
  [
    'a redirect that failed validation never passes',
    { reply: reply(302), verdict: verdicts.unexpected, stop: 'attempts_exhausted' },
    [502, 'destination_unavailable', undefined],
  ],
  [
    'half a page never passes',
    { reply: reply(200), verdict: verdicts.truncated, stop: 'attempts_exhausted' },
    [502, 'http_response_incomplete', undefined],
  ],
  [
    'half an error page does not either',
    {
      reply: reply(500),
      verdict: verdicts.truncated,
      stop: 'attempts_exhausted',
      deliverable: false,
    },
    [502, 'http_response_incomplete', undefined],
  ],
  [
    "the provider's 407 is never the client's",
    { reply: reply(407), verdict: verdicts.auth, stop: 'no_route' },
    [502, 'proxy_configuration_error', undefined],
  ],
  [
    'a reply that is lost is answered for',
    {
      reply: reply(503),
      verdict: verdicts.overloaded,
      stop: 'breaker_open',
      deliverable: false,
      retryAfterMs: 5000,
    },
    [503, 'destination_unavailable', 5000],
  ],
  [
    'an open breaker in mid-exchange hands over the last reply',
    { reply: reply(503), verdict: verdicts.overloaded, stop: 'breaker_open', retryAfterMs: 5000 },
    ['pass', undefined],
  ],
  [
    'an open breaker is a 503',
    { stop: 'breaker_open', retryAfterMs: 5000 },
    [503, 'destination_unavailable', 5000],
  ],
  [
    'a full queue is a 503',
    { stop: 'queue_full', retryAfterMs: 5000 },
    [503, 'connection_limit_reached', 5000],
  ],
  [
    'stopping is a 503',
    { stop: 'draining', retryAfterMs: 1000 },
    [503, 'proxy_internal_response', 1000],
  ],
  [
    'a pause longer than the patience is a 429',
    { stop: 'lane_paused', retryAfterMs: 5000 },
    [429, 'connection_limit_reached', 5000],
  ],
  [
    'a burned session is a 409',
    { stop: 'session_burned' },
    [409, 'http_request_denied', undefined],
  ],
  [
    'an expired session is a 409',
    { stop: 'session_expired' },
    [409, 'http_request_denied', undefined],
  ],
  [
    'a session where none can be held is a 409',
    { stop: 'session_unsupported' },
    [409, 'proxy_configuration_error', undefined],
  ],
  [
    "a blown fuse gives the origin's last status",
    { stop: 'auth_fuse', fuseStatus: 403 },
    [403, 'http_request_denied', undefined],
  ],
  [
    'no way out is a 503 before anything was sent',
    { stop: 'no_route', retryAfterMs: 9000 },
    [503, 'destination_unavailable', 9000],
  ],
  [
    'no way out for want of credentials or quota is told as the configuration',
    { stop: 'no_route', retryAfterMs: 9000, accountsOut: true },
    [503, 'proxy_configuration_error', 9000],
  ],
  [
    'a day whose bytes are spent is a 503 until the next one',
    { stop: 'byte_budget_spent', retryAfterMs: 9000 },
    [503, 'connection_limit_reached', 9000],
  ],
  [
    'a turn that never came is a 503',
    { stop: 'patience_exceeded' },
    [503, 'destination_unavailable', undefined],
  ],
  [
    'a reset is a 502',
    { reply: failed('connection_reset'), verdict: verdicts.reset, stop: 'attempts_exhausted' },
    [502, 'connection_terminated', undefined],
  ],
  [
    'a silent site is a 504',
    { reply: failed('timeout'), verdict: verdicts.slow, stop: 'attempts_exhausted' },
    [504, 'http_response_timeout', undefined],
  ],
  [
    'a connect timeout says so',
    { reply: failed('timeout', 'dial'), verdict: verdicts.slow, stop: 'attempts_exhausted' },
    [504, 'connection_timeout', undefined],
  ],
  [
    'a patience that ends in mid-attempt is a 504',
    { reply: failed('patience'), stop: 'patience_exceeded' },
    [504, 'http_response_timeout', undefined],
  ],
  [
    'a bad certificate is a 502',
    { reply: failed('certificate', 'tls'), verdict: verdicts.certificate },
    [502, 'tls_certificate_error', undefined],
  ],
  [
    'an origin that speaks no protocol of ours is a 502',
    { reply: failed('no_common_protocol', 'tls'), verdict: verdicts.malformed },
    [502, 'tls_alert_received', undefined],
  ],
  [
    'a private target is a 403',
    { reply: failed('prohibited', 'resolve'), verdict: verdicts.prohibited },
    [403, 'destination_ip_prohibited', undefined],
  ],
  [
    'an impossible request is a 400',
    { reply: failed('invalid_request', 'send'), verdict: verdicts.badRequest },
    [400, 'http_request_error', undefined],
  ],
  ['a bug is a 500', {}, [500, 'proxy_internal_error', undefined]],
];

describe('conclude', () => {
  for (const [name, change, expected] of rows) {
    test(name, () => assert.deepEqual(told(conclude(ending(change))), expected));
  }

  test('a marked reply carries a token, a plain one does not', () => {
    const marked = conclude(
      ending({ reply: reply(503), verdict: verdicts.overloaded, stop: 'attempts_exhausted' }),
    );
    const plain = conclude(ending({ reply: reply(200), verdict: verdicts.good }));
    assert.equal(marked.kind === 'pass' && marked.token, 'destination_unavailable');
    assert.equal(plain.kind === 'pass' && plain.token, undefined);
  });

  test('a reply of its own names the stop, and says in a sentence what was seen and why it ended', () => {
    const own = conclude(
      ending({
        reply: failed('connection_reset'),
        verdict: verdicts.reset,
        stop: 'retry_budget_spent',
      }),
    );
    assert.equal(own.kind === 'own' && own.reason, 'retry_budget_spent');
    assert.match(own.detail ?? '', /^The status was 0\. The lane's retry budget is spent\.$/);
  });

  test('a reply of its own tells the status of the one it does not pass on', () => {
    const hidden = conclude(
      ending({ reply: reply(200), verdict: verdicts.challenged, stop: 'no_route' }),
    );
    const none = conclude(ending({ stop: 'breaker_open' }));
    assert.equal(hidden.kind === 'own' && hidden.receivedStatus, 200);
    assert.equal(none.kind === 'own' && none.receivedStatus, undefined);
  });
});
