import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { connectTo, fieldOf, startWire } from '../support/client-wire.ts';
import { begin, farOrigin, fetchOver, listOf, refuser, reply } from '../support/far-side.ts';
import { onHead, type RawServer, rawServer, until } from '../support/raw-server.ts';

const QUICK =
  'policy: { max_attempts: 4, backoff: { base: 20ms, jitter: 0.1 }, timeouts: { connect: 500ms }, control_requests: false }';
const OK = reply(200, 'ok');

const CLOSERS: Readonly<Record<string, (socket: Socket) => void>> = {
  '(a) ends at once': (socket) => socket.end(),
  '(b) reads the CONNECT and ends': (socket) => void socket.once('data', () => socket.end()),
  '(c) reads the CONNECT and resets': (socket) =>
    void socket.once('data', () => socket.resetAndDestroy()),
  '(d) says half a status line and ends': (socket) =>
    void socket.once('data', () => socket.end('HTTP/1.1 2')),
};

for (const [name, serve] of Object.entries(CLOSERS)) {
  test(`B93 an upstream that ${name} is dialled once per attempt, with backoff between, and is what is blamed`, async (t) => {
    const up = await refuser(t, serve);
    const wire = await startWire(t, [QUICK, ...listOf([up])]);
    const begunAt = performance.now();
    const got = await fetchOver(wire, 'https://o.test/');
    assert.ok(performance.now() - begunAt > 18 + 36 + 72, 'it was waited between the dials');
    assert.equal(got.status, 502);
    assert.equal(got.field('Forbear-Verdict'), 'route/unreachable');
    assert.equal(up.accepted, 4);
    assert.match(
      got.field('Proxy-Status') ?? '',
      /error=(connection_terminated|http_protocol_error)/,
    );
    assert.deepEqual(wire.told('breaker_changed'), []);
    assert.equal(wire.proxy.activity().sockets, 0);
  });

  test(`B93 from an upstream that ${name} the next address takes over`, async (t) => {
    const origin = await farOrigin(t, [OK], { tls: true });
    const away = await refuser(t, serve);
    const up = await byName({ 'o.test': origin.port }, t.after.bind(t));
    const wire = await startWire(t, [QUICK, ...listOf([away, up])]);
    for (let i = 0; i < 3; i++) {
      assert.equal((await fetchOver(wire, 'https://o.test/')).status, 200);
    }
    assert.ok(away.accepted <= 1);
  });
}

test('B93 a client that leaves stops the dials', async (t) => {
  const up = await refuser(t, (socket) => void socket.once('data', () => socket.end()));
  const wire = await startWire(t, [QUICK.replace('20ms', '30s'), ...listOf([up])]);
  const { socket } = begin(wire.port, 'GET https://o.test/ HTTP/1.1\r\nHost: o.test\r\n\r\n');
  await until(() => wire.told('attempt_finished').length === 1);
  socket.destroy();
  await until(() => wire.proxy.activity().exchanges === 0);
  assert.equal(up.accepted, 1);
});

/** A forward proxy that takes any login, and keeps what it heard. */
async function byName(
  names: Readonly<Record<string, number>>,
  after: (done: () => Promise<void>) => void,
): Promise<RawServer> {
  const { httpUpstream } = await import('../support/upstream.ts');
  const up = await httpUpstream({ names });
  after(() => up.close());
  return up;
}

/** A forward proxy that answers in the site's name: 403, or by its login. */
async function answering(
  t: { after(done: () => Promise<void>): void },
  answer: (head: string) => string,
): Promise<RawServer> {
  const server = await rawServer((socket) => onHead(socket, (head) => socket.write(answer(head))));
  t.after(() => server.close());
  return server;
}

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const logins = (server: RawServer) =>
  server.heard
    .join('')
    .split('\r\n\r\n')
    .slice(0, -1)
    .map((head) => fieldOf(`${head}\r\n`, 'Proxy-Authorization'));

test('B94 from address to address each sees its own credentials only, and one without a login sees none', async (t) => {
  const ups = await Promise.all([1, 2, 3].map(() => answering(t, () => reply(403, 'no'))));
  const [one, two, three] = ups as [RawServer, RawServer, RawServer];
  const wire = await startWire(t, [
    QUICK,
    'upstreams:',
    '  - name: dc',
    `    routes: ['http://a:1@127.0.0.1:${one.port}', 'http://b:2@127.0.0.1:${two.port}', 'http://127.0.0.1:${three.port}']`,
  ]);
  await fetchOver(wire, 'http://o.test/', { fields: [`Proxy-Authorization: ${basic('me:own')}`] });
  assert.deepEqual(ups.map(logins), [[basic('a:1')], [basic('b:2')], [undefined]]);
});

test('B94 two logins at one host and port never share a connection', async (t) => {
  const up = await answering(t, (head) => reply(200, fieldOf(head, 'Proxy-Authorization') ?? ''));
  const wire = await startWire(t, [
    'policy: { routes: { rotation: fresh } }',
    'upstreams:',
    '  - name: dc',
    `    routes: ['http://a:1@127.0.0.1:${up.port}', 'http://b:2@127.0.0.1:${up.port}']`,
  ]);
  const bodies = [];
  for (let i = 0; i < 4; i++) bodies.push((await fetchOver(wire, 'http://o.test/')).body);
  assert.equal(new Set(bodies).size, 2);
  assert.equal(up.accepted, 2);
  for (const said of up.heard) {
    assert.equal(new Set(said.match(/^Proxy-Authorization: .*$/gim)).size, 1);
  }
});

const NO_LOGIN =
  'HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n';

for (const scheme of ['http', 'https'] as const) {
  test(`B94 over ${scheme} a 407 of one address puts its account out, the next one is used, and the client sees none`, async (t) => {
    const origin = await farOrigin(t, [OK], { tls: scheme === 'https' });
    const deaf = await refuser(t, NO_LOGIN);
    const up = await byName({ 'o.test': origin.port }, t.after.bind(t));
    const wire = await startWire(t, [
      QUICK,
      'upstreams:',
      `  - { name: first, routes: ['http://a:1@127.0.0.1:${deaf.port}'] }`,
      `  - { name: second, routes: ['http://127.0.0.1:${up.port}'] }`,
    ]);
    for (let i = 0; i < 2; i++) {
      const got = await fetchOver(wire, `${scheme}://o.test/`);
      assert.deepEqual([got.status, got.field('Proxy-Authenticate')], [200, undefined]);
    }
    assert.equal(deaf.accepted, 1);
  });

  test(`B94 over ${scheme} when all answer 407 it is a 502 of our own about the configuration`, async (t) => {
    const ups = [await refuser(t, NO_LOGIN), await refuser(t, NO_LOGIN)];
    const wire = await startWire(t, [
      QUICK,
      'upstreams:',
      ...ups.map(
        ({ port }, n) => `  - { name: up${n}, routes: ['http://a:${n}@127.0.0.1:${port}'] }`,
      ),
    ]);
    const got = await fetchOver(wire, `${scheme}://o.test/`);
    assert.equal(got.status, 502);
    assert.match(got.field('Proxy-Status') ?? '', /error=proxy_configuration_error/);
    assert.equal(got.field('Proxy-Authenticate'), undefined);
    assert.equal(got.field('Forbear-Verdict'), 'account/upstream_auth');
    assert.equal(
      ups.reduce((sum, up) => sum + up.accepted, 0),
      2,
    );
  });
}

test('B94 a 407 that the origin itself says inside TLS is passed on, and puts nobody out', async (t) => {
  const origin = await farOrigin(t, [NO_LOGIN, OK], { tls: true });
  const up = await byName({ 'o.test': origin.port }, t.after.bind(t));
  const wire = await startWire(t, [QUICK, ...listOf([up])]);
  const first = await fetchOver(wire, 'https://o.test/');
  assert.equal(first.status, 407);
  assert.equal(first.field('Forbear-Verdict'), 'client/rejected');
  assert.equal((await fetchOver(wire, 'https://o.test/')).status, 200);
  assert.deepEqual(wire.told('upstream_out'), []);
  assert.match(up.heard[0] ?? '', new RegExp(`^${connectTo('o.test:443').split('\r\n')[0]}`));
});
