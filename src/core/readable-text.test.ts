import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { readableText, titleText } from './readable-text.ts';

const rows: readonly [name: string, html: string, text: string][] = [
  ['text without tags is its own', 'just words', 'just words'],
  ['nothing has no text', '', ''],
  ['tags are left out and part words', '<p>one</p><p>two</p>', 'one two'],
  ['white space is folded', '<p>one \n\t two</p>\n\n<p> three</p>', 'one two three'],
  ['attributes are no text', '<a title="not this" href="x">this</a>', 'this'],
  ['comments are no text', 'a<!-- <p>hidden</p> -->b', 'a b'],
  ['a comment may hold a greater-than', 'a<!-- 1 > 0 -->b', 'a b'],
  ['scripts are no text', 'a<script>if (x < 1) y = "</b>"</script>b', 'a b'],
  ['scripts may be in capitals', 'a<SCRIPT src=x>words</SCRIPT >b', 'a b'],
  ['styles are no text', 'a<style>p { color: red }</style>b', 'a b'],
  ['a script that never ends hides the rest', 'a<script>words and words', 'a'],
  ['a style does not end with a script', 'a<style>x</script>y</style>b', 'a b'],
  ['a tag that only begins like a script is none', '<scripture>words</scripture>', 'words'],
  ['what stands in noscript is read', '<noscript>enable it</noscript>', 'enable it'],
  ['a tag that never ends hides the rest', 'a<b words', 'a'],
  ['a comment that never ends hides the rest', 'a<!-- words > more', 'a'],
];

describe('readable text', () => {
  for (const [name, html, text] of rows) {
    test(name, () => assert.equal(readableText(html, 100), text));
  }

  test('is cut at its bound', () => {
    assert.equal(readableText('<p>abcdef</p>', 3), 'abc');
    assert.equal(readableText('a'.repeat(50_000), 10_000).length, 10_000);
  });

  test('goes on past long white space', () => {
    assert.equal(readableText(`${' \n'.repeat(20_000)}end`, 100), 'end');
  });

  test('stays within its bound and never throws', () => {
    const html = fc
      .array(
        fc.oneof(
          fc.string(),
          fc.constantFrom('<', '>', '<!--', '-->', '<script>', '</script', '</'),
        ),
      )
      .map((parts) => parts.join(''));
    fc.assert(fc.property(html, fc.nat(50), (text, max) => readableText(text, max).length <= max));
  });
});

describe('the title', () => {
  const titles: readonly [html: string, title: string][] = [
    ['<html><head><title>Just a Moment...</title>', 'just a moment...'],
    ['<TITLE lang="en">\n  Two  \n words </TITLE>', 'two words'],
    ['<title>one</title><title>two</title>', 'one'],
    ['<p>no title</p>', ''],
    ['<title>never ends', ''],
    ['<title', ''],
    [`${' '.repeat(20_000)}<title>too far down</title>`, ''],
  ];
  for (const [html, title] of titles) {
    test(`of ${html.trim().slice(0, 40)} is "${title}"`, () =>
      assert.equal(titleText(html), title));
  }
});
