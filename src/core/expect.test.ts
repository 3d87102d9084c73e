import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judge, page, response, seen } from '../../test/support/judging.ts';
import { policyWith } from '../../test/support/policy.ts';
import type { Judge } from './classify.ts';
import { isEmpty, unmetExpectation } from './expect.ts';
import type { ExpectRule } from './policy.ts';
import type { ResponseReply } from './verdict.ts';

type Check = Partial<Omit<ExpectRule, 'label'>>;

const INSPECTED = 1000;

const asking = (checks: readonly Check[], change: Partial<Judge> = {}): Judge => {
  const expect = checks.map((check, index): ExpectRule => {
    return { when: {}, otherwise: 'transient', label: `rule-${index + 1}`, ...check };
  });
  return judge({ policy: policyWith({ expect, inspect: { bytes: INSPECTED } }), ...change });
};

const unmet = (reply: ResponseReply, ...checks: Check[]) =>
  unmetExpectation(reply, asking(checks))?.missing;

describe('what a good reply must show', () => {
  const shop = page('<html><li>a</li><li>b</li></html>');
  const data = page('{"items":[{"id":null}]}', {
    rawHeaders: ['Content-Type', 'application/json'],
  });
  const rows: readonly [
    name: string,
    reply: ResponseReply,
    check: Check,
    missing: string | undefined,
  ][] = [
    ['text that is there', shop, { bodyContains: '</html>' }, undefined],
    ['text that is not', shop, { bodyContains: '</HTML>' }, 'body_contains "</HTML>", rule-1'],
    ['a pattern that is there', shop, { bodyMatches: '<li>.</li>' }, undefined],
    ['a pattern that is not', shop, { bodyMatches: '<td>' }, 'body_matches "<td>", rule-1'],
    ['elements enough', shop, { css: { selector: 'li', min: 2 } }, undefined],
    ['elements too few', shop, { css: { selector: 'li', min: 3 } }, 'css "li" × 3, rule-1'],
    ['a path in data', data, { json: '/items/0/id' }, undefined],
    ['a path that leads nowhere', data, { json: '/items/1' }, 'json "/items/1", rule-1'],
    ['data, but a page came', shop, { json: '' }, 'json "", rule-1'],
    ['as many bytes', shop, { minBytes: 33 }, undefined],
    ['more bytes', shop, { minBytes: 34 }, 'min_bytes 34, rule-1'],
    ['its type', shop, { contentType: 'text/*' }, undefined],
    [
      'another type',
      shop,
      { contentType: 'application/json' },
      'content_type application/json, rule-1',
    ],
    [
      'some type, but there is none',
      response(),
      { contentType: '*/*' },
      'content_type */*, rule-1',
    ],
    [
      'all keys, of which one lacks',
      shop,
      { bodyContains: '<li>', minBytes: 99 },
      'min_bytes 99, rule-1',
    ],
    ['nothing', shop, {}, undefined],
  ];
  for (const [name, reply, check, missing] of rows) {
    test(name, () => assert.equal(unmet(reply, check), missing));
  }

  test('long wishes are quoted in short', () => {
    const wish = 'x'.repeat(100);
    assert.equal(unmet(shop, { bodyContains: wish }), `body_contains "${'x'.repeat(60)}…", rule-1`);
    assert.equal(
      unmet(shop, { bodyContains: 'x'.repeat(60) }),
      `body_contains "${'x'.repeat(60)}", rule-1`,
    );
  });

  test('all rules that apply must hold, and the first that does not is told', () => {
    const checks = [{ bodyContains: '<li>' }, { bodyContains: '1' }, { bodyContains: '2' }];
    assert.equal(unmet(shop, ...checks), 'body_contains "1", rule-2');
  });

  test('what then is the rule’s own word', () => {
    for (const otherwise of ['transient', 'rate', 'address', 'terminal'] as const) {
      const found = unmetExpectation(shop, asking([{ bodyContains: '-', otherwise }]));
      assert.equal(found?.otherwise, otherwise);
    }
  });
});

describe('bytes', () => {
  test('are those on the wire or those of the text, whichever are more', () => {
    const packed = page('', { body: seen('a'.repeat(90), { receivedBytes: 20 }) });
    assert.equal(unmet(packed, { minBytes: 90 }), undefined);
    assert.ok(unmet(packed, { minBytes: 91 }));
    const wide = page('', { body: seen('a', { receivedBytes: 200 }) });
    assert.equal(unmet(wide, { minBytes: 200 }), undefined);
  });
  test('of letters beyond ASCII are counted as UTF-8', () => {
    const text = 'é世😀';
    const body = seen(text, { receivedBytes: 1 });
    assert.equal(unmet(page('', { body }), { minBytes: 9 }), undefined);
    assert.ok(unmet(page('', { body }), { minBytes: 10 }));
    const edges = seen('\u007f\u0080\u07ff\u0800\ud7ff\ue000', { receivedBytes: 1 });
    assert.equal(unmet(page('', { body: edges }), { minBytes: 14 }), undefined);
    assert.ok(unmet(page('', { body: edges }), { minBytes: 15 }));
  });
});

describe('a rule applies', () => {
  const check = { bodyContains: '-' };
  const at = (status: number, when: ExpectRule['when'] = {}) =>
    unmet(page('x', { status }), { ...check, when }) !== undefined;

  test('to any 2xx but 204 and 206', () => {
    for (const status of [200, 201, 202, 203, 205, 226, 299]) assert.equal(at(status), true);
    for (const status of [199, 204, 206, 300, 301, 404, 500]) assert.equal(at(status), false);
  });
  test('to the statuses it lists instead', () => {
    assert.equal(at(206, { statuses: [206, 302] }), true);
    assert.equal(at(302, { statuses: [206, 302] }), true);
    assert.equal(at(200, { statuses: [206, 302] }), false);
  });
  test('to its path and method', () => {
    assert.equal(at(200, { path: '/items/*' }), true);
    assert.equal(at(200, { path: '/search*' }), false);
    assert.equal(at(200, { method: 'get' }), true);
    assert.equal(at(200, { method: 'POST' }), false);
  });
});

describe('what cannot be seen is not judged', () => {
  const all: Check[] = [
    { bodyContains: '-' },
    { bodyMatches: '-' },
    { json: '/x' },
    { minBytes: 9999 },
    { css: { selector: 'b', min: 1 } },
  ];
  const unjudged = (body: ResponseReply['body']) => {
    for (const check of all) {
      assert.equal(unmet(page('', { body }), check), undefined, JSON.stringify(check));
    }
  };

  test('in a body that there is not by protocol, not even its type', () => {
    unjudged({ kind: 'none' });
    const head = response({ body: { kind: 'none' } });
    assert.equal(unmet(head, { contentType: 'text/html' }), undefined);
  });
  test('in a body that streams by', () => unjudged({ kind: 'unseen' }));
  test('in the rest of a longer body', () => unjudged(seen('{"a":1', { end: 'pending' })));
  test('beyond the inspected bytes', () => {
    unjudged(seen(`{${'a'.repeat(INSPECTED - 1)}`));
    unjudged(seen(`{${'é'.repeat(INSPECTED / 2)}`));
    assert.ok(unmet(page(`{${'a'.repeat(INSPECTED - 2)}`), { bodyContains: '-' }));
  });
  test('in a coding that was not undone', () => {
    for (const coding of ['broken', 'unknown', 'bomb', 'cut_short'] as const) {
      unjudged(seen('{"a":1}', { coding }));
    }
  });

  test('but what is there is found, in a part too', () => {
    const body = seen('<b>-</b>', { end: 'pending' });
    assert.equal(unmet(page('', { body }), { bodyContains: '-', bodyMatches: '-' }), undefined);
  });
  test('but a page in place of data shows at once', () => {
    const part = (text: string) =>
      unmet(page('', { body: seen(text, { end: 'pending' }) }), { json: '/x' });
    assert.ok(part(' <html>'));
    assert.ok(part('Sorry'));
    for (const start of ['{', '[', '"', '1', '-', 'true', 'false', 'null', '', ' \n{']) {
      assert.equal(part(start), undefined, start);
    }
  });
  test('but a wrong type shows at once, also on a body that streams by', () => {
    const reply = page('', { body: { kind: 'unseen' } });
    assert.ok(unmet(reply, { contentType: 'application/json' }));
  });
});

describe('text that the client wants', () => {
  const wanted = (reply: ResponseReply) =>
    unmetExpectation(reply, asking([], { expectText: 'Total' }));

  test('is looked for in any 2xx but 204 and 206', () => {
    const expected = { otherwise: 'transient', missing: 'body_contains "Total"' };
    assert.deepEqual(wanted(page('x')), expected);
    assert.deepEqual(wanted(page('x', { status: 201 })), expected);
    for (const status of [204, 206, 302, 404])
      assert.equal(wanted(page('x', { status })), undefined);
  });
  test('may be there', () => assert.equal(wanted(page('Total: 1')), undefined));
  test('is not missed in what cannot be seen', () => {
    assert.equal(wanted(response({ body: { kind: 'unseen' } })), undefined);
    assert.equal(wanted(response({ body: seen('x', { end: 'pending' }) })), undefined);
  });
  test('is asked for after the rules', () => {
    const both = asking([{ bodyContains: '1', otherwise: 'terminal' }], { expectText: 'Total' });
    assert.equal(unmetExpectation(page('x'), both)?.otherwise, 'terminal');
    assert.equal(unmetExpectation(page('1'), both)?.otherwise, 'transient');
  });
});

describe('an empty body', () => {
  test('is one of which no byte came', () => {
    assert.equal(isEmpty(seen('')), true);
    assert.equal(isEmpty(seen('', { coding: 'cut_short' })), true);
    assert.equal(isEmpty(seen(' ')), false);
    assert.equal(isEmpty(seen('', { receivedBytes: 20 })), false);
    assert.equal(isEmpty(seen('', { end: 'pending' })), false);
    assert.equal(isEmpty({ kind: 'none' }), false);
    assert.equal(isEmpty({ kind: 'unseen' }), false);
  });
  test('lacks what is expected, whatever coding it was to have', () => {
    assert.ok(unmet(response({ body: seen('', { coding: 'cut_short' }) }), { bodyContains: 'a' }));
  });
});
