import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGuard } from '../../src/attempt/guard.ts';
import {
  attemptsFor,
  direct,
  exchangeTo,
  failureOf,
  responseOf,
  routeOver,
} from '../support/attempts.ts';
import { rawServer, replying } from '../support/raw-server.ts';

const NEVER = [
  ...['169.254.169.254', '169.254.0.1', '100.100.100.200', 'fe80::1', 'febf::1', 'fd00:ec2::254'],
  ...['::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe', 'fe80::1%eth0'],
];
const PRIVATE = [
  ...['127.0.0.1', '127.9.9.9', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ...['100.64.0.1', '0.0.0.0', '255.255.255.255', '::1', '::', 'fc00::1', 'fd12::1'],
  ...['::ffff:10.0.0.1', '64:ff9b::10.0.0.1'],
];
const PUBLIC = ['192.0.2.1', '172.32.0.1', '100.128.0.1', '11.0.0.1', '2001:db8::1', 'example.org'];

test('metadata addresses are never reached, private ones only if allowed, names are checked later', () => {
  const closed = createGuard({ allowPrivate: false, ownAddresses: () => [] });
  const open = createGuard({ allowPrivate: true, ownAddresses: () => [] });
  const answers = (list: string[], guard: typeof open) => list.map((a) => guard.check(a, 80));
  assert.deepEqual(
    answers(NEVER, closed),
    NEVER.map(() => 'prohibited'),
  );
  assert.deepEqual(
    answers(NEVER, open),
    NEVER.map(() => 'prohibited'),
  );
  assert.deepEqual(
    answers(PRIVATE, closed),
    PRIVATE.map(() => 'prohibited'),
  );
  assert.deepEqual(
    answers(PRIVATE, open),
    PRIVATE.map(() => 'ok'),
  );
  assert.deepEqual(
    answers(PUBLIC, closed),
    PUBLIC.map(() => 'ok'),
  );
});

test('an own listener is a loop, by whatever address it is reached', () => {
  const rows = [
    ['127.0.0.1', '127.0.0.1', 'loop'],
    ['127.0.0.1', '::ffff:127.0.0.1', 'loop'],
    ['127.0.0.1', '127.0.0.2', 'ok'],
    ['127.0.0.1', '0.0.0.0', 'loop'],
    ['localhost', '127.0.0.1', 'loop'],
    ['localhost', '::1', 'loop'],
    ['0.0.0.0', '127.3.3.3', 'loop'],
    ['::', '::1', 'loop'],
    ['::', '192.0.2.1', 'ok'],
    ['::1', '0:0:0:0:0:0:0:1', 'loop'],
  ] as const;
  for (const [host, address, answer] of rows) {
    const guard = createGuard({ allowPrivate: true, ownAddresses: () => [{ host, port: 8888 }] });
    assert.equal(guard.check(address, 8888), answer, `${host} ${address}`);
    assert.equal(guard.check(address, 8889), 'ok');
  }
});

test('a name that leads to forbidden addresses only is not dialled', async (t) => {
  const server = await rawServer(() => {});
  t.after(() => server.close());
  const rows = [
    [['10.0.0.1', 'fe80::1'], 'prohibited'],
    [['127.0.0.1'], 'loop'],
    [[], 'unresolvable'],
  ] as const;
  for (const [addresses, code] of rows) {
    const attempts = attemptsFor(t, {
      guard: createGuard({ allowPrivate: false, ownAddresses: () => [server] }),
      resolve: () =>
        Promise.resolve(
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        ),
    });
    const failure = failureOf(
      await attempts.attempt(exchangeTo(server, { host: 'trap.test' }), direct),
    );
    assert.deepEqual([failure.code, failure.phase, failure.sent], [code, 'resolve', false]);
  }
  assert.equal(server.accepted, 0);
});

test('a forbidden literal target is refused over any route, before anybody is asked', async (t) => {
  const upstream = await rawServer(() => {});
  t.after(() => upstream.close());
  const guard = createGuard({ allowPrivate: false, ownAddresses: () => [] });
  const attempts = attemptsFor(t, { guard });
  for (const kind of ['http', 'socks5'] as const) {
    const exchange = exchangeTo({ host: '169.254.169.254', port: 80 });
    const failure = failureOf(await attempts.attempt(exchange, routeOver(upstream, { kind })));
    assert.deepEqual([failure.code, failure.leg], ['prohibited', 'local']);
  }
  assert.equal(upstream.accepted, 0);
});

test('an upstream may be private, but not this proxy itself', async (t) => {
  const upstream = await rawServer(replying('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  t.after(() => upstream.close());
  const exchange = exchangeTo({ host: 'o.test', port: 80 });
  const closed = createGuard({ allowPrivate: false, ownAddresses: () => [] });
  const fine = await attemptsFor(t, { guard: closed }).attempt(exchange, routeOver(upstream));
  assert.equal(responseOf(fine).status, 200);
  const own = createGuard({ allowPrivate: true, ownAddresses: () => [upstream] });
  const loop = await attemptsFor(t, { guard: own }).attempt(exchange, routeOver(upstream));
  assert.equal(failureOf(loop).code, 'loop');
});

test('what the resolver says is told apart: no such name, and no answer', async (t) => {
  const rows = [
    ['ENOTFOUND', 'unresolvable'],
    ['EAI_AGAIN', 'resolver_failed'],
    ['ESERVFAIL', 'resolver_failed'],
    ['ECONNREFUSED', 'resolver_failed'],
  ] as const;
  for (const [code, ours] of rows) {
    const resolve = () => Promise.reject(Object.assign(new Error('no'), { code }));
    const { attempt } = attemptsFor(t, { resolve });
    const failure = failureOf(await attempt(exchangeTo({ host: 'o.test', port: 80 }), direct));
    assert.deepEqual([failure.code, failure.phase, failure.leg], [ours, 'resolve', 'origin']);
  }
});

test('the next address is tried when the first one does not answer', async (t) => {
  const server = await rawServer(
    replying('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
    '127.0.0.7',
  );
  t.after(() => server.close());
  const { attempt } = attemptsFor(t, {
    resolve: () =>
      Promise.resolve(['127.0.0.6', '127.0.0.7'].map((address) => ({ address, family: 4 }))),
  });
  const received = await attempt(exchangeTo(server, { host: 'o.test' }), direct);
  assert.equal(responseOf(received).status, 200);
});
