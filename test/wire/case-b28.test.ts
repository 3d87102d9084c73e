import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, heardToEnd, startWire, statuses } from '../support/client-wire.ts';
import { farOrigin, farUpstream, fetchOver, listOf, parsed, reply } from '../support/far-side.ts';
import { rawServer, replying } from '../support/raw-server.ts';

const ONE_TRIP =
  'policy: { max_attempts: 1, breaker: { min_attempts: 2, consecutive: 2, when_open: refuse } }';

const request = (target: string) =>
  `GET ${target} HTTP/1.1\r\nHost: any.test\r\nConnection: close\r\n\r\n`;

/** Breaks the host by one spelling, and asks for it by the others. */
async function opened(
  wire: { readonly port: number },
  broken: string,
  others: readonly string[],
): Promise<void> {
  for (let i = 0; i < 2; i++) assert.deepEqual(statuses(await ask(wire, request(broken))), [503]);
  for (const spelling of others) {
    const got = parsed(await ask(wire, request(spelling)));
    assert.deepEqual([got.status, got.field('Forbear-Stop')], [503, 'breaker_open'], spelling);
  }
}

test('B28 a breaker that one spelling of a host opened is open for every other', async (t) => {
  const origin = await farOrigin(t, [reply(503, 'busy')]);
  const wire = await startWire(t, [ONE_TRIP]);
  const spelled = ['o.test', 'o.test.', 'O.Test.', 'o%2Etest', 'user:pw@o.test'];
  await opened(
    wire,
    `http://O.TEST:${origin.port}/`,
    spelled.map((name) => `http://${name}:${origin.port}/x`),
  );
  const inTunnel = await wire.tunnel(`o.TEST.:${origin.port}`);
  inTunnel.write(request('/inside'));
  assert.match(await heardToEnd(inTunnel), /^HTTP\/1\.1 503 [\s\S]*Forbear-Stop: breaker_open/);
  assert.equal(origin.hits.length, 2);
});

test('B28 a name beyond ASCII has one lane, as an A-label and percent-encoded', async (t) => {
  const origin = await farOrigin(t, [reply(503, 'busy')]);
  const wire = await startWire(t, [ONE_TRIP]);
  await opened(wire, `http://xn--bcher-kva.test:${origin.port}/`, [
    `http://b%C3%BCcher.test:${origin.port}/`,
    `http://B%C3%9CCHER.test:${origin.port}/`,
    `http://XN--BCHER-KVA.test.:${origin.port}/`,
  ]);
  assert.deepEqual(new Set(wire.lookups), new Set(['xn--bcher-kva.test']));
});

test('B28 the default port written out is the same host; http and https on their own ports are one, another port is not', async (t) => {
  const origin = await farOrigin(t, [reply(503, 'busy')], { tls: true });
  const up = await farUpstream(t, { names: { 'o.test': origin.port } });
  const wire = await startWire(t, [ONE_TRIP, ...listOf([up])]);
  await opened(wire, 'https://o.test/', [
    'https://o.test:443/',
    'http://o.test/',
    'http://o.test:80/',
  ]);
  assert.equal(origin.hits.length, 2);
  const elsewhere = await fetchOver(wire, 'https://o.test:8443/');
  assert.equal(elsewhere.field('Forbear-Stop'), 'attempts_exhausted');
  assert.equal(origin.hits.length, 3);
});

test('B03 a breaker that the long form of an IPv6 address opened is open for the short one', async (t) => {
  const origin = await rawServer(replying(reply(503, 'busy')), '::1');
  t.after(() => origin.close());
  const wire = await startWire(t, [ONE_TRIP]);
  await opened(wire, `http://[0:0:0:0:0:0:0:1]:${origin.port}/`, [
    `http://[::1]:${origin.port}/`,
    `http://[::0001]:${origin.port}/`,
  ]);
  assert.equal(origin.heard.join('').match(/GET /g)?.length, 2);
});
