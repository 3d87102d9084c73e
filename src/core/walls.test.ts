import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MARKER_PAGES } from '../../test/support/marker-pages.ts';
import { VENDOR_MARKERS } from './markers.ts';
import { WALLS } from './walls.ts';

describe('every wall of no known maker', () => {
  for (const wall of WALLS) {
    test(`${wall.id} asks for two signs, little text and a status that walls come with`, () => {
      assert.equal(wall.signs.length, 2);
      assert.equal(wall.proof, undefined);
      assert.ok(wall.maxText !== undefined && wall.maxText < 1000);
      assert.ok(wall.statuses?.includes(200) && !wall.statuses.includes(404));
    });

    test(`${wall.id} is written in lower case, as pages are compared`, () => {
      const marks = [
        ...wall.signs.flatMap((sign) => Object.values(sign).flat()),
        ...(wall.unless ?? []),
      ];
      for (const mark of marks) assert.equal(mark, mark.toLowerCase());
    });

    test(`${wall.id} has a page to show it`, () => {
      assert.ok(MARKER_PAGES.some(({ id }) => id === wall.id));
    });

    test(`${wall.id} shares its name with nothing`, () => {
      assert.ok(!VENDOR_MARKERS.some(({ id }) => id === wall.id));
    });
  }
});
