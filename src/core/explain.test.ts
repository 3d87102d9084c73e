import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Action } from './action.ts';
import { explain, explainStop, seconds, sight, VOCABULARY } from './explain.ts';
import type { Evidence, Verdict } from './verdict.ts';

const status = { kind: 'status', status: 403 } as const;
const blocked = { fault: 'route', reason: 'blocked', scope: 'lane', evidence: status } as const;
const rate: Verdict = {
  fault: 'host',
  kind: 'rate',
  reason: 'rate_limited',
  evidence: { kind: 'header', name: 'Retry-After', value: '7', status: 429 },
};
const account = { fault: 'account', reason: 'upstream_auth', evidence: status } as const;

describe('explain', () => {
  const rows: readonly (readonly [Verdict, Action, string])[] = [
    [
      rate,
      { kind: 'wait', ledger: 'rate', delayMs: 7000, charged: false },
      'The status was 429 with Retry-After: 7: the site asks for less, so the whole lane waits and no other address is taken; waiting 7 s on the same route.',
    ],
    [
      blocked,
      { kind: 'rotate', because: blocked, charged: true },
      'The status was 403: this address is not welcome there; taking a fresh route, charged to the retry budget.',
    ],
    [
      account,
      { kind: 'rotate', because: account, charged: false },
      'The status was 403: the upstream does not accept the credentials; taking the next upstream.',
    ],
    [
      blocked,
      { kind: 'burn' },
      'The status was 403: this address is not welcome there; ending the session: its address is never swapped.',
    ],
    [
      blocked,
      { kind: 'fail', stop: 'no_route' },
      'The status was 403: this address is not welcome there; not tried again: there is no other way out.',
    ],
    [
      { fault: 'none', reason: 'ok', evidence: { kind: 'status', status: 200 } },
      { kind: 'deliver' },
      'The status was 200: the reply is good; delivered as it came.',
    ],
    [
      { fault: 'host', kind: 'transient', reason: 'overloaded', evidence: status },
      { kind: 'wait', ledger: 'transient', delayMs: 250, charged: true },
      'The status was 403: the site has trouble of its own; waiting 250 ms on the same route, charged to the retry budget.',
    ],
  ];
  for (const [verdict, action, sentence] of rows) {
    test(`${verdict.fault}/${verdict.reason}, then ${action.kind}`, () => {
      assert.equal(explain(verdict, action), sentence);
    });
  }
});

test('every kind of evidence has its words', () => {
  const rows: readonly (readonly [Evidence, string])[] = [
    [
      { kind: 'marker', marker: 'Cloudflare', signs: ['title', 'script'] },
      'the page is Cloudflare (title, script)',
    ],
    [{ kind: 'rule', label: 'gone' }, 'your rule "gone" matched'],
    [{ kind: 'expect', missing: '</html>' }, 'the reply lacks what you expect (</html>)'],
    [
      { kind: 'body', finding: 'cut_short', receivedBytes: 9 },
      'the body ended early, after 9 bytes',
    ],
    [
      { kind: 'body', finding: 'coding_cut_short', receivedBytes: 9 },
      'the compressed body ended early, after 9 bytes',
    ],
    [{ kind: 'body', finding: 'stalled', receivedBytes: 9 }, 'the body fell silent after 9 bytes'],
    [{ kind: 'body', finding: 'empty', receivedBytes: 0 }, 'the body is empty'],
    [
      { kind: 'failure', phase: 'dial', code: 'timeout', detail: '' },
      'while connecting, nothing came in time',
    ],
    [
      { kind: 'failure', phase: 'tls', code: 'tls', detail: 'alert 40' },
      'while setting up TLS with the site, TLS failed (alert 40)',
    ],
    [{ kind: 'upstream', status: 407, said: '' }, 'the upstream itself answered 407'],
    [
      { kind: 'upstream', status: 402, said: 'no traffic left' },
      'the upstream itself answered 402 (no traffic left)',
    ],
    [
      { kind: 'pattern', addresses: 3, pattern: '/a/*' },
      '3 different addresses were refused at /a/*',
    ],
  ];
  for (const [evidence, words] of rows) assert.equal(sight(evidence), words);
});

test('every stop has a sentence of its own', () => {
  const sentences = VOCABULARY.stops.map(explainStop);
  assert.equal(new Set(sentences).size, VOCABULARY.stops.length);
});

test('spans are said as people say them', () => {
  const said = [0, 999, 1000, 1250, 119_000, 120_000, 7_199_000, 7_200_000].map(seconds);
  assert.deepEqual(said, ['0 ms', '999 ms', '1 s', '1.3 s', '119 s', '2 min', '120 min', '2 h']);
});
