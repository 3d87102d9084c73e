import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { fieldOf, startWire } from '../support/client-wire.ts';
import {
  farOrigin,
  farUpstream,
  fetchOver,
  listOf,
  refuser,
  reply,
  silence,
} from '../support/far-side.ts';
import { onHead, rawServer } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
const timeouts = (connect: string, attempts = 1) =>
  `policy: { max_attempts: ${attempts}, backoff: { base: 1ms, cap: 2ms }, timeouts: { connect: ${connect}, first_byte: 400ms } }`;

const STUCK: Readonly<Record<string, (socket: Socket) => void>> = {
  'accepts and is silent': () => {},
  'drips half a status line and stops': (socket) =>
    void socket.once('data', () => socket.write('HTTP/1.1 2')),
};

for (const [name, serve] of Object.entries(STUCK)) {
  test(`B97 an upstream that ${name} ends at the connect deadline, as its own fault`, async (t) => {
    const up = await refuser(t, serve);
    const wire = await startWire(t, [timeouts('300ms'), ...listOf([up])]);
    const begunAt = performance.now();
    const got = await fetchOver(wire, 'https://o.test/');
    const tookMs = performance.now() - begunAt;
    assert.ok(tookMs >= 290 && tookMs < 900, String(tookMs));
    assert.deepEqual([got.status, got.field('Forbear-Verdict')], [504, 'route/unreachable']);
    assert.match(got.field('Proxy-Status') ?? '', /error=connection_timeout/);
    assert.equal(wire.proxy.activity().sockets, 0);
  });
}

test('B97 TLS to an https upstream that never finishes is the upstream’s fault', async (t) => {
  const up = await rawServer(() => {});
  t.after(() => up.close());
  const wire = await startWire(t, [
    timeouts('300ms'),
    `upstreams: [{ name: dc, routes: ['https://up.test:${up.port}'] }]`,
  ]);
  const got = await fetchOver(wire, 'https://o.test/');
  assert.deepEqual([got.status, got.field('Forbear-Verdict')], [504, 'route/unreachable']);
});

test('B97 TLS to the origin that never finishes ends at its deadline, and is held against nobody else', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const up = await farUpstream(t, { names: { 'o.test': origin.port } });
  const wire = await startWire(t, [timeouts('300ms'), ...listOf([up])]);
  const begunAt = performance.now();
  const got = await fetchOver(wire, 'https://o.test/');
  assert.ok(performance.now() - begunAt < 900);
  assert.deepEqual([got.status, got.field('Forbear-Verdict')], [504, 'host/slow']);
  assert.deepEqual(wire.told('route_ejected'), []);
});

test('B97 a head that never comes has a deadline and a token of its own', async (t) => {
  const origin = await farOrigin(t, [silence]);
  const wire = await startWire(t, [timeouts('5s')]);
  const got = await fetchOver(wire, origin.url);
  assert.equal(got.status, 504);
  assert.match(got.field('Proxy-Status') ?? '', /error=http_response_timeout/);
});

test('B97 the patience bounds the sum: five silent addresses are a 504 in time', async (t) => {
  const ups = await Promise.all([1, 2, 3, 4, 5].map(() => refuser(t, () => {})));
  const wire = await startWire(t, [timeouts('350ms', 9), ...listOf(ups)]);
  const begunAt = performance.now();
  const got = await fetchOver(wire, 'https://o.test/', { fields: ['Forbear-Patience: 800ms'] });
  const tookMs = performance.now() - begunAt;
  assert.equal(got.status, 504);
  assert.ok(tookMs < 1200, String(tookMs));
  assert.equal(wire.proxy.activity().sockets, 0);
});

test('B98 credentials reach the upstream as they were meant, percent-decoded once', async (t) => {
  for (const [user, login] of [
    ['user%40mail:p%3Ass%2F', 'user@mail:p:ss/'],
    ['customer-x-session-abc_1,country-us:pw', 'customer-x-session-abc_1,country-us:pw'],
    ['a:%25%23%3F', 'a:%#?'],
    ['a:b+c', 'a:b+c'],
    ['a:%C3%A9', 'a:é'],
    ['a:', 'a:'],
    ['a', 'a:'],
    [':pw', ':pw'],
  ] as const) {
    const up = await rawServer((socket) => onHead(socket, () => socket.write(OK)));
    t.after(() => up.close());
    const wire = await startWire(t, [
      `upstreams: [{ name: dc, routes: ['http://${user}@127.0.0.1:${up.port}'] }]`,
    ]);
    assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
    const sent = fieldOf(up.heard[0] ?? '', 'Proxy-Authorization')?.replace('Basic ', '') ?? '';
    assert.equal(Buffer.from(sent, 'base64').toString('utf8'), login);
  }
});

test('B98 broken escapes are an error of the configuration that does not show the secret', async (t) => {
  for (const url of ['http://u:secr%6qet@up.test:1', 'http://u:secr#et@up.test:1']) {
    await assert.rejects(
      startWire(t, [`upstreams: [{ name: dc, routes: ['${url}'] }]`]),
      (error: Error) => /routes/.test(error.message) && !error.message.includes('secr'),
    );
  }
});

test('B100 plain http goes to an upstream in absolute-form with its login, and to the origin without', async (t) => {
  const origin = await farOrigin(t, [OK]);
  const up = await farUpstream(t, { login: 'u:p', names: { 'o.test': origin.port } });
  const wire = await startWire(t, [
    `upstreams: [{ name: dc, routes: ['http://u:p@127.0.0.1:${up.port}'] }]`,
  ]);
  assert.equal((await fetchOver(wire, 'http://o.test/a?b')).status, 200);
  assert.match(up.heard[0] ?? '', /^GET http:\/\/o\.test\/a\?b HTTP\/1\.1\r\n/);
  assert.equal(fieldOf(up.heard[0] ?? '', 'Host'), 'o.test');
  const seen = origin.hits[0]?.head ?? '';
  assert.match(seen, /^GET \/a\?b HTTP\/1\.1\r\n/);
  assert.equal(fieldOf(seen, 'Proxy-Authorization'), undefined);
});

test('B100 with plain: tunnel it goes by CONNECT, and a refusal of that is not the site’s', async (t) => {
  const origin = await farOrigin(t, [OK]);
  const up = await farUpstream(t, { names: { 'o.test': origin.port } });
  const gateway = (port: number) =>
    `upstreams: [{ name: gw, gateway: 'http://u-{session}:p@127.0.0.1:${port}', plain: tunnel }]`;
  const wire = await startWire(t, [timeouts('1s'), gateway(up.port)]);
  assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
  assert.match(up.heard[0] ?? '', /^CONNECT o\.test:80 HTTP\/1\.1\r\n/);
  assert.match(origin.hits[0]?.head ?? '', /^GET \/ HTTP\/1\.1\r\n/);
  for (const status of [403, 405]) {
    const deaf = await refuser(t, reply(status));
    const other = await startWire(t, [timeouts('1s'), gateway(deaf.port)]);
    const got = await fetchOver(other, 'http://o.test/');
    assert.deepEqual([got.status, got.field('Forbear-Verdict')], [502, 'route/refused']);
    assert.deepEqual(other.told('breaker_changed'), []);
  }
});

test('B100 different targets over one upstream get their own replies', async (t) => {
  const names = ['a.test', 'b.test', 'c.test'];
  const origins = await Promise.all(
    names.map((name) => farOrigin(t, [reply(200, name)], { name })),
  );
  const up = await farUpstream(t, {
    names: Object.fromEntries(names.map((name, n) => [name, origins[n]?.port ?? 0])),
  });
  const wire = await startWire(t, listOf([up]));
  const asked = Array.from({ length: 12 }, (_, n) => names[n % 3] ?? '');
  const got = await Promise.all(asked.map((name) => fetchOver(wire, `http://${name}/`)));
  assert.deepEqual(
    got.map(({ body }) => body),
    asked,
  );
});
