import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findProxy } from '../src/cli/find-proxy.ts';
import { homeFolder, openHome } from '../src/cli/home.ts';
import { readRunning, removeRunning, writeRunning } from '../src/cli/running.ts';
import { onStopSignals } from '../src/cli/stop-signals.ts';
import { watchFile } from '../src/cli/watch-file.ts';

const scratch = mkdtempSync(join(tmpdir(), 'forbear-cli-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

function folder(name: string): string {
  const path = join(scratch, name);
  mkdirSync(path, { recursive: true });
  return path;
}

test('the home is where the first variable that counts says', () => {
  const HOME = '/home/u';
  assert.equal(homeFolder({ FORBEAR_HOME: '/a', XDG_DATA_HOME: '/b', HOME }), '/a');
  assert.equal(homeFolder({ XDG_DATA_HOME: '/b', HOME }), '/b/forbear');
  assert.equal(
    homeFolder({ FORBEAR_HOME: '', XDG_DATA_HOME: 'relative', HOME }),
    '/home/u/.local/share/forbear',
  );
});

test('the home is made, and closed to others even when it was open before', () => {
  const home = folder('open-home');
  assert.equal(openHome({ FORBEAR_HOME: home }), home);
  assert.equal(statSync(home).mode & 0o777, 0o700);
});

test('a home that cannot be made is one line that names the way out', () => {
  const file = join(folder('blocked'), 'file');
  writeFileSync(file, '');
  assert.throws(() => openHome({ FORBEAR_HOME: join(file, 'home') }), /set FORBEAR_HOME/);
});

const note = (pid: number, port: number) => ({
  pid,
  listen: { host: '127.0.0.1', port },
  started: '2026-01-01T00:00:00.000Z',
  configHash: 'abc',
});

test('the note of a running proxy is read back as written, and is private', () => {
  const home = folder('note');
  writeRunning(home, note(7, 8888));
  assert.deepEqual(readRunning(home), note(7, 8888));
  assert.equal(statSync(join(home, 'running.json')).mode & 0o777, 0o600);
});

test('only the proxy that wrote the note takes it away', () => {
  const home = folder('note-owner');
  writeRunning(home, note(7, 8888));
  removeRunning(home, 8);
  assert.equal(readRunning(home)?.pid, 7);
  removeRunning(home, 7);
  assert.equal(readRunning(home), undefined);
});

test('a note that is no note is none', () => {
  const home = folder('note-broken');
  for (const text of [
    '',
    '{',
    'null',
    '{"pid":"1"}',
    '{"pid":1,"listen":{},"started":"","configHash":""}',
  ]) {
    writeFileSync(join(home, 'running.json'), text);
    assert.equal(readRunning(home), undefined, text);
  }
});

async function listening(answer: (response: ServerResponse) => void) {
  const server = createServer((_, response) => answer(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

test('a proxy is found when its process lives and its port answers as Forbear', async (t) => {
  const home = folder('found');
  const { server, port } = await listening((response) =>
    response.writeHead(400, { 'proxy-status': 'forbear; error=http_request_error' }).end('{}'),
  );
  t.after(() => server.close());
  writeRunning(home, note(process.pid, port));
  assert.equal((await findProxy(home))?.listen.port, port);
});

test('another server on the noted port is not taken for the proxy', async (t) => {
  const home = folder('other-server');
  const { server, port } = await listening((response) => response.writeHead(400).end());
  t.after(() => server.close());
  writeRunning(home, note(process.pid, port));
  assert.equal(await findProxy(home), undefined);
});

test('a noted port where nothing answers is not the proxy', async () => {
  const home = folder('nothing');
  const { server, port } = await listening(() => {});
  server.close();
  await once(server, 'close');
  writeRunning(home, note(process.pid, port));
  assert.equal(await findProxy(home), undefined);
});

test('a note of a process that has ended is stale, whoever holds its port now', async (t) => {
  const home = folder('stale');
  const { server, port } = await listening((response) =>
    response.writeHead(400, { 'proxy-status': 'forbear' }).end(),
  );
  t.after(() => server.close());
  // Beyond the largest process id of any system.
  writeRunning(home, note(2 ** 30, port));
  assert.equal(await findProxy(home), undefined);
});

function stopping() {
  const source = new EventEmitter();
  const said: string[] = [];
  let now = 1000;
  const release = onStopSignals(
    { drain: () => said.push('drain'), atOnce: () => said.push('at once') },
    { source, now: () => now },
  );
  return { source, said, release, wind: (ms: number) => (now += ms) };
}

test('the first signal drains, and its echo within a second is the same wish', () => {
  const { source, said, wind } = stopping();
  source.emit('SIGINT');
  wind(999);
  source.emit('SIGTERM');
  assert.deepEqual(said, ['drain']);
});

test('a signal a second later ends it at once', () => {
  const { source, said, wind } = stopping();
  source.emit('SIGTERM');
  wind(1000);
  source.emit('SIGTERM');
  assert.deepEqual(said, ['drain', 'at once']);
});

test('signals that were given back are not heard', () => {
  const { source, said, release } = stopping();
  release();
  assert.equal(source.emit('SIGINT'), false);
  assert.deepEqual(said, []);
});

/** Resolves with the file's next change. */
function nextChange(file: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { end: watchFile(file, resolve), changed: promise };
}

test('a file that is written anew is a change', { timeout: 10_000 }, async (t) => {
  const file = join(folder('written'), 'proxy.config.yaml');
  writeFileSync(file, 'a: 1');
  const { end, changed } = nextChange(file);
  t.after(end);
  writeFileSync(file, 'a: 2');
  await changed;
});

test('a ConfigMap that is swapped behind a link is a change', { timeout: 10_000 }, async (t) => {
  const mount = folder('mount');
  for (const [version, text] of [
    ['v1', 'a: 1'],
    ['v2', 'a: 2'],
  ] as const) {
    writeFileSync(join(folder(`mount/${version}`), 'proxy.config.yaml'), text);
  }
  symlinkSync('v1', join(mount, '..data'));
  symlinkSync('..data/proxy.config.yaml', join(mount, 'proxy.config.yaml'));
  const { end, changed } = nextChange(join(mount, 'proxy.config.yaml'));
  t.after(end);
  symlinkSync('v2', join(mount, '..data_tmp'));
  renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
  await changed;
});

test('a file that is touched, emptied and filled again with the same is no change', {
  timeout: 10_000,
}, async (t) => {
  const file = join(folder('touched'), 'proxy.config.yaml');
  writeFileSync(file, 'a: 1');
  let calls = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  t.after(
    watchFile(file, () => {
      calls += 1;
      resolve();
    }),
  );
  writeFileSync(file, '');
  writeFileSync(file, 'a: 1');
  // The change after it is seen, and it is the only one.
  setImmediate(() => writeFileSync(file, 'a: 2'));
  await promise;
  assert.equal(calls, 1);
});
