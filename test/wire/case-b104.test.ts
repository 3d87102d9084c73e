import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWire } from '../support/client-wire.ts';
import { farOrigin, farUpstream, fetchOver, listOf, reply } from '../support/far-side.ts';
import { until } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
const LOOPBACK = [{ address: '127.0.0.1', family: 4 as const }];
const failing = (code: string) => Object.assign(new Error(code), { code });

test('B104 with the resolver away all lanes pause, one probe a second goes out, nobody is blamed, and all go on once it is back', async (t) => {
  let isAway = true;
  const wire = await startWire(t, ['policy: { patience: 30s }'], () => {
    if (isAway) throw failing('EAI_AGAIN');
    return LOOPBACK;
  });
  const origins = await Promise.all(
    Array.from({ length: 8 }, (_, n) => farOrigin(t, [OK], { name: `h${n}.test` })),
  );
  const asked = Array.from({ length: 40 }, (_, n) =>
    fetchOver(wire, `${origins[n % origins.length]?.url}${n}`),
  );
  const noticed = (word: string) =>
    wire.told('notice').some(({ message }) => message.includes(word));
  await until(() => noticed('nothing can be reached'));
  const begunAt = performance.now();
  const before = wire.lookups.length;
  await until(() => performance.now() - begunAt > 2500);
  const probes = wire.lookups.length - before;
  assert.ok(probes >= 1 && probes <= 4, `${probes} probes in two and a half seconds`);
  assert.equal(wire.told('exchange_finished').length, 0, 'nobody is given up');
  isAway = false;
  const backAt = performance.now();
  const got = await Promise.all(asked);
  assert.ok(performance.now() - backAt < 5000);
  assert.ok(noticed('network is back'));
  for (const one of got) assert.equal(one.status, 200);
  assert.deepEqual(wire.told('breaker_changed'), []);
  assert.deepEqual(wire.told('route_ejected'), []);
  const faults = wire.told('attempt_finished').map(({ verdict }) => verdict);
  assert.ok(
    faults.every(({ fault, reason }) => fault === 'none' || reason === 'local_network'),
    JSON.stringify(faults.find(({ fault }) => fault !== 'none')),
  );
});

test('B104 a name that does not exist is 502 dns_error after two looks at most, and other hosts are served meanwhile', async (t) => {
  const wire = await startWire(t);
  const origin = await farOrigin(t, [OK]);
  const [missing, served] = await Promise.all([
    fetchOver(wire, 'http://nowhere.test/'),
    fetchOver(wire, origin.url),
  ]);
  assert.equal(missing.status, 502);
  assert.match(missing.field('Proxy-Status') ?? '', /error=dns_error/);
  assert.equal(missing.field('Forbear-Verdict'), 'client/unresolvable');
  assert.equal(served.status, 200);
  const looks = wire.lookups.filter((name) => name === 'nowhere.test').length;
  assert.ok(looks >= 1 && looks <= 2, String(looks));
  assert.deepEqual(wire.told('notice'), []);
});

test('B104 a name that was not found is looked up anew when it is asked for again', async (t) => {
  let isKnown = false;
  const wire = await startWire(t, ['policy: { auth_fuse: 0 }'], () => {
    if (!isKnown) throw failing('ENOTFOUND');
    return LOOPBACK;
  });
  const origin = await farOrigin(t, [OK]);
  assert.equal((await fetchOver(wire, origin.url)).status, 502);
  isKnown = true;
  assert.equal((await fetchOver(wire, origin.url)).status, 200);
});

test('B104 an upstream whose own name does not exist is its own trouble: the next one is used, and the site pays nothing', async (t) => {
  const origin = await farOrigin(t, [OK]);
  const up = await farUpstream(t, { names: { 'o.test': origin.port } });
  const wire = await startWire(t, [
    'upstreams:',
    "  - { name: lost, routes: ['http://nowhere.test:3128'] }",
    `  - { name: there, routes: ['http://127.0.0.1:${up.port}'] }`,
  ]);
  for (let i = 0; i < 3; i++) {
    assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
  }
  const [first] = wire.told('attempt_finished');
  assert.equal(`${first?.verdict.fault}/${first?.verdict.reason}`, 'route/unreachable');
  assert.deepEqual(wire.told('breaker_changed'), []);
  assert.ok(wire.lookups.every((name) => name === 'nowhere.test'));
  const alone = await startWire(
    t,
    listOf([]).slice(0, 1).concat("  - { name: lost, routes: ['http://nowhere.test:3128'] }"),
  );
  const got = await fetchOver(alone, 'http://o.test/', { fields: ['Forbear-Patience: 2s'] });
  assert.ok([502, 503].includes(got.status), String(got.status));
  assert.deepEqual(alone.told('breaker_changed'), []);
  assert.deepEqual(
    alone.told('notice').filter(({ message }) => message.includes('reached')),
    [],
  );
});
