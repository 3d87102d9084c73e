import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judge, page, seen } from '../../test/support/judging.ts';
import { checkReply } from './expect-check.ts';
import type { ExpectCheck } from './policy.ts';

const SHOP = page('<html><li>a</li><li>b</li></html>');
const DATA = page('{"ok":true,"n":2,"name":null,"items":[1,2],"map":{"a":1}}', {
  rawHeaders: ['Content-Type', 'application/json'],
});
const PART = page('', { body: seen('<html><li>a</li>', { end: 'pending' }) });

const told = (check: ExpectCheck, reply = SHOP): string => {
  const outcome = checkReply(check, reply, judge());
  return outcome.kind === 'unmet' ? outcome.missing : outcome.kind;
};

const A: ExpectCheck = { bodyContains: '>a<' };
const Z: ExpectCheck = { bodyContains: '>z<' };

describe('checks put together', () => {
  const rows: readonly [name: string, check: ExpectCheck, outcome: string][] = [
    ['nothing', {}, 'met'],
    ['all of two', { all: [A, { css: { selector: 'li', min: 2 } }] }, 'met'],
    ['all of two, of which one lacks', { all: [A, Z] }, 'body_contains ">z<"'],
    ['all of none', { all: [] }, 'met'],
    ['any of two', { any: [Z, A] }, 'met'],
    [
      'any of two that both lack',
      { any: [Z, { css: { selector: 'td', min: 1 } }] },
      'any of (body_contains ">z<" | css "td" × 1)',
    ],
    ['any of none', { any: [] }, 'any of ()'],
    ['not what is not there', { not: Z }, 'met'],
    ['not what is there', { not: A }, 'not (body_contains ">a<")'],
    ['not both, of which one is there', { not: { all: [A, Z] } }, 'met'],
    ['neither', { not: { any: [Z, { minBytes: 9999 }] } }, 'met'],
    [
      'neither, of which one is there',
      { not: { any: [Z, A] } },
      'not (any of (body_contains ">z<" | body_contains ">a<"))',
    ],
    ['twice not', { not: { not: A } }, 'met'],
    ['a key beside them', { bodyContains: '>z<', any: [A] }, 'body_contains ">z<"'],
    ['deeper', { any: [{ all: [A, Z] }, { all: [A, { not: Z }] }] }, 'met'],
  ];
  for (const [name, check, outcome] of rows) {
    test(name, () => assert.equal(told(check), outcome));
  }

  test('what was not looked at neither holds nor lacks', () => {
    assert.equal(told(Z, PART), 'unseen');
    assert.equal(told({ not: Z }, PART), 'unseen');
    assert.equal(told({ any: [Z, { bodyContains: 'y' }] }, PART), 'unseen');
    assert.equal(told({ any: [Z, A] }, PART), 'met');
    assert.equal(told({ all: [Z, A] }, PART), 'unseen');
    assert.equal(told({ not: A }, PART), 'not (body_contains ">a<")');
    assert.equal(told(A, page('', { body: { kind: 'unseen' } })), 'unseen');
  });

  test('a long list of what lacks is told in short', () => {
    const any = Array.from({ length: 100 }, (_, i) => ({ bodyContains: `word ${i}` }));
    assert.ok(told({ any }).length <= 300);
    assert.ok(told({ not: { any: [...any, A] } }).length <= 300);
  });
});

describe('what stands in data', () => {
  const rows: readonly [json: NonNullable<ExpectCheck['json']>, outcome: string][] = [
    ['/items/1', 'met'],
    [{ pointer: '/items', minItems: 2 }, 'met'],
    [{ pointer: '/items', minItems: 3 }, 'json "/items" min_items 3'],
    [{ pointer: '/map', minItems: 1 }, 'met'],
    [{ pointer: '/n', minItems: 0 }, 'json "/n" min_items 0'],
    [{ pointer: '/ok', equals: true }, 'met'],
    [{ pointer: '/ok', equals: 'true' }, 'json "/ok" equals ""true""'],
    [{ pointer: '/name', equals: null }, 'met'],
    [{ pointer: '/n', equals: 3 }, 'json "/n" equals "3"'],
    [{ pointer: '/error', exists: false }, 'met'],
    [{ pointer: '/ok', exists: false }, 'json "/ok" absent'],
    [{ pointer: '/name', exists: true }, 'met'],
    [{ pointer: '/error', exists: true }, 'json "/error"'],
  ];
  for (const [json, outcome] of rows) {
    test(`${JSON.stringify(json)}: ${outcome}`, () => assert.equal(told({ json }, DATA), outcome));
  }

  test('is nowhere in a page, not even what should be absent', () => {
    assert.equal(told({ json: { pointer: '/error', exists: false } }), 'json "/error" absent');
  });
});
