import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { pathPattern } from './path-pattern.ts';

const rows: readonly [path: string, pattern: string][] = [
  ['', ''],
  ['/', '/'],
  ['*', '*'],
  ['/products', '/products'],
  ['/Products/Sale', '/Products/Sale'],
  ['/products/', '/products/'],
  ['/products/12345', '/products/{n}'],
  ['/products/7', '/products/{n}'],
  ['/price/12.50', '/price/{n}'],
  ['/item-123', '/item-{n}'],
  ['/item-123.html', '/item-{n}.html'],
  ['/page2', '/page{n}'],
  ['/12.html', '/{n}.html'],
  ['/rest/v2/search', '/rest/v2/search'],
  ['/p/550e8400-e29b-41d4-a716-446655440000', '/p/{id}'],
  ['/p/550E8400-E29B-41D4-A716-446655440000.json', '/p/{id}.json'],
  ['/commit/9fceb02d', '/commit/{id}'],
  ['/commit/9fceb02d0ae598e95dc970b74767f19372d61af8', '/commit/{id}'],
  ['/deadbeef', '/deadbeef'],
  ['/9fceb0', '/{n}fceb{n}'],
  ['/dp/B08N5WRWNW', '/dp/{id}'],
  ['/iphone15', '/iphone{n}'],
  ['/a1b2', '/a{n}b{n}'],
  ['/blog/how-to-scrape', '/blog/{slug}'],
  ['/blog/how_to_scrape.html', '/blog/{slug}.html'],
  ['/new-arrivals', '/new-arrivals'],
  ['/2024-01-15', '/{slug}'],
  ['/%E4%BD%A0', '/{slug}'],
  ['/caf\u00e9', '/{slug}'],
  [`/${'a'.repeat(24)}`, `/${'a'.repeat(24)}`],
  [`/${'a'.repeat(25)}`, '/{slug}'],
  [`/${'a'.repeat(9000)}`, '/{slug}'],
  [`/${'1'.repeat(80)}`, '/{n}'],
  [`/${'9fceb02d'.repeat(16)}`, '/{id}'],
  ['/x;jsessionid=ABC123/y', '/x/y'],
  ['/1/2/3/4/5/6/7/8', '/{n}/{n}/{n}/{n}/{n}/{n}/{n}/{n}'],
  ['/1/2/3/4/5/6/7/8/9', '/{n}/{n}/{n}/{n}/{n}/{n}/{n}/{n}/**'],
  ['/a/b/c/d/e/f/g/h/i/j/k', '/a/b/c/d/e/f/g/h/**'],
  ['/watch?v=dQw4w9WgXcQ', '/watch?v'],
  ['/search?q=a&page=2&q=b', '/search?page&q'],
  ['/search?', '/search'],
  ['/search?&&', '/search'],
  ['/search?=x', '/search'],
  ['/s?item_123=x', '/s?item_{n}'],
  ['/s?a=1&b&c&d&e&f&g&h&i&j', '/s?a&b&c&d&e&f&g&h'],
];

describe('the pattern of a path', () => {
  for (const [path, pattern] of rows) {
    test(`${path.slice(0, 60) || 'nothing'} is ${pattern || 'nothing'}`, () => {
      assert.equal(pathPattern(path), pattern);
    });
  }
});

const paths = fc.oneof(
  fc.webPath(),
  fc.string().map((text) => `/${text}`),
  fc
    .array(
      fc.constantFrom('a', 'item-', '12', '/', '.html', '?', '=', '&', 'B0N5', ';', '%20', '*'),
    )
    .map((parts) => `/${parts.join('')}`),
);

test('the pattern of a pattern is itself', () => {
  fc.assert(
    fc.property(paths, (path) => {
      const once = pathPattern(path);
      assert.equal(pathPattern(once), once);
    }),
    { numRuns: 2000 },
  );
});

test('no path, however long, has a long pattern', () => {
  const long = fc.array(paths, { minLength: 1, maxLength: 200 }).map((parts) => parts.join(''));
  fc.assert(fc.property(long, (path) => pathPattern(path).length <= 600));
});

test('the values of a query are nowhere in the pattern', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{6}$/), (secret) => {
      assert.ok(!pathPattern(`/login?token=${secret}&x=${secret}`).includes(secret));
    }),
  );
});
