import { readFileSync } from 'node:fs';
import { blankSecrets } from '../../src/config/blank-secrets.ts';
import { type Fault, formatFault } from '../../src/config/faults.ts';
import { type Loaded, loadConfig } from '../../src/config/load.ts';
import { policyFor } from '../../src/config/resolve.ts';
import type { Dice } from './dice.ts';
import { type Complaint, firstOf, type Kind, pureBench, unless } from './kind.ts';
import { mutated } from './mutate.ts';

/** A configuration file in lines, with what is wrong with it. */
interface ConfigCase {
  readonly lines: readonly string[];
}

const SECRET = 'hunter2-and-more';
const FILE = new URL('../../proxy.config.yaml', import.meta.url);
const SLOW_MS = 3_000;

const RICH = `
clients: [{ name: crawler, password: "\${SECRET}" }]
upstreams:
  - name: homes
    gateway: http://customer-me-sid-{session|alnum:12}:\${SECRET}@p.shifter.io:443
    session_ttl: 10m
    exit_ip: { header: x-exit-ip }
  - name: list
    routes: [http://user:\${SECRET}@dc1.example:3128, socks5://dc2.example:1080]
    max_ejected_ratio: 0.5
policy: &policy
  patience: 20s
  markers:
    - { name: wall, text: [blocked by], verdict: address }
profiles:
  fast: { patience: 5s, pace: { concurrency: 2 } }
targets:
  - match: www.example.com/rest/**
    pace: { delay: 10s..20s, concurrency: 1 }
    backoff: { base: 20s, factor: 3, cap: 300s, jitter: 0.2, count: lane }
    replies:
      - when: { status: 400, body_contains: ENTRY_DELETED }
        verdict: terminal
        label: entry-deleted
    expect:
      - when: { path: "/search*", status: 200 }
        body_matches: "(a|b)+</html>"
        css: { selector: "div > a", min: 2 }
        else: transient
  - match: { host: "*.example.org", method: POST }
    upstreams: [list]
`;

const ref = (name: string): string => `\${${name}}`;
const VALUES = [
  ...['null', '~', 'true', 'no', '-1', '0', '1e999', '.inf', '.nan', '0x10', '2001-12-14', "''"],
  ...['[]', '{}', '[[]]', '{ a: b }', '*policy', '&x y', '!!binary aGk=', '!foo bar', '"\\0"', '?'],
  ...[
    ref('SECRET'),
    ref('file:/nowhere'),
    ref('file:/'),
    '${',
    `$${ref('X')}`,
    ref('NOT_SET'),
    '10s..5s',
    '..',
  ],
  ...[
    '99999999999999h',
    '-5s',
    '99999999999GiB',
    '127.0.0.1:99999',
    '[::1]:0',
    ':::',
    '*',
    '**/**',
  ],
  ...[
    '"(a+)+$"',
    '"("',
    'div >',
    '>\n   folded',
    '|\n   text',
    '"\\ud800"',
    'é\u202e',
    '__proto__',
  ],
  `[${'['.repeat(60)}${']'.repeat(60)}]`,
  'x'.repeat(3000),
  `http://u:${ref('SECRET')}@h:1`,
];
const LINES = [
  ...['---', '...', '%YAML 1.2', '<<: *policy', '? a', '- x', ': y', '\t- tab', '# c', 'listen:'],
  ...['__proto__: { patience: 1s }', 'constructor: 1', 'policy: { patience: 1s }', '? [a, b]\n: c'],
];

/** Configuration files with lines and values out of place: a configuration comes of them, or faults with a place. */
export const configText: Kind<ConfigCase> = {
  name: 'config-text',
  make,
  open: () => pureBench(play),
};

function make(dice: Dice): ConfigCase {
  const text = dice.oneIn(2) ? RICH : readFileSync(FILE, 'utf8');
  const uncommented = dice.oneIn(4) ? text.replaceAll(/^# (?= *[a-z_-]+:| {2})/gm, '') : text;
  let lines = uncommented.split('\n').filter((line) => !line.trimStart().startsWith('#'));
  for (let left = dice.between(1, 5); left > 0; left -= 1) lines = changed(lines, dice);
  return { lines };
}

function changed(lines: readonly string[], dice: Dice): string[] {
  const at = dice.below(lines.length);
  const line = lines[at] ?? '';
  switch (dice.below(8)) {
    case 0:
      return lines.toSpliced(at, dice.between(1, 3));
    case 1:
      return lines.toSpliced(dice.below(lines.length), 0, line);
    case 2:
      return lines.with(at, dice.oneIn(2) ? `  ${line}` : line.replace(/^ {1,2}/, ''));
    case 3:
      return lines.with(
        at,
        mutated(line, dice, [' ', ':', '-', '"', '{', '[', '&a', '*a', '!', '\t']),
      );
    case 4:
      return lines.toSpliced(at, 0, `${/^ */.exec(line)?.[0]}${dice.pick(LINES)}`);
    case 5:
      return lines.with(
        at,
        line.replace(/[a-z_]+(?=:)/, (key) => mutated(key, dice, ['_', 'a', '.'])),
      );
    default:
      return lines.with(
        at,
        line.replace(/(:|-) .*$/, `$1 ${dice.pick(VALUES).replaceAll('$', '$$$$')}`),
      );
  }
}

function play({ lines }: ConfigCase): Complaint | undefined {
  const text = lines.join('\n');
  const began = performance.now();
  const loaded = load(text);
  const tookMs = performance.now() - began;
  return firstOf(
    unless(tookMs < SLOW_MS, 'slow', () => `${Math.round(tookMs)} ms`),
    unless(JSON.stringify(load(text)) === JSON.stringify(loaded), 'not_the_same_twice', () => ''),
    loaded.kind === 'ok' ? checkConfig(loaded) : checkFaults(loaded.faults, text),
  );
}

function load(text: string): Loaded {
  return loadConfig({ file: undefined, text, env: { SECRET }, flags: {} });
}

function checkConfig({ config }: Extract<Loaded, { kind: 'ok' }>): Complaint | undefined {
  const shown = JSON.stringify(blankSecrets(config));
  const asked = { authority: 'www.example.com', path: '/rest/1', method: 'GET', client: 'x' };
  const profiles = [undefined, ...Object.keys(config.profiles)];
  const policies = profiles.map((profile) =>
    policyFor(config, { ...asked, host: 'www.example.com', profile }),
  );
  const bad = policies.find(({ policy }) => !(policy.patienceMs >= 0 && policy.maxAttempts >= 1));
  return firstOf(
    unless(shown.length > 100, 'nothing_to_show', () => shown),
    unless(bad === undefined, 'policy_out_of_bounds', () => JSON.stringify(bad)),
  );
}

function checkFaults(faults: readonly Fault[], text: string): Complaint | undefined {
  const lines = text.split(/\r\n|\n/);
  const astray = faults.find(({ line, column }) => {
    const length = (lines[line - 1] ?? '').length;
    return line < 1 || line > lines.length || column < 1 || column > length + 1;
  });
  const told = faults.map(formatFault).join('\n');
  const bare = faults.find(({ message }) => message.trim() === '');
  return firstOf(
    unless(faults.length > 0, 'no_fault_and_no_config', () => ''),
    unless(astray === undefined, 'no_such_place', () => JSON.stringify(astray)),
    unless(bare === undefined, 'no_word', () => JSON.stringify(bare)),
    unless(!told.includes(SECRET), 'secret_told', () => told),
    unless(told.length < 200_000, 'endless_faults', () => told.slice(0, 500)),
  );
}
