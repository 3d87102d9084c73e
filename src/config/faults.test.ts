// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the configuration itself
import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import type { Config } from './config.ts';
import { formatFault } from './faults.ts';
import { loadConfig } from './load.ts';

type Env = Readonly<Record<string, string>>;

function load(text: string, env: Env = {}, flags: { listen?: string; admin?: string } = {}) {
  return loadConfig({ file: 'proxy.config.yaml', text, env, flags });
}

function configOf(text: string, env: Env = {}, flags = {}): Config {
  const loaded = load(text, env, flags);
  if (loaded.kind !== 'ok') assert.fail(loaded.faults.map(formatFault).join('\n'));
  return loaded.config;
}

function faultsOf(text: string, env: Env = {}, flags = {}): readonly string[] {
  const loaded = load(text, env, flags);
  return loaded.kind === 'ok' ? [] : loaded.faults.map(formatFault);
}

const manyFaults = [
  'listen: localhost', // 1
  'admin: { listen: 0.0.0.0:9, tokn: x }', // 2
  'auth: requird', // 3
  'allow_private_targets: maybe', // 4
  'drain: 30', // 5
  'intercept: []', // 6
  'tls:', // 7
  '  extra_ca: [missing.pem]', // 8
  'upstreams:', // 9
  '  - name: a', // 10
  '    gateway: http://user:hunter%6q@h.test:1', // 11
  '  - name: a', // 12
  '    routes: ["http://u:hunter2@h.test:0", "ftp://h.test"]', // 13
  '  - { name: b, provider: oxylbs }', // 14
  '  - { name: c }', // 15
  'policy:', // 16
  '  patience: 1x', // 17
  '  max_atempts: 3', // 18
  '  backoff: { base: -1s, factor: 0.5, jitter: ful, jitter: full }', // 19
  '  transient_statuses: [99]', // 20
  '  upstreams: [z]', // 21
  '  timeouts: { connect: .inf, first_byte: .nan, idle: 0s, sniff: -1s }', // 22
  '  probe: { url: ftp://x }', // 23
  'profiles: { a-b: {} }', // 24
  'targets:', // 25
  '  - match: www.example.com', // 26
  '    pace: { delay: 20s..10s, rate: 0 }', // 27
  '    replies: [{ when: { body_matches: "(a" }, verdict: bad }]', // 28
  '    expect: [{ css: { selector: "a[[" }, json: x }]', // 29
  '  - pace: {}', // 30
  'log: { level: [] }', // 31
  'surprise: 1', // 32
].join('\n');

/** Line, column and key of each. */
const placesOfFaults = [
  '1:9 listen',
  '2:18 admin.listen',
  '2:29 admin.tokn',
  '3:7 auth',
  '4:24 allow_private_targets',
  '5:8 drain',
  '6:12 intercept',
  '8:14 tls.extra_ca.0',
  '11:14 upstreams.0.gateway',
  '12:11 upstreams.1.name',
  '13:14 upstreams.1.routes.0',
  '13:43 upstreams.1.routes.1',
  '14:26 upstreams.2.provider',
  '15:5 upstreams.3',
  '17:13 policy.patience',
  '18:3 policy.max_atempts',
  '19:20 policy.backoff.base',
  '19:33 policy.backoff.factor',
  '19:51 ',
  '20:23 policy.transient_statuses',
  '21:15 policy.upstreams.0',
  '22:24 policy.timeouts.connect',
  '22:42 policy.timeouts.first_byte',
  '22:54 policy.timeouts.idle',
  '22:65 policy.timeouts.sniff',
  '23:10 policy.probe.expect',
  '23:17 policy.probe.url',
  '24:13 profiles.a-b',
  '27:20 targets.0.pace.delay',
  '27:36 targets.0.pace.rate',
  '28:39 targets.0.replies.0.when.body_matches',
  '28:56 targets.0.replies.0.verdict',
  '29:33 targets.0.expect.0.css.selector',
  '29:48 targets.0.expect.0.json.pointer',
  '30:5 targets.1.match',
  '31:15 log.level',
  '32:1 surprise',
];

test('a configuration with many faults is told all of them at once, each at its line and column', () => {
  const loaded = load(manyFaults);
  assert.equal(loaded.kind, 'faults');
  const places = (loaded.kind === 'faults' ? loaded.faults : []).map(
    ({ line, column, path }) => `${line}:${column} ${path}`,
  );
  assert.deepEqual(places, placesOfFaults);
  assert.doesNotMatch(faultsOf(manyFaults).join('\n'), /hunter/);
});

test('a fault says where, which key, what was expected and what may have been meant', () => {
  assert.deepEqual(faultsOf('policy:\n  max_attempts: many\n  max_atempts: 5\n'), [
    'proxy.config.yaml:2:17 policy.max_attempts: expected a whole number of at least 1, got "many"',
    'proxy.config.yaml:3:3 policy.max_atempts: unknown key (did you mean max_attempts?)',
  ]);
  assert.deepEqual(faultsOf('log: { level: wran }'), [
    'proxy.config.yaml:1:15 log.level: expected one of trace, debug, info, warn, error, silent, got "wran" (did you mean warn?)',
  ]);
});

const notations: readonly (readonly [string, RegExp])[] = [
  ['a: [', /1:\d+: not valid YAML/],
  ['- a\n- b', /1:1: expected settings such as .*, got a list/],
  ['just text', /1:1: expected settings such as .*, got a text/],
  ['listen: 127.0.0.1:1\nlisten: 127.0.0.1:2', /2:1: this key is there twice/],
  ['policy:\n\tpatience: 1s', /2:1: not valid YAML: tabs cannot indent/],
  ['policy: *nowhere', /1:9.*: not valid YAML: this alias/],
  ['policy: &a { backoff: *a }', /too many or too deeply nested/],
  ['a: !secret hunter2', /unknown tag/],
  ['{? [x] : 1}', /expected a plain word as a key/],
  ['__proto__: { listen: x }', /expected a plain word as a key/],
  ['a: 1\n---\nb: 2', /more than one document/],
  ['['.repeat(5000), /not valid YAML/],
];

for (const [text, expected] of notations) {
  test(`broken notation is a fault and no crash: ${JSON.stringify(text.slice(0, 40))}`, () => {
    const faults = faultsOf(text).join('\n');
    assert.match(faults, expected);
    assert.doesNotMatch(faults, /hunter/);
  });
}

test('aliases that multiply are cut off before they fill the memory', () => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 12; i++)
    lines.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  assert.match(faultsOf(lines.join('\n')).join('\n'), /too many or too deeply nested values/);
});

test('anchors and aliases can be used to say things once', () => {
  const config = configOf(
    'policy: { backoff: &b { base: 3s } }\ntargets: [{ match: a.test, backoff: *b }]',
  );
  assert.deepEqual(config.targets[0]?.patch, { backoff: { baseMs: 3000 } });
});

test('no text whatever makes loading throw', () => {
  const words = [
    'policy',
    'targets',
    'upstreams',
    'match',
    'listen',
    ':',
    ': ',
    '- ',
    '\n',
    '\n  ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    "'",
    '&a',
    '*a',
    '!x',
    '${',
    '${A}',
    '|',
    '>',
    '#',
    '%',
    '1s',
    '..',
    'null',
    '\t',
    '?',
    '<<',
    '---',
    '\u0000',
    '\ud800',
  ];
  const yaml = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 5 })), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(yaml, (parts) => {
      const loaded = load(parts.join(''), { A: 'b' });
      if (loaded.kind === 'faults') loaded.faults.map(formatFault);
    }),
    { numRuns: 200 },
  );
});

test('no value in the place of another makes loading throw', () => {
  const keys = [
    'listen',
    'admin',
    'clients',
    'tls',
    'upstreams',
    'policy',
    'profiles',
    'targets',
    'store',
  ];
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 4 })), (tree) => {
      load(JSON.stringify(tree));
    }),
    { numRuns: 100 },
  );
});
