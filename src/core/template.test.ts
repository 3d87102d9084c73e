import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { escapeTemplate, parseTemplate, renderTemplate, templateVariables } from './template.ts';

const hash = (text: string) => createHash('sha256').update(text).digest('hex');

function render(text: string, variables: Record<string, string> = {}): string {
  const template = parseTemplate(text);
  assert.ok(!('message' in template), 'message' in template ? template.message : '');
  return renderTemplate(template, variables, hash);
}

function faultOf(text: string): { at: number; message: string } {
  const template = parseTemplate(text);
  assert.ok('message' in template, `${text} should be refused`);
  return template;
}

test('variables are filled in and unknown ones are empty', () => {
  assert.equal(render('customer-{account}-{nothing}.', { account: 'joe' }), 'customer-joe-.');
});

test('a group is dropped when a variable inside is empty, and kept otherwise', () => {
  assert.equal(render('u[-country-{country}][-sid-{session}]', { session: 'a' }), 'u-sid-a');
  assert.equal(render('u[-{country}-{city}]', { country: 'us' }), 'u');
  assert.equal(render('u[-{country|map:us=}]', { country: 'us' }), 'u');
});

test('brackets around plain text stay as they are, and doubled ones stand for themselves', () => {
  assert.equal(render('pa[ss]word'), 'pa[ss]word');
  assert.equal(render('a[[b]]c{{d}}'), 'a[b]c{d}');
});

for (const [text, variables, expected] of [
  ['{c|lower}', { c: 'US' }, 'us'],
  ['{c|upper}', { c: 'us' }, 'US'],
  ['{c|slug}', { c: ' New York / São Paulo ' }, 'new_york_sao_paulo'],
  ['{t|minutes}', { t: '600' }, '10'],
  ['{t|minutes}', { t: '61' }, '2'],
  ['{t|minutes}', { t: '5' }, '1'],
  ['{t|minutes}', { t: 'soon' }, 'soon'],
  ['{c|lower|map:gb=uk;el=gr}', { c: 'GB' }, 'uk'],
  ['{c|lower|map:gb=uk;=any}', {}, 'any'],
  ['{c|map:gb=uk}', { c: 'fr' }, 'fr'],
  ['{c|map:a=b=c}', { c: 'a' }, 'b=c'],
  ['{c|map:a=b}', { c: 'constructor' }, 'constructor'],
] as const) {
  test(`${text} of ${JSON.stringify(variables)} is ${expected}`, () => {
    assert.equal(render(text, variables), expected);
  });
}

test('identifier filters give the exact shape for any seed, the same one each time', () => {
  const shapes = [
    ['{s|alnum:8}', /^[a-z1-9][a-z0-9]{7}$/],
    ['{s|alnum:64}', /^[a-z1-9][a-z0-9]{63}$/],
    ['{s|digits:9}', /^[1-9][0-9]{8}$/],
    ['{s|digits:1}', /^[1-9]$/],
    ['{s|uuid}', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/],
  ] as const;
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (s) => {
      for (const [text, shape] of shapes) {
        assert.match(render(text, { s }), shape);
        assert.equal(render(text, { s }), render(text, { s }));
      }
      const port = Number(render('{s|range:10001-49999}', { s }));
      assert.ok(port >= 10001 && port <= 49999);
      assert.equal(render('{s|range:7-7}', { s }), '7');
    }),
    { numRuns: 50 },
  );
});

test('different seeds give different identifiers', () => {
  const tokens = Array.from({ length: 500 }, (_, i) => render('{s|alnum:8}', { s: `seed-${i}` }));
  assert.equal(new Set(tokens).size, 500);
  const ports = Array.from({ length: 500 }, (_, i) => render('{s|range:1-4}', { s: `seed-${i}` }));
  assert.deepEqual([...new Set(ports)].sort(), ['1', '2', '3', '4']);
});

test('an empty seed stays empty, so that its group is dropped', () => {
  assert.equal(render('u[-sid-{session|alnum:12}][-{session|uuid}][-{session|range:1-9}]'), 'u');
});

test('the variables are listed once each, in order', () => {
  const template = parseTemplate('{b}[-{a}{b}]{session|alnum:3}');
  assert.ok(!('message' in template));
  assert.deepEqual(templateVariables(template), ['b', 'a', 'session']);
  assert.equal(template.source, '{b}[-{a}{b}]{session|alnum:3}');
});

for (const [text, at] of [
  ['abc{session', 3],
  ['abc}', 3],
  ['ab[-{a}', 2],
  ['ab-{a}]', 6],
  ['[a[b{c}]]', 2],
  ['{Session}', 0],
  ['{}', 0],
  ['x{a|nonsense}', 1],
  ['{a|alnum}', 0],
  ['{a|alnum:0}', 0],
  ['{a|alnum:65}', 0],
  ['{a|digits:-1}', 0],
  ['{a|range:9-1}', 0],
  ['{a|range:5}', 0],
  ['{a|lower:1}', 0],
  ['{a|map}', 0],
  ['{a|map:b}', 0],
] as const) {
  test(`${text} is refused at ${at}`, () => {
    const fault = faultOf(text);
    assert.equal(fault.at, at);
    assert.ok(fault.message.length > 10);
  });
}

test('a fault never quotes the text, which may be a password', () => {
  for (const text of ['hunter2{', 'hunter2[', '{a|hunter2}', '{hunter2|', '{a|alnum:hunter2}']) {
    assert.ok(!faultOf(text).message.includes('hunter2'));
  }
});

test('any text renders as itself once escaped, and no text makes the parser throw', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '{', '}', '[', ']', '|', ':', '-') }),
      (text) => {
        assert.equal(render(escapeTemplate(text)), text);
        parseTemplate(text);
      },
    ),
    { numRuns: 300 },
  );
});
