import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exhausted } from './retry-after.ts';

const NOW = Date.UTC(2026, 0, 1);
/** Header lines as a list of names and values. */
const fields = (head: string) =>
  head.split('\n').flatMap((line) => line.split(/: (.*)/s).slice(0, 2));

describe('nothing left', () => {
  const rows: readonly [string, string, ReturnType<typeof exhausted>][] = [
    [
      'remaining 0 with a reset',
      'X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30',
      { waitMs: 30_000, header: 'x-ratelimit-remaining', value: '0' },
    ],
    [
      'remaining 0 without one',
      'X-RateLimit-Remaining: 0',
      { waitMs: undefined, header: 'x-ratelimit-remaining', value: '0' },
    ],
    [
      'remaining 0 with a reset in the past',
      'X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1767225570',
      { waitMs: undefined, header: 'x-ratelimit-remaining', value: '0' },
    ],
    [
      'remaining below 0',
      'RateLimit-Remaining: -1\nRateLimit-Reset: 3',
      { waitMs: 3000, header: 'ratelimit-remaining', value: '-1' },
    ],
    [
      'structured',
      'RateLimit: "default";r=0;t=30',
      { waitMs: 30_000, header: 'ratelimit', value: '"default";r=0;t=30' },
    ],
    [
      'older drafts',
      'RateLimit: limit=10, remaining=0, reset=30',
      { waitMs: 30_000, header: 'ratelimit', value: 'limit=10, remaining=0, reset=30' },
    ],
    [
      'tokens',
      'x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 20ms',
      { waitMs: 20, header: 'x-ratelimit-remaining-tokens', value: '0' },
    ],
    ['one left', 'X-RateLimit-Remaining: 1\nX-RateLimit-Reset: 30', undefined],
    ['some left', 'X-RateLimit-Remaining: 10\nX-RateLimit-Reset: 3600', undefined],
    ['a reset alone says nothing about what is left', 'X-RateLimit-Reset: 30', undefined],
    ['unreadable', 'X-RateLimit-Remaining: none', undefined],
    ['empty', 'X-RateLimit-Remaining: ', undefined],
    ['Retry-After says nothing about what is left', 'Retry-After: 30', undefined],
    ['no fields', '', undefined],
  ];
  for (const [name, head, expected] of rows) {
    test(name, () => assert.deepEqual(exhausted(fields(head), NOW), expected));
  }
});
