import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { main } from '../src/cli/main.ts';

const scratch = mkdtempSync(join(tmpdir(), 'forbear-commands-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

function put(name: string, content: string | Uint8Array): string {
  const path = join(scratch, name);
  writeFileSync(path, content);
  return path;
}

// An empty file is all defaults: without it, a proxy.config.yaml in the working folder would count.
const defaults = put('defaults.yaml', '');

async function forbear(args: readonly string[], env: Record<string, string> = {}) {
  let out = '';
  let err = '';
  const code = await main(args, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    env: { FORBEAR_HOME: join(scratch, 'home'), ...env },
  });
  return { code, out, err };
}

async function explained(args: readonly string[], config = defaults) {
  const all = [
    'explain',
    '--config',
    config,
    '--json',
    '--url',
    'https://shop.test/a?b=1',
    ...args,
  ];
  const { code, out, err } = await forbear(all);
  assert.equal(code, 0, err);
  return JSON.parse(out);
}

const usage: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['an unknown command', ['chekc'], /Did you mean check/],
  ['an unknown option', ['check', '--confg', 'x'], /Did you mean --config/],
  ['no command at all', [], /Usage: forbear/],
  ['run without a command', ['run', '--config', defaults], /missing required argument/],
  ['run with only the dashes', ['run', '--'], /missing required argument/],
  ['an unknown format', ['env', '--format', 'csh'], /Allowed choices are sh, fish/],
  ['an unknown part of the CA', ['ca', 'key'], /Allowed choices are path, print/],
  ['explain without a URL', ['explain', '--status', '200'], /--url/],
  [
    'a status that is none',
    ['explain', '--url', 'http://a.test/', '--status', 'ok'],
    /three digits/,
  ],
  ['a URL that is none', ['explain', '--url', 'shop.test', '--status', '200'], /http or https/],
  [
    'a header that is none',
    ['explain', '--url', 'http://a.test/', '--status', '200', '--header', 'x'],
    /Name: value/,
  ],
  [
    'a body that is not there',
    ['explain', '--url', 'http://a.test/', '--status', '200', '--body', '/no/where'],
    /ENOENT/,
  ],
  ['a session with a dash in it', ['run', '--session', 'a-b', '--', 'true'], /letters, digits/],
  [
    'a profile that is not configured',
    ['run', '--profile', 'gentle', '--', 'true'],
    /not in the configuration/,
  ],
];

for (const [name, args, message] of usage) {
  test(`${name} is a usage error`, async () => {
    const { code, out, err } = await forbear(args, { FORBEAR_CONFIG: defaults });
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.match(err, message);
  });
}

for (const command of ['start', 'run', 'env', 'ca', 'check', 'explain']) {
  test(`${command} --help tells its options, --config among them`, async () => {
    const { code, out } = await forbear([command, '--help']);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`^Usage: forbear ${command}`));
    assert.match(out, /--config <file>/);
  });
}

test('the version is that of the package', async () => {
  const { code, out } = await forbear(['--version']);
  assert.equal(code, 0);
  assert.match(out, /^\d+\.\d+\.\d+\n$/);
});

test('check says OK and what the file amounts to', async () => {
  const file = put(
    'good.yaml',
    'listen: 127.0.0.1:9999\nprofiles: { gentle: { max_attempts: 2 } }\n',
  );
  const { code, out } = await forbear(['check', '--config', file]);
  assert.equal(code, 0);
  assert.match(
    out,
    /^OK .*good\.yaml: listen 127\.0\.0\.1:9999; upstreams direct; 0 targets; 1 profile\n$/,
  );
});

test('check tells every fault with its place, and ends with 2', async () => {
  const file = put('bad.yaml', 'policy:\n  max_attempts: many\n  patiense: 5s\n');
  const { code, out, err } = await forbear(['check', '--config', file]);
  assert.equal(code, 2);
  assert.equal(out, '');
  assert.match(err, /bad\.yaml:2:\d+ policy\.max_attempts/);
  assert.match(err, /bad\.yaml:3:\d+ .*patience/);
});

test('the file is the flag, else the variable', async () => {
  const bad = put('unreadable.yaml', 'listen: [');
  assert.equal((await forbear(['check'], { FORBEAR_CONFIG: bad })).code, 2);
  assert.equal((await forbear(['check', '--config', defaults], { FORBEAR_CONFIG: bad })).code, 0);
});

test('a throttle is waited out on the same route', async () => {
  const { verdict, action, explain } = await explained([
    '--status',
    '429',
    '--header',
    'Retry-After: 5',
  ]);
  assert.equal(verdict.reason, 'rate_limited');
  assert.deepEqual(action, { kind: 'wait', ledger: 'rate', delayMs: 5000, charged: false });
  assert.match(explain, /waiting 5 s on the same route/);
});

test('a wait beyond the patience ends the exchange', async () => {
  const { action } = await explained(['--status', '429', '--header', 'Retry-After: 600']);
  assert.deepEqual(action, { kind: 'fail', stop: 'patience_exceeded' });
});

const list = put(
  'list.yaml',
  'upstreams:\n  - name: dc\n    routes: [http://a.test:1, http://b.test:1]\n',
);

test('a block is answered by another address where there is one', async () => {
  const { verdict, action, via } = await explained(['--status', '403'], list);
  assert.equal(verdict.fault, 'route');
  assert.equal(via, 'tunnel');
  assert.equal(action.kind, 'rotate');
});

test('inside a session the address is never swapped', async () => {
  const { action } = await explained(['--status', '403', '--in-session'], list);
  assert.equal(action.kind, 'burn');
});

test('a request that may have been executed is not repeated', async () => {
  const { action } = await explained(['--status', '502', '--method', 'post'], list);
  assert.deepEqual(action, { kind: 'fail', stop: 'maybe_executed' });
});

test('plain HTTP through an upstream may be answered by the upstream itself', async () => {
  const { verdict, via } = await explained([
    '--url',
    'http://shop.test/',
    '--status',
    '407',
    '--via-upstream',
  ]);
  assert.equal(via, 'forward');
  assert.equal(verdict.reason, 'upstream_auth');
});

const rules = put(
  'rules.yaml',
  [
    'targets:',
    '  - match: shop.test',
    '    replies:',
    '      - when: { status: 200, body_contains: ENTRY_DELETED }',
    '        verdict: terminal',
    '        label: entry-deleted',
    '    expect:',
    '      - when: { status: 200 }',
    "        css: { selector: 'li.hit', min: 1 }",
    '        else: transient',
  ].join('\n'),
);

const PAGE = '<html><ul><li class="hit">one</li></ul></html>';
const bodies: readonly (readonly [string, string | Uint8Array, readonly string[], string])[] = [
  ['a good page', PAGE, [], 'ok'],
  ['a page without what is expected', '<html></html>', [], 'unexpected'],
  ['a page that a rule knows', 'ENTRY_DELETED', [], 'rule'],
  ['a gzip body as it came', gzipSync(PAGE), ['Content-Encoding: gzip'], 'ok'],
  [
    'a brotli body as it came',
    brotliCompressSync('ENTRY_DELETED'),
    ['Content-Encoding: br'],
    'rule',
  ],
  ['a body that was decoded when it was saved', PAGE, ['Content-Encoding: gzip'], 'ok'],
  ['a body of a type that is not looked into', 'ENTRY_DELETED', ['Content-Type: image/png'], 'ok'],
];

for (const [name, body, headers, reason] of bodies) {
  test(`${name}: ${reason}`, async () => {
    const file = put('body', body);
    const flags = headers.flatMap((header) => ['--header', header]);
    const { verdict } = await explained(['--status', '200', '--body', file, ...flags], rules);
    assert.equal(verdict.reason, reason);
  });
}

test('for people: verdict, evidence, action and the sentence; and a word when the body is unknown', async () => {
  const { out, err } = await forbear([
    'explain',
    '--config',
    defaults,
    '--url',
    'https://a.test/',
    '--status',
    '404',
  ]);
  assert.match(
    out,
    /^verdict +client\/not_found\nevidence +.*404\naction +deliver\nlane +a\.test, reached directly\nbecause +\w/,
  );
  assert.match(err, /nothing is known of the body/);
});

test('env names the configured address while no proxy runs, and says so apart from the variables', async () => {
  const { code, out, err } = await forbear(['env', '--config', defaults, '--session', 'cart7'], {
    FORBEAR_LISTEN: '127.0.0.1:4321',
  });
  assert.equal(code, 0);
  assert.match(out, /^export HTTP_PROXY='http:\/\/client-session-cart7:x@127\.0\.0\.1:4321'$/m);
  assert.match(out, /^(export \w+='.*'\n)+$/);
  assert.match(err, /no proxy runs at 127\.0\.0\.1:4321/);
});

test('the login of the first configured client is the one that env gives', async () => {
  const file = put('clients.yaml', 'clients: [{ name: alice, password: "s/1" }]\n');
  const { out } = await forbear(['env', '--config', file, '--format', 'dotenv']);
  assert.match(out, /^https_proxy=http:\/\/alice:s%2F1@127\.0\.0\.1:8888$/m);
});

test('ca: path and bundle name files, print shows what path holds', async () => {
  const ask = async (topic: string) => (await forbear(['ca', topic])).out;
  const pem = await ask('print');
  assert.equal(readFileSync((await ask('path')).trimEnd(), 'utf8').trim(), pem.trim());
  assert.ok(readFileSync((await ask('bundle')).trimEnd(), 'utf8').includes(pem.trim()));
  const help = await ask('install-help');
  for (const part of ['update-ca-certificates', 'macOS', 'Windows', 'Firefox', 'spki-list=']) {
    assert.ok(help.includes(part), part);
  }
});
