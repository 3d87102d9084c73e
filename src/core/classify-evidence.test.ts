import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  BLOCK,
  CHALLENGE,
  failure,
  judge,
  page,
  response,
  seen,
  told,
} from '../../test/support/judging.ts';
import { policyWith } from '../../test/support/policy.ts';
import { classify, type Judge } from './classify.ts';
import type { ExpectRule, ReplyRule } from './policy.ts';
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

describe('challenge and block pages', () => {
  table([
    ['200 with a challenge page', page(CHALLENGE), 'route/challenged lane'],
    ['403 with a challenge page', page(CHALLENGE, { status: 403 }), 'route/challenged lane'],
    [
      '429 with cf-mitigated',
      bare(429, 'cf-mitigated', 'challenge', 'Retry-After', '9'),
      'route/challenged lane',
    ],
    ['503 with a challenge page', page(CHALLENGE, { status: 503 }), 'route/challenged lane'],
    ['404 with a challenge page', page(CHALLENGE, { status: 404 }), 'route/challenged lane'],
    [
      '405 with x-amzn-waf-action',
      bare(405, 'x-amzn-waf-action', 'captcha'),
      'route/challenged lane',
    ],
    ['200 with a block page', page(BLOCK), 'route/blocked lane'],
    ['403 with a block page', page(BLOCK, { status: 403 }), 'route/blocked lane'],
    [
      '200 with a gate',
      page('Verify you are human<div class="h-captcha"></div>'),
      'route/challenged lane',
    ],
    [
      '200 with a captcha script on a page of content',
      page(
        `${'<p>All about captchas and how you are human.</p>'.repeat(60)}<div class="h-captcha"></div>`,
      ),
      'none/ok',
    ],
    [
      '200 with a challenge page cut short',
      page('', { body: seen(CHALLENGE, { end: 'cut_short' }) }),
      'route/challenged lane',
    ],
  ]);

  test('are named with their signs', () => {
    assert.deepEqual(classify(page(CHALLENGE), judge()).evidence, {
      kind: 'marker',
      marker: 'cloudflare-challenge',
      signs: ['just a moment', '_cf_chl_opt'],
    });
  });

  for (const markers of ['off', 'report'] as const) {
    const policy = policyWith({ softBlocks: { markers } });
    test(`do not change the verdict when markers are on ${markers}`, () => {
      assert.equal(verdictOf(page(CHALLENGE), { policy }), 'none/ok');
      assert.equal(verdictOf(page(CHALLENGE, { status: 403 }), { policy }), 'route/blocked lane');
      assert.equal(
        verdictOf(bare(429, 'cf-mitigated', 'challenge'), { policy }),
        'host/rate_limited rate',
      );
      assert.equal(verdictOf(page('{"error":"rate limited"}'), { policy }), 'none/ok');
    });
  }
});

describe('a 403 on several addresses', () => {
  const at = (blockedAddresses: readonly string[], reply: Reply = bare(403)) =>
    verdictOf(reply, { blockedAddresses, routeId: 'here' });

  test('is the route’s until max_addresses different ones were refused', () => {
    assert.equal(at([]), 'route/blocked lane');
    assert.equal(at(['a']), 'route/blocked lane');
    assert.equal(at(['a', 'here', 'a']), 'route/blocked lane');
    assert.equal(at(['a', 'b']), 'client/persistent_block');
    assert.equal(at(['a', 'b', 'here']), 'client/persistent_block');
    assert.equal(at(['a', 'b', 'c', 'd']), 'client/persistent_block');
  });
  test('counts a block page under a 403 too, but no challenge and no block behind a 200', () => {
    assert.equal(at(['a', 'b'], page(BLOCK, { status: 403 })), 'client/persistent_block');
    assert.equal(at(['a', 'b'], page(BLOCK)), 'route/blocked lane');
    assert.equal(at(['a', 'b'], page(CHALLENGE, { status: 403 })), 'route/challenged lane');
    assert.equal(at(['a', 'b'], bare(403, 'Retry-After', '5')), 'host/rate_limited rate wait 5000');
  });
  test('tells how many and where', () => {
    const change = { blockedAddresses: ['a', 'b'], routeId: 'here' };
    assert.deepEqual(classify(bare(403), judge(change)).evidence, {
      kind: 'pattern',
      addresses: 3,
      pattern: '/items/{n}',
    });
  });
  test('follows the policy’s number', () => {
    const policy = policyWith({ maxAddresses: 1 });
    assert.equal(verdictOf(bare(403), { policy }), 'client/persistent_block');
  });
});

describe('the body of a good status', () => {
  const withBody = (change: Parameters<typeof seen>[1], status = 200) =>
    page('', { status, body: seen('<p>half', change) });
  table([
    ['whole', withBody({}), 'none/ok'],
    ['too long to be held', withBody({ end: 'pending' }), 'none/ok'],
    ['cut short', withBody({ end: 'cut_short' }), 'host/truncated transient'],
    ['stalled', withBody({ end: 'stalled' }), 'host/slow transient'],
    ['with its coding cut short', withBody({ coding: 'cut_short' }), 'host/truncated transient'],
    [
      'pending, its coding of course unfinished',
      withBody({ end: 'pending', coding: 'cut_short' }),
      'none/ok',
    ],
    ['in another coding than its label', withBody({ coding: 'broken' }), 'none/ok'],
    ['in an unknown coding', withBody({ coding: 'unknown' }), 'none/ok'],
    ['that swells without end', withBody({ coding: 'bomb' }), 'none/ok'],
    ['of a redirect cut short', withBody({ end: 'cut_short' }, 302), 'host/truncated transient'],
    ['of a 404 cut short', withBody({ end: 'cut_short' }, 404), 'client/not_found'],
    ['empty', page(''), 'none/ok'],
    [
      'empty under a label of coding',
      page('', { body: seen('', { coding: 'cut_short' }) }),
      'none/ok',
    ],
    ['of a type that is not inspected', response({ body: { kind: 'unseen' } }), 'none/ok'],
    ['that there is not by protocol', response({ body: { kind: 'none' } }), 'none/ok'],
  ]);

  test('tells what was found', () => {
    const finding = (change: Parameters<typeof seen>[1]) =>
      classify(withBody(change), judge()).evidence;
    const receivedBytes = 7;
    assert.deepEqual(finding({ end: 'cut_short' }), {
      kind: 'body',
      finding: 'cut_short',
      receivedBytes,
    });
    assert.deepEqual(finding({ end: 'stalled' }), {
      kind: 'body',
      finding: 'stalled',
      receivedBytes,
    });
    assert.deepEqual(finding({ coding: 'cut_short' }), {
      kind: 'body',
      finding: 'coding_cut_short',
      receivedBytes,
    });
    assert.deepEqual(finding({ coding: 'broken' }), {
      kind: 'body',
      finding: 'coding_broken',
      receivedBytes,
    });
    assert.deepEqual(finding({ coding: 'unknown' }), { kind: 'status', status: 200 });
  });
});

describe('expectations', () => {
  const expecting = (otherwise: ExpectRule['otherwise']): Partial<Judge> => ({
    policy: policyWith({
      expect: [{ when: {}, bodyContains: '</html>', otherwise, label: 'end' }],
    }),
  });
  const poor = page('<html>', { rawHeaders: ['Content-Type', 'text/html', 'Retry-After', '4'] });
  test('not met lead where the rule says', () => {
    assert.equal(verdictOf(poor, expecting('transient')), 'host/unexpected transient');
    assert.equal(verdictOf(poor, expecting('rate')), 'host/rate_limited rate wait 4000');
    assert.equal(verdictOf(poor, expecting('address')), 'route/blocked lane');
    assert.equal(verdictOf(poor, expecting('terminal')), 'client/rule');
  });
  test('tell what is missing', () => {
    assert.deepEqual(classify(poor, judge(expecting('transient'))).evidence, {
      kind: 'expect',
      missing: 'body_contains "</html>", end',
    });
  });
  test('met are good', () => {
    assert.equal(verdictOf(page('<html></html>'), expecting('transient')), 'none/ok');
  });
  test('not met by an empty body make it empty, where the rule says transient', () => {
    assert.equal(verdictOf(page(''), expecting('transient')), 'host/empty transient');
    assert.equal(verdictOf(page(''), expecting('address')), 'route/blocked lane');
    assert.deepEqual(classify(page(''), judge(expecting('transient'))).evidence, {
      kind: 'body',
      finding: 'empty',
      receivedBytes: 0,
    });
  });
  test('are not asked of a failing status, of HEAD, 204 or 206', () => {
    assert.equal(verdictOf(page('x', { status: 404 }), expecting('address')), 'client/not_found');
    assert.equal(verdictOf(page('x', { status: 206 }), expecting('address')), 'none/ok');
    const none = { kind: 'none' } as const;
    assert.equal(verdictOf(response({ body: none }), expecting('address')), 'none/ok');
    assert.equal(verdictOf(response({ status: 204, body: none }), expecting('address')), 'none/ok');
  });
  test('come after a body that is not whole', () => {
    const short = page('', { body: seen('<html>', { end: 'cut_short' }) });
    assert.equal(verdictOf(short, expecting('terminal')), 'host/truncated transient');
  });
  test('of the client itself lead to another try', () => {
    assert.equal(verdictOf(page('x'), { expectText: 'Total' }), 'host/unexpected transient');
    assert.equal(verdictOf(page('Total'), { expectText: 'Total' }), 'none/ok');
  });
});

describe('the order of evidence', () => {
  const ruled = (rule: Partial<ReplyRule>): Partial<Judge> => ({
    policy: policyWith({
      replies: [{ when: {}, verdict: 'ok', label: 'r', ...rule }],
      expect: [{ when: {}, bodyContains: 'never', otherwise: 'terminal', label: 'e' }],
    }),
  });
  test('a user’s rule outranks the upstream, a challenge, a throttle, the status and expectations', () => {
    const vendor = response({ via: 'tunnel', rawHeaders: ['X-Brd-Error', 'auth_failed'] });
    for (const reply of [vendor, page(CHALLENGE), bare(429), bare(404), page('0 results')]) {
      assert.equal(verdictOf(reply, ruled({ verdict: 'ok' })), 'none/ok');
      assert.equal(verdictOf(reply, ruled({ verdict: 'address' })), 'route/blocked lane');
    }
  });
  test('a rule that does not match leaves all as it was', () => {
    const other = ruled({ when: { statuses: [418] } });
    assert.equal(verdictOf(bare(429), other), 'host/rate_limited rate');
    assert.equal(verdictOf(page('0 results'), other), 'client/rule');
  });
  test('no rule makes a broken-off body a good one', () => {
    const short = page('', { body: seen('0 results', { end: 'cut_short' }) });
    assert.equal(verdictOf(short, ruled({ verdict: 'ok' })), 'host/truncated transient');
  });
  test('the upstream’s own error outranks challenge and rate', () => {
    const rawHeaders = [
      'X-Brd-Error',
      'auth_failed',
      'cf-mitigated',
      'challenge',
      'Retry-After',
      '5',
    ];
    assert.equal(
      verdictOf(response({ via: 'tunnel', status: 429, rawHeaders })),
      'account/upstream_rate_limited wait 5000',
    );
    assert.equal(verdictOf(response({ via: 'tunnel', rawHeaders })), 'account/upstream_auth');
    assert.equal(verdictOf(response({ via: 'direct', rawHeaders })), 'route/challenged lane');
  });
  test('rules do not see failures', () => {
    assert.equal(verdictOf(failure(), ruled({ verdict: 'ok' })), 'host/unreachable transient');
  });
});
