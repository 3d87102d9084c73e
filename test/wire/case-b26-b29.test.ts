import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { good, root } from '../support/certificates.ts';
import { fieldOf, heardToEnd, startWire, statuses } from '../support/client-wire.ts';
import { farUpstream, fetchOver, listOf, reply } from '../support/far-side.ts';
import {
  intermediate,
  otherRoot,
  selfSigned,
  stranger,
  wildcard,
  withoutIntermediate,
} from '../support/odd-certificates.ts';
import { rawTlsServer, replying } from '../support/raw-server.ts';

const OK = reply(200, 'ok', 'Connection: close');

/** The line that makes the proxy trust both roots of the tests. */
function trusted(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'forbear-roots-'));
  t.after(() => rmSync(home, { recursive: true }));
  writeFileSync(join(home, 'roots.pem'), `${root}\n${otherRoot}\n`);
  return `tls: { extra_ca: [${join(home, 'roots.pem')}] }`;
}

async function site(t: TestContext, shown: { cert: string; key: string }) {
  const origin = await rawTlsServer(replying(OK), shown);
  t.after(() => origin.close());
  return origin;
}

const UNSOUND = {
  'signed by itself': selfSigned,
  'of an unknown root': stranger,
  'without its intermediate': withoutIntermediate,
  'for another name': wildcard,
};

for (const [name, shown] of Object.entries(UNSOUND)) {
  test(`B26 a certificate ${name} is one handshake, whatever addresses there are, and held against nobody`, async (t) => {
    const origin = await site(t, shown);
    const names = { 'o.test': origin.port };
    const ups = await Promise.all(
      [2, 3, 4].map((n) => farUpstream(t, { exit: `127.0.0.${n}`, names })),
    );
    const wire = await startWire(t, [trusted(t), ...listOf(ups)]);
    const got = await fetchOver(wire, 'https://o.test/');
    assert.equal(got.status, 502);
    assert.match(got.field('Proxy-Status') ?? '', /error=tls_certificate_error/);
    assert.equal(got.field('Forbear-Verdict'), 'client/untrusted_certificate');
    assert.equal(got.field('Forbear-Attempts'), '1');
    assert.equal(origin.accepted, 1);
    assert.deepEqual(wire.told('route_ejected'), []);
    assert.deepEqual(wire.told('breaker_changed'), []);
  });
}

test('B26 with its intermediate the same certificate is good', async (t) => {
  const { cert, key } = withoutIntermediate;
  const origin = await site(t, { cert: `${cert}\n${intermediate}`, key });
  const wire = await startWire(t, [trusted(t)]);
  assert.equal((await fetchOver(wire, `https://o.test:${origin.port}/`)).status, 200);
});

test('B29 a wildcard certificate of an origin covers one label, no more and no less', async (t) => {
  const origin = await site(t, wildcard);
  const wire = await startWire(t, [trusted(t)]);
  for (const [name, status] of [
    ['a.wild.test', 200],
    ['A.Wild.TEST', 200],
    ['b.a.wild.test', 502],
    ['wild.test', 502],
    ['awild.test', 502],
  ] as const) {
    const got = await fetchOver(wire, `https://${name}:${origin.port}/`);
    assert.equal(got.status, status, name);
    if (status === 502) {
      assert.match(got.field('Proxy-Status') ?? '', /error=tls_certificate_error/);
    }
  }
});

test('B28 a host with a dot behind it is checked without the dot, and leads to the same lane', async (t) => {
  const origin = await site(t, good);
  const wire = await startWire(t, [trusted(t)]);
  for (const host of ['o.test.', 'O.TEST']) {
    const inner = await wire.secure(`${host}:${origin.port}`, { servername: 'o.test' });
    inner.write(`GET / HTTP/1.1\r\nHost: ${host}:${origin.port}\r\nConnection: close\r\n\r\n`);
    const heard = await heardToEnd(inner);
    assert.deepEqual(statuses(heard), [200], host);
    assert.equal(fieldOf(origin.heard.at(-1) ?? '', 'Host'), `${host}:${origin.port}`);
  }
  const lanes = new Set(wire.told('attempt_finished').map(({ lane }) => lane));
  assert.deepEqual([...lanes], [`o.test:${origin.port}`]);
});
