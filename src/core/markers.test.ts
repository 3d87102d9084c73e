import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MARKER_PAGES } from '../../test/support/marker-pages.ts';
import { VENDOR_MARKERS } from './markers.ts';

describe('every row of known makers', () => {
  for (const marker of VENDOR_MARKERS) {
    test(`${marker.id} has a field that proves it or two signs at least`, () => {
      assert.ok(marker.proof !== undefined || marker.signs.length >= 2);
      assert.ok(marker.signs.length !== 1);
    });

    test(`${marker.id} is written in lower case, as pages are compared`, () => {
      for (const { header, ...sign } of marker.signs) {
        for (const mark of Object.values(sign).flat()) assert.equal(mark, mark.toLowerCase());
        for (const text of header ?? []) assert.equal(text, text.toLowerCase());
      }
      for (const word of marker.proof?.words ?? []) assert.equal(word, word.toLowerCase());
    });

    test(`${marker.id} has no sign that holds by itself`, () => {
      for (const { header, ...sign } of marker.signs) {
        assert.ok(header !== undefined || Object.values(sign).flat().length > 0);
        for (const mark of Object.values(sign).flat())
          assert.ok(new TextEncoder().encode(mark).length >= 4, mark);
      }
    });

    test(`${marker.id} has a page to show it, unless only a field does`, () => {
      const shown = MARKER_PAGES.some(({ id }) => id === marker.id);
      assert.equal(shown, marker.signs.length > 0);
    });
  }
});

test('no two rows share a name', () => {
  const ids = VENDOR_MARKERS.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});
