import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { BLOCK, CHALLENGE, judge } from '../../test/support/judging.ts';
import { classify } from './classify.ts';

const headers = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        'Retry-After',
        'RateLimit',
        'X-RateLimit-Remaining',
        'X-RateLimit-Reset',
        'Date',
        'Content-Type',
        'Server',
        'X-Other',
      ),
      fc.oneof(
        fc.string(),
        fc.nat().map(String),
        fc.constantFrom('text/html', 'application/json', '"a";r=0;t=5', 'cloudflare'),
      ),
    ),
    { maxLength: 6 },
  )
  .map((pairs) => pairs.flat());
const bodies = fc.oneof(
  fc.constant({ kind: 'none' } as const),
  fc.constant({ kind: 'unseen' } as const),
  fc.record({
    kind: fc.constant('seen' as const),
    text: fc.oneof(fc.string(), fc.json(), fc.constantFrom(CHALLENGE, BLOCK)),
    receivedBytes: fc.nat(),
    end: fc.constantFrom('complete', 'pending', 'cut_short', 'stalled'),
    coding: fc.constantFrom('ok', 'broken', 'cut_short', 'unknown', 'bomb'),
  }),
);
const replies = fc.record({
  kind: fc.constant('response' as const),
  via: fc.constantFrom('direct', 'tunnel', 'forward'),
  status: fc.integer({ min: 100, max: 999 }),
  rawHeaders: headers,
  body: bodies,
  headMs: fc.nat(),
});

describe('whatever the reply', () => {
  test('there is a verdict, the same each time', () => {
    fc.assert(
      fc.property(replies, fc.option(fc.string(), { nil: undefined }), (reply, expectText) => {
        const one = classify(reply, judge({ expectText }));
        assert.deepEqual(classify(structuredClone(reply), judge({ expectText })), one);
        assert.deepEqual(JSON.parse(JSON.stringify(one)), one);
      }),
      { numRuns: 300 },
    );
  });

  test('a 429 that shows no challenge is a throttle, so it is waited out and never rotated', () => {
    const throttles = replies.filter(
      ({ body }) => !(body.kind === 'seen' && [CHALLENGE, BLOCK].includes(body.text)),
    );
    fc.assert(
      fc.property(throttles, (reply) => {
        const verdict = classify({ ...reply, status: 429 }, judge());
        assert.ok(verdict.fault === 'host' && verdict.kind === 'rate');
        assert.ok(verdict.waitMs === undefined || verdict.waitMs > 0);
      }),
      { numRuns: 300 },
    );
  });

  test('without fields of a vendor, no upstream account is blamed outside forwarding', () => {
    fc.assert(
      fc.property(
        replies.filter(({ via }) => via !== 'forward'),
        (reply) => {
          assert.notEqual(classify(reply, judge()).fault, 'account');
        },
      ),
      { numRuns: 300 },
    );
  });
});
