import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Ledger } from '../core/action.ts';
import { newLedger } from '../core/ledger.ts';
import type { Policy } from '../core/policy.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Delivery, Exchange, Route, Stage } from '../exchange/ports.ts';
import type { ProxyEvent } from './events.ts';
import { createLog, type LogOptions } from './log.ts';
import { cleanText } from './log-text.ts';

const T = 1_700_000_000_000;

const route: Route = {
  id: 'r1',
  label: 'residential#a1b2',
  upstream: 'residential',
  way: {
    kind: 'http',
    host: 'gate.test',
    port: 7777,
    username: 'customer-secretname',
    password: 'hunter2',
    headers: ['X-Key', 'topsecret'],
    plain: 'forward',
  },
  session: undefined,
  generation: 0,
};

function exchangeOf(over: Partial<Exchange> = {}): Exchange {
  return {
    id: 'x1',
    client: { name: 'alice', address: '127.0.0.1' },
    target: {
      scheme: 'https',
      host: 'shop.test',
      port: 443,
      authority: 'shop.test',
      path: '/cart?token=sesame#frag',
    },
    method: 'GET',
    rawHeaders: ['Cookie', 'sid=cookiesecret', 'Authorization', 'Bearer bearersecret'],
    body: {
      length: 0,
      present: false,
      replayable: true,
      open: () => assert.fail(),
      rawTrailers: [],
    },
    policy: {} as Policy,
    session: 's1',
    country: undefined,
    expectText: undefined,
    retry: 'on',
    startedAt: T,
    deadline: T + 60_000,
    signal: new AbortController().signal,
    stage: { kind: 'queued', sinceAt: T, untilAt: undefined },
    ...over,
  };
}

const ok: Verdict = { fault: 'none', reason: 'ok', evidence: { kind: 'status', status: 200 } };
const throttled: Verdict = {
  fault: 'host',
  kind: 'rate',
  reason: 'rate_limited',
  evidence: { kind: 'header', name: 'Retry-After', value: '5', status: 429 },
  waitMs: 5000,
};

function finished(over: Partial<Delivery> = {}, exchange = exchangeOf()): ProxyEvent {
  const ledger: Ledger = { ...newLedger, attempts: 3, waitedMs: 1200.4 };
  const delivery: Delivery = {
    received: undefined,
    verdict: ok,
    stop: undefined,
    retryAfterMs: undefined,
    ledger,
    route,
    ...over,
  };
  return {
    type: 'exchange_finished',
    at: T + 2300,
    exchange,
    delivery,
    answered: 200,
    sentBytes: 310,
    receivedBytes: 12_345,
  };
}

function attempted(): ProxyEvent {
  return {
    type: 'attempt_finished',
    at: T,
    exchange: exchangeOf(),
    lane: 'shop.test',
    n: 1,
    route,
    reply: {
      kind: 'response',
      via: 'tunnel',
      status: 429,
      rawHeaders: ['Set-Cookie', 'a=setcookiesecret'],
      body: { kind: 'none' },
      headMs: 3,
    },
    verdict: throttled,
    action: { kind: 'wait', ledger: 'rate', delayMs: 5000, charged: false },
    sentBytes: 0,
    receivedBytes: 0,
    durationMs: 31,
  };
}

function heartbeat(stage: Stage): ProxyEvent {
  return { type: 'heartbeat', at: T + 15_000, exchange: exchangeOf(), stage };
}

function lines(events: readonly ProxyEvent[], options: Partial<LogOptions> = {}) {
  let text = '';
  const log = createLog({
    level: 'info',
    format: 'json',
    destination: {
      write: (chunk: string) => {
        text += chunk;
      },
    },
    ...options,
  });
  for (const event of events) log.emit(event);
  log.close();
  return text;
}

function parsed(events: readonly ProxyEvent[], options: Partial<LogOptions> = {}) {
  return lines(events, options)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

test('an exchange is one line at info with its facts in OpenTelemetry places', () => {
  const [line, ...more] = parsed([finished()]);
  assert.equal(more.length, 0);
  assert.match(line.time, /^\d{4}-\d\d-\d\dT/);
  assert.equal(line.level, 'info');
  assert.equal(line.http.request.method, 'GET');
  assert.equal(line.http.request.resend_count, 2);
  assert.equal(line.http.request.body.size, 310);
  assert.equal(line.http.response.status_code, 200);
  assert.equal(line.http.response.body.size, 12_345);
  assert.deepEqual(line.server, { address: 'shop.test', port: 443 });
  assert.deepEqual(line.url, { scheme: 'https', path: '/cart' });
  assert.deepEqual(line.session, { id: 's1' });
  assert.deepEqual(line.forbear, {
    exchange: 'x1',
    verdict: 'none/ok',
    attempts: 3,
    waited_ms: 1200,
    route: 'residential#a1b2',
    client: 'alice',
    duration_ms: 2300,
  });
  assert.equal(line.error, undefined);
});

test('a given-up exchange names the stop as its error', () => {
  const [line] = parsed([finished({ verdict: throttled, stop: 'patience_exceeded' })]);
  assert.equal(line.error.type, 'patience_exceeded');
  assert.equal(line.forbear.stop, 'patience_exceeded');
  assert.match(line.message, /not tried again/);
});

test('a client that left is no status', () => {
  const [line] = parsed([{ ...finished(), answered: 'client_gone' } as ProxyEvent]);
  assert.equal(line.http.response.status_code, undefined);
  assert.equal(line.forbear.answered, 'client_gone');
});

test('attempts are told at debug, with the sentence of why', () => {
  assert.equal(lines([attempted()]), '');
  const [line] = parsed([attempted()], { level: 'debug' });
  assert.equal(line.level, 'debug');
  assert.match(line.forbear.explain, /Retry-After: 5/);
  assert.ok(line.message.includes(line.forbear.explain));
  assert.equal(line.forbear.action, 'wait');
});

test('a heartbeat says what is waited for and how long still', () => {
  const [line] = parsed([heartbeat({ kind: 'paused', sinceAt: T, untilAt: T + 45_000 })]);
  assert.equal(line.level, 'info');
  assert.match(
    line.message,
    /^still waiting: GET https:\/\/shop\.test\/cart .*pause.* 15 s so far, 30 s to go$/,
  );
  assert.equal(line.forbear.left_ms, 30_000);
});

test('a heartbeat without a known end promises none', () => {
  const [line] = parsed([heartbeat({ kind: 'awaiting_reply', sinceAt: T, untilAt: undefined })]);
  assert.doesNotMatch(line.message, /to go/);
  assert.equal('left_ms' in line.forbear, false);
});

const broken = { at: T, exchange: exchangeOf(), lane: 'shop.test', route, offset: 400 };

const states: readonly (readonly [string, ProxyEvent, string, RegExp])[] = [
  [
    'a download that goes on',
    { type: 'download_resumed', ...broken, n: 1, totalBytes: 1000 },
    'info',
    /\/cart broke off and goes on at byte 400 of 1000$/,
  ],
  [
    'a download that is lost',
    { type: 'download_lost', ...broken, reason: 'changed', detail: 'it has changed' },
    'warn',
    /\/cart broke off for good after 400 bytes: it has changed$/,
  ],
  [
    'a pause',
    { type: 'lane_paused', at: T, lane: 'a.test', untilAt: T + 5000 },
    'info',
    /a\.test.*5 s/,
  ],
  [
    'an opening breaker',
    { type: 'breaker_changed', at: T, lane: 'a.test', state: 'open', untilAt: T + 30_000 },
    'warn',
    /open.*30 s/,
  ],
  [
    'a closing breaker',
    { type: 'breaker_changed', at: T, lane: 'a.test', state: 'closed', untilAt: undefined },
    'info',
    /closed/,
  ],
  [
    'a probing breaker',
    { type: 'breaker_changed', at: T, lane: 'a.test', state: 'half_open', untilAt: undefined },
    'info',
    /half open/,
  ],
  [
    'a blown fuse',
    { type: 'fuse_changed', at: T, lane: 'a.test', state: 'blown', finding: 'credentials' },
    'warn',
    /credentials are at fault/,
  ],
  [
    'a mended fuse',
    { type: 'fuse_changed', at: T, lane: 'a.test', state: 'mended', finding: undefined },
    'info',
    /mended$/,
  ],
  [
    'an ejection',
    { type: 'route_ejected', at: T, route, lane: 'a.test', untilAt: T + 900_000 },
    'info',
    /residential#a1b2.*for a\.test.*15 min/,
  ],
  [
    'an ejection everywhere',
    { type: 'route_ejected', at: T, route, lane: undefined, untilAt: T + 1000 },
    'info',
    /everywhere/,
  ],
  [
    'an upstream that is out',
    { type: 'upstream_out', at: T, upstream: 'residential', verdict: throttled, untilAt: T + 1000 },
    'warn',
    /residential is out/,
  ],
  [
    'a burned session',
    { type: 'session_ended', at: T, session: 's1', end: 'burned' },
    'warn',
    /s1 is burned/,
  ],
  [
    'an expired session',
    { type: 'session_ended', at: T, session: 's1', end: 'expired' },
    'info',
    /expired/,
  ],
  [
    'a refused request',
    { type: 'request_refused', at: T, status: 407, reason: 'login', detail: 'no login' },
    'info',
    /407.*no login/,
  ],
  [
    'distrust of the CA',
    { type: 'client_tls_failed', at: T, host: 'a.test', detail: 'unknown ca' },
    'warn',
    /install-help/,
  ],
  [
    'a notice',
    { type: 'notice', at: T, level: 'error', message: 'bad file' },
    'error',
    /^bad file$/,
  ],
];

for (const [name, event, level, message] of states) {
  test(`${name} is one line at ${level}`, () => {
    const found = parsed([event]);
    assert.equal(found.length, 1);
    assert.equal(found[0].level, level);
    assert.match(found[0].message, message);
  });
}

test('no line holds a credential, a cookie or a query string, at any level or format', () => {
  const url = 'cannot reach http://customer-secretname:hunter2@gate.test:7777/x?token=sesame now';
  const events: ProxyEvent[] = [
    { type: 'exchange_started', at: T, exchange: exchangeOf() },
    attempted(),
    finished(),
    heartbeat({ kind: 'queued', sinceAt: T, untilAt: undefined }),
    { type: 'route_ejected', at: T, route, lane: undefined, untilAt: T },
    { type: 'notice', at: T, level: 'warn', message: url },
    { type: 'request_refused', at: T, status: 400, reason: 'bad_request', detail: url },
  ];
  for (const format of ['json', 'pretty'] as const) {
    const text = lines(events, { level: 'trace', format });
    assert.ok(text.split('\n').length > events.length, format);
    assert.doesNotMatch(text, /secret|hunter2|sesame|frag\b/, format);
  }
});

test('what a site sends can neither begin a new line nor steer the terminal', () => {
  const detail = 'x\n{"level":"error","message":"forged"}\u001b[2J\u009b31m\u2028\u202e';
  const event: ProxyEvent = { type: 'client_tls_failed', at: T, host: 'a.test', detail };
  for (const format of ['json', 'pretty'] as const) {
    const text = lines([event], { format });
    assert.equal(text.trimEnd().split('\n').length, 1, format);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    assert.doesNotMatch(text.trimEnd(), /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/, format);
  }
});

test('pretty lines hold the message and no fields', () => {
  const text = lines([finished()], { format: 'pretty' });
  assert.equal(text.trimEnd().split('\n').length, 1);
  assert.match(
    text,
    /INFO.*GET https:\/\/shop\.test\/cart 200 · none\/ok · 3 attempts · waited 1\.2 s/,
  );
});

test('silent is silent', () => {
  assert.equal(lines([finished(), attempted()], { level: 'silent' }), '');
});

test('an event that cannot be put into words does not reach the pipeline', () => {
  const broken = { type: 'exchange_finished', at: T } as unknown as ProxyEvent;
  const [line] = parsed([broken]);
  assert.equal(line.error.type, 'log_failed');
});

test('cleaned text is one bounded line, and cleaning is done once and for all', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (text) => {
      const clean = cleanText(text);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      assert.doesNotMatch(clean, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
      assert.ok(clean.length <= 6100);
    }),
  );
});

test('a password with an @ in it goes as a whole', () => {
  assert.equal(cleanText('to http://u:p@ss@gate.test:1/ it'), 'to http://***@gate.test:1/ it');
});
