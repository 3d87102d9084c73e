import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rateLimitItems } from './rate-limit-fields.ts';

const rows: readonly [string, string[], ReturnType<typeof rateLimitItems>][] = [
  [
    'one item',
    ['RateLimit', '"default";r=50;t=30'],
    [{ text: '"default";r=50;t=30', remaining: '50', reset: '30' }],
  ],
  [
    'parameters in any order and case',
    ['ratelimit', 'x;T=3;R=1'],
    [{ text: 'x;T=3;R=1', remaining: '1', reset: '3' }],
  ],
  [
    'several fields are one list',
    ['RateLimit', '"a";r=1', 'RateLimit', '"b";r=2'],
    [
      { text: '"a";r=1', remaining: '1', reset: undefined },
      { text: '"b";r=2', remaining: '2', reset: undefined },
    ],
  ],
  [
    'quoted separators and escapes',
    ['RateLimit', '"a\\",;r=9";r=1;t=2'],
    [{ text: '"a\\",;r=9";r=1;t=2', remaining: '1', reset: '2' }],
  ],
  ['an item without r says nothing', ['RateLimit', '"a";t=30'], []],
  [
    'the window of the policy of the same name',
    ['RateLimit', '"a";r=0', 'RateLimit-Policy', '"b";q=9;w=1, "a";q=9;w=60'],
    [{ text: '"a";r=0', remaining: '0', reset: '60' }],
  ],
  [
    'no window of another policy',
    ['RateLimit', '"a";r=0', 'RateLimit-Policy', '"b";q=9;w=1'],
    [{ text: '"a";r=0', remaining: '0', reset: undefined }],
  ],
  [
    'a dictionary',
    ['RateLimit', 'limit=10, remaining=2, reset=30'],
    [{ text: 'limit=10, remaining=2, reset=30', remaining: '2', reset: '30' }],
  ],
  [
    'a dictionary without reset',
    ['RateLimit', 'remaining=0'],
    [{ text: 'remaining=0', remaining: '0', reset: undefined }],
  ],
  ['an unclosed quote', ['RateLimit', '"a;r=0;t=3'], []],
  ['empty members', ['RateLimit', ', ;r=0,'], []],
  ['no field', ['X-RateLimit', '"a";r=0'], []],
];

for (const [name, raw, expected] of rows) {
  test(name, () => assert.deepEqual(rateLimitItems(raw), expected));
}
