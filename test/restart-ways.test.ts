import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamConfig } from '../src/config/config.ts';
import { newLedger } from '../src/core/ledger.ts';
import { flush } from './support/fake-clock.ts';
import { type Life, Machine } from './support/lives.ts';
import {
  account,
  blocked,
  exchange,
  fresh,
  gateway,
  list,
  MINUTE,
  ok,
  refused,
  report,
  type Site,
  siteWith,
  take,
  takeMany,
} from './support/ways.ts';

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const inSession = (session: string) => exchange({ session });

async function siteOf(life: Life, upstreams: readonly UpstreamConfig[], seed = 1): Promise<Site> {
  const { clock, saving } = life;
  const site = siteWith(upstreams, seed, { clock, keep: (...row) => saving.keep(...row) });
  await life.restore(site.routes.kept);
  return site;
}

/** Another process on the same machine; the one before was killed when all it had asked to be written was. */
async function next(machine: Machine, upstreams: readonly UpstreamConfig[]): Promise<Site> {
  await flush();
  return siteOf(machine.start(), upstreams, 99);
}

test('a session keeps its address over a kill, on a list and on a gateway', async () => {
  for (const upstream of [list('dc', 10), gateway()]) {
    const machine = new Machine();
    const site = await siteOf(machine.start(), [upstream]);
    const before = ['s1', 's2', 's3'].map((id) => take(site, inSession(id)));
    const after = await next(machine, [upstream]);
    assert.deepEqual(
      ['s1', 's2', 's3'].map((id) => take(after, inSession(id))),
      before,
    );
  }
});

test('the addresses of a list that sessions hold count as held after a restart', async () => {
  const machine = new Machine();
  const site = await siteOf(machine.start(), [list('dc', 4)]);
  const held = ['s1', 's2'].map((id) => take(site, inSession(id)).id);
  const after = await next(machine, [list('dc', 4)]);
  const more = ['s3', 's4'].map((id) => take(after, inSession(id)).id);
  assert.equal(new Set([...held, ...more]).size, 4);
});

test('a burned session stays refused, and its next life gets another address', async () => {
  const machine = new Machine();
  const site = await siteOf(machine.start(), [gateway()]);
  const first = take(site, inSession('s1'));
  site.routes.burn(inSession('s1'));
  const after = await next(machine, [gateway()]);
  assert.equal(refused(after, inSession('s1')).stop, 'session_burned');
  await flush();
  machine.pass(2 * HOUR);
  const later = await next(machine, [gateway()]);
  assert.notEqual(take(later, inSession('s1')).id, first.id);
});

test('a session that ran out while the proxy was down is refused as expired', async () => {
  const machine = new Machine();
  take(await siteOf(machine.start(), [list('dc', 4)]), inSession('s1'));
  await flush();
  machine.pass(11 * MINUTE);
  const after = await next(machine, [list('dc', 4)]);
  assert.equal(refused(after, inSession('s1')).stop, 'session_expired');
});

test('a wall clock that is set on a day while the proxy is down ends no session and frees no burned one', async () => {
  const machine = new Machine();
  const site = await siteOf(machine.start(), [list('dc', 4)]);
  const first = take(site, inSession('s1'));
  take(site, inSession('s2'));
  site.routes.burn(inSession('s2'));
  await flush();
  machine.wall += DAY;
  const after = await next(machine, [list('dc', 4)]);
  assert.equal(take(after, inSession('s1')).id, first.id);
  assert.equal(refused(after, inSession('s2')).stop, 'session_burned');
});

test('a session whose address left the configuration, or is dialled with other credentials, is burned', async () => {
  const machine = new Machine();
  const site = await siteOf(machine.start(), [list('dc', 4)]);
  take(site, inSession('s1'));
  const gone = await next(machine, [list('other', 4)]);
  assert.equal(refused(gone, inSession('s1')).stop, 'session_burned');

  const other = new Machine();
  take(await siteOf(other.start(), [gateway()]), inSession('s1'));
  const variables = { account: 'acme', password: 'changed' };
  const changed = await next(other, [gateway({ variables })]);
  assert.equal(refused(changed, inSession('s1')).stop, 'session_burned');
});

test('the uses of a session put its end off after a kill too, to a tenth of it', async () => {
  const machine = new Machine();
  const life = machine.start();
  const site = await siteOf(life, [list('dc', 4)]);
  const first = take(site, inSession('s1'));
  for (let n = 0; n < 8; n += 1) {
    await life.advance(MINUTE);
    take(site, inSession('s1'));
  }
  await life.advance(5_000);
  machine.pass(8 * MINUTE);
  const after = await next(machine, [list('dc', 4)]);
  assert.equal(take(after, inSession('s1')).id, first.id);
});

test('a session lives on in processes that all die within a second', async () => {
  const machine = new Machine();
  const first = take(await siteOf(machine.start(), [list('dc', 4)]), inSession('s1'));
  for (let n = 0; n < 25; n += 1) {
    machine.pass(MINUTE);
    const site = await next(machine, [list('dc', 4)]);
    assert.equal(take(site, inSession('s1')).id, first.id);
  }
});

test('an ejected address stays out over a kill, one that was forgiven does not', async () => {
  const machine = new Machine();
  const life = machine.start();
  const site = await siteOf(life, [list('dc', 6)]);
  const bad = take(site);
  report(site, bad, blocked);
  const forgiven = take(site);
  report(site, forgiven, blocked);
  await life.advance(20 * MINUTE);
  report(site, forgiven, ok);
  report(site, bad, blocked);
  const after = await next(machine, [list('dc', 6)]);
  const ids = new Set(takeMany(after, 60, { policy: fresh }));
  assert.ok(!ids.has(bad.id));
  assert.ok(ids.has(forgiven.id));
});

test('an upstream without credentials is not asked again after a kill, before its time', async () => {
  const machine = new Machine();
  const upstreams = [list('dc', 3), list('spare', 3)];
  const site = await siteOf(machine.start(), upstreams);
  report(site, take(site), account('upstream_auth'));
  assert.equal(
    (await next(machine, upstreams)).routes.list().upstreams[0]?.outUntil !== undefined,
    true,
  );
  await flush();
  machine.pass(6 * MINUTE);
  const later = await next(machine, upstreams);
  assert.equal(take(later).upstream, 'dc');
});

test('no address that a gateway ever minted is used again after a kill', async () => {
  const machine = new Machine();
  const used = new Set<string>();
  for (let life = 0; life < 4; life += 1) {
    const site = await next(machine, [gateway()]);
    const ids = takeMany(site, 700, { policy: fresh });
    for (const id of ids) assert.ok(!used.has(id), id);
    for (const id of ids) used.add(id);
  }
  assert.ok(used.size > 100);
});

test('reputations are saved within seconds', async () => {
  const machine = new Machine();
  const life = machine.start();
  const site = await siteOf(life, [list('dc', 5)]);
  const good = take(site);
  for (let n = 0; n < 30; n += 1) report(site, good, ok, { headMs: 20 });
  await life.advance(5_000);
  for (let seed = 2; seed < 10; seed += 1) {
    const after = await siteOf(machine.start(), [list('dc', 5)], seed);
    assert.equal(take(after).id, good.id);
  }
});

test('an exchange in a session that waits goes on over the same address after a restart', async () => {
  const machine = new Machine();
  const site = await siteOf(machine.start(), [list('dc', 5)]);
  const first = take(site, inSession('s1'));
  const after = await next(machine, [list('dc', 5)]);
  assert.equal(take(after, inSession('s1'), { ...newLedger, stayOn: first.id }).id, first.id);
});
