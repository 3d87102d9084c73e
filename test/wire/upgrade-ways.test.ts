import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type RawServer, rawServer, rawTlsServer } from '../support/raw-server.ts';
import {
  frame,
  handshake,
  open,
  SWITCH,
  secured,
  switchingSite,
  talker,
  tunnelTo,
} from '../support/switching.ts';
import { makeTestCa, type TestCa } from '../support/test-ca.ts';
import { httpUpstream, socksUpstream } from '../support/upstream.ts';
import { startProxy } from '../support/whole-proxy.ts';

const SWITCHED = Buffer.concat([Buffer.from(SWITCH, 'latin1'), frame('hello')]);

function newCa(t: TestContext): TestCa {
  const folder = mkdtempSync(join(tmpdir(), 'forbear-switch-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return makeTestCa(folder, ['DNS:ws.test', 'IP:127.0.0.1']);
}

/** A site that knows from which address it was asked. */
function siteOf(t: TestContext, steps: Parameters<typeof switchingSite>[0], ca?: TestCa) {
  const heads: string[] = [];
  const from: (string | undefined)[] = [];
  const serve = switchingSite(steps, heads, [], from);
  const started = ca === undefined ? rawServer(serve) : rawTlsServer(serve, ca);
  return started.then((server) => {
    t.after(() => server.close());
    return { server, heads, from };
  });
}

const fast = ['policy:', '  backoff: {base: 1ms, cap: 2ms}'];
const listOf = (...urls: string[]) => [
  'upstreams:',
  `  - {name: pool, routes: [${urls.map((url) => `"${url}"`).join(', ')}]}`,
];

for (const secure of [false, true]) {
  const scheme = secure ? 'wss' : 'ws';
  for (const kind of ['direct', 'http', 'https', 'socks5'] as const) {
    test(`${scheme} inside a CONNECT goes through a ${kind} upstream, and only through it`, async (t) => {
      const ca = newCa(t);
      const site = await siteOf(t, [SWITCHED], secure ? ca : undefined);
      const plan = { names: { 'ws.test': site.server.port }, login: 'u:p', exit: '127.0.0.7' };
      const lines = [...fast, 'tls:', `  extra_ca: [${ca.caFile}]`];
      let upstream: RawServer | undefined;
      if (kind === 'http') upstream = await httpUpstream(plan);
      if (kind === 'https') upstream = await httpUpstream({ ...plan, tls: ca });
      if (kind === 'socks5') upstream = await socksUpstream(plan);
      if (upstream !== undefined) {
        const { port } = upstream;
        t.after(() => upstream?.close());
        lines.push(...listOf(`${kind}://u:p@127.0.0.1:${port}`));
      }
      const host = kind === 'direct' ? `127.0.0.1:${site.server.port}` : 'ws.test:8080';
      const whole = await startProxy(t, lines);
      const tunnel = await tunnelTo(whole.port, host);
      const client = talker(secure ? await secured(tunnel, 'ws.test') : tunnel);
      client.socket.write(handshake('/chat', host));
      assert.equal(await client.hears('hello'), SWITCHED.toString('latin1'));
      client.socket.write('ping');
      await client.hears('>ping');
      assert.deepEqual(site.heads, [handshake('/chat', host)], 'nothing is added or lost');
      assert.deepEqual(site.from, [kind === 'direct' ? '127.0.0.1' : '127.0.0.7']);
      client.socket.destroy();
      const { exchange, answered } = await whole.finished();
      assert.deepEqual([exchange.target.scheme, answered], [secure ? 'https' : 'http', 101]);
    });
  }
}

test('a plain handshake to an http proxy asks it for a tunnel, which is what it can carry', async (t) => {
  const site = await siteOf(t, [SWITCHED]);
  const upstream = await httpUpstream({
    names: { 'ws.test': site.server.port },
    exit: '127.0.0.8',
  });
  t.after(() => upstream.close());
  const { port } = await startProxy(t, [...fast, ...listOf(`http://127.0.0.1:${upstream.port}`)]);
  const client = await open(port, handshake('http://ws.test/chat', 'ws.test'));
  assert.equal(await client.hears('hello'), SWITCHED.toString('latin1'));
  assert.match(upstream.heard[0] ?? '', /^CONNECT ws\.test:80 /);
  assert.deepEqual(site.from, ['127.0.0.8']);
  client.socket.destroy();
});

test('a handshake that is blocked on one address is made from another; with no way out nothing goes directly', async (t) => {
  const refusal = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno';
  const site = await siteOf(t, [refusal, SWITCHED]);
  const names = { 'ws.test': site.server.port };
  const one = await httpUpstream({ names, exit: '127.0.0.11' });
  const two = await httpUpstream({ names, exit: '127.0.0.12' });
  t.after(() => Promise.all([one.close(), two.close()]));
  const urls = [one, two].map(({ port }) => `http://127.0.0.1:${port}`);
  const whole = await startProxy(t, [...fast, ...listOf(...urls)]);
  const client = await open(whole.port, handshake('http://ws.test/chat', 'ws.test'));
  assert.equal(await client.hears('hello'), SWITCHED.toString('latin1'));
  assert.deepEqual(new Set(site.from), new Set(['127.0.0.11', '127.0.0.12']));
  assert.equal(whole.told('route_ejected').length, 1);
  client.socket.destroy();
  await client.closed;

  await Promise.all([one.close(), two.close()]);
  const lost = await open(whole.port, handshake('http://ws.test/chat', 'ws.test'));
  assert.match(await lost.closed, /^HTTP\/1\.1 50[234] /);
  assert.equal(site.from.length, 2);
});

test('in a session the handshake stays on its address, and a block burns the session with the reply handed over', async (t) => {
  const refusal = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\n\r\nnot you';
  const busy = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n';
  const site = await siteOf(t, [busy, SWITCHED, SWITCHED, refusal]);
  const names = { 'ws.test': site.server.port };
  const upstreams = await Promise.all(
    ['127.0.0.21', '127.0.0.22', '127.0.0.23'].map((exit) => httpUpstream({ names, exit })),
  );
  t.after(() => Promise.all(upstreams.map((each) => each.close())));
  const urls = upstreams.map(({ port }) => `http://127.0.0.1:${port}`);
  const { port } = await startProxy(t, [...fast, ...listOf(...urls)]);
  const ask = () =>
    open(port, handshake('http://ws.test/chat', 'ws.test', ['Forbear-Session: s1']));
  const first = await ask();
  await first.hears('hello');
  const second = await ask();
  await second.hears('hello');
  const burned = await (await ask()).closed;
  assert.match(burned, /^HTTP\/1\.1 403 /);
  assert.match(burned, /\r\nForbear-Session: s1; state=burned\r\n/);
  assert.ok(burned.endsWith('not you'));
  assert.match(await (await ask()).closed, /^HTTP\/1\.1 409 /);
  assert.equal(site.from.length, 4);
  assert.equal(new Set(site.from).size, 1);
  assert.doesNotMatch(site.heads.join(''), /forbear/i);
  for (const client of [first, second]) client.socket.destroy();
});
