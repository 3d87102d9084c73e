import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { judgeTools } from './judge-tools.ts';

const page = '<ul><li class="hit">one</li><li class="hit">two<b>!</b></li><li>ad</li></ul>';

const counts: readonly (readonly [string, number])[] = [
  ['li', 3],
  ['li.hit', 2],
  ['li.hit > b', 1],
  ['ul li:not(.hit)', 1],
  ['table', 0],
  ['li[', 0],
  ['', 0],
  [':unknown-pseudo', 0],
];

for (const [selector, count] of counts) {
  test(`the selector "${selector}" finds ${count}`, () => {
    assert.equal(judgeTools.countCss(page, selector), count);
    assert.equal(judgeTools.countCss(page, selector), count);
  });
}

test('a selector is counted on the page it is asked for, not on the one before', () => {
  assert.equal(judgeTools.countCss('<p>', 'p'), 1);
  assert.equal(judgeTools.countCss('<p><p>', 'p'), 2);
  assert.equal(judgeTools.countCss('<p>', 'p'), 1);
});

const patterns: readonly (readonly [string, string, boolean])[] = [
  ['ENTRY_(DELETED|EXPIRED)', 'error: ENTRY_EXPIRED', true],
  ['^ENTRY', 'error: ENTRY_EXPIRED', false],
  ['(?i)sold out', 'SOLD OUT', true],
  ['', 'anything', true],
  ['(unclosed', '(unclosed', false],
  ['(?=look)', 'look', false],
];

for (const [pattern, text, expected] of patterns) {
  test(`the pattern ${JSON.stringify(pattern)} ${expected ? 'matches' : 'does not match'} "${text}"`, () => {
    assert.equal(judgeTools.matches(pattern, text), expected);
    assert.equal(judgeTools.matches(pattern, text), expected);
  });
}

test('a pattern that explodes in a backtracking engine ends in linear time', {
  timeout: 10_000,
}, () => {
  assert.equal(judgeTools.matches('^(a+)+$', `${'a'.repeat(20_000)}!`), false);
});

test('no text makes them throw', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (rule, text) => {
      assert.equal(typeof judgeTools.matches(rule, text), 'boolean');
      assert.ok(judgeTools.countCss(text, rule) >= 0);
    }),
  );
});
