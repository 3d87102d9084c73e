import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { page, response, seen } from '../../test/support/judging.ts';
import { throttleWords } from './throttle-text.ts';

const data = (text: string, status = 200) =>
  page(text, { status, rawHeaders: ['Content-Type', 'application/json'] });

describe('a small object that says "send less"', () => {
  const rows: readonly [text: string, words: string][] = [
    ['{"error":"rate limited"}', 'rate limited'],
    [' {"error": "Rate limit exceeded"} ', 'Rate limit exceeded'],
    ['{"message":"Too Many Requests"}', 'Too Many Requests'],
    ['{"error":{"code":429,"message":"Too many requests"}}', 'Too many requests'],
    ['{"error":{"code":"rate_limit_exceeded","message":"Slow down"}}', 'rate_limit_exceeded'],
    ['{"errors":[{"code":88,"message":"Rate limit exceeded"}]}', 'Rate limit exceeded'],
    ['{"errors":["too_many_requests"]}', 'too_many_requests'],
    [
      '{"fault":{"code":900,"description":"x","message":"rate limit reached"}}',
      'rate limit reached',
    ],
    ['{"success":false,"msg":"Request was throttled."}', 'Request was throttled.'],
    ['{"ok":false,"detail":"requests too frequent"}', 'requests too frequent'],
    ['{"statusCode":429,"message":"rate-limited"}', 'rate-limited'],
    [
      '{"status":"error","message":"You have exceeded the rate limit"}',
      'You have exceeded the rate limit',
    ],
    ['{"type":"ThrottlingException"}', 'ThrottlingException'],
  ];
  for (const [text, words] of rows) {
    test(text, () => {
      for (const status of [200, 202, 203, 403, 503]) {
        assert.equal(throttleWords(data(text, status)), words);
      }
    });
  }
});

describe('an object that only has the words in it', () => {
  const rows: readonly string[] = [
    '{"id":7,"title":"Too many requests"}',
    '{"id":7,"message":"My service was rate limited yesterday"}',
    '{"status":"ok","message":"rate limit exceeded"}',
    '{"status":200,"message":"rate limit exceeded"}',
    '{"success":true,"message":"rate limit exceeded"}',
    '{"error":null,"id":1,"message":"rate limit exceeded"}',
    '{"error":"","id":1,"message":"rate limit exceeded"}',
    '{"items":[{"error":"rate limited"}]}',
    '{"error":"not found"}',
    '{"error":{"code":404,"message":"no such page"}}',
    '{"error":429}',
    '{"rate_limit":{"limit":100}}',
    `{"error":"${'words '.repeat(30)} rate limited"}`,
    `{"error":"rate limited","data":"${'x'.repeat(2048)}"}`,
    '["rate limited"]',
    '{"error":"rate limited"',
    '{}',
  ];
  for (const text of rows) {
    test(text.slice(0, 70), () => assert.equal(throttleWords(data(text)), undefined));
  }
});

test('words of more than 120 characters are a text, not a notice', () => {
  const words = 'rate limited '.padEnd(120, '.');
  assert.equal(throttleWords(data(JSON.stringify({ error: words }))), words);
  assert.equal(throttleWords(data(JSON.stringify({ error: `${words}.` }))), undefined);
});

describe('a page', () => {
  const rows: readonly [name: string, html: string, words: string | undefined][] = [
    [
      'with the words as its title',
      '<title>429 Too Many Requests</title><h1>Slow down</h1>',
      '429 too many requests',
    ],
    ['that is a string of JSON', '"rate limited"', '"rate limited"'],
    ['with no other words', 'Too many requests', 'too many requests'],
    [
      'with no title and few words',
      '<h1>Too Many Requests</h1><p>Please wait.</p>',
      'too many requests please wait.',
    ],
    ['with another title', '<title>My shop</title>Too many requests', undefined],
    [
      'with a title and much text',
      `<title>Too Many Requests</title>${'word '.repeat(100)}`,
      undefined,
    ],
    ['with no title and more text', `Too many requests ${'word '.repeat(30)}`, undefined],
    [
      'with a large source',
      `<title>Too Many Requests</title><script>${'x'.repeat(17_000)}</script>`,
      undefined,
    ],
    ['without the words', '<title>Too many cooks</title>', undefined],
    ['that is empty', '', undefined],
  ];
  for (const [name, html, words] of rows) {
    test(name, () => assert.equal(throttleWords(page(html)), words));
  }
});

describe('words are not looked for', () => {
  const html = '<title>Too Many Requests</title>';
  test('under a status that speaks for itself', () => {
    for (const status of [204, 206, 301, 400, 401, 404, 500]) {
      assert.equal(throttleWords(page(html, { status })), undefined, String(status));
    }
  });
  test('in a body that is not whole, not seen or no page', () => {
    assert.equal(throttleWords(page('', { body: seen(html, { end: 'pending' }) })), undefined);
    assert.equal(throttleWords(page('', { body: seen(html, { end: 'cut_short' }) })), undefined);
    assert.equal(throttleWords(response({ body: { kind: 'unseen' } })), undefined);
    assert.equal(
      throttleWords(page(html, { rawHeaders: ['Content-Type', 'image/png'] })),
      undefined,
    );
  });
});

test('nothing makes it throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      throttleWords(data(text));
    }),
  );
});
