import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldValue, fieldValues, splitOutsideQuotes } from './fields.ts';

const raw = ['X-A', ' 1 ', 'set-cookie', 'a=1', 'Set-Cookie', 'b=2', 'x-a', '3', 'Odd'];

test('a field is found whatever its case, trimmed, the first one first', () => {
  assert.equal(fieldValue(raw, 'x-a'), '1');
});

test('a field that is not there is undefined, as is a name without a value', () => {
  assert.equal(fieldValue(raw, 'x-b'), undefined);
  assert.equal(fieldValue(raw, 'odd'), undefined);
});

test('a name that stands as a value is no field', () => {
  assert.equal(fieldValue(['a', 'x-b'], 'x-b'), undefined);
});

test('all values come in order, and none is joined', () => {
  assert.deepEqual(fieldValues(raw, 'set-cookie'), ['a=1', 'b=2']);
  assert.deepEqual(fieldValues(raw, 'x-b'), []);
});

test('a structured field is cut outside of its quoted strings, empty pieces kept', () => {
  const text = ' "a,b" ; x="c\\",d", ,e';
  assert.deepEqual(splitOutsideQuotes(text, ','), ['"a,b" ; x="c\\",d"', '', 'e']);
  assert.deepEqual(splitOutsideQuotes(text, ';')[0], '"a,b"');
});
