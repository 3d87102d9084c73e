import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { page, response, seen } from '../../test/support/judging.ts';
import { type FactsOf, pageFacts } from './page-facts.ts';
import type { ResponseReply } from './verdict.ts';

const OF: FactsOf = { path: '/p/7?x=1', maxChars: 10_000, countItems: () => undefined };
const facts = (reply: ResponseReply, of: Partial<FactsOf> = {}) =>
  pageFacts(reply, { ...OF, ...of });
const typed = (type: string, text: string): ResponseReply =>
  response({ rawHeaders: ['Content-Type', type], body: seen(text) });

describe('which replies have facts', () => {
  const html = '<html><title>A</title></html>';
  const rows: readonly [what: string, reply: ResponseReply, kind: string | undefined][] = [
    ['a page', page(html), 'page'],
    ['a page under 203', page(html, { status: 203 }), 'page'],
    ['a page without a type', page(html, { rawHeaders: [] }), 'page'],
    ['plain text', typed('text/plain', 'ok'), 'page'],
    ['a feed', typed('application/rss+xml', '<rss/>'), 'page'],
    ['data', typed('application/json', '[]'), 'data'],
    ['problem data', typed('application/problem+json', '{}'), 'data'],
    ['a script', typed('text/javascript', 'x'), undefined],
    ['bytes without a type', page('\u0001\u0002', { rawHeaders: [] }), undefined],
    ['a part', page(html, { status: 206 }), undefined],
    ['nothing', response({ status: 204, body: { kind: 'none' } }), undefined],
    ['an error', page(html, { status: 404 }), undefined],
    ['an unseen body', page('', { body: { kind: 'unseen' } }), undefined],
    ['a body cut short', page('', { body: seen(html, { end: 'cut_short' }) }), undefined],
    ['an unreadable coding', page('', { body: seen(html, { coding: 'unknown' }) }), undefined],
    ['a redirect', response({ status: 302, rawHeaders: ['Location', '/a'] }), 'redirect'],
    ['a redirect to nowhere', response({ status: 302 }), undefined],
  ];
  for (const [what, reply, kind] of rows) {
    test(`${what}: ${kind ?? 'none'}`, () => assert.equal(facts(reply)?.kind, kind));
  }
});

describe('a page', () => {
  test('is closed, open, or nobody knows', () => {
    assert.equal(facts(page('<html></html>'))?.closed, true);
    assert.equal(facts(page('<html></HTML >\n<!-- late -->'))?.closed, true);
    assert.equal(facts(page('<html><p>and then'))?.closed, false);
    assert.equal(facts(page('', { body: seen('<html>', { end: 'pending' }) }))?.closed, undefined);
    assert.equal(facts(page('<html>'), { maxChars: 6 })?.closed, undefined);
    assert.equal(facts(typed('text/plain', 'no html'))?.closed, undefined);
  });

  test('has the words of its title, each once', () => {
    const one = facts(page('<title>Pot pot | Shop</title>'));
    const two = facts(page('<title>SHOP - Can</title>'));
    assert.equal(one?.words.length, 2);
    assert.equal(one?.words.filter((word) => two?.words.includes(word)).length, 1);
    assert.deepEqual(facts(page('<p>no title'))?.words, []);
  });

  test('has as many items as the user counts', () => {
    assert.equal(facts(page('<li>'), { countItems: () => 3 })?.items, 3);
  });
});

describe('data', () => {
  const rows: readonly [text: string, items: number | undefined][] = [
    ['[]', 0],
    ['[1,2,3]', 3],
    ['{"items":[]}', 0],
    ['{"items":[],"facets":[1,2]}', 2],
    ['{"data":{"items":[1]}}', 1],
    ['{"data":{"deeper":{"items":[1]}}}', undefined],
    ['{"name":"x"}', undefined],
    ['null', undefined],
    ['not json', undefined],
    [`[${'1,'.repeat(40_000)}1]`, undefined],
  ];
  for (const [text, items] of rows) {
    test(`${text.slice(0, 40)} has ${items ?? 'no list'}`, () => {
      const reply = typed('application/json', text);
      assert.equal(facts(reply, { maxChars: 200_000 })?.items, items);
    });
  }

  test('that was not looked at whole is not counted', () => {
    assert.equal(facts(typed('application/json', '[]'), { maxChars: 2 })?.items, undefined);
  });
});

test('redirects to one place have one target, whatever their queries', () => {
  const to = (location: string) =>
    facts(response({ status: 307, rawHeaders: ['Location', location] }))?.to;
  assert.equal(to('/login?next=/a'), to('/login?next=/b#x'));
  assert.notEqual(to('/login'), to('/signin'));
});

test('paths alike have one pattern and each its own name', () => {
  const [one, two] = ['/p/7', '/p/8'].map((path) => facts(page('x'), { path }));
  assert.equal(one?.pattern, two?.pattern);
  assert.notEqual(one?.url, two?.url);
});

test('nothing makes it throw, and no text of the page is in it', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), fc.boolean(), (text, isData) => {
      const reply = isData ? typed('application/json', text) : page(text);
      const found = facts(reply);
      assert.ok(JSON.stringify(found ?? {}).length < 700);
    }),
  );
});
