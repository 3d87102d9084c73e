import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isPage, mediaType, mediaTypeMatches } from './media-type.ts';

const LIST = ['text/*', 'application/json', 'application/*+json', 'application/xml'];

describe('the default list of inspected types', () => {
  const rows: readonly [type: string | undefined, fits: boolean][] = [
    ['text/html', true],
    ['text/html; charset=utf-8', true],
    ['TEXT/HTML;charset=x', true],
    ['  text/plain  ', true],
    ['application/json', true],
    ['application/problem+json', true],
    ['application/json5', false],
    ['application/jsonx+xml', false],
    ['application/xml', true],
    ['application/rss+xml', false],
    ['application/octet-stream', false],
    ['image/png', false],
    ['video/text', false],
    ['context/html', false],
    [undefined, true],
    ['', true],
    ['  ; charset=x', true],
  ];
  for (const [type, fits] of rows) {
    test(`${fits ? 'holds' : 'does not hold'} ${type ?? 'no type'}`, () => {
      assert.equal(mediaTypeMatches(LIST, type), fits);
    });
  }
});

test('an empty list holds nothing, not even a body without a type', () => {
  assert.equal(mediaTypeMatches([], 'text/html'), false);
  assert.equal(mediaTypeMatches([], undefined), false);
});

test('a star alone and two stars hold every type', () => {
  assert.equal(mediaTypeMatches(['*'], 'image/png'), true);
  assert.equal(mediaTypeMatches(['*/*'], 'image/png'), true);
});

test('patterns may be written in capitals', () => {
  assert.equal(mediaTypeMatches(['Text/*'], 'text/html'), true);
});

test('the media type comes without parameters, in lower case', () => {
  assert.equal(mediaType('Text/HTML ; charset="a;b"'), 'text/html');
  assert.equal(mediaType(' '), undefined);
  assert.equal(mediaType(undefined), undefined);
});

describe('a page for a reader', () => {
  const rows: readonly [type: string | undefined, is: boolean][] = [
    ['text/html', true],
    ['text/plain', true],
    ['application/xhtml+xml', true],
    ['application/json', true],
    ['application/ld+json', true],
    ['text/xml', true],
    [undefined, true],
    ['text/javascript', false],
    ['application/javascript', false],
    ['text/css', false],
    ['application/octet-stream', false],
    ['image/svg+xml', false],
  ];
  for (const [type, is] of rows) {
    test(`${type ?? 'no type'} ${is ? 'is' : 'is not'} one`, () => assert.equal(isPage(type), is));
  }
});
