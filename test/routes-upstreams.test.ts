import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newLedger } from '../src/core/ledger.ts';
import {
  account,
  avoiding,
  blocked,
  direct,
  exchange,
  gateway,
  LANE,
  list,
  MINUTE,
  ok,
  refused,
  report,
  rotating,
  siteWith,
  take,
  unreachable,
} from './support/ways.ts';

test('the first upstream is preferred, and the policy may name others in its own order', () => {
  const site = siteWith([list('a', 2), list('b', 2), direct]);
  assert.equal(take(site).upstream, 'a');
  const policy = { upstreams: ['direct', 'a'] };
  assert.equal(take(site, exchange({ policy })).upstream, 'direct');
  const after = avoiding([], { avoidUpstreams: ['direct'] });
  assert.equal(take(site, exchange({ policy }), after).upstream, 'a');
});

test('an upstream that the policy names but nobody configured is no way out', () => {
  const site = siteWith([list('a', 2), direct]);
  assert.equal(refused(site, exchange({ policy: { upstreams: ['gone'] } })).stop, 'no_route');
});

test('bad credentials put the whole upstream out, for a time that doubles', async () => {
  const site = siteWith([list('a', 5), list('b', 1)]);
  report(site, take(site), account('upstream_auth'));
  assert.equal(take(site).upstream, 'b');
  const event = site.events.find((one) => one.type === 'upstream_out');
  assert.equal(event?.upstream, 'a');
  assert.equal(event?.untilAt, site.clock.now() + 5 * MINUTE);
  await site.clock.advance(5 * MINUTE);
  assert.equal(take(site).upstream, 'a');
  report(site, take(site), account('upstream_auth'));
  await site.clock.advance(9 * MINUTE);
  assert.equal(take(site).upstream, 'b');
  await site.clock.advance(MINUTE);
  report(site, take(site), ok);
  report(site, take(site), account('upstream_auth'));
  await site.clock.advance(5 * MINUTE);
  assert.equal(take(site).upstream, 'a');
});

test('an address with a login of its own that is refused takes only its own kind out', () => {
  const routes = ['anna', 'bert', 'bert'].map((username, i) => ({
    scheme: 'http' as const,
    host: `dc${i}.test`,
    port: 3128,
    username,
    password: 'p',
  }));
  const site = siteWith([list('dc', 0, { routes })]);
  const ids = site.routes.list().routes.map((route) => route.id);
  const bert = take(site, undefined, avoiding([ids[0] ?? '', ids[1] ?? '']));
  report(site, bert, account('upstream_auth'));
  for (let i = 0; i < 10; i += 1) assert.equal(take(site).id, ids[0]);
  assert.equal(site.events.filter((event) => event.type === 'upstream_out').length, 0);
  assert.equal(site.events.filter((event) => event.type === 'route_ejected').length, 1);
  report(site, take(site), account('upstream_auth'));
  assert.equal(site.events.filter((event) => event.type === 'upstream_out').length, 1);
  assert.equal(refused(site).retryAfterMs, 5 * MINUTE);
});

test("an upstream's own rate limit is waited out on it, and the one that waited may go on", async () => {
  const site = siteWith([gateway()]);
  const route = take(site);
  report(site, route, account('upstream_rate_limited', 20_000));
  assert.deepEqual(refused(site), { kind: 'none', stop: 'no_route', retryAfterMs: 20_000 });
  await site.clock.advance(5000);
  const waited = { ...newLedger, addresses: [route.id], stayOn: route.id };
  assert.equal(take(site, undefined, waited).id, route.id);
  await site.clock.advance(15_000);
  assert.equal(take(site).id, route.id);
});

test('one that waited on a route does not go on with credentials that failed meanwhile', () => {
  const site = siteWith([gateway(), list('b', 1)]);
  const route = take(site);
  report(site, route, account('upstream_quota'));
  assert.equal(take(site, undefined, { ...newLedger, stayOn: route.id }).upstream, 'b');
});

test('no error of a provider ever leads to direct where that is not configured', () => {
  const site = siteWith([gateway(), list('dc', 2)]);
  for (const upstream of ['residential', 'dc']) {
    const route = take(site);
    assert.equal(route.upstream, upstream);
    report(site, route, account('upstream_quota'));
  }
  const none = refused(site);
  assert.deepEqual(none, {
    kind: 'none',
    stop: 'no_route',
    retryAfterMs: 15 * MINUTE,
    accountsOut: true,
  });
  site.routes.update([]);
  assert.equal(refused(site).stop, 'no_route');
});

test('where direct is configured it is used in its turn', () => {
  const site = siteWith([gateway(), direct]);
  report(site, take(site), account('upstream_quota'));
  assert.equal(take(site).upstream, 'direct');
});

test('the next upstream is used when all routes of one are out, and the first again when it recovers', async () => {
  const site = siteWith([list('a', 3), list('b', 3)]);
  for (let i = 0; i < 3; i += 1) {
    const route = take(site);
    assert.equal(route.upstream, 'a');
    report(site, route, blocked);
  }
  assert.equal(take(site).upstream, 'b');
  assert.equal(take(site, undefined, newLedger, 'other.test').upstream, 'a');
  await site.clock.advance(17 * MINUTE);
  assert.equal(take(site).upstream, 'a');
});

test('a blocked own address gives way to the next upstream', () => {
  const site = siteWith([direct, list('b', 3)]);
  const route = take(site);
  assert.equal(route.upstream, 'direct');
  const left = site.routes.left(exchange(), LANE, avoiding([route.id]));
  assert.deepEqual(left, { routes: false, upstreams: true });
  report(site, route, blocked);
  assert.equal(take(site).upstream, 'b');
});

test('a gateway that nobody answers at is away for a while, after three dials in a row', async () => {
  const site = siteWith([gateway(), list('b', 1)]);
  for (let i = 0; i < 3; i += 1) {
    assert.equal(take(site).upstream, 'residential');
    report(site, take(site), unreachable);
  }
  assert.equal(take(site).upstream, 'b');
  await site.clock.advance(5000);
  const probe = take(site);
  assert.equal(probe.upstream, 'residential');
  report(site, probe, unreachable);
  assert.equal(take(site).upstream, 'b');
  await site.clock.advance(9999);
  assert.equal(take(site).upstream, 'b');
  await site.clock.advance(1);
  report(site, take(site), ok);
  for (let i = 0; i < 3; i += 1) {
    assert.equal(take(site).upstream, 'residential');
    report(site, take(site), unreachable);
  }
  assert.equal(take(site).upstream, 'b');
  await site.clock.advance(5000);
  assert.equal(take(site).upstream, 'residential');
});

test('an exit that cannot reach the site does not make its gateway away', () => {
  const site = siteWith([gateway(), direct]);
  const said = { kind: 'upstream', status: 502, said: 'bad gateway' } as const;
  for (let i = 0; i < 10; i += 1) {
    const route = take(site);
    assert.equal(route.upstream, 'residential');
    report(site, route, { ...unreachable, evidence: said });
  }
});

test('a reload keeps the state of what stays and lets go of what leaves', () => {
  const site = siteWith([list('a', 4), rotating()]);
  const bad = take(site);
  report(site, bad, blocked);
  const kept = list('a', 4).routes.slice(0, 3);
  const before = site.routes.list().routes.map((route) => route.id);
  site.routes.update([list('a', 0, { routes: kept }), direct]);
  const after = site.routes.list().routes.map((route) => route.id);
  assert.deepEqual(after, before.slice(0, 3).concat('direct'));
  assert.ok(site.retired.includes(before[3] ?? ''));
  assert.ok(site.retired.includes(before[4] ?? ''));
  for (let i = 0; i < 10; i += 1) assert.notEqual(take(site).id, bad.id);
});

test('a password that changed is the same address, dialled anew', () => {
  const site = siteWith([list('a', 1)]);
  const route = take(site);
  const routes = list('a', 1).routes.map((address) => ({ ...address, password: 'other' }));
  site.routes.update([list('a', 0, { routes })]);
  const again = take(site);
  assert.equal(again.id, route.id);
  assert.equal(again.way.kind === 'direct' ? '' : again.way.password, 'other');
  assert.deepEqual(site.retired, [route.id]);
});

test('a reload that changes no more than a price keeps the addresses in use', () => {
  const site = siteWith([gateway()]);
  const route = take(site);
  site.routes.update([gateway({ pricePerGb: 3 })]);
  assert.equal(take(site).id, route.id);
  assert.deepEqual(site.retired, []);
});

test('a gateway that cannot be dialled is refused whole, and the old upstreams stay', () => {
  const site = siteWith([list('a', 1)]);
  assert.throws(
    () => site.routes.update([list('b', 1), gateway({ port: '{zone}' })]),
    /residential/,
  );
  assert.equal(take(site).upstream, 'a');
});
