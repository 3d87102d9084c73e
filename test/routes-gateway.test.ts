import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProxyWay, Route } from '../src/exchange/ports.ts';
import {
  avoiding,
  blocked,
  exchange,
  fresh,
  gateway,
  LANE,
  MINUTE,
  ok,
  refused,
  report,
  rotating,
  routesPolicy,
  siteWith,
  take,
  takeMany,
} from './support/ways.ts';

function wayOf(route: Route): ProxyWay {
  assert.notEqual(route.way.kind, 'direct');
  return route.way as ProxyWay;
}

test('the username template mints an address, and says nothing about clients', () => {
  const site = siteWith([gateway({ sessionTtlMs: 10 * MINUTE })]);
  const way = wayOf(take(site));
  assert.match(way.username ?? '', /^customer-acme-sid-[a-z0-9]{12}-ttl-600$/);
  assert.deepEqual(
    { ...way, username: '' },
    {
      kind: 'http',
      host: 'gate.test',
      port: 443,
      username: '',
      password: 'secret',
      headers: [],
      plain: 'forward',
    },
  );
});

test('port, password and headers are templates too, and an empty header is not sent', () => {
  const headers = { 'X-Session': '[{session|uuid}]', 'X-Country': '[{country|upper}]' };
  const site = siteWith([
    gateway({
      port: '{session|range:10001-49999}',
      password: '{password}_{session|alnum:8}',
      headers,
    }),
  ]);
  const way = wayOf(take(site));
  assert.ok(way.port >= 10001 && way.port <= 49999);
  assert.match(way.password ?? '', /^secret_[a-z0-9]{8}$/);
  assert.match(way.headers.join('\n'), /^X-Session\n[0-9a-f-]{36}$/);
  const us = wayOf(take(site, exchange({ country: 'us' })));
  assert.deepEqual(us.headers.slice(2), ['X-Country', 'US']);
});

test('a lane keeps its address while it is good', () => {
  const site = siteWith([gateway()]);
  assert.equal(new Set(takeMany(site, 8)).size, 1);
  assert.deepEqual(site.retired, []);
});

test('a blocked address is replaced by the next generation: a new token, never the old one again', () => {
  const site = siteWith([gateway()]);
  const seen = new Map<string, string | undefined>();
  for (let i = 0; i < 20; i += 1) {
    const route = take(site);
    assert.ok(!seen.has(route.id));
    seen.set(route.id, wayOf(route).username);
    const left = site.routes.left(exchange(), LANE, avoiding([route.id]));
    assert.deepEqual(left, { routes: true, upstreams: false });
    report(site, route, blocked);
    assert.equal(site.retired.at(-1), route.id);
  }
  assert.equal(new Set(seen.values()).size, 20);
});

test('a lane whose address is good keeps it when another lane moves on', () => {
  const site = siteWith([gateway()]);
  const mine = take(site, undefined, undefined, 'mine.test');
  const theirs = take(site, undefined, undefined, 'theirs.test');
  assert.equal(mine.id, theirs.id);
  report(site, theirs, blocked, { lane: 'theirs.test' });
  assert.notEqual(take(site, undefined, undefined, 'theirs.test').id, theirs.id);
  const again = take(site, undefined, undefined, 'mine.test');
  assert.deepEqual(again, mine);
});

test('many failures of one address replace it once', () => {
  const site = siteWith([gateway()]);
  const route = take(site);
  for (let i = 0; i < 5; i += 1) report(site, route, blocked);
  assert.deepEqual(site.retired, [route.id]);
});

test('fresh rotation gives every exchange an address of its own', () => {
  const site = siteWith([gateway()]);
  assert.equal(new Set(takeMany(site, 30, { policy: fresh })).size, 30);
});

test('max_uses moves on to an address that was never used', () => {
  const site = siteWith([gateway()]);
  const policy = { routes: { ...routesPolicy, maxUses: 3 } };
  const ids = takeMany(site, 8, { policy });
  assert.deepEqual(
    ids.map((id) => ids.indexOf(id)),
    [0, 0, 0, 3, 3, 3, 6, 6],
  );
});

test('an address is left before its provider changes it', async () => {
  const site = siteWith([gateway({ sessionTtlMs: 2 * MINUTE })]);
  const route = take(site);
  await site.clock.advance(2 * MINUTE - 1);
  assert.equal(take(site).id, route.id);
  await site.clock.advance(1);
  assert.notEqual(take(site).id, route.id);
  assert.deepEqual(site.retired, [route.id]);
});

test('another country is another route, with that country in the user name', () => {
  const site = siteWith([
    gateway({ variables: { account: 'acme', password: 'p', country: 'de' } }),
  ]);
  const usual = take(site);
  const us = take(site, exchange({ country: 'US' }));
  assert.match(wayOf(usual).username ?? '', /^customer-acme-country-de-sid-/);
  assert.match(wayOf(us).username ?? '', /^customer-acme-country-us-sid-/);
  assert.notEqual(usual.id, us.id);
  assert.equal(take(site, exchange({ country: 'us' })).id, us.id);
  report(site, us, blocked);
  assert.equal(take(site).id, usual.id);
  assert.notEqual(take(site, exchange({ country: 'us' })).id, us.id);
});

test('countries by the thousand do not let anything grow without bound, nor break an id', () => {
  const site = siteWith([gateway()]);
  for (let i = 0; i < 3000; i += 1) {
    const by = exchange({ country: `c${i}` });
    report(site, take(site, by), ok, { exchange: by });
  }
  const odd = take(site, exchange({ country: 'x.s9.g9:\u0000' }));
  report(site, odd, blocked);
  assert.notEqual(take(site, exchange({ country: 'x.s9.g9:\u0000' })).id, odd.id);
  site.routes.update([]);
  assert.ok(site.retired.length <= 600);
});

test('without a session in its template each connection is an address: a block closes the sockets', () => {
  const site = siteWith([rotating()]);
  const first = take(site);
  report(site, first, ok);
  assert.equal(take(site).id, first.id);
  report(site, first, blocked);
  assert.deepEqual(site.retired, [first.id]);
  const next = take(site, undefined, avoiding([first.id]));
  assert.notEqual(next.id, first.id);
  assert.ok(next.generation > first.generation);
  assert.deepEqual(next.way, first.way);
});

test('a session is told plainly that a gateway without one cannot hold it', () => {
  const site = siteWith([rotating()]);
  assert.deepEqual(refused(site, exchange({ session: 's1' })), {
    kind: 'none',
    stop: 'session_unsupported',
    retryAfterMs: undefined,
  });
  assert.equal(site.routes.sessionState(exchange({ session: 's1' })), undefined);
});

test('a gateway that is set up otherwise starts with addresses never used before', () => {
  const site = siteWith([gateway()]);
  const before = take(site);
  report(site, before, blocked);
  const current = take(site);
  site.routes.update([gateway({ password: 'other' })]);
  const after = take(site, undefined, avoiding([], { stayOn: current.id }));
  assert.ok(![before.id, current.id].includes(after.id));
  assert.ok(site.retired.includes(current.id));
  assert.equal(wayOf(after).password, 'other');
});
