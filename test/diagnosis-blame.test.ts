import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Policy } from '../src/core/policy.ts';
import type { RouteVerdict } from '../src/core/verdict.ts';
import type { Exchange, Route } from '../src/exchange/ports.ts';
import {
  avoiding,
  blocked,
  exchange,
  list,
  ok,
  persistentBlock,
  report,
  type Site,
  siteWith,
  take,
  unreachable,
} from './support/ways.ts';

const fresh: Partial<Policy> = {
  routes: { rotation: 'fresh', warm: 'auto', maxUses: null, retireForMs: 900_000 },
};
const request = (patch: Partial<Policy> = {}): Exchange =>
  exchange({ policy: { ...fresh, ...patch } });
const ejected = (site: Site): string[] =>
  site.events.flatMap((event) => (event.type === 'route_ejected' ? [event.route.id] : []));

/** Every route of the list, each with three good replies on the lane. */
function proven(site: Site, size: number): Route[] {
  const routes = Array.from({ length: size }, () => take(site, request()));
  for (const route of routes) for (let n = 0; n < 3; n += 1) report(site, route, ok);
  assert.equal(new Set(routes.map(({ id }) => id)).size, size);
  return routes;
}

/** One exchange that meets these verdicts in turn, each over another address. */
function meet(site: Site, by: Exchange, verdicts: readonly (typeof ok)[]): Route[] {
  const used: Route[] = [];
  for (const verdict of verdicts) {
    const route = take(site, by, avoiding(used.map(({ id }) => id)));
    report(site, route, verdict, { exchange: by });
    used.push(route);
  }
  return used;
}

test('an address that did well is ejected for a 403 once another address is served', () => {
  const site = siteWith([list('dc', 6)]);
  proven(site, 6);
  const [first, second] = meet(site, request(), [blocked, ok]);
  assert.deepEqual(ejected(site), [first?.id]);
  assert.notEqual(second?.id, first?.id);
});

test('a page that is refused to every address costs none of them its place', () => {
  const site = siteWith([list('dc', 6)]);
  proven(site, 6);
  meet(site, request(), [blocked, blocked, persistentBlock]);
  meet(site, request(), [persistentBlock]);
  assert.deepEqual(ejected(site), []);
});

test('two addresses that were refused are both ejected when the third is served', () => {
  const site = siteWith([list('dc', 6)]);
  proven(site, 6);
  const used = meet(site, request(), [blocked, blocked, ok]);
  assert.deepEqual(ejected(site), [used[0]?.id, used[1]?.id]);
});

test('an address without a record, or with the control turned off, is ejected at once', () => {
  const unproven = siteWith([list('dc', 6)]);
  const [first] = meet(unproven, request(), [blocked]);
  assert.deepEqual(ejected(unproven), [first?.id]);
  const off = siteWith([list('dc', 6)]);
  proven(off, 6);
  const [second] = meet(off, request({ controlRequests: false }), [blocked]);
  assert.deepEqual(ejected(off), [second?.id]);
});

test('one control per lane and ten seconds: the next 403 of another exchange ejects', () => {
  const site = siteWith([list('dc', 6)]);
  proven(site, 6);
  meet(site, request(), [blocked]);
  assert.deepEqual(ejected(site), []);
  const [sampledOut] = meet(site, request(), [blocked]);
  assert.deepEqual(ejected(site), [sampledOut?.id]);
});

test('a POST, a session and a client without retries have no control', () => {
  for (const change of [{ method: 'POST' }, { session: 's1' }, { retry: 'off' }] as const) {
    const site = siteWith([list('dc', 6)]);
    const [route] = proven(site, 6);
    assert.ok(route);
    report(site, route, blocked, { exchange: { ...request(), ...change } });
    assert.deepEqual(ejected(site), [route.id], JSON.stringify(change));
  }
});

const slow: RouteVerdict = {
  ...unreachable,
  reason: 'slow_route',
  evidence: { kind: 'failure', phase: 'first_byte', code: 'timeout', detail: '' },
};
const awayForLane: RouteVerdict = { ...unreachable, scope: 'lane' };

for (const [what, verdict] of [
  ['slow', slow],
  ['away', unreachable],
  ['away for one lane', awayForLane],
] as const) {
  test(`when all addresses in use are ${what} within a second, all stay in, however long the list`, () => {
    const site = siteWith([list('dc', 40)]);
    const inUse = proven(site, 4);
    for (const route of inUse) report(site, route, verdict);
    const after = Array.from({ length: 40 }, () => take(site, request()).id);
    for (const { id } of inUse) assert.ok(after.includes(id), `${id} is out`);
    assert.equal(site.events.filter((event) => event.type === 'notice').length, 1);
  });
}

test('dead entries of a list that never worked are ejected although they fail together', () => {
  const site = siteWith([list('dc', 40)]);
  proven(site, 8);
  const dead = Array.from({ length: 3 }, () => take(site, request()));
  for (const route of dead) report(site, route, unreachable);
  assert.deepEqual(
    ejected(site),
    dead.map(({ id }) => id),
  );
});
