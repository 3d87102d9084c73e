import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startWire } from '../support/client-wire.ts';
import { farOrigin, farUpstream, fetchOver, listOf, reply } from '../support/far-side.ts';

const OK = reply(200, 'ok');
const POLICY =
  'max_attempts: 9, max_addresses: 5, backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 }, control_requests: false';
const HTML = 'Content-Type: text/html';
const CHALLENGE =
  '<html><head><title>Just a moment...</title></head><body><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script><script>window._cf_chl_opt={}</script></body></html>';

async function exits(t: TestContext, port: number, count: number) {
  const names = { 'o.test': port };
  return Promise.all(
    Array.from({ length: count }, (_, n) => farUpstream(t, { exit: `127.0.0.${n + 2}`, names })),
  );
}

const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const ENCODED: Readonly<Record<string, { bytes: Buffer; type: string }>> = {
  'UTF-16 by its mark': {
    bytes: Buffer.concat([Buffer.from([0xff, 0xfe]), utf16(CHALLENGE)]),
    type: HTML,
  },
  'UTF-16 by its label': { bytes: utf16(CHALLENGE), type: `${HTML}; charset=utf-16le` },
  'big-endian UTF-16 by its mark': {
    bytes: Buffer.concat([Buffer.from([0xfe, 0xff]), utf16(CHALLENGE).swap16()]),
    type: HTML,
  },
  'UTF-8 with a mark': {
    bytes: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(CHALLENGE)]),
    type: HTML,
  },
};

for (const [name, { bytes, type }] of Object.entries(ENCODED)) {
  test(`B67 a challenge in ${name} is found and rotated away`, async (t) => {
    const origin = await farOrigin(t, [reply(200, bytes.toString('latin1'), type), OK]);
    const wire = await startWire(t, [
      `policy: { ${POLICY} }`,
      ...listOf(await exits(t, origin.port, 2)),
    ]);
    const got = await fetchOver(wire, 'http://o.test/');
    assert.deepEqual([got.status, got.body], [200, 'ok']);
    assert.notEqual(origin.hits[0]?.from, origin.hits[1]?.from);
    assert.equal(wire.told('attempt_finished')[0]?.verdict.reason, 'challenged');
  });
}

test('B67 a good page in UTF-16 is passed on byte for byte', async (t) => {
  const bytes = Buffer.concat([Buffer.from([0xff, 0xfe]), utf16('<html>Bücher für alle</html>')]);
  const origin = await farOrigin(t, [reply(200, bytes.toString('latin1'), HTML)]);
  const wire = await startWire(t, [`policy: { ${POLICY} }`]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.body], [200, bytes.toString('latin1')]);
});

test('B67 a marker beyond the window is not looked for: the page is delivered, and its end comes with it', async (t) => {
  const filling = `<p>${'text '.repeat(2000)}</p>`;
  const page = `<html><body>${filling}</body></html>${CHALLENGE}`;
  const origin = await farOrigin(t, [reply(200, page, HTML)]);
  const wire = await startWire(t, [`policy: { ${POLICY}, inspect: { bytes: 4KiB } }`]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.body, origin.hits.length], [200, page, 1]);
});

test('B67 a marker of the user’s counts up to the last byte of the window, and not behind it', async (t) => {
  for (const [before, hits] of [
    [1000, 2],
    [5000, 1],
  ] as const) {
    const page = `<html>${'x'.repeat(before)}SORRY-BLOCKED</html>`;
    const origin = await farOrigin(t, [reply(200, page, HTML), OK]);
    const wire = await startWire(t, [
      `policy: { ${POLICY}, inspect: { bytes: 4KiB }, replies: [{ when: { body_contains: SORRY-BLOCKED }, verdict: address, label: sorry }] }`,
      ...listOf(await exits(t, origin.port, 2)),
    ]);
    assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
    assert.equal(origin.hits.length, hits, `${before} bytes before it`);
  }
});

test('B67 the same block page on five of five addresses: each is asked once, then it is told, never as 200, and the addresses stay good for others', async (t) => {
  const origin = await farOrigin(t, (hit) =>
    hit.head.includes('/good') ? OK : reply(200, CHALLENGE, HTML),
  );
  const other = await farOrigin(t, [OK]);
  const names = { 'o.test': origin.port, 'other.test': other.port };
  const ups = await Promise.all(
    [2, 3, 4, 5, 6].map((n) => farUpstream(t, { exit: `127.0.0.${n}`, names })),
  );
  const wire = await startWire(t, [
    `policy: { ${POLICY} }`,
    'targets: [{ match: other.test, routes: { rotation: fresh } }]',
    ...listOf(ups),
  ]);
  const got = await fetchOver(wire, 'http://o.test/page');
  assert.equal(got.status, 502);
  assert.equal(got.field('Forbear-Stop'), 'no_route', 'there is no sixth');
  assert.equal(origin.hits.length, 5);
  assert.equal(new Set(origin.hits.map(({ from }) => from)).size, 5);
  const before = origin.hits.length;
  await fetchOver(wire, 'http://o.test/page');
  assert.ok(origin.hits.length - before <= 5, 'a second request shows it to no more');
  for (let i = 0; i < 8; i++) {
    assert.equal((await fetchOver(wire, 'http://other.test/')).status, 200);
  }
  assert.equal(new Set(other.hits.map(({ from }) => from)).size, 5);
});

test('B67 a rate limit behind a 200 is waited out on the same address when the user names its words', async (t) => {
  const limited = reply(200, '{"error":"rate limited"}', 'Content-Type: application/json');
  const origin = await farOrigin(t, [limited, OK]);
  const wire = await startWire(t, [
    `policy: { ${POLICY}, replies: [{ when: { body_contains: rate limited }, verdict: rate, label: limited }] }`,
    ...listOf(await exits(t, origin.port, 2)),
  ]);
  assert.equal((await fetchOver(wire, 'http://o.test/')).body, 'ok');
  assert.equal(origin.hits[0]?.from, origin.hits[1]?.from);
});
