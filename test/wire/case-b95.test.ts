import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWire } from '../support/client-wire.ts';
import { farOrigin, farUpstream, fetchOver, listOf, refuser, reply } from '../support/far-side.ts';
import { onHead, rawServer } from '../support/raw-server.ts';

const QUICK =
  'policy: { max_attempts: 4, backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 } }';
const OK = reply(200, 'ok');

const refusal = (status: number, ...fields: string[]) => reply(status, '', ...fields);
const twoUpstreams = (one: { port: number }, two: { port: number }) => [
  'upstreams:',
  `  - { name: one, routes: ['http://127.0.0.1:${one.port}'] }`,
  `  - { name: two, routes: ['http://127.0.0.1:${two.port}'] }`,
];

const REFUSALS = [
  { status: 429, fields: ['Retry-After: 30'], verdict: 'account/upstream_rate_limited', asked: 1 },
  { status: 402, fields: [], verdict: 'account/upstream_quota', asked: 1 },
  { status: 407, fields: [], verdict: 'account/upstream_auth', asked: 1 },
  { status: 403, fields: [], verdict: 'route/refused', asked: 1 },
  { status: 500, fields: [], verdict: 'route/unreachable', asked: 1 },
  { status: 502, fields: [], verdict: 'route/unreachable', asked: 1 },
  { status: 503, fields: [], verdict: 'route/unreachable', asked: 1 },
  { status: 504, fields: [], verdict: 'route/unreachable', asked: 1 },
  { status: 522, fields: [], verdict: 'route/unreachable', asked: 1 },
  { status: 590, fields: [], verdict: 'route/unreachable', asked: 1 },
];

for (const { status, fields, verdict, asked } of REFUSALS) {
  test(`B95 (i) a CONNECT that is answered ${status} is the upstream's own: ${verdict}, the next one is used, the host pays nothing`, async (t) => {
    const origin = await farOrigin(t, [OK], { tls: true });
    const one = await refuser(t, refusal(status, ...fields));
    const two = await farUpstream(t, { names: { 'o.test': origin.port } });
    const wire = await startWire(t, [QUICK, ...twoUpstreams(one, two)]);
    const begunAt = performance.now();
    const got = await fetchOver(wire, 'https://o.test/');
    assert.equal(got.status, 200);
    assert.ok(performance.now() - begunAt < 5000);
    const [first] = wire.told('attempt_finished');
    assert.equal(`${first?.verdict.fault}/${first?.verdict.reason}`, verdict);
    assert.equal((await fetchOver(wire, 'https://o.test/')).status, 200);
    assert.equal(one.accepted, asked);
    assert.deepEqual(wire.told('breaker_changed'), []);
    assert.deepEqual(wire.told('lane_paused'), []);
    assert.equal(
      wire.told('exchange_finished').filter(({ answered }) => answered === 'client_gone').length,
      0,
    );
  });
}

test('B95 (i) an account without quota is not asked over its other addresses either', async (t) => {
  const ups = await Promise.all([1, 2, 3].map(() => refuser(t, refusal(402))));
  const wire = await startWire(t, [QUICK, ...listOf(ups)]);
  const got = await fetchOver(wire, 'https://o.test/');
  assert.match(got.field('Proxy-Status') ?? '', /error=proxy_configuration_error/);
  assert.ok([502, 503].includes(got.status), String(got.status));
  const sum = ups.reduce((all, up) => all + up.accepted, 0);
  assert.equal(sum, 1);
  assert.equal(wire.told('upstream_out').length, 1);
});

for (const status of [403, 429, 500, 502, 503, 504, 522]) {
  test(`B95 (ii) a ${status} inside the tunnel is the host's word, and costs the upstream nothing`, async (t) => {
    const origin = await farOrigin(t, [reply(status, 'said by the site')], { tls: true });
    const up = await farUpstream(t, { names: { 'o.test': origin.port } });
    const wire = await startWire(t, [
      QUICK.replace('{ max', '{ patience: 300ms, max'),
      ...listOf([up]),
    ]);
    const got = await fetchOver(wire, 'https://o.test/');
    assert.deepEqual([got.status, got.body], [status, 'said by the site']);
    const [first] = wire.told('attempt_finished');
    assert.equal(first?.verdict.fault, status === 403 ? 'route' : 'host');
    assert.deepEqual(wire.told('upstream_out'), []);
    if (status !== 403) assert.deepEqual(wire.told('route_ejected'), []);
  });
}

/** A forward proxy that answers everything itself. */
async function saying(
  t: { after(done: () => Promise<void>): void },
  bytes: string,
): ReturnType<typeof rawServer> {
  const server = await rawServer((socket) => onHead(socket, () => socket.write(bytes)));
  t.after(() => server.close());
  return server;
}

test('B95 (iii) on plain HTTP a marked error is the upstream’s, whatever its status', async (t) => {
  const origin = await farOrigin(t, [OK]);
  const two = await farUpstream(t, { names: { 'o.test': origin.port } });
  for (const [bytes, verdict] of [
    [reply(502, '', 'X-Brd-Error: no_peers'), 'route/unreachable'],
    [reply(403, '', 'X-Brd-Error: policy'), 'route/refused'],
    [reply(402), 'account/upstream_quota'],
    [reply(503, '', 'Proxy-Status: exit.test; error=dns_error'), 'route/unreachable'],
  ] as const) {
    const one = await saying(t, bytes);
    const wire = await startWire(t, [QUICK, ...twoUpstreams(one, two)]);
    assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200, verdict);
    const [first] = wire.told('attempt_finished');
    assert.equal(`${first?.verdict.fault}/${first?.verdict.reason}`, verdict);
  }
});

for (const [name, make] of [
  ['a 502 without a mark', (t) => saying(t, reply(502, 'bad gateway'))],
  ['a connection that breaks off', (t) => refuser(t, (s) => void s.once('data', () => s.end()))],
] as const satisfies readonly (readonly [
  string,
  (t: import('node:test').TestContext) => unknown,
])[]) {
  test(`B95 (iii) ${name} on plain HTTP may be either’s: a second address is asked, and after two such the first one is what is blamed`, async (t) => {
    const origin = await farOrigin(t, [OK]);
    const bad = await make(t);
    const good = await farUpstream(t, { names: { 'o.test': origin.port } });
    const wire = await startWire(t, [QUICK, ...listOf([bad, good])]);
    for (let i = 0; i < 12; i++) {
      assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
    }
    assert.ok(bad.accepted <= 2, String(bad.accepted));
    assert.deepEqual(wire.told('breaker_changed'), []);
  });
}

test('B95 (iii) when a second address says the same it is the host’s, and no address is', async (t) => {
  const origin = await farOrigin(t, [reply(502, 'bad gateway')]);
  const ups = await Promise.all(
    [2, 3].map((n) => farUpstream(t, { exit: `127.0.0.${n}`, names: { 'o.test': origin.port } })),
  );
  const wire = await startWire(t, [
    'policy: { max_attempts: 9, backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 }, breaker: { consecutive: 3, when_open: refuse } }',
    ...listOf(ups),
  ]);
  const got = await fetchOver(wire, 'http://o.test/');
  assert.equal(got.status, 502);
  assert.equal(new Set(origin.hits.map(({ from }) => from)).size, 2);
  assert.deepEqual(
    wire.told('breaker_changed').map(({ state }) => state),
    ['open'],
  );
  assert.deepEqual(wire.told('route_ejected'), []);
});
