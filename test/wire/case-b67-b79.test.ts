import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { loadConfig } from '../../src/config/load.ts';
import { startWire } from '../support/client-wire.ts';
import { farOrigin, farUpstream, fetchOver, listOf, reply } from '../support/far-side.ts';

const OK = reply(200, 'ok');
const POLICY =
  'policy: { max_attempts: 4, max_addresses: 9, backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 }, control_requests: false }';
const HTML = 'Content-Type: text/html';
const CHALLENGE =
  '<html><head><title>Just a moment...</title></head><body><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script><script>window._cf_chl_opt={}</script></body></html>';
const ARTICLE = `<html><head><title>How captchas work</title></head><body><p>The page says "Just a moment..." and loads /cdn-cgi/challenge-platform/.</p>${'<p>Much text about it, for people to read.</p>'.repeat(1500)}</body></html>`;

const exits = (t: import('node:test').TestContext, port: number, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      farUpstream(t, { exit: `127.0.0.${n + 2}`, names: { 'o.test': port } }),
    ),
  );

for (const [coding, bytes] of [
  ['none', Buffer.from(CHALLENGE)],
  ['gzip', gzipSync(CHALLENGE)],
  ['deflate', deflateSync(CHALLENGE)],
  ['br', brotliCompressSync(CHALLENGE)],
] as const) {
  test(`B67 a challenge behind a 200 is found in coding ${coding} and in pieces, told by name, and rotated away`, async (t) => {
    const label = coding === 'none' ? [] : [`Content-Encoding: ${coding}`];
    const whole = Buffer.from(reply(200, bytes.toString('latin1'), HTML, ...label), 'latin1');
    const origin = await farOrigin(t, [
      (socket) => {
        const middle = whole.length - Math.floor(bytes.length / 2);
        socket.write(whole.subarray(0, middle), () =>
          setImmediate(() => socket.write(whole.subarray(middle))),
        );
      },
      OK,
    ]);
    const wire = await startWire(t, [POLICY, ...listOf(await exits(t, origin.port, 2))]);
    const got = await fetchOver(wire, 'http://o.test/');
    assert.equal(got.status, 200);
    assert.notEqual(origin.hits[0]?.from, origin.hits[1]?.from);
    const evidence = wire.told('attempt_finished')[0]?.verdict.evidence;
    assert.equal(evidence?.kind === 'marker' && evidence.marker, 'cloudflare-challenge');
  });
}

test('B67 an article that quotes the words, and a file that holds them, are delivered', async (t) => {
  for (const answer of [
    reply(200, ARTICLE, HTML),
    reply(200, CHALLENGE, 'Content-Type: application/octet-stream'),
  ]) {
    const origin = await farOrigin(t, [answer]);
    const wire = await startWire(t, [POLICY]);
    const got = await fetchOver(wire, origin.url);
    assert.deepEqual([got.status, origin.hits.length], [200, 1]);
    assert.equal(got.field('Forbear-Verdict'), 'none/ok');
  }
});

const UNREADABLE =
  ' |abc|NaN|Infinity|0x10|1e3|10 seconds|120, 120|+5|--1|\xd9\xa3|60;|undefined|Mon|Tomorrow|0|-1|1,5|1.5.0|Thu, 01 Jan 1970 00:00:00 GMT';

test('B69 B71 B72 a Retry-After that cannot be read, is zero or is past never makes a busy loop', async (t) => {
  const wire = await startWire(t, [
    'policy: { backoff: { base: 100ms, cap: 100ms, jitter: 0.1 } }',
  ]);
  await Promise.all(
    UNREADABLE.split('|').map(async (value, n) => {
      const throttle = reply(429, '', `Retry-After: ${value}`);
      const origin = await farOrigin(t, [throttle, OK], { name: `h${n}.test` });
      assert.equal((await fetchOver(wire, origin.url)).status, 200, value);
      const [first, second] = origin.hits.map(({ at }) => at);
      const gap = (second ?? 0) - (first ?? 0);
      assert.ok(gap >= 85 && gap < 4000, `${JSON.stringify(value)}: ${gap}`);
    }),
  );
});

for (const [name, value] of [
  ['B69 four hundred digits', '9'.repeat(400)],
  ['B73 an hour', '3600'],
  ['B74 more than a timer can hold', '2147484'],
] as const) {
  test(`${name} of Retry-After is not clipped: one hit, the reply at once, and local answers with the time left`, async (t) => {
    const origin = await farOrigin(t, [reply(429, 'slow', `Retry-After: ${value}`)]);
    const wire = await startWire(t, [POLICY]);
    const got = await fetchOver(wire, origin.url);
    assert.deepEqual([got.status, got.body, got.field('Retry-After')], [429, 'slow', value]);
    assert.match(got.field('Forbear-Stop') ?? '', /^(wait_too_long|patience_exceeded)$/);
    for (let i = 0; i < 3; i++) {
      const later = await fetchOver(wire, `${origin.url}${i}`);
      assert.deepEqual([later.status, later.field('Forbear-Stop')], [429, 'lane_paused']);
      const left = Number(later.field('Retry-After'));
      assert.ok(left > Math.min(Number(value), 1e11) - 60 && Number.isFinite(left), String(left));
    }
    assert.equal(origin.hits.length, 1);
  });
}

test('B73 a wait that the client would not live to see is answered now', async (t) => {
  const origin = await farOrigin(t, [reply(429, '', 'Retry-After: 20')]);
  const wire = await startWire(t, [POLICY]);
  const begunAt = performance.now();
  const got = await fetchOver(wire, origin.url, { fields: ['Forbear-Patience: 5s'] });
  assert.ok(performance.now() - begunAt < 2000);
  assert.deepEqual([got.status, got.field('Forbear-Stop')], [429, 'patience_exceeded']);
});

test('B74 a time-out that is no time is an error of the configuration that names its key', () => {
  for (const value of ['Infinity', 'NaN', '-1', '-5s']) {
    const text = `policy: { timeouts: { idle: ${value} } }`;
    const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
    assert.equal(loaded.kind, 'faults', value);
    assert.match(JSON.stringify(loaded), /timeouts.*idle/);
  }
});

const soon = () => new Date(Date.now() + 2000);
const UNITS: readonly (readonly [string, () => string[], number])[] = [
  ['delta seconds', () => ['X-RateLimit-Reset: 1'], 1000],
  ['epoch seconds', () => [`X-RateLimit-Reset: ${Math.ceil(soon().getTime() / 1000)}`], 1000],
  ['epoch milliseconds', () => [`X-RateLimit-Reset: ${Date.now() + 1200}`], 1000],
  ['an ISO date', () => [`X-RateLimit-Reset: ${soon().toISOString()}`], 1000],
  ['the draft form', () => ['RateLimit: "default";r=0;t=1'], 1000],
  ['Retry-After beside it', () => ['Retry-After: 1', 'X-RateLimit-Reset: 3000'], 1000],
];

test('B75 a reset is read in every unit, and Retry-After wins over it', async (t) => {
  const wire = await startWire(t, [POLICY]);
  await Promise.all(
    UNITS.map(async ([name, fields, atLeastMs], at) => {
      const answers = (_: unknown, n: number) => (n === 1 ? reply(429, '', ...fields()) : OK);
      const origin = await farOrigin(t, answers, { name: `h${at}.test` });
      assert.equal((await fetchOver(wire, origin.url)).status, 200, name);
      const gap = (origin.hits[1]?.at ?? 0) - (origin.hits[0]?.at ?? 0);
      assert.ok(gap >= atLeastMs - 20 && gap < 4500, `${name}: ${gap}`);
    }),
  );
});

test('B75 on a good reply something left means no wait, and nothing left quiets the lane before the next', async (t) => {
  for (const [left, leastMs] of [
    [10, 0],
    [0, 980],
  ] as const) {
    const origin = await farOrigin(t, [
      reply(200, 'ok', `X-RateLimit-Remaining: ${left}`, 'X-RateLimit-Reset: 1'),
    ]);
    const wire = await startWire(t, [POLICY]);
    for (let i = 0; i < 2; i++) assert.equal((await fetchOver(wire, origin.url)).status, 200);
    const gap = (origin.hits[1]?.at ?? 0) - (origin.hits[0]?.at ?? 0);
    assert.ok(gap >= leastMs && gap < leastMs + 900, `${left}: ${gap}`);
  }
});

const SAME_ADDRESS: readonly (readonly [number, readonly string[]])[] = [
  [403, ['Retry-After: 0.05']],
  [403, ['X-RateLimit-Remaining: 0', 'X-RateLimit-Reset: 0.05']],
  [413, ['Retry-After: 0.05']],
  [429, []],
  [429, ['Retry-After: 0.05']],
  [503, ['Retry-After: 0.05']],
];

for (const [status, fields] of SAME_ADDRESS) {
  test(`B77 a ${status} with ${fields.join(' and ') || 'nothing'} is a throttle: waited out, on the same address`, async (t) => {
    const origin = await farOrigin(t, [reply(status, '', ...fields), OK]);
    const wire = await startWire(t, [POLICY, ...listOf(await exits(t, origin.port, 3))]);
    assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
    const [first, second] = origin.hits;
    assert.equal(first?.from, second?.from);
    assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 45);
    assert.equal(wire.told('attempt_finished')[0]?.verdict.reason, 'rate_limited');
  });
}

test('B77 a bare 403 rotates; what is final is delivered at once, Retry-After or not', async (t) => {
  const blocked = await farOrigin(t, [reply(403), OK]);
  const wire = await startWire(t, [POLICY, ...listOf(await exits(t, blocked.port, 3))]);
  assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
  assert.notEqual(blocked.hits[0]?.from, blocked.hits[1]?.from);
  const direct = await startWire(t, [POLICY]);
  for (const status of [200, 301, 401, 404, 410, 451]) {
    const origin = await farOrigin(t, [reply(status, 'x', 'Retry-After: 60')]);
    const got = await fetchOver(direct, origin.url);
    assert.deepEqual([got.status, got.field('Retry-After')], [status, '60']);
    assert.equal(origin.hits.length, 1);
  }
});

test('B79 the first throttle holds all, who then come back after it, one first, and other hosts are not concerned', async (t) => {
  let until = Number.POSITIVE_INFINITY;
  const origin = await farOrigin(t, (hit, n) => {
    if (n === 1) until = hit.at + 700;
    return hit.at < until ? reply(429, '', 'Retry-After: 0.7') : OK;
  });
  const other = await farOrigin(t, [OK], { name: 'p.test' });
  const wire = await startWire(t, ['policy: { patience: 20s }']);
  const all = Array.from({ length: 24 }, () => fetchOver(wire, origin.url));
  assert.equal((await fetchOver(wire, other.url)).status, 200);
  for (const got of await Promise.all(all)) assert.equal(got.status, 200);
  const firstAt = origin.hits[0]?.at ?? 0;
  const after = origin.hits.slice(1).map(({ at }) => at - firstAt);
  assert.ok(
    after.every((at) => at >= 695),
    String(after[0]),
  );
  const [one = 0, two = 0] = after;
  assert.ok(two - one >= 0.1 && after.length === 24, `${after}`);
  assert.ok((after.at(-1) ?? 0) - one > 1, 'they are spread');
});
