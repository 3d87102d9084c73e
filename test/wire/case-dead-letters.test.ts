import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { STORE_FILE } from '../../src/store/open.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { connectTo, heard } from '../support/client-wire.ts';
import { LIMIT, scratch, started } from '../support/forbear-process.ts';
import { events, letterOf, send, site } from '../support/letters.ts';
import { rawServer } from '../support/raw-server.ts';
import { get, startProxy } from '../support/whole-proxy.ts';

const HOUR = 3_600_000;
const PATIENT = 'policy: { patience: 2h, retry_after: { max: 2h } }';

/** All letters in the file of a home, once its process is gone. */
async function lettersOf(home: string) {
  const store = await openSqliteStore({ file: join(home, STORE_FILE) });
  const { items } = await store.letters.list({ limit: 10 });
  await store.close();
  return items;
}

test(
  'B15 a request that waits for an hour is answered 503 on SIGTERM, and its letter is in the file',
  LIMIT,
  async (t) => {
    const config = join(scratch, 'waits.yaml');
    writeFileSync(config, `drain: 500ms\n${PATIENT}\n`);
    const { url, seen } = await site(t, (_, reply) => {
      reply.writeHead(429, { 'Retry-After': '3600' }).end('slow down');
    });
    const { child, closed, home, port, printed } = await started(t, ['--config', config]);
    const paused = printed.until(/paused until|paused/);
    const asked = get(port, `${url}/page`);
    await paused;
    child.kill('SIGTERM');
    const got = await asked;
    const [status] = await closed;
    assert.deepEqual([got.status, got.headers['forbear-stop'], status], [503, 'draining', 0]);
    assert.ok(Number(got.headers['retry-after']) > 3500);
    const [letter, ...others] = await lettersOf(home);
    assert.deepEqual([letter?.id, others.length, seen.length], [letterOf(got), 0, 1]);
    assert.equal(letter?.stop, 'draining');
    // No redrive comes earlier than the site allows.
    assert.ok(Math.abs(letter.dueAt - letter.parkedAt - HOUR) < 30_000);
  },
);

test(
  'B15 a second SIGTERM ends the process at once, and the letters of before are readable',
  LIMIT,
  async (t) => {
    const config = join(scratch, 'twice.yaml');
    writeFileSync(
      config,
      'drain: 10m\nintercept: { except: ["127.0.0.1"] }\npolicy: { max_attempts: 1 }\n',
    );
    const { url } = await site(t, (_, reply) => reply.writeHead(503).end('down'));
    const idle = await rawServer((socket) => socket.write('220 here\r\n'));
    t.after(() => idle.close());
    const { child, closed, home, port, printed } = await started(t, ['--config', config]);
    const got = await get(port, `${url}/page`);
    const tunnel = connect(port, '127.0.0.1').on('error', () => {});
    t.after(() => tunnel.destroy());
    tunnel.write(connectTo(`127.0.0.1:${idle.port}`));
    await heard(tunnel, (text) => text.includes('220 here'));
    child.kill('SIGTERM');
    await printed.until(/stopping/);
    // Two within a second are one: npm and terminals deliver twice.
    const again = setInterval(() => child.kill('SIGTERM'), 200);
    t.after(() => clearInterval(again));
    const [status] = await closed;
    assert.notEqual(status, null);
    assert.deepEqual(
      (await lettersOf(home)).map(({ id }) => id),
      [letterOf(got)],
    );
  },
);

test('B73 a wait longer than allowed parks the request until the host is ready, and hits it once', async (t) => {
  const { url, seen } = await site(t, (_, reply) => {
    reply.writeHead(429, { 'Retry-After': '3600' }).end('slow down');
  });
  const { port, proxy } = await startProxy(t, ['policy: { retry_after: { max: 30s } }']);
  const got = await get(port, `${url}/page`);
  assert.deepEqual([got.status, String(got.body)], [429, 'slow down']);
  assert.equal(got.headers['retry-after'], '3600');
  const letter = await proxy.deadLetters.get(letterOf(got));
  assert.equal(letter?.stop, 'wait_too_long');
  assert.ok(Math.abs(letter.dueAt - letter.parkedAt - HOUR) < 2_000);
  const second = await get(port, `${url}/other`);
  assert.equal(second.status, 429);
  const left = Number(second.headers['retry-after']);
  assert.ok(left > 3590 && left <= 3600, `${left} s`);
  assert.equal(seen.length, 1);
});

test('B74 a letter that is due in sixty days is not redriven at a restart', LIMIT, async (t) => {
  const { url, seen } = await site(t, (_, reply) => {
    reply.writeHead(503, { 'Retry-After': String(60 * 86_400) }).end('closed');
  });
  const first = await started(t);
  const got = await get(first.port, `${url}/page`);
  first.child.kill('SIGTERM');
  await first.closed;
  const { port, child, closed, home } = await started(t, [], { FORBEAR_HOME: first.home });
  // It is up, and knows its letters.
  const other = await site(t, (_, reply) => reply.writeHead(404).end());
  assert.equal((await get(port, `${other.url}/`)).status, 404);
  child.kill('SIGTERM');
  await closed;
  const [letter] = await lettersOf(home);
  assert.deepEqual([letter?.id, letter?.state, letter?.redrives], [letterOf(got), 'parked', 0]);
  assert.ok((letter?.dueAt ?? 0) - (letter?.parkedAt ?? 0) > 50 * 24 * HOUR);
  assert.equal(seen.length, 1);
});

test('B87 a client that leaves in a wait or in the middle of an attempt leaves no letter', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const { url } = await site(t, ({ url: path }, reply) => {
    if (path === '/slow') return arrived.resolve();
    reply.writeHead(429, { 'Retry-After': '60' }).end();
  });
  const whole = await startProxy(t, [PATIENT]);
  const leave = async (path: string, until: () => Promise<unknown>) => {
    const asking = request({
      host: '127.0.0.1',
      port: whole.port,
      path: `${url}${path}`,
      agent: false,
    });
    asking.on('error', () => {}).end();
    await until();
    asking.destroy();
  };
  await leave('/slow', () => arrived.promise);
  await leave('/limited', () => events(whole, 'lane_paused'));
  const ended = await events(whole, 'exchange_finished', 2);
  assert.deepEqual(
    ended.map(({ delivery }) => [delivery.stop, delivery.deadLetter]),
    [
      ['client_gone', undefined],
      ['client_gone', undefined],
    ],
  );
  assert.deepEqual(await whole.proxy.deadLetters.counts(), []);
});

test('B116 a binary body and header bytes beyond ASCII are redriven byte for byte, a POST never by itself', async (t) => {
  const state = { status: 503 };
  const { url, seen } = await site(t, (_, reply) => reply.writeHead(state.status).end('x'));
  const { port, proxy } = await startProxy(t, ['policy: { max_attempts: 1 }']);
  const body = randomBytes(1024 * 1024);
  const headers = { 'X-Name': 'caf\u00e9 \u00fc\u00ff' };
  const put = letterOf(await send(port, `${url}/put`, { method: 'PUT', body, headers }));
  const post = letterOf(await send(port, `${url}/post`, { body, headers }));
  state.status = 200;
  const { redrive } = proxy.deadLetters;
  assert.deepEqual(await redrive({ kind: 'all' }), { done: 1 });
  assert.deepEqual(await redrive({ kind: 'ids', ids: [post], force: true }), { done: 1 });
  assert.deepEqual(
    seen.map(({ method }) => method),
    ['PUT', 'POST', 'PUT', 'POST'],
  );
  for (const { body: sent, rawHeaders } of seen) {
    assert.ok(sent.equals(body));
    assert.equal(rawHeaders[rawHeaders.indexOf('X-Name') + 1], headers['X-Name']);
  }
  assert.equal((await proxy.deadLetters.get(put))?.state, 'done');
});
