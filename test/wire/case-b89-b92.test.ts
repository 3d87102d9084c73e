import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWire } from '../support/client-wire.ts';
import {
  type Answer,
  farOrigin,
  farUpstream,
  fetchOver,
  listOf,
  login,
  reply,
  reset,
} from '../support/far-side.ts';

const QUICK =
  'backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 }, control_requests: false';
const BLOCK = reply(
  200,
  '<html><head><title>Just a moment...</title></head><body><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script><script>window._cf_chl_opt={}</script></body></html>',
  'Content-Type: text/html',
);

test('B89 always 503: as many hits as attempts, and the number told is the number seen', async (t) => {
  for (const attempts of [1, 4]) {
    const wire = await startWire(t, [`policy: { ${QUICK}, max_attempts: ${attempts} }`]);
    const origin = await farOrigin(t, [reply(503, 'busy')]);
    const got = await fetchOver(wire, origin.url);
    assert.equal(origin.hits.length, attempts);
    assert.equal(got.field('Forbear-Attempts'), String(attempts));
  }
});

test('B89 at most max_addresses addresses are shown to a host that refuses them, whatever attempts are left', async (t) => {
  const origin = await farOrigin(t, [reply(403, 'no')]);
  const ups = await Promise.all(
    [2, 3, 4, 5, 6].map((n) =>
      farUpstream(t, { exit: `127.0.0.${n}`, names: { 'o.test': origin.port } }),
    ),
  );
  const wire = await startWire(t, [
    `policy: { ${QUICK}, max_attempts: 10, max_addresses: 3 }`,
    ...listOf(ups),
  ]);
  const got = await fetchOver(wire, 'http://o.test/');
  assert.deepEqual([got.status, got.body], [403, 'no']);
  assert.equal(got.field('Forbear-Attempts'), '3');
  assert.equal(origin.hits.length, 3);
  assert.equal(new Set(origin.hits.map(({ from }) => from)).size, 3);
});

test('B89 waits, retries and rotations are counted apart: a throttle does not use up an attempt', async (t) => {
  const wire = await startWire(t, [`policy: { ${QUICK}, max_attempts: 2, max_rate_waits: 2 }`]);
  const late = reply(429, '', 'Retry-After: 0.05');
  const origin = await farOrigin(t, [late, reply(503), late, reply(200, 'ok')]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '4']);
  const throttled = await farOrigin(t, [late], { name: 'p.test' });
  const refused = await fetchOver(wire, throttled.url);
  assert.deepEqual([refused.status, throttled.hits.length], [429, 3]);
  assert.equal(refused.field('Forbear-Stop'), 'rate_waits_exhausted');
});

test('B89 a redirect is passed on and not followed', async (t) => {
  const wire = await startWire(t, [`policy: { ${QUICK} }`]);
  const origin = await farOrigin(t, [reply(302, '', 'Location: /next')]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.field('Location'), origin.hits.length], [302, '/next', 1]);
});

test('B91 five times 503: the last one as it came, marked, with its own Retry-After', async (t) => {
  const wire = await startWire(t, [`policy: { ${QUICK}, max_attempts: 5 }`]);
  const origin = await farOrigin(t, (_, n) => reply(503, `busy ${n}`, 'X-N: a'));
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.body], [503, 'busy 5']);
  assert.equal(got.field('Forbear-Stop'), 'attempts_exhausted');
  assert.equal(got.field('Forbear-Attempts'), '5');
  assert.match(
    got.field('Proxy-Status') ?? '',
    /^forbear; error=destination_unavailable; received-status=503/,
  );
});

test('B91 a block page behind a 200 is never handed on as 200', async (t) => {
  const wire = await startWire(t, [`policy: { ${QUICK} }`]);
  const origin = await farOrigin(t, [BLOCK]);
  const got = await fetchOver(wire, origin.url);
  assert.equal(got.status, 502);
  assert.equal(got.field('Content-Type'), 'application/problem+json');
  assert.match(got.field('Forbear-Verdict') ?? '', /^route\/challenged/);
  assert.ok(!got.body.includes('<html>'));
});

test('B91 three resets are a 502 of our own that says the connection was terminated', async (t) => {
  const wire = await startWire(t, [`policy: { ${QUICK}, max_attempts: 3 }`]);
  const origin = await farOrigin(t, [reset]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, origin.hits.length], [502, 3]);
  assert.match(got.field('Proxy-Status') ?? '', /error=connection_terminated/);
  assert.equal(JSON.parse(got.body).attempts, 3);
});

test('B91 after a mix the last verdict rules, and its Retry-After is kept', async (t) => {
  const answers: Answer[] = [reply(403, 'no'), reset, reply(429, 'slow', 'Retry-After: 600')];
  const origin = await farOrigin(t, answers);
  const ups = await Promise.all(
    [2, 3, 4].map((n) =>
      farUpstream(t, { exit: `127.0.0.${n}`, names: { 'o.test': origin.port } }),
    ),
  );
  const wire = await startWire(t, [`policy: { ${QUICK} }`, ...listOf(ups)]);
  const got = await fetchOver(wire, 'http://o.test/');
  assert.deepEqual([got.status, got.body, got.field('Retry-After')], [429, 'slow', '600']);
  assert.equal(got.field('Forbear-Stop'), 'patience_exceeded');
  assert.equal(got.field('Forbear-Attempts'), '3');
});

test('B92 each attempt passes the pace of the host, whichever address it goes over', async (t) => {
  const origin = await farOrigin(t, [reply(403, 'no')]);
  const ups = await Promise.all(
    [2, 3, 4, 5, 6, 7].map((n) =>
      farUpstream(t, { exit: `127.0.0.${n}`, names: { 'o.test': origin.port } }),
    ),
  );
  const wire = await startWire(t, [
    `policy: { ${QUICK}, max_attempts: 9, max_addresses: 4, pace: { delay: 150ms } }`,
    ...listOf(ups),
  ]);
  const sinceAt = performance.now();
  const two = ['a', 'b'].map((name) =>
    fetchOver(wire, `http://o.test/${name}/`, { fields: [login(name)] }),
  );
  assert.deepEqual(
    (await Promise.all(two)).map(({ status }) => status),
    [403, 403],
  );
  assert.ok(origin.hits.length >= 4, `${origin.hits.length}`);
  // Arrivals may be seen late, and so near one another; none can be too early.
  const times = origin.hits.map(({ at }) => at - sinceAt);
  assert.ok(
    times.every((time, i) => time > i * 150 - 20),
    String(times),
  );
  const firstOfB = origin.hits.findIndex(({ head }) => head.includes('/b/'));
  assert.ok(firstOfB <= 2, 'the first try of one client is not starved by the retries of another');
});
