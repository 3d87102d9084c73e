import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fieldOf, startWire } from '../support/client-wire.ts';
import {
  type FarOrigin,
  farOrigin,
  farUpstream,
  fetchOver,
  listOf,
  refuser,
  reply,
} from '../support/far-side.ts';
import { onHead, rawServer, until } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
const QUICK =
  'policy: { max_attempts: 4, backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 } }';

/** An upstream where the user decides the exit; counts its tunnels by user. */
async function byUser(t: TestContext, origin: FarOrigin, exits: Readonly<Record<string, string>>) {
  const tunnels: string[] = [];
  const server = await rawServer((socket) => {
    onHead(socket, (head) => {
      socket.removeAllListeners('data');
      const code = fieldOf(head, 'Proxy-Authorization')?.replace('Basic ', '') ?? '';
      const [user = ''] = Buffer.from(code, 'base64').toString().split(':');
      tunnels.push(user);
      const localAddress = exits[user] ?? '127.0.0.99';
      const far = connect({ host: '127.0.0.1', port: origin.port, localAddress });
      far.on('error', () => socket.destroy());
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(far).pipe(socket);
      socket.on('close', () => far.destroy());
    });
  });
  t.after(() => server.close());
  return Object.assign(server, { tunnels });
}

test('B94 two users of one upstream have tunnels of their own, and no request rides on the other’s', async (t) => {
  const origin = await farOrigin(t, [OK], { tls: true });
  const up = await byUser(t, origin, { a: '127.0.0.2', b: '127.0.0.3' });
  const wire = await startWire(t, [
    'policy: { routes: { rotation: fresh } }',
    `upstreams: [{ name: dc, routes: ['http://a:1@127.0.0.1:${up.port}', 'http://b:2@127.0.0.1:${up.port}'] }]`,
  ]);
  for (let i = 0; i < 8; i++) {
    assert.equal((await fetchOver(wire, 'https://o.test/')).status, 200);
  }
  assert.deepEqual([...up.tunnels].sort(), ['a', 'b'], 'each user dials once');
  const exits = origin.hits.map(({ from, connection }) => `${connection}: ${from}`);
  assert.equal(new Set(exits).size, 2);
  assert.equal(exits.filter((exit) => exit === exits[0]).length, 4, 'half of them over each');
});

test('B94 a session’s tunnel is not lent to another session, nor to those without', async (t) => {
  const origin = await farOrigin(t, [OK], { tls: true });
  const up = await byUser(t, origin, { a: '127.0.0.2' });
  const wire = await startWire(t, [
    `upstreams: [{ name: dc, routes: ['http://a:1@127.0.0.1:${up.port}'] }]`,
  ]);
  for (const fields of [
    ['Forbear-Session: s1'],
    ['Forbear-Session: s2'],
    [],
    ['Forbear-Session: s1'],
  ]) {
    assert.equal((await fetchOver(wire, 'https://o.test/', { fields })).status, 200);
  }
  assert.deepEqual(
    origin.hits.map(({ connection }) => connection),
    [1, 2, 3, 1],
  );
});

const upstreams = (ports: readonly number[]) => [
  'upstreams:',
  ...ports.map((port, n) => `  - { name: up${n}, routes: ['http://u:p@127.0.0.1:${port}'] }`),
];

for (const scheme of ['http', 'https'] as const) {
  test(`B95 over ${scheme}, when the quota of every provider is used up, it is told as their configuration, and the site is not asked`, async (t) => {
    const origin = await farOrigin(t, [OK], { tls: scheme === 'https' });
    const ups = await Promise.all([1, 2, 3].map(() => refuser(t, reply(402, 'out of traffic'))));
    const wire = await startWire(t, [QUICK, ...upstreams(ups.map(({ port }) => port))]);
    const first = await fetchOver(wire, `${scheme}://o.test/`);
    assert.ok([502, 503].includes(first.status), String(first.status));
    assert.match(first.field('Proxy-Status') ?? '', /error=proxy_configuration_error/);
    assert.equal(first.field('Forbear-Verdict'), 'account/upstream_quota');
    const asked = () => ups.reduce((sum, { accepted }) => sum + accepted, 0);
    assert.equal(asked(), 3);
    const later = await fetchOver(wire, `${scheme}://o.test/`);
    assert.deepEqual([later.status, later.field('Forbear-Stop')], [503, 'no_route']);
    assert.match(later.field('Proxy-Status') ?? '', /error=proxy_configuration_error/);
    const left = Number(later.field('Retry-After'));
    assert.ok(left > 60 && left <= 1100, `until the first is asked again: ${left}`);
    assert.equal(asked(), 3, 'none of them is asked again meanwhile');
    assert.equal(origin.accepted, 0);
    assert.deepEqual(wire.told('breaker_changed'), []);
    assert.deepEqual(wire.told('lane_paused'), []);
  });
}

test('B95 a single provider that says 429 is waited for as long as it says: the client is told how long', async (t) => {
  const up = await refuser(t, reply(429, '', 'Retry-After: 300'));
  const wire = await startWire(t, [QUICK, ...listOf([up])]);
  const first = await fetchOver(wire, 'https://o.test/');
  assert.equal(first.field('Forbear-Verdict'), 'account/upstream_rate_limited');
  const later = await fetchOver(wire, 'https://other.test/');
  assert.equal(later.status, 503);
  const left = Number(later.field('Retry-After'));
  assert.ok(left > 240 && left <= 330, String(left));
  assert.equal(up.accepted, 1);
  assert.deepEqual(wire.told('lane_paused'), [], 'no host is held back for it');
});

test('B98 user name and password as keys of their own reach the upstream as they stand', async (t) => {
  const up = await rawServer((socket) => onHead(socket, () => socket.write(OK)));
  t.after(() => up.close());
  const wire = await startWire(t, [
    'upstreams:',
    '  - name: gw',
    `    gateway: 'http://127.0.0.1:${up.port}'`,
    "    username: 'user%40mail'",
    "    password: 'p%3A:s/{é}'",
  ]);
  assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
  const sent = fieldOf(up.heard[0] ?? '', 'Proxy-Authorization')?.replace('Basic ', '') ?? '';
  assert.equal(Buffer.from(sent, 'base64').toString('utf8'), 'user%40mail:p%3A:s/{é}');
  assert.doesNotMatch(JSON.stringify(wire.told('exchange_finished')), /"\$secret"|p%3A:s\\\//);
});

test('B98 a user name with a colon in it is an error of the configuration', async (t) => {
  await assert.rejects(
    startWire(t, [
      "upstreams: [{ name: gw, gateway: 'http://127.0.0.1:1', username: 'a:b', password: secr }]",
    ]),
    (error: Error) => /username/.test(error.message) && !error.message.includes('secr"'),
  );
});

test('B102 (i) the question about credentials that were refused leaves by the upstream too', async (t) => {
  const origin = await farOrigin(t, (hit) => (hit.head.includes('/me') ? OK : reply(401, 'no')));
  const up = await farUpstream(t, { exit: '127.0.0.2', names: { 'o.test': origin.port } });
  const wire = await startWire(t, [
    'policy: { auth_fuse: 2, probe: { url: "http://o.test/me", expect: ok } }',
    ...listOf([up]),
  ]);
  const fields = ['Authorization: Bearer old'];
  for (let i = 0; i < 3; i++) await fetchOver(wire, 'http://o.test/page', { fields });
  await until(() => origin.hits.some(({ head }) => /^GET \S*\/me /.test(head)));
  assert.deepEqual(new Set(origin.hits.map(({ from }) => from)), new Set(['127.0.0.2']));
  assert.deepEqual(wire.lookups, []);
});

test('B103 when every address refuses its dial the answer is 503 or 502 with its reason, and once they are out 503 says when to come back', async (t) => {
  const origin = await farOrigin(t, [OK]);
  const dead = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const server = await rawServer(() => {});
      await server.close();
      return server;
    }),
  );
  const wire = await startWire(t, [QUICK, ...listOf(dead)]);
  const got = [];
  for (let i = 0; i < 6; i++) got.push(await fetchOver(wire, 'https://o.test/'));
  for (const one of got) {
    assert.ok([502, 503].includes(one.status), String(one.status));
    if (one.status === 503) assert.ok(Number(one.field('Retry-After')) > 0);
    assert.match(one.field('Proxy-Status') ?? '', /error=\w+/);
  }
  assert.equal(origin.accepted, 0);
  assert.deepEqual(wire.told('breaker_changed'), [], 'the host saw nothing of it');
});

for (const [name, lines, waitMs] of [
  ['after session_ttl', 'session_ttl: 1s', 1100],
  ['after max_uses', '', 0],
] as const) {
  test(`B108 a gateway that changes its exit with each connection gives a new one ${name}, although the old tunnel is alive`, async (t) => {
    const origin = await farOrigin(t, [OK], { tls: true });
    let connections = 0;
    const up = await rawServer((socket) => {
      onHead(socket, () => {
        socket.removeAllListeners('data');
        connections += 1;
        const far = connect({
          host: '127.0.0.1',
          port: origin.port,
          localAddress: `127.0.0.${connections + 1}`,
        });
        far.on('error', () => socket.destroy());
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(far).pipe(socket);
        socket.on('close', () => far.destroy());
      });
    });
    t.after(() => up.close());
    const wire = await startWire(t, [
      `policy: { routes: { max_uses: ${name === 'after max_uses' ? 3 : 'null'} } }`,
      'upstreams:',
      '  - name: gw',
      `    gateway: 'http://customer:p@127.0.0.1:${up.port}'`,
      ...(lines === '' ? [] : [`    ${lines}`]),
    ]);
    for (let i = 0; i < 3; i++) await fetchOver(wire, 'https://o.test/');
    assert.equal(new Set(origin.hits.map(({ from }) => from)).size, 1, 'one exit so far');
    await pause(waitMs);
    assert.equal((await fetchOver(wire, 'https://o.test/')).status, 200);
    assert.equal(origin.hits.at(-1)?.from, '127.0.0.3');
  });
}
