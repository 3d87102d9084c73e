import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judge, page, response, seen } from '../../test/support/judging.ts';
import { policyWith } from '../../test/support/policy.ts';
import type { ReplyCondition, ReplyRule } from './policy.ts';
import { brokenOff, ruledVerdict, sameMethod } from './rules.ts';
import type { ResponseReply } from './verdict.ts';

const rule = (
  when: ReplyCondition,
  verdict: ReplyRule['verdict'] = 'terminal',
  label = 'mine',
): ReplyRule => ({ when, verdict, label });

const judged = (reply: ResponseReply, ...replies: ReplyRule[]) =>
  ruledVerdict(
    reply,
    judge({
      policy: policyWith({ replies }),
      request: { method: 'post', scheme: 'https', host: 'site.test', path: '/rest/v1/x?q=a' },
    }),
  );

const evidence = { kind: 'rule', label: 'mine' } as const;

describe('a rule’s verdict', () => {
  test('terminal is the client’s', () => {
    assert.deepEqual(judged(response(), rule({})), { fault: 'client', reason: 'rule', evidence });
  });
  test('ok is good', () => {
    assert.deepEqual(judged(response({ status: 500 }), rule({}, 'ok')), {
      fault: 'none',
      reason: 'ok',
      evidence,
    });
  });
  test('address blames the route for this lane', () => {
    assert.deepEqual(judged(response(), rule({}, 'address')), {
      fault: 'route',
      reason: 'blocked',
      scope: 'lane',
      evidence,
    });
  });
  test('transient is overloaded under a failing status, and unexpected under a good one', () => {
    const reason = (status: number) => judged(response({ status }), rule({}, 'transient'))?.reason;
    assert.equal(reason(200), 'unexpected');
    assert.equal(reason(399), 'unexpected');
    assert.equal(reason(400), 'overloaded');
    assert.deepEqual(judged(response({ status: 500 }), rule({}, 'transient')), {
      fault: 'host',
      kind: 'transient',
      reason: 'overloaded',
      evidence,
    });
  });
  test('rate waits for as long as the reply says', () => {
    assert.deepEqual(judged(response(), rule({}, 'rate')), {
      fault: 'host',
      kind: 'rate',
      reason: 'rate_limited',
      evidence,
    });
    const told = judged(response({ rawHeaders: ['Retry-After', '7'] }), rule({}, 'rate'));
    assert.ok(told?.fault === 'host' && told.kind === 'rate');
    assert.equal(told.waitMs, 7000);
  });
});

describe('a condition', () => {
  const reply = page('<p>ENTRY_DELETED</p>', {
    status: 400,
    rawHeaders: ['Content-Type', 'text/html', 'X-Why', 'none', 'x-why', 'Gone Away'],
  });
  const rows: readonly [name: string, when: ReplyCondition, holds: boolean][] = [
    ['without keys holds', {}, true],
    ['on a listed status holds', { statuses: [404, 400] }, true],
    ['on another status does not', { statuses: [404] }, false],
    ['on no status does not', { statuses: [] }, false],
    ['on a path glob holds', { path: '/rest/**' }, true],
    ['on path and query holds', { path: '/rest/v1/x?q=*' }, true],
    ['on another path does not', { path: '/other/**' }, false],
    ['on the method in any case holds', { method: 'POST' }, true],
    ['on another method does not', { method: 'GET' }, false],
    ['on text of the body holds', { bodyContains: 'ENTRY_DELETED' }, true],
    ['on text in another case does not', { bodyContains: 'entry_deleted' }, false],
    ['on a pattern holds', { bodyMatches: 'ENTRY_[A-Z]+' }, true],
    ['on another pattern does not', { bodyMatches: 'EXIT_[A-Z]+' }, false],
    ['on text and another pattern does not', { bodyContains: 'ENTRY', bodyMatches: 'EXIT' }, false],
    ['on a field that is there holds', { headers: { 'x-why': '' } }, true],
    ['on any of its values, in any case, holds', { headers: { 'X-Why': 'gone' } }, true],
    ['on another value does not', { headers: { 'x-why': 'moved' } }, false],
    ['on a field that is not there does not', { headers: { 'x-other': '' } }, false],
    ['on two fields needs both', { headers: { 'x-why': '', 'x-other': '' } }, false],
    ['on several keys needs all', { statuses: [400], bodyContains: 'EXPIRED' }, false],
    [
      'on several keys holds with all',
      { statuses: [400], bodyContains: 'ENTRY', method: 'post' },
      true,
    ],
  ];
  for (const [name, when, holds] of rows) {
    test(name, () => assert.equal(judged(reply, rule(when)) !== undefined, holds));
  }

  test('on the body does not hold where none was seen', () => {
    for (const body of [{ kind: 'unseen' }, { kind: 'none' }] as const) {
      assert.equal(judged(response({ body }), rule({ bodyContains: '' })), undefined);
      assert.equal(judged(response({ body }), rule({ bodyMatches: '' })), undefined);
      assert.ok(judged(response({ body }), rule({ statuses: [200] })));
    }
  });
});

test('rules are asked in their order, the specific before the general', () => {
  const deleted = rule({ bodyContains: 'ENTRY_DELETED' }, 'terminal', 'deleted');
  const entry = rule({ bodyContains: 'ENTRY_' }, 'transient', 'entry');
  const at = (text: string) => judged(page(text), deleted, entry)?.evidence;
  assert.deepEqual(at('ENTRY_DELETED'), { kind: 'rule', label: 'deleted' });
  assert.deepEqual(at('ENTRY_EXPIRED'), { kind: 'rule', label: 'entry' });
  assert.equal(at('nothing'), undefined);
});

test('no rule makes a broken-off reply a good one, but the next rule is asked', () => {
  for (const end of ['cut_short', 'stalled'] as const) {
    const reply = response({ body: seen('0 results', { end }) });
    const ok = rule({ bodyContains: '0 results' }, 'ok');
    assert.equal(brokenOff(reply), true);
    assert.equal(judged(reply, ok), undefined);
    assert.equal(judged(reply, ok, rule({}, 'address'))?.reason, 'blocked');
  }
  for (const end of ['complete', 'pending'] as const) {
    assert.equal(
      judged(response({ body: seen('0 results', { end }) }), rule({}, 'ok'))?.reason,
      'ok',
    );
  }
  assert.equal(brokenOff(response({ body: { kind: 'unseen' } })), false);
});

test('methods are compared in any case', () => {
  const request = { method: 'Get', scheme: 'https', host: 'a', path: '/' } as const;
  assert.equal(sameMethod('GET', judge({ request })), true);
  assert.equal(sameMethod('get', judge({ request })), true);
  assert.equal(sameMethod('HEAD', judge({ request })), false);
});
