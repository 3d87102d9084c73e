import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { TLSSocket, TlsOptions } from 'node:tls';
import type { TlsConfig } from '../../src/config/config.ts';
import {
  attemptsFor,
  direct,
  exchangeTo,
  failureOf,
  responseOf,
  textOf,
} from '../support/attempts.ts';
import { expired, good, root } from '../support/certificates.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { rawServer, rawTlsServer, replying, type Serve, until } from '../support/raw-server.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

async function over(
  t: TestContext,
  o: { host?: string; at?: string; server?: TlsOptions; tls?: Partial<TlsConfig>; serve?: Serve },
) {
  const origin = await rawTlsServer(o.serve ?? replying(OK), o.server ?? good, o.at);
  t.after(() => origin.close());
  const attempts = attemptsFor(t, { tls: o.tls ?? {} });
  const received = await attempts.attempt(
    exchangeTo(origin, { scheme: 'https', host: o.host ?? 'o.test' }),
    direct,
  );
  return { received, attempts, origin };
}

test('an origin whose certificate holds is spoken to, by its name or its address', async (t) => {
  const names: (string | false | null)[] = [];
  const serve: Serve = (socket, n) => {
    names.push((socket as TLSSocket).servername ?? null);
    assert.equal((socket as TLSSocket).alpnProtocol, 'http/1.1');
    replying(OK)(socket, n);
  };
  const server = { ...good, ALPNProtocols: ['h2', 'http/1.1'] };
  for (const host of ['o.test', '127.0.0.1']) {
    const { received } = await over(t, { host, server, serve });
    assert.equal(await textOf(received), 'ok', host);
  }
  assert.deepEqual(names, ['o.test', false], 'an address is never sent as a name');
});

test('a certificate that does not hold ends the attempt in the tls phase', async (t) => {
  const cases = [
    ['expired', { server: expired }, /CERT_HAS_EXPIRED/],
    ['wrong name', { host: 'other.test' }, /ERR_TLS_CERT_ALTNAME_INVALID/],
    ['wrong address', { host: '127.0.0.5', at: '127.0.0.5' }, /ERR_TLS_CERT_ALTNAME_INVALID/],
    ['unknown root', { tls: { extraCa: [] } }, /UNABLE_TO_VERIFY_LEAF_SIGNATURE/],
  ] as const;
  for (const [name, o, detail] of cases) {
    const { received, attempts, origin } = await over(t, o);
    const failure = failureOf(received);
    assert.deepEqual(
      [failure.code, failure.phase, failure.leg, failure.sent],
      ['certificate', 'tls', 'origin', false],
      name,
    );
    assert.match(failure.detail, detail, name);
    await until(() => attempts.openSockets() === 0);
    assert.equal(origin.accepted, 1);
  }
});

test('an insecure host is not verified, and others still are', async (t) => {
  const tls = { extraCa: [], insecureHosts: ['*.lab.test', 'o.test'] };
  for (const host of ['o.test', 'a.b.lab.test']) {
    const { received } = await over(t, { server: expired, tls, host });
    assert.equal(await textOf(received), 'ok');
  }
  const { received } = await over(t, { server: expired, tls, host: 'lab.test' });
  assert.equal(failureOf(received).code, 'certificate');
});

test('an origin that asks for a client certificate gets the one for its name', async (t) => {
  const seen: string[] = [];
  const serve: Serve = (socket, n) => {
    seen.push((socket as TLSSocket).getPeerCertificate().subject?.CN?.toString() ?? 'none');
    replying(OK)(socket, n);
  };
  const server = { ...good, ca: root, requestCert: true, rejectUnauthorized: false };
  const tls = { clientCerts: [{ host: 'o.test', cert: good.cert, key: good.key }] };
  for (const host of ['o.test', 'up.test']) {
    const { received } = await over(t, { server, serve, tls, host });
    assert.equal(responseOf(received).status, 200);
  }
  assert.deepEqual(seen, ['o.test', 'none']);
});

test('a handshake that breaks off or is no TLS blames the origin', async (t) => {
  const cases: readonly (readonly [Serve, string])[] = [
    [(socket) => socket.once('data', () => socket.end()), 'closed'],
    [(socket) => socket.once('data', () => socket.resetAndDestroy()), 'connection_reset'],
    [(socket) => socket.once('data', () => socket.write('HTTP/1.1 400 Bad\r\n\r\n')), 'tls'],
  ];
  for (const [serve, code] of cases) {
    const origin = await rawServer(serve);
    t.after(() => origin.close());
    const attempts = attemptsFor(t);
    const received = await attempts.attempt(exchangeTo(origin, { scheme: 'https' }), direct);
    const failure = failureOf(received);
    assert.deepEqual([failure.code, failure.phase, failure.leg], [code, 'tls', 'origin']);
    await until(() => attempts.openSockets() === 0);
  }
});

test('a silent handshake ends at its own deadline', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const clock = new FakeClock();
  const attempts = attemptsFor(t, { clock });
  const pending = attempts.attempt(exchangeTo(origin, { scheme: 'https' }), direct);
  await until(() => (origin.heard[0] ?? '') !== '');
  await clock.advance(10_000);
  const failure = failureOf(await pending);
  assert.deepEqual([failure.code, failure.phase, failure.leg], ['timeout', 'tls', 'origin']);
  await until(() => attempts.openSockets() === 0);
  assert.equal(clock.pending, 0);
});

test('a TLS session is resumed, and the connection is used again', async (t) => {
  const resumed: boolean[] = [];
  const serve: Serve = (socket, n) => {
    resumed.push((socket as TLSSocket).isSessionReused());
    replying(n === 1 ? OK.replace('\r\n', '\r\nConnection: close\r\n') : OK)(socket, n);
  };
  const { received, attempts, origin } = await over(t, { serve });
  await textOf(received);
  await until(() => attempts.openSockets() === 0);
  for (let i = 0; i < 2; i++) {
    const again = await attempts.attempt(
      exchangeTo(origin, { scheme: 'https', host: 'o.test' }),
      direct,
    );
    assert.equal(await textOf(again), 'ok');
    await again.closed;
    assert.ok(again.receivedBytes > OK.length, 'TLS records count');
  }
  assert.deepEqual(resumed, [false, true]);
});
