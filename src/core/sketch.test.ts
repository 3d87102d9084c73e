import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { likeness, SKETCH_CHARS, shortHash, sketch } from './sketch.ts';

const words = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => letters(from + i)).join(' ');

const letters = (n: number): string =>
  [...String(n * 7919)].map((digit) => 'abcdefghij'[Number(digit)]).join('');

describe('a sketch', () => {
  test('has one size, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 3000 }), (text) => {
        assert.equal(sketch(text).length, SKETCH_CHARS);
      }),
    );
  });

  test('is the same for the same text, and for one that differs in numbers and addresses only', () => {
    const one = `${words(0, 80)} ref 18.2d35 at 12:00 see /items/7`;
    const two = `${words(0, 80)} ref 99.ffe1 at 23:59 see /goods/12345`;
    assert.equal(sketch(one), sketch(one));
    assert.equal(likeness(sketch(one), sketch(two)), 1);
  });

  test('tells how much two texts have in common', () => {
    const base = sketch(words(0, 400));
    assert.ok(likeness(base, sketch(words(400, 800))) < 0.2);
    assert.ok(likeness(base, sketch(words(100, 400))) > 0.5);
    assert.ok(likeness(base, sketch(words(4, 400))) > 0.85);
  });

  test('tells short texts apart', () => {
    assert.ok(likeness(sketch('hello there'), sketch('goodbye now')) < 0.5);
    assert.ok(likeness(sketch(''), sketch('hello there')) < 0.9);
    assert.equal(likeness(sketch(''), sketch('')), 1);
  });

  test('tells texts apart that have no spaces between words', () => {
    const [one, two] = ['園芸店のじょうろは鋼でできている', '検索結果は見つかりませんでした'];
    assert.ok(likeness(sketch(one.repeat(3)), sketch(two.repeat(3))) < 0.5);
    assert.equal(likeness(sketch(one), sketch(one)), 1);
  });

  test('takes no longer for a text made to be slow', () => {
    const before = performance.now();
    sketch('a'.repeat(5_000_000));
    sketch('1/'.repeat(2_500_000));
    assert.ok(performance.now() - before < 500);
  });
});

test('a short hash is short, and differs where texts do', () => {
  const hashes = new Set(Array.from({ length: 20_000 }, (_, i) => shortHash(`/items/${i}`)));
  assert.equal(hashes.size, 20_000);
  for (const hash of hashes) assert.equal(hash.length, 7);
});
