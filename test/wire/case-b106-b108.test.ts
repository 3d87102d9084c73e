import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { fieldOf, startWire } from '../support/client-wire.ts';
import {
  type Answer,
  type FarOrigin,
  farOrigin,
  farUpstream,
  fetchOver,
  listOf,
  reply,
  reset,
} from '../support/far-side.ts';
import { onHead, rawServer, until } from '../support/raw-server.ts';

const QUICK =
  'policy: { max_attempts: 4, backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 }, breaker: { consecutive: 99, min_attempts: 99 } }';
const OK = reply(200, 'ok');
const inSession = (id: string) => ({ fields: [`Forbear-Session: ${id}`] });

async function exits(t: TestContext, origin: FarOrigin, count = 10) {
  const names = { 'o.test': origin.port };
  return Promise.all(
    Array.from({ length: count }, (_, n) => farUpstream(t, { exit: `127.0.0.${n + 2}`, names })),
  );
}
const seenFrom = (origin: FarOrigin) => new Set(origin.hits.map(({ from }) => from));

const KEPT: Readonly<Record<string, readonly Answer[]>> = {
  'a throttle': [reply(429, '', 'Retry-After: 0.1'), OK],
  'trouble, twice': [reply(503), reply(503), OK],
  'a 502 that the upstream may have said': [reply(502), OK],
  'a reset': [reset, OK],
  'a body cut short': [
    (socket) =>
      void socket.end(
        'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nhalf',
      ),
    OK,
  ],
};

for (const [name, answers] of Object.entries(KEPT)) {
  test(`B106 a session keeps its address through ${name}`, async (t) => {
    const origin = await farOrigin(t, answers);
    const wire = await startWire(t, [QUICK, ...listOf(await exits(t, origin))]);
    const got = await fetchOver(wire, 'http://o.test/', inSession('s1'));
    assert.equal(got.status, 200);
    assert.match(got.field('Forbear-Session') ?? '', /^s1; state=active$/);
    assert.equal(origin.hits.length, answers.length);
    assert.equal(seenFrom(origin).size, 1);
  });
}

test('B106 a bare 403 burns the session: it is delivered marked, the id is refused, and a new id gets an address', async (t) => {
  const origin = await farOrigin(t, [reply(403, 'no'), OK]);
  const wire = await startWire(t, [QUICK, ...listOf(await exits(t, origin))]);
  const got = await fetchOver(wire, 'http://o.test/', inSession('s1'));
  assert.deepEqual([got.status, got.body], [403, 'no']);
  assert.equal(got.field('Forbear-Session'), 's1; state=burned');
  for (let i = 0; i < 2; i++) {
    const later = await fetchOver(wire, 'http://o.test/', inSession('s1'));
    assert.equal(later.status, 409);
    assert.equal(later.field('Forbear-Stop'), 'session_burned');
  }
  assert.equal(origin.hits.length, 1);
  const fresh = await fetchOver(wire, 'http://o.test/', inSession('s2'));
  assert.deepEqual([fresh.status, fresh.field('Forbear-Session')], [200, 's2; state=active']);
});

test('B106 an address that is away is waited for, and never swapped', async (t) => {
  const origin = await farOrigin(t, [OK]);
  const ups = await exits(t, origin, 2);
  const wire = await startWire(t, [QUICK, ...listOf(ups)]);
  await fetchOver(wire, 'http://o.test/', inSession('s1'));
  const [mine] = seenFrom(origin);
  await ups[Number(mine?.split('.')[3]) - 2]?.close();
  const got = await fetchOver(wire, 'http://o.test/', inSession('s1'));
  assert.equal(got.status, 502);
  assert.equal(got.field('Forbear-Session'), 's1; state=burned');
  assert.deepEqual([...seenFrom(origin)], [mine]);
});

test('B106 when one of a hundred parallel requests burns the session, none leaves from another address', async (t) => {
  const origin = await farOrigin(t, (_, n) => (n === 3 ? reply(403) : OK));
  const wire = await startWire(t, [
    QUICK.replace('{ max', '{ pace: { concurrency: 2 }, max'),
    ...listOf(await exits(t, origin)),
  ]);
  const all = await Promise.all(
    Array.from({ length: 100 }, () => fetchOver(wire, 'http://o.test/', inSession('s1'))),
  );
  assert.equal(seenFrom(origin).size, 1);
  const count = (status: number) => all.filter((got) => got.status === status).length;
  assert.equal(count(403), 1);
  assert.ok(count(409) >= 90, `${count(409)} were refused`);
  assert.equal(count(200) + count(409) + count(403), 100);
  assert.ok(origin.hits.length < 10);
});

/** A rotating provider: each connection is another exit, unless the user name holds a session. */
async function rotating(t: TestContext, origin: FarOrigin) {
  const bySession = new Map<string, string>();
  const used: { exit: string; session: string }[] = [];
  const tunnels: Socket[] = [];
  const { connect } = await import('node:net');
  const server = await rawServer((socket, n) => {
    onHead(socket, (head) => {
      socket.removeAllListeners('data');
      const code = fieldOf(head, 'Proxy-Authorization')?.replace('Basic ', '') ?? '';
      const session = /-sid-(\w+)/.exec(Buffer.from(code, 'base64').toString())?.[1] ?? `#${n}`;
      const exit = bySession.get(session) ?? `127.0.0.${2 + bySession.size}`;
      bySession.set(session, exit);
      used.push({ exit, session });
      const far = connect({ host: '127.0.0.1', port: origin.port, localAddress: exit });
      far.on('error', () => socket.destroy());
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(far).pipe(socket);
      socket.on('close', () => far.destroy());
      tunnels.push(socket);
    });
  });
  t.after(() => server.close());
  return { port: server.port, used, tunnels };
}
const gateway = (port: number, user: string) =>
  `upstreams: [{ name: gw, gateway: 'http://${user}:p@127.0.0.1:${port}' }]`;

test('B108 (a) without sessions a rotation is a new connection with another exit, and what is under way on the old one ends well', async (t) => {
  let finish = () => {};
  const origin = await farOrigin(
    t,
    (hit) => {
      if (hit.head.includes('/slow')) {
        return (socket) => {
          finish = () => socket.write(OK);
        };
      }
      return hit.from === '127.0.0.2' && hit.head.includes('/page') ? reply(403, 'no') : OK;
    },
    { tls: true },
  );
  const provider = await rotating(t, origin);
  const wire = await startWire(t, [QUICK, gateway(provider.port, 'customer')]);
  await fetchOver(wire, 'https://o.test/');
  const slow = fetchOver(wire, 'https://o.test/slow');
  await until(() => origin.hits.length === 2);
  const got = await fetchOver(wire, 'https://o.test/page');
  assert.equal(got.status, 200);
  const last = origin.hits.at(-1);
  assert.notEqual(last?.from, '127.0.0.2');
  finish();
  assert.equal((await slow).status, 200);
});

test('B108 (b) a session has one exit whatever it asks at once, and two sessions share none', async (t) => {
  const origin = await farOrigin(t, [OK], { tls: true });
  const provider = await rotating(t, origin);
  const wire = await startWire(t, [
    QUICK,
    gateway(provider.port, 'customer[-sid-{session|alnum:8}]'),
  ]);
  const ask = (id: string) => fetchOver(wire, 'https://o.test/', inSession(id));
  await Promise.all(Array.from({ length: 20 }, (_, n) => ask(n % 2 === 0 ? 's1' : 's2')));
  const exitsOf = new Set(origin.hits.map(({ from }) => from));
  assert.equal(exitsOf.size, 2);
  assert.equal(new Set(provider.used.map(({ session }) => session)).size, 2);
});

test('B108 a gateway that cannot hold a session says so, instead of changing the exit under it', async (t) => {
  const origin = await farOrigin(t, [OK], { tls: true });
  const provider = await rotating(t, origin);
  const wire = await startWire(t, [QUICK, gateway(provider.port, 'customer')]);
  const got = await fetchOver(wire, 'https://o.test/', inSession('s1'));
  assert.deepEqual([got.status, got.field('Forbear-Stop')], [409, 'session_unsupported']);
  assert.equal(origin.accepted, 0);
});
