import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newLedger } from '../src/core/ledger.ts';
import {
  avoiding,
  blocked,
  direct,
  exchange,
  fresh,
  list,
  MINUTE,
  ok,
  persistentBlock,
  rateLimited,
  refused,
  report,
  routesPolicy,
  siteWith,
  take,
  takeMany,
  unreachable,
} from './support/ways.ts';

test('a lane goes on using the same route while it is good', () => {
  const site = siteWith([list('dc', 10)]);
  const ids = Array.from({ length: 20 }, () => {
    const by = exchange({ now: site.clock.now() });
    const route = take(site, by);
    report(site, route, ok, { headMs: 100, exchange: by });
    return route.id;
  });
  assert.equal(new Set(ids).size, 1);
});

test('the warm set grows with what is in flight, and shrinks to what is needed', () => {
  const site = siteWith([list('dc', 20)]);
  const flying = Array.from({ length: 60 }, () => exchange({ now: site.clock.now() }));
  const routes = flying.map((by) => take(site, by));
  const used = new Set(routes.map((route) => route.id));
  assert.equal(used.size, 8);
  flying.forEach((by, i) => {
    const route = routes[i];
    assert.ok(route);
    report(site, route, ok, { exchange: by });
  });
  const later = Array.from({ length: 5 }, () => {
    const by = exchange({ now: site.clock.now() });
    const route = take(site, by);
    report(site, route, ok, { exchange: by });
    return route.id;
  });
  assert.equal(new Set(later).size, 1);
});

test('an exchange that was never reported does not count as in flight for ever', async () => {
  const site = siteWith([list('dc', 20)]);
  takeMany(site, 60);
  await site.clock.advance(61_000);
  assert.equal(new Set(takeMany(site, 8)).size, 1);
});

test('a warm number keeps that many in use', () => {
  const site = siteWith([list('dc', 10)]);
  const policy = { routes: { ...routesPolicy, warm: 3 } };
  assert.equal(new Set(takeMany(site, 30, { policy })).size, 3);
});

test('max_uses takes a route out of use after so many, without ejecting it', () => {
  const site = siteWith([list('dc', 2)]);
  const policy = { routes: { ...routesPolicy, maxUses: 2 } };
  const by = () => exchange({ now: site.clock.now(), policy });
  const ids = Array.from({ length: 6 }, () => {
    const one = by();
    const route = take(site, one);
    report(site, route, ok, { exchange: one });
    return route.id;
  });
  const [a, , b] = ids;
  assert.notEqual(a, b);
  assert.deepEqual(ids, [a, a, b, b, a, a]);
});

test('fresh rotation takes another address for each exchange, and all of them in turn', () => {
  const site = siteWith([list('dc', 5)]);
  const ids = takeMany(site, 10, { policy: fresh });
  assert.equal(new Set(ids.slice(0, 5)).size, 5);
  assert.deepEqual(ids.slice(5), ids.slice(0, 5));
});

test('a blocked route is out for this lane only, and comes back after retire_for', async () => {
  const site = siteWith([list('dc', 4)]);
  const bad = take(site);
  report(site, bad, blocked);
  assert.ok(!takeMany(site, 8, { policy: fresh }).includes(bad.id));
  assert.ok(takeMany(site, 8, { policy: fresh, lane: 'other.test' }).includes(bad.id));
  const ejections = site.events.filter((event) => event.type === 'route_ejected');
  assert.equal(ejections.length, 1);
  assert.equal(ejections[0]?.lane, 'shop.test');
  await site.clock.advance(17 * MINUTE);
  assert.equal(take(site, undefined, avoiding(dcWithout(bad.id))).id, bad.id);

  function dcWithout(id: string): string[] {
    return site.routes
      .list()
      .routes.map((route) => route.id)
      .filter((other) => other !== id);
  }
});

test('an unreachable route is out for every lane', () => {
  const site = siteWith([list('dc', 4)]);
  const bad = take(site);
  report(site, bad, unreachable);
  for (const lane of ['shop.test', 'other.test']) {
    assert.ok(!takeMany(site, 8, { policy: fresh, lane }).includes(bad.id));
  }
  assert.equal(site.routes.list().routes.find((route) => route.id === bad.id)?.state, 'ejected');
});

test('at most half of a list is out at once: beyond that the earliest to return are used again', async () => {
  const site = siteWith([list('dc', 10)]);
  const bad: string[] = [];
  for (let i = 0; i < 8; i += 1) {
    const route = take(site, undefined, avoiding(bad));
    report(site, route, blocked);
    bad.push(route.id);
    await site.clock.advance(100_000);
  }
  const stillOut = bad.slice(3);
  const used = new Set(takeMany(site, 40, { policy: fresh }));
  assert.equal(used.size, 5);
  for (const id of stillOut) assert.ok(!used.has(id));
  assert.equal(new Set(takeMany(site, 40, { policy: fresh, lane: 'other.test' })).size, 10);
});

test('when all are out the least bad are used, so that the list is never dead for good', async () => {
  const site = siteWith([list('dc', 4)]);
  const order: string[] = [];
  for (let i = 0; i < 4; i += 1) {
    const route = take(site, undefined, avoiding(order));
    order.push(route.id);
    report(site, route, blocked);
    await site.clock.advance(90_000);
  }
  const again = new Set(takeMany(site, 20, { policy: fresh }));
  assert.deepEqual([...again].sort(), order.slice(0, 2).sort());
});

test('a pool of one is used again however often it fails', () => {
  const site = siteWith([list('dc', 1)]);
  for (let i = 0; i < 3; i += 1) {
    const only = take(site);
    report(site, only, unreachable);
    const left = site.routes.left(exchange(), 'shop.test', avoiding([only.id]));
    assert.deepEqual(left, { routes: false, upstreams: false });
  }
  assert.ok(take(site));
});

test('most of a list failing within a second is not many bad routes: none stays out, said once', async () => {
  const site = siteWith([list('dc', 4)]);
  const all = takeMany(site, 4, { policy: fresh });
  assert.equal(new Set(all).size, 4);
  for (let round = 0; round < 2; round += 1) {
    for (let i = 0; i < 4; i += 1) {
      report(site, take(site, exchange({ policy: fresh })), unreachable);
      await site.clock.advance(100);
    }
  }
  assert.equal(site.routes.list().routes.filter((route) => route.state === 'ejected').length, 0);
  assert.equal(site.events.filter((event) => event.type === 'notice').length, 1);
  assert.equal(site.events.filter((event) => event.type === 'route_ejected').length, 2);
});

test('routes that fail one after the other are bad routes', async () => {
  const site = siteWith([list('dc', 4)]);
  for (let i = 0; i < 3; i += 1) {
    report(site, take(site), unreachable);
    await site.clock.advance(5000);
  }
  assert.equal(site.routes.list().routes.filter((route) => route.state === 'ejected').length, 3);
});

test('a page that is refused to every address gives the addresses back to the lane', () => {
  const site = siteWith([list('dc', 6)]);
  const bad: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    const route = take(site, undefined, avoiding(bad));
    bad.push(route.id);
    report(site, route, i < 2 ? blocked : persistentBlock);
  }
  const used = new Set(takeMany(site, 30, { policy: fresh }));
  assert.equal(used.size, 6);
});

test('the best of those that are left replaces a bad route, not just the next', () => {
  const site = siteWith([list('dc', 5)]);
  const ids = site.routes.list().routes.map((route) => route.id);
  const star = ids[3] ?? '';
  const starRoute = take(site, undefined, avoiding(ids.filter((id) => id !== star)));
  for (let i = 0; i < 20; i += 1) report(site, starRoute, ok, { headMs: 50 });
  const first = take(site, undefined, avoiding([star]), 'other.test');
  report(site, first, blocked, { lane: 'other.test' });
  assert.equal(take(site, undefined, avoiding([first.id]), 'other.test').id, star);
});

test('a throttle, a failing host and our own faults change nothing about the route', () => {
  const site = siteWith([list('dc', 5)]);
  const route = take(site);
  const evidence = { kind: 'status', status: 503 } as const;
  report(site, route, rateLimited);
  report(site, route, { fault: 'host', kind: 'transient', reason: 'overloaded', evidence });
  report(site, route, { fault: 'self', reason: 'local_network', evidence });
  report(site, route, { fault: 'client', reason: 'not_found', evidence });
  assert.equal(take(site).id, route.id);
  assert.deepEqual(site.events, []);
});

test('an exchange that waits stays on its route, even when that is ejected meanwhile', () => {
  const site = siteWith([list('dc', 5)]);
  const route = take(site);
  report(site, route, blocked);
  report(site, route, unreachable);
  const ledger = { ...newLedger, addresses: [route.id], stayOn: route.id };
  assert.equal(take(site, undefined, ledger).id, route.id);
});

test('direct alone cannot be rotated, and a list can until the ledger has had all of it', () => {
  const site = siteWith([direct]);
  const route = take(site);
  assert.deepEqual(route.way, { kind: 'direct' });
  report(site, route, blocked);
  const after = avoiding([route.id]);
  assert.deepEqual(site.routes.left(exchange(), 'shop.test', after), {
    routes: false,
    upstreams: false,
  });
  assert.equal(refused(site, undefined, after).stop, 'no_route');
  assert.equal(take(site).id, route.id);

  const two = siteWith([list('dc', 2, { maxEjectedRatio: 1 })]);
  const [a, b] = two.routes.list().routes.map((one) => one.id);
  assert.ok(a && b);
  assert.equal(two.routes.left(exchange(), 'shop.test', avoiding([a])).routes, true);
  assert.equal(two.routes.left(exchange(), 'shop.test', avoiding([a, b])).routes, false);
});

test('asking what is left changes nothing', () => {
  const site = siteWith([list('dc', 3)]);
  const route = take(site);
  for (let i = 0; i < 10; i += 1) site.routes.left(exchange(), 'shop.test', avoiding([route.id]));
  assert.equal(take(site).id, route.id);
});

test('each address is dialled with its own credentials, and ids and labels give none away', () => {
  const address = { scheme: 'http', host: 'dc.test', port: 3128 } as const;
  const site = siteWith([
    list('dc', 0, {
      routes: [
        { ...address, username: 'anna', password: 'secret-a' },
        { ...address, username: 'bert', password: 'secret-b' },
        { ...address, host: 'open.test', username: undefined, password: undefined },
      ],
    }),
  ]);
  const used: string[] = [];
  const logins = Array.from({ length: 3 }, () => {
    const route = take(site, undefined, avoiding(used));
    used.push(route.id);
    assert.doesNotMatch(route.id + route.label, /anna|bert|secret/);
    return route.way.kind === 'direct' ? 'direct' : `${route.way.username}:${route.way.password}`;
  });
  assert.equal(new Set(used).size, 3);
  assert.deepEqual(logins.sort(), ['anna:secret-a', 'bert:secret-b', 'undefined:undefined']);
});

test('ten thousand lanes leave an ejected route ejected, and each lane gets a route', () => {
  const site = siteWith([list('dc', 3)]);
  const bad = take(site);
  report(site, bad, blocked);
  for (let i = 0; i < 10_000; i += 1) {
    const lane = `host${i}.test`;
    report(site, take(site, undefined, newLedger, lane), ok, { lane });
  }
  assert.ok(!takeMany(site, 10, { policy: fresh }).includes(bad.id));
});
