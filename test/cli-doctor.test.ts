import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type DoctorFlags, doctor } from '../src/cli/doctor/doctor.ts';
import type { Finding } from '../src/cli/doctor/finding.ts';
import { loadConfig } from '../src/config/load.ts';
import { createProxy } from '../src/proxy.ts';
import { startExit } from './support/exit-proxy.ts';
import { scratch } from './support/recorded-run.ts';
import { startProxy } from './support/whole-proxy.ts';

const LIMIT = { timeout: 60_000 };

/** What is found with these lines as configuration. */
async function found(
  t: TestContext,
  o: {
    readonly lines?: readonly string[];
    readonly env?: Record<string, string>;
    readonly command?: readonly string[];
    readonly flags?: DoctorFlags;
  } = {},
) {
  const folder = scratch(t);
  const config = join(folder, 'c.yaml');
  writeFileSync(
    config,
    ['listen: 127.0.0.1:0', 'admin: { listen: "off" }', ...(o.lines ?? [])].join('\n'),
  );
  let out = '';
  const env = { PATH: process.env.PATH, FORBEAR_HOME: join(folder, 'home'), ...o.env };
  const terminal = { out: (text: string) => (out += text), err: () => {}, env };
  const code = await doctor({ config, json: true, ...o.flags }, o.command ?? [], terminal);
  const all: readonly Finding[] = JSON.parse(out);
  const bad = all.filter(({ level }) => level !== 'ok');
  for (const { fix } of bad) assert.ok(fix);
  return { code, all, bad, home: env.FORBEAR_HOME };
}

async function listening(t: TestContext, server: Server | ReturnType<typeof createTcpServer>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('where nothing is in the way it says so, and leaves nothing behind', LIMIT, async (t) => {
  const { code, bad, all, home } = await found(t);
  assert.deepEqual([code, bad], [0, []]);
  assert.deepEqual(
    all.map(({ check }) => check),
    ['configuration', 'port', 'home', 'CA', 'store', 'shell'],
  );
  assert.throws(() => readdirSync(home), { code: 'ENOENT' });
});

test('a port of another program fails, one of a Forbear does not', LIMIT, async (t) => {
  const foreign = await listening(
    t,
    createServer((_, reply) => reply.end('hello')),
  );
  const taken = await found(t, { flags: { listen: `127.0.0.1:${foreign}` } });
  assert.equal(taken.code, 1);
  assert.match(taken.bad[0]?.text ?? '', /is in use by another program/);
  const { port, adminPort } = await startProxy(t, [], { admin: true });
  const ours = await found(t, {
    flags: { listen: `127.0.0.1:${port}`, admin: `127.0.0.1:${adminPort}` },
  });
  assert.deepEqual([ours.code, ours.bad], [0, []]);
  const admin = await found(t, { flags: { admin: `127.0.0.1:${foreign}` } });
  assert.match(admin.bad[0]?.fix ?? '', /--admin/);
  const lines = ['clients: [{ name: me, password: secret }]'];
  const nowhere = await found(t, { lines, flags: { listen: '192.0.2.1:8888' } });
  assert.match(nowhere.bad[0]?.text ?? '', /cannot listen on 192\.0\.2\.1:8888 \(EADDRNOTAVAIL\)/);
});

test(
  'a home that is a file, a CA that is damaged and a store that is not ours fail',
  LIMIT,
  async (t) => {
    const file = join(scratch(t), 'file');
    writeFileSync(file, '');
    const isFile = await found(t, { env: { FORBEAR_HOME: file } });
    assert.match(isFile.bad[0]?.text ?? '', /is no folder/);
    const below = await found(t, { env: { FORBEAR_HOME: join(file, 'home') } });
    assert.equal(below.code, 1);

    const home = scratch(t);
    writeFileSync(join(home, 'ca-key.pem'), 'garbage');
    writeFileSync(
      join(home, 'forbear.db'),
      'no database, whatever it is, but long enough to be looked at',
    );
    const { code, bad } = await found(t, { env: { FORBEAR_HOME: home } });
    assert.equal(code, 1);
    assert.deepEqual(
      bad.map(({ check, level }) => [check, level]),
      [
        ['CA', 'fail'],
        ['store', 'fail'],
      ],
    );
    assert.deepEqual(readdirSync(home).sort(), ['ca-key.pem', 'forbear.db']);
  },
);

test('what a proxy has made is found well, while it runs and after it', LIMIT, async (t) => {
  const home = scratch(t);
  const loaded = loadConfig({ file: undefined, text: 'listen: 127.0.0.1:0', env: {}, flags: {} });
  assert.equal(loaded.kind, 'ok');
  if (loaded.kind !== 'ok') return;
  const proxy = await createProxy({ config: loaded.config, home });
  await proxy.start();
  const running = await found(t, { env: { FORBEAR_HOME: home } });
  await proxy.stop();
  const before = readdirSync(home).sort();
  const after = await found(t, { env: { FORBEAR_HOME: home } });
  for (const { code, bad } of [running, after]) assert.deepEqual([code, bad], [0, []]);
  assert.deepEqual(readdirSync(home).sort(), before);
  writeFileSync(join(home, 'ca.pem'), 'another');
  const { bad } = await found(t, { env: { FORBEAR_HOME: home } });
  assert.match(bad[0]?.text ?? '', /ca\.pem is another one/);
});

test(
  'upstreams: those that refuse or are silent, and those that refuse the login',
  LIMIT,
  async (t) => {
    const site = await listening(
      t,
      createServer((_, reply) => reply.end('x')),
    );
    const exit = await startExit(t, { exit: '127.0.2.1', names: { 'o.test': site } });
    const good = `upstreams: [{ name: dc, routes: ["${exit.url}"] }]`;
    const target = 'o.test:443';
    assert.deepEqual((await found(t, { lines: [good] })).bad, []);
    const reached = await found(t, { lines: [good], flags: { target } });
    assert.match(
      reached.all.find(({ check }) => check === 'upstream dc')?.text ?? '',
      /connects to o\.test:443/,
    );
    assert.equal(reached.code, 0);

    const wrong = good.replace('secret', 'wrong');
    const refused = await found(t, { lines: [wrong], flags: { target } });
    assert.equal(refused.code, 1);
    assert.match(refused.bad[0]?.text ?? '', /does not connect to o\.test:443: .*407/);

    const dead = await found(t, {
      lines: ['upstreams: [{ name: dc, routes: ["http://127.0.0.1:1"] }]'],
    });
    assert.match(
      dead.bad[0]?.text ?? '',
      /1 of 1 addresses takes no connection: 127\.0\.0\.1:1 \(ECONNREFUSED\)/,
    );
    const half = await found(t, {
      lines: [`upstreams: [{ name: dc, routes: ["http://127.0.0.1:1", "${exit.url}"] }]`],
    });
    assert.deepEqual([half.code, half.bad[0]?.level], [0, 'warn']);

    const silent = await listening(
      t,
      createTcpServer((socket) => socket.on('error', () => {})),
    );
    const lines = [
      `upstreams: [{ name: dc, routes: ["https://127.0.0.1:${silent}"] }]`,
      'policy: { timeouts: { connect: 300ms } }',
    ];
    const mute = await found(t, { lines });
    assert.match(mute.bad[0]?.text ?? '', /no answer in time/);
  },
);

test('variables of the shell that are in the way', LIMIT, async (t) => {
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ HTTPS_PROXY: 'http://proxy.corp.test:3128' }, /HTTPS_PROXY names another proxy than/],
    [
      { HTTP_PROXY: 'http://u:x@127.0.0.1:8888' },
      /http_proxy, HTTPS_PROXY, https_proxy are not set/,
    ],
    [{ no_proxy: 'a.test,*' }, /no_proxy is \*/],
    [{ NO_PROXY: '*.a.test,10.0.0.0/8' }, /NO_PROXY has \*\.a\.test, 10\.0\.0\.0\/8/],
    [{ NODE_EXTRA_CA_CERTS: '/nowhere.pem' }, /names \/nowhere\.pem, which cannot be read/],
    [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, /verifies no certificate/],
  ];
  for (const [env, message] of cases) {
    const { code, bad } = await found(t, { env, flags: { listen: '127.0.0.1:8888' } });
    assert.equal(code, bad.some(({ level }) => level === 'fail') ? 1 : 0);
    assert.ok(
      bad.some(({ text }) => message.test(text)),
      `${message} in ${JSON.stringify(bad)}`,
    );
  }
});

test('traps of clients, by their name, version and script', LIMIT, async (t) => {
  const folder = scratch(t);
  mkdirSync(join(folder, 'bin'));
  const put = (name: string, text: string) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    chmodSync(file, 0o755);
    return file;
  };
  put('bin/node', '#!/bin/sh\necho v20.20.2\n');
  put('bin/python3', '#!/bin/sh\n');
  put('bin/java', '#!/bin/sh\n');
  const env = { PATH: join(folder, 'bin') };
  const told = async (...command: string[]) => (await found(t, { env, command })).bad;
  const one = put('one.py', 'import aiohttp\nasync with aiohttp.ClientSession() as s: ...\n');
  const well = put('well.py', 'import aiohttp\naiohttp.ClientSession(trust_env=True)\n');
  const own = put('own', '#!/usr/bin/env python3\nimport requests\ns.trust_env = False\n');
  assert.match((await told('python3', one))[0]?.text ?? '', /aiohttp/);
  assert.deepEqual(await told('python3', '-u', well), []);
  assert.match((await told(own))[0]?.text ?? '', /trust_env=False/);
  assert.match((await told('node', 'x.js'))[0]?.text ?? '', /22\.21/);
  assert.match((await told('java', '-jar', 'x.jar'))[0]?.fix ?? '', /--java/);
  const missing = await found(t, { env, command: ['nothing'] });
  assert.deepEqual([missing.code, missing.bad[0]?.check], [1, 'nothing']);
});

test('for people each finding is a line, with what helps below it', LIMIT, async (t) => {
  let out = '';
  const env = { PATH: '', FORBEAR_HOME: scratch(t), NO_PROXY: '*' };
  const terminal = { out: (text: string) => (out += text), err: () => {}, env };
  await doctor({ listen: '127.0.0.1:0', admin: 'off' }, [], terminal);
  assert.match(out, /^ok {4}configuration {2}/);
  assert.match(out, /\nwarn {2}shell {10}NO_PROXY is \*: .*\n {21}-> unset NO_PROXY\n/);
});
