import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { pointerExists } from './json-pointer.ts';

const DOCUMENT = JSON.stringify({
  items: [{ id: 1 }, null],
  '': 'empty key',
  'a/b': 1,
  'm~n': 2,
  '~1': 3,
  none: null,
  text: 'abc',
});

// Pointers of RFC 6901 section 5, and their near misses.
const rows: readonly [pointer: string, exists: boolean][] = [
  ['', true],
  ['/items', true],
  ['/items/0', true],
  ['/items/0/id', true],
  ['/items/1', true],
  ['/items/2', false],
  ['/items/00', false],
  ['/items/-', false],
  ['/items/-1', false],
  ['/items/length', false],
  ['/items/1/id', false],
  ['/none', true],
  ['/none/x', false],
  ['/', true],
  ['/a~1b', true],
  ['/a/b', false],
  ['/m~0n', true],
  ['/~01', true],
  ['/text/0', false],
  ['/missing', false],
  ['/toString', false],
  ['/__proto__', false],
  ['items', false],
];

describe('a JSON pointer', () => {
  for (const [pointer, exists] of rows) {
    test(`${pointer || 'to the whole'} leads ${exists ? 'somewhere' : 'nowhere'}`, () => {
      assert.equal(pointerExists(DOCUMENT, pointer), exists);
    });
  }

  test('leads nowhere in what is not JSON', () => {
    assert.equal(pointerExists('<html>', ''), false);
    assert.equal(pointerExists('', ''), false);
  });

  test('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), fc.string(), (text, pointer) => {
        assert.equal(typeof pointerExists(text, `/${pointer}`), 'boolean');
      }),
    );
  });
});
