import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Exchange } from '../../src/exchange/ports.ts';
import { attemptsFor, exchangeTo, failureOf, routeOver } from '../support/attempts.ts';
import { type RawServer, rawServer } from '../support/raw-server.ts';
import { socksUpstream } from '../support/upstream.ts';

test('SOCKS refusals are told by status', async (t) => {
  const cases = [
    [1, 502],
    [2, 403],
    [4, 502],
    [5, 502],
    [6, 504],
    [8, 501],
  ] as const;
  for (const [reply, status] of cases) {
    const upstream = await serverFor(t, socksUpstream({ names: {}, reply }));
    const { attempt } = attemptsFor(t);
    const failure = failureOf(
      await attempt(secureExchange(), routeOver(upstream, { kind: 'socks5' })),
    );
    assert.deepEqual([failure.code, failure.upstreamReply?.status], ['upstream_refused', status]);
  }
});

test('a refused SOCKS login, and a missing one, count as 407; what is not SOCKS is a broken protocol', async (t) => {
  const upstream = await serverFor(t, socksUpstream({ names: {}, login: 'u:p' }));
  const junk = await serverFor(
    t,
    rawServer((socket) => socket.once('data', () => socket.write('HTTP/1.1 400'))),
  );
  const { attempt } = attemptsFor(t);
  const wrong = { kind: 'socks5', username: 'u', password: 'no' } as const;
  for (const way of [wrong, { kind: 'socks5' } as const]) {
    const failure = failureOf(await attempt(secureExchange(), routeOver(upstream, way)));
    assert.deepEqual([failure.code, failure.upstreamReply?.status], ['upstream_refused', 407]);
  }
  const failure = failureOf(await attempt(secureExchange(), routeOver(junk, wrong)));
  assert.deepEqual([failure.code, failure.phase], ['upstream_protocol', 'upstream_handshake']);
});

test('IP targets reach a SOCKS upstream as addresses', async (t) => {
  const asked: string[] = [];
  const upstream = await serverFor(t, socksUpstream({ names: {}, reply: 5, asked }));
  const { attempt } = attemptsFor(t);
  for (const host of ['192.0.2.7', '2001:db8::1', '64:ff9b::192.0.2.7']) {
    await attempt(
      exchangeTo({ host, port: 443 }, { scheme: 'https' }),
      routeOver(upstream, { kind: 'socks5' }),
    );
  }
  assert.deepEqual(asked, [
    '192.0.2.7:443',
    '2001:0db8:0000:0000:0000:0000:0000:0001:443',
    '0064:ff9b:0000:0000:0000:0000:c000:0207:443',
  ]);
});

function secureExchange(): Exchange {
  return exchangeTo(
    { host: 'o.test', port: 443 },
    { scheme: 'https', headers: ['Host', 'o.test'] },
  );
}

async function serverFor(t: TestContext, starting: Promise<RawServer>): Promise<RawServer> {
  const server = await starting;
  t.after(() => server.close());
  return server;
}
