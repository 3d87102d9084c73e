import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  failure,
  judge,
  NOW_WALL,
  page,
  response,
  seen,
  told,
} from '../../test/support/judging.ts';
import { policyWith } from '../../test/support/policy.ts';
import { classify, type Judge, wasUnprocessed } from './classify.ts';
import type { Reply } from './verdict.ts';

const verdictOf = (reply: Reply, change: Partial<Judge> = {}): string =>
  told(classify(reply, judge(change)));

type Row = readonly [name: string, reply: Reply, verdict: string];

function table(rows: readonly Row[], change: Partial<Judge> = {}): void {
  for (const [name, reply, verdict] of rows) {
    test(`${name} is ${verdict}`, () => assert.equal(verdictOf(reply, change), verdict));
  }
}

const bare = (status: number, ...rawHeaders: string[]) =>
  response({ status, rawHeaders, body: seen('words') });

describe('a status alone', () => {
  const good = [
    100, 101, 103, 200, 201, 202, 203, 204, 205, 206, 226, 300, 301, 302, 303, 304, 307, 308,
  ];
  const transient = [408, 421, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524];
  const rejected = [400, 402, 405, 406, 407, 409, 411, 412, 413, 414, 415, 416, 417, 418, 422, 423];
  const delivered = [
    424, 426, 428, 431, 451, 499, 501, 505, 506, 507, 508, 510, 511, 525, 526, 999,
  ];
  table([
    ...good.map((status) => [String(status), bare(status), 'none/ok'] as const),
    ...transient.map(
      (status) => [String(status), bare(status), 'host/overloaded transient'] as const,
    ),
    ...[...rejected, ...delivered].map(
      (status) => [String(status), bare(status), 'client/rejected'] as const,
    ),
    ['401', bare(401), 'client/unauthorized'],
    ['403', bare(403), 'route/blocked lane'],
    ['404', bare(404), 'client/not_found'],
    ['410', bare(410), 'client/not_found'],
    ['429', bare(429), 'host/rate_limited rate'],
  ]);

  test('is the evidence', () => {
    for (const status of [200, 401, 403, 404, 429, 500]) {
      assert.deepEqual(classify(bare(status), judge()).evidence, { kind: 'status', status });
    }
  });

  test('is transient where the policy lists it, and not where it does not', () => {
    const policy = policyWith({ transientStatuses: [200, 403, 404, 599] });
    assert.equal(verdictOf(bare(404), { policy }), 'host/overloaded transient');
    assert.equal(verdictOf(bare(403), { policy }), 'host/overloaded transient');
    assert.equal(verdictOf(bare(599), { policy }), 'host/overloaded transient');
    assert.equal(verdictOf(bare(200), { policy }), 'host/unexpected transient');
    assert.equal(verdictOf(bare(500), { policy }), 'client/rejected');
    assert.equal(verdictOf(bare(429), { policy }), 'host/rate_limited rate');
  });
});

describe('rate signals', () => {
  const after = ['Retry-After', '60'] as const;
  const spent = ['X-RateLimit-Remaining', '0', 'X-RateLimit-Reset', '30'] as const;
  table([
    ['429 with Retry-After', bare(429, ...after), 'host/rate_limited rate wait 60000'],
    [
      '429 with a date',
      bare(429, 'Retry-After', 'Thu, 01 Jan 2026 12:00:05 GMT'),
      'host/rate_limited rate wait 5000',
    ],
    ['429 with a reset', bare(429, ...spent), 'host/rate_limited rate wait 30000'],
    ['429 with Retry-After: 0', bare(429, 'Retry-After', '0'), 'host/rate_limited rate'],
    ['429 with garbage', bare(429, 'Retry-After', 'soon'), 'host/rate_limited rate'],
    [
      '429 with a past date',
      bare(429, 'Retry-After', 'Thu, 01 Jan 2026 11:00:00 GMT'),
      'host/rate_limited rate',
    ],
    ['503 with Retry-After', bare(503, ...after), 'host/rate_limited rate wait 60000'],
    ['503 with Retry-After: 0', bare(503, 'Retry-After', '0'), 'host/overloaded transient'],
    ['503 with garbage', bare(503, 'Retry-After', 'soon'), 'host/overloaded transient'],
    ['503 with a reset only', bare(503, 'X-RateLimit-Reset', '30'), 'host/overloaded transient'],
    ['403 with Retry-After', bare(403, ...after), 'host/rate_limited rate wait 60000'],
    ['403 with an unreadable one', bare(403, 'Retry-After', 'soon'), 'host/rate_limited rate'],
    ['403 with nothing remaining', bare(403, ...spent), 'host/rate_limited rate wait 30000'],
    [
      '403 with nothing remaining and no reset',
      bare(403, 'X-RateLimit-Remaining', '0'),
      'host/rate_limited rate',
    ],
    [
      '403 with something remaining',
      bare(403, 'X-RateLimit-Remaining', '1', 'X-RateLimit-Reset', '30'),
      'route/blocked lane',
    ],
    ['413 with Retry-After', bare(413, ...after), 'host/rate_limited rate wait 60000'],
    ['413 with nothing remaining', bare(413, ...spent), 'client/rejected'],
    ['200 with Retry-After', bare(200, ...after), 'none/ok'],
    ['202 with Retry-After', bare(202, ...after), 'none/ok'],
    ['301 with Retry-After', bare(301, ...after), 'none/ok'],
    ['401 with Retry-After', bare(401, ...after), 'client/unauthorized'],
    ['404 with Retry-After', bare(404, ...after), 'client/not_found'],
    ['500 with Retry-After', bare(500, ...after), 'host/overloaded transient'],
    ['502 with Retry-After', bare(502, ...after), 'host/overloaded transient'],
    ['200 with nothing remaining', bare(200, ...spent), 'none/ok pace 30000'],
    ['200 with nothing remaining and no reset', bare(200, 'X-RateLimit-Remaining', '0'), 'none/ok'],
    ['200 with something remaining', bare(200, 'RateLimit', '"a";r=1;t=30'), 'none/ok'],
    ['200 with RateLimit r=0', bare(200, 'RateLimit', '"a";r=0;t=30'), 'none/ok pace 30000'],
    [
      '200 with a small error object',
      page('{"error":"rate limited"}', {
        rawHeaders: ['Content-Type', 'application/json', 'Retry-After', '5'],
      }),
      'host/rate_limited rate wait 5000',
    ],
    [
      '200 with a small throttle page',
      page('<title>Too Many Requests</title>'),
      'host/rate_limited rate',
    ],
    [
      '403 with a throttle’s words',
      page('<title>Too Many Requests</title>', { status: 403 }),
      'host/rate_limited rate',
    ],
    [
      '404 with a throttle’s words',
      page('<title>Too Many Requests</title>', { status: 404 }),
      'client/not_found',
    ],
    [
      '403 with a throttle page of a known maker',
      page('error code: 1015', { status: 403, rawHeaders: ['Server', 'cloudflare'] }),
      'host/rate_limited rate',
    ],
  ]);

  test('are the evidence, with their value', () => {
    assert.deepEqual(classify(bare(429, 'Retry-After', '60'), judge()).evidence, {
      kind: 'header',
      name: 'retry-after',
      value: '60',
      status: 429,
    });
    assert.deepEqual(classify(bare(403, 'X-RateLimit-Remaining', '0'), judge()).evidence, {
      kind: 'header',
      name: 'x-ratelimit-remaining',
      value: '0',
      status: 403,
    });
    assert.deepEqual(classify(page('{"error":"rate limited"}'), judge()).evidence, {
      kind: 'marker',
      marker: 'throttle-text',
      signs: ['rate limited'],
    });
  });
});

describe('plain HTTP by forwarding', () => {
  const forward = (status: number, ...rawHeaders: string[]) =>
    response({ via: 'forward', status, rawHeaders, body: seen('x') });
  table([
    ['502', forward(502), 'host/overloaded transient ambiguous'],
    ['503', forward(503), 'host/overloaded transient ambiguous'],
    ['504', forward(504), 'host/overloaded transient ambiguous'],
    ['500', forward(500), 'host/overloaded transient'],
    ['520', forward(520), 'host/overloaded transient'],
    ['501', forward(501), 'client/rejected'],
    ['503 with Retry-After', forward(503, 'Retry-After', '3'), 'host/rate_limited rate wait 3000'],
    ['429', forward(429), 'host/rate_limited rate'],
    ['403', forward(403), 'route/blocked lane'],
    ['407', forward(407), 'account/upstream_auth'],
    ['402', forward(402), 'account/upstream_quota'],
    ['522', forward(522), 'route/unreachable lane'],
    [
      '502 with Proxy-Status',
      forward(502, 'Proxy-Status', 'p; error=dns_error'),
      'route/unreachable lane',
    ],
    ['502 through a tunnel', response({ via: 'tunnel', status: 502 }), 'host/overloaded transient'],
    ['407 through a tunnel', response({ via: 'tunnel', status: 407 }), 'client/rejected'],
    ['522 through a tunnel', response({ via: 'tunnel', status: 522 }), 'host/overloaded transient'],
  ]);
});

describe('a request was not acted upon', () => {
  const rows: readonly [name: string, reply: Reply, unprocessed: boolean][] = [
    ['by a 429', bare(429), true],
    ['by a 421', bare(421), true],
    ['by a 425', bare(425), true],
    ['by a 503 with Retry-After', bare(503, 'Retry-After', '5'), true],
    ['by a bare 503', bare(503), false],
    ['by a 500 with Retry-After', bare(500, 'Retry-After', '5'), false],
    ['by a 408', bare(408), false],
    ['by a 403', bare(403), false],
    ['by a 200', bare(200), false],
    ['by a failure', failure(), false],
    ['by a failure that says so', { ...failure(), unprocessed: true }, true],
  ];
  for (const [name, reply, unprocessed] of rows) {
    test(`${name}: ${unprocessed}`, () => assert.equal(wasUnprocessed(reply), unprocessed));
  }
});

test('dates are read against the wall clock that is given', () => {
  const reply = bare(429, 'Retry-After', new Date(NOW_WALL + 90_000).toUTCString());
  assert.equal(verdictOf(reply), 'host/rate_limited rate wait 90000');
  assert.equal(
    verdictOf(reply, { nowWall: NOW_WALL + 60_000 }),
    'host/rate_limited rate wait 30000',
  );
});
