import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newLedger } from '../src/core/ledger.ts';
import {
  account,
  avoiding,
  blocked,
  direct,
  exchange,
  fresh,
  gateway,
  list,
  MINUTE,
  rateLimited,
  refused,
  report,
  rotating,
  type Site,
  sessionPolicy,
  siteWith,
  take,
  takeMany,
  unreachable,
} from './support/ways.ts';

const inSession = (session: string) => exchange({ session });

test('a session keeps its address through throttles, failures, blocks and dead dials', () => {
  for (const upstream of [list('dc', 10), gateway(), direct]) {
    const site = siteWith([upstream]);
    const first = take(site, inSession('s1'));
    assert.equal(first.session, 's1');
    for (const verdict of [rateLimited, blocked, unreachable, unreachable, unreachable]) {
      report(site, first, verdict);
      const again = take(site, inSession('s1'), { ...newLedger, stayOn: first.id });
      assert.deepEqual(again, first);
      assert.deepEqual(take(site, inSession('s1')), first);
    }
  }
});

test('fifty sessions spread evenly over ten addresses', () => {
  const site = siteWith([list('dc', 10)]);
  const counts = new Map<string, number>();
  for (let i = 1; i <= 50; i += 1) {
    const { id } = take(site, inSession(`s${i}`));
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  assert.deepEqual([...counts.values()], Array(10).fill(5));
});

test('a new session is not bound to an address that is out for its lane', () => {
  const site = siteWith([list('dc', 4)]);
  const bad = take(site);
  report(site, bad, blocked);
  for (let i = 0; i < 12; i += 1) assert.notEqual(take(site, inSession(`s${i}`)).id, bad.id);
});

test('a gateway gives each session a token of its own, shared with nobody', () => {
  const site = siteWith([gateway()]);
  const users: (string | undefined)[] = [];
  for (let i = 0; i < 50; i += 1) {
    const { way } = take(site, inSession(`s${i}`));
    users.push(way.kind === 'direct' ? undefined : way.username);
    const pooled = take(site, exchange({ policy: fresh }));
    users.push(pooled.way.kind === 'direct' ? undefined : pooled.way.username);
    assert.equal(pooled.session, undefined);
  }
  assert.equal(new Set(users).size, 100);
  assert.ok(users.every((user) => /^customer-acme-sid-[a-z0-9]{12}$/.test(user ?? '')));
});

test('the country of its first use stays with a session', () => {
  const site = siteWith([gateway()]);
  const first = take(site, exchange({ session: 's1', country: 'us' }));
  assert.match(first.way.kind === 'direct' ? '' : (first.way.username ?? ''), /-country-us-/);
  assert.deepEqual(take(site, exchange({ session: 's1', country: 'de' })), first);
});

test('a burned session is refused until its time is over, and then gets another address', async () => {
  const site = siteWith([gateway()]);
  const first = take(site, inSession('s1'));
  report(site, first, blocked);
  site.routes.burn(inSession('s1'));
  assert.equal(site.routes.sessionState(inSession('s1')), 'burned');
  assert.deepEqual(refused(site, inSession('s1')), {
    kind: 'none',
    stop: 'session_burned',
    retryAfterMs: 60 * MINUTE,
  });
  assert.ok(site.retired.includes(first.id));
  assert.notEqual(take(site, inSession('s2')).id, first.id);
  await site.clock.advance(60 * MINUTE - 1);
  assert.equal(refused(site, inSession('s1')).retryAfterMs, 1);
  await site.clock.advance(1);
  assert.equal(site.routes.sessionState(inSession('s1')), undefined);
  assert.notEqual(take(site, inSession('s1')).id, first.id);
});

test('while one of a hundred requests burns the session, none of the others leaves any more', () => {
  const site = siteWith([list('dc', 10)]);
  const all = Array.from({ length: 100 }, () => inSession('s1'));
  const early = all.slice(0, 40).map((by) => take(site, by).id);
  assert.equal(new Set(early).size, 1);
  for (const by of all.slice(0, 3)) site.routes.burn(by);
  for (const by of all) assert.equal(refused(site, by).stop, 'session_burned');
  assert.equal(site.events.filter((event) => event.type === 'session_ended').length, 1);
});

test('an idle session expires, is refused as long as a burned one, and is then new', async () => {
  const site = siteWith([list('dc', 10)]);
  take(site, inSession('s1'));
  await site.clock.advance(9 * MINUTE);
  take(site, inSession('s1'));
  await site.clock.advance(10 * MINUTE);
  assert.equal(site.routes.sessionState(inSession('s1')), 'expired');
  assert.deepEqual(refused(site, inSession('s1')), {
    kind: 'none',
    stop: 'session_expired',
    retryAfterMs: 60 * MINUTE,
  });
  assert.equal(site.events.filter((event) => event.type === 'session_ended').length, 1);
  await site.clock.advance(60 * MINUTE);
  take(site, inSession('s1'));
});

test("a session ends before the gateway's own time to live, however busy it is", async () => {
  const site = siteWith([gateway({ sessionTtlMs: 2 * MINUTE })]);
  for (let i = 0; i < 4; i += 1) {
    take(site, inSession('s1'));
    await site.clock.advance(MINUTE / 2);
  }
  assert.equal(refused(site, inSession('s1')).stop, 'session_expired');
});

test('a session whose account is out is told when to come back, and is not moved elsewhere', async () => {
  const site = siteWith([gateway(), list('dc', 3)]);
  const first = take(site, inSession('s1'));
  report(site, first, account('upstream_quota'));
  assert.deepEqual(refused(site, inSession('s1')), {
    kind: 'none',
    stop: 'no_route',
    retryAfterMs: 15 * MINUTE,
  });
  assert.equal(take(site, inSession('s2')).upstream, 'dc');
  await site.clock.advance(9 * MINUTE);
  assert.equal(site.routes.sessionState(inSession('s1')), 'active');
});

test('nothing is left to rotate to inside a session', () => {
  const site = siteWith([list('dc', 10), direct]);
  const { id } = take(site, inSession('s1'));
  assert.deepEqual(site.routes.left(inSession('s1'), 'shop.test', avoiding([id])), {
    routes: false,
    upstreams: false,
  });
});

test('a session does not slip past a gateway that cannot hold it to an own address', () => {
  const site = siteWith([rotating(), direct]);
  assert.equal(refused(site, inSession('s1')).stop, 'session_unsupported');
});

test("the client's own end frees the id at once, for another address", () => {
  const site = siteWith([gateway()]);
  const first = take(site, inSession('s1'));
  assert.equal(site.routes.endSession('s1'), true);
  assert.equal(site.routes.endSession('s1'), false);
  assert.notEqual(take(site, inSession('s1')).id, first.id);
});

test('a route that leaves the configuration burns its sessions, and one that stays keeps them', () => {
  const site = siteWith([list('dc', 2), gateway()]);
  const routes = ['s1', 's2'].map((id) => take(site, inSession(id)));
  const [kept, gone] = routes;
  const minted = take(site, exchange({ session: 'g1', policy: { upstreams: ['residential'] } }));
  const remaining = list('dc', 2).routes.filter(
    ({ host }) => kept?.way.kind !== 'direct' && host === kept?.way.host,
  );
  site.routes.update([list('dc', 0, { routes: remaining }), gateway()]);
  assert.deepEqual(take(site, inSession('s1')), kept);
  assert.notEqual(gone?.id, kept?.id);
  assert.equal(refused(site, inSession('s2')).stop, 'session_burned');
  assert.deepEqual(take(site, inSession('g1')), minted);
  site.routes.update([gateway({ username: 'other-sid-{session|alnum:12}' })]);
  assert.equal(refused(site, inSession('g1')).stop, 'session_burned');
});

test('a session that is bound takes the changed password of its address', () => {
  const site = siteWith([list('dc', 1)]);
  const before = take(site, inSession('s1'));
  const routes = list('dc', 1).routes.map((address) => ({ ...address, password: 'other' }));
  site.routes.update([list('dc', 0, { routes })]);
  const after = take(site, inSession('s1'));
  assert.equal(after.id, before.id);
  assert.equal(after.session, 's1');
  assert.equal(after.way.kind === 'direct' ? '' : after.way.password, 'other');
});

test('with no room for more sessions a new one is refused, and none that lives is moved', async () => {
  const site = siteWith([direct]);
  for (let i = 0; i < 50_000; i += 1) take(site, inSession(`s${i}`));
  assert.equal(refused(site, inSession('one-more')).stop, 'no_route');
  assert.equal(take(site, inSession('s0')).session, 's0');
  await site.clock.advance(sessionPolicy.idleMs);
  assert.equal(take(site, inSession('one-more')).session, 'one-more');
});

test('sessions are listed for display, without anything that was burned and forgotten', async () => {
  const site = siteWith([list('dc', 2)]);
  take(site, inSession('s1'));
  take(site, inSession('s2'));
  site.routes.burn(inSession('s2'));
  assert.deepEqual(states(site), ['s1 active', 's2 burned']);
  await site.clock.advance(70 * MINUTE);
  assert.deepEqual(states(site), []);
  assert.equal(takeMany(site, 1).length, 1);
});

const states = (site: Site): string[] =>
  site.routes.list().sessions.map(({ id, session }) => `${id} ${session.state}`);
