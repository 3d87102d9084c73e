import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  attemptsFor,
  direct,
  exchangeTo,
  failureOf,
  responseOf,
  routeOver,
} from '../support/attempts.ts';
import { good } from '../support/certificates.ts';
import { onHead, rawServer, rawTlsServer, replying, until } from '../support/raw-server.ts';
import { httpUpstream, socksUpstream } from '../support/upstream.ts';

test('a blind tunnel hands the far leg over with what it has said already', async (t) => {
  const origin = await rawServer((socket) => {
    socket.write('220 hello\r\n');
    socket.on('data', (chunk) => socket.write(`echo ${chunk}`));
  });
  const plan = { names: { 'o.test': origin.port } };
  const upstreams = [await httpUpstream(plan), await socksUpstream(plan)] as const;
  t.after(() => Promise.all([origin, ...upstreams].map((server) => server.close())));
  const attempts = attemptsFor(t);
  const routes = [direct, routeOver(upstreams[0]), routeOver(upstreams[1], { kind: 'socks5' })];
  for (const route of routes) {
    const exchange = exchangeTo(origin, {
      method: 'CONNECT',
      scheme: 'https',
      host: 'o.test',
      path: '',
    });
    const tunnel = await attempts.openTunnel(exchange, route);
    assert.deepEqual(
      [responseOf(tunnel).status, responseOf(tunnel).body.kind, exchange.stage.kind],
      [200, 'none', 'streaming'],
    );
    let heard = String(tunnel.firstBytes);
    tunnel.socket?.resume().on('data', (chunk) => {
      heard += chunk;
    });
    await until(() => heard === '220 hello\r\n');
    tunnel.socket?.write('hi');
    await until(() => heard === '220 hello\r\necho hi');
    assert.ok(tunnel.receivedBytes >= 18);
    tunnel.socket?.end();
    tunnel.discard();
    await tunnel.closed;
    await until(() => attempts.openSockets() === 0);
  }
});

test('bytes in one packet with the answer to CONNECT are not lost', async (t) => {
  const upstream = await rawServer((socket) =>
    onHead(socket, () => socket.write('HTTP/1.1 200 OK\r\n\r\n220 first')),
  );
  t.after(() => upstream.close());
  const attempts = attemptsFor(t);
  const exchange = exchangeTo({ host: 'o.test', port: 25 }, { method: 'CONNECT', path: '' });
  const tunnel = await attempts.openTunnel(exchange, routeOver(upstream));
  let heard = String(tunnel.firstBytes);
  tunnel.socket?.resume().on('data', (chunk) => {
    heard += chunk;
  });
  await until(() => heard === '220 first');
});

test('a tunnel that is refused tells it as an attempt does', async (t) => {
  const upstream = await rawServer(replying('HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno'));
  t.after(() => upstream.close());
  const attempts = attemptsFor(t);
  const exchange = exchangeTo({ host: 'o.test', port: 443 }, { method: 'CONNECT', path: '' });
  const tunnel = await attempts.openTunnel(exchange, routeOver(upstream));
  assert.equal(tunnel.socket, undefined);
  assert.equal(failureOf(tunnel).upstreamReply?.text, 'no');
  await until(() => upstream.open === 0);
});

test('an upgrade over https gets its TLS, and ends with its exchange', async (t) => {
  const origin = await rawTlsServer(replying('HTTP/1.1 101 Switching Protocols\r\n\r\n'), good);
  t.after(() => origin.close());
  const attempts = attemptsFor(t);
  const gone = new AbortController();
  const exchange = exchangeTo(origin, { scheme: 'https', host: 'o.test', signal: gone.signal });
  const tunnel = await attempts.openTunnel(exchange, direct);
  tunnel.socket?.write('GET / HTTP/1.1\r\n\r\n');
  tunnel.socket?.resume();
  const [answer] = await once(tunnel.socket as NonNullable<typeof tunnel.socket>, 'data');
  assert.match(String(answer), /^HTTP\/1\.1 101 /);
  gone.abort();
  await tunnel.closed;
  assert.equal(tunnel.deliverable, false);
  await until(() => attempts.openSockets() === 0);
});

test('closing ends tunnels, streams and idle connections at once', async (t) => {
  const origin = await rawServer((socket) =>
    onHead(socket, () => socket.write('HTTP/1.1 200 OK\r\n\r\npart')),
  );
  t.after(() => origin.close());
  const attempts = attemptsFor(t);
  const tunnel = await attempts.openTunnel(
    exchangeTo(origin, { method: 'CONNECT', path: '' }),
    direct,
  );
  const pending = attempts.attempt(exchangeTo(origin), direct);
  await until(() => origin.accepted === 2 && origin.heard[1] !== '');
  attempts.close();
  await Promise.all([tunnel.closed, (await pending).closed]);
  await until(() => attempts.openSockets() === 0 && origin.open === 0);
});
