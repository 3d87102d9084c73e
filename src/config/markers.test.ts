import assert from 'node:assert/strict';
import test from 'node:test';
import { formatFault } from './faults.ts';
import { loadConfig } from './load.ts';

function load(text: string) {
  return loadConfig({ file: undefined, text: `policy:\n  ${text}\n`, env: {}, flags: {} });
}

function policyOf(text: string) {
  const loaded = load(text);
  if (loaded.kind !== 'ok') assert.fail(loaded.faults.map(formatFault).join('\n'));
  return loaded.config.policy;
}

function faultOf(text: string): string {
  const loaded = load(text);
  return loaded.kind === 'ok' ? 'none' : loaded.faults.map(formatFault).join('\n');
}

test('a marker of the user takes the form of the built-in rows, in lower case', () => {
  const [marker] = policyOf(`markers:
    - id: Wall
      kind: wall
      headers: { X-Guard: "", Server: Shield }
      body: [Guard.js]
      signs:
        - { title: [Stop, Halt], text: [No], body: [X], header: { name: X-A, has: B } }
      proof: { header: X-Blocked }
      unless: [ID="shop"]
      unless_path: [/Guard]
      max_text: 900
      status: [200, 403]`).markers;
  assert.deepEqual(marker, {
    id: 'Wall',
    kind: 'wall',
    signs: [
      { header: ['x-guard', ''] },
      { header: ['server', 'shield'] },
      { body: ['guard.js'] },
      { title: ['stop', 'halt'], text: ['no'], body: ['x'], header: ['x-a', 'b'] },
    ],
    proof: { header: 'x-blocked', words: [''] },
    unless: ['id="shop"'],
    unlessPath: ['/guard'],
    maxText: 900,
    statuses: [200, 403],
  });
});

test('a marker needs something to be known by', () => {
  assert.match(faultOf('markers: [{ id: a, kind: block }]'), /headers, body, signs or proof/);
  assert.match(faultOf('markers: [{ id: a, kind: block, body: [] }]'), /headers, body, signs/);
  assert.match(faultOf('markers: [{ id: a, kind: blok, body: [x] }]'), /kind/);
  assert.match(faultOf('markers: [{ kind: block, body: [x] }]'), /id/);
  assert.equal(faultOf('markers: [{ id: a, kind: block, body: [x] }]'), 'none');
});

test('there are none by default', () => assert.deepEqual(policyOf('patience: 5s').markers, []));

test('checks put together keep their shape, and take their defaults', () => {
  const [rule] = policyOf(`expect:
    - json: /a/b
      any:
        - { css: { selector: li } }
        - { not: { json: { pointer: /error, exists: false } }, all: [{ min_bytes: 9 }] }
      not: { json: { pointer: /state, equals: null } }
      all: [{ json: { pointer: /items, min_items: 3 } }]`).expect;
  assert.deepEqual(rule, {
    when: {},
    json: '/a/b',
    any: [
      { css: { selector: 'li', min: 1 } },
      { not: { json: { pointer: '/error', exists: false } }, all: [{ minBytes: 9 }] },
    ],
    not: { json: { pointer: '/state', equals: null } },
    all: [{ json: { pointer: '/items', minItems: 3 } }],
    otherwise: 'transient',
    label: 'expect-1',
  });
});

test('faults in checks are told where they are', () => {
  const rows = [
    ['expect: [{ any: [{ css: { selector: "(" } }] }]', /expect\.0\.any\.0\.css\.selector/],
    ['expect: [{ not: { json: items } }]', /expect\.0\.not\.json\.pointer/],
    ['expect: [{ all: [{ json: { pointer: /a, min_items: -1 } }] }]', /min_items/],
    ['expect: [{ json: { pointer: /a, equals: [1] } }]', /equals/],
    ['expect: [{ any: [{ contains: x }] }]', /contains/],
  ] as const;
  for (const [text, fault] of rows) assert.match(faultOf(text), fault);
});
