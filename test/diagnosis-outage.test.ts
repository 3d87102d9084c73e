import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureVerdict } from '../src/core/failures.ts';
import type { Reply, Verdict } from '../src/core/verdict.ts';
import { createEvidence } from '../src/exchange/evidence.ts';
import { LocalNetwork } from '../src/exchange/network.ts';
import type { Exchange, Route } from '../src/exchange/ports.ts';
import { FakeClock } from './support/fake-clock.ts';
import { routeOf } from './support/lane-traffic.ts';
import { exchangeFor, failure, play, response } from './support/playbook.ts';
import { policyWith } from './support/policy.ts';
import { live, type World } from './support/simulated-network.ts';

const FROM = 30_000;
const TO = 50_000;
const world = (shows: 'hanging' | 'no_resolver', routes: World['routes']): World => ({
  hosts: 6,
  routes,
  workersPerHost: 5,
  lastsMs: 90_000,
  troubles: [{ cause: 'local', fromMs: FROM, toMs: TO, shows }],
});

for (const [shows, routes] of [
  ['no_resolver', 'direct'],
  ['hanging', 'direct'],
  ['hanging', 6],
] as const) {
  test(`a lost network (${shows}, over ${routes} routes) costs nobody anything but time`, async () => {
    const story = await live(world(shows, routes), 3);
    assert.equal(story.gaveUp, 0);
    const changed = ['breaker_changed', 'route_ejected', 'lane_paused', 'upstream_out'];
    assert.deepEqual(
      story.events.filter(({ type }) => changed.includes(type)),
      [],
    );
    assert.equal(story.notices.length, 2);
    assert.match(story.notices[0] ?? '', /nothing can be reached/);
    assert.match(story.notices[1] ?? '', /the network is back/);
    for (const lane of story.lanes.list()) assert.ok(lane.budget >= 6, `${lane.id} ${lane.budget}`);
  });
}

test('while the network is away at most one attempt a second goes out, and afterwards all lanes go on within two', async () => {
  const story = await live(world('no_resolver', 'direct'), 5);
  const starts = (fromMs: number, toMs: number) =>
    story.startsMs.filter((ms) => ms >= fromMs && ms < toMs).length;
  for (let ms = FROM + 1_500; ms < TO - 1_000; ms += 250) {
    assert.ok(starts(ms, ms + 999) <= 1, `${starts(ms, ms + 999)} in the second after ${ms}`);
  }
  // The next probe finds it within a second; the first of the resumed come by twos, then by fours.
  const foundAt = story.startsMs.find((ms) => ms >= TO) ?? Number.POSITIVE_INFINITY;
  assert.ok(foundAt <= TO + 1_100, `found at ${foundAt}`);
  assert.ok(starts(foundAt + 1, foundAt + 600) <= 12);
  assert.ok(starts(foundAt + 2_500, foundAt + 3_500) >= 20);
});

const policy = policyWith();
const unknown = failure('unresolvable', { via: 'direct', phase: 'resolve', sent: false });

test('a name that does not exist is looked up twice, and then that is the answer', async () => {
  assert.deepEqual(await play([unknown, unknown], { policy }), [
    'attempt via a',
    'wait 500',
    'attempt via a',
    'deliver',
    'answer of its own',
  ]);
});

test('a name that is found at the second look costs neither budget nor address', async () => {
  const script = await play([unknown, response(200)], { policy, budget: 0 });
  assert.equal(script.at(-1), 'answer 200');
});

test('with retries off the first look is the last', async () => {
  const script = await play([unknown], { policy, retry: 'off' });
  assert.deepEqual(script, ['attempt via a', 'deliver', 'answer of its own']);
});

test('a resolver that gives up is asked again for as long as the patience lasts, free of charge', async () => {
  const deaf = failure('resolver_failed', { via: 'direct', phase: 'resolve', sent: false });
  const script = await play(Array(60).fill(deaf), { policy, budget: 0 });
  const waits = script.filter((line) => line.startsWith('wait'));
  assert.ok(waits.length > 10);
  for (const wait of waits) assert.ok(Number(wait.slice(5)) <= 2_000, wait);
  assert.ok(script.includes('stop: patience_exceeded'));
});

test('right after an outage a name that does not exist is no new one', async () => {
  const clock = new FakeClock();
  const notices: string[] = [];
  const network = new LocalNetwork({
    clock,
    emit: (event) => {
      if (event.type === 'notice') notices.push(event.message);
    },
  });
  const evidence = createEvidence({ clock, network, upstreams: () => 1 });
  const route: Route = routeOf('direct');
  const asked = async (
    host: string,
    reply: Reply,
    verdict: Verdict,
    of = requestTo(host, clock),
  ) => {
    const watch = evidence.begin(of, host, route);
    await clock.advance(5);
    watch.end(reply);
    const seen = watch.sighting();
    watch.judged(reply, verdict);
    return seen;
  };
  const deaf = failure('resolver_failed', { via: 'direct', phase: 'resolve', sent: false });
  const deafness = failureVerdict(deaf, clock.now());
  for (const host of ['a.test', 'b.test', 'c.test']) await asked(host, deaf, deafness);
  assert.equal(notices.length, 1);
  await clock.advance(3_000);
  await asked('a.test', response(200), ok);
  await clock.advance(50);

  const exchange = requestTo('nowhere.test', clock);
  const first = await asked('nowhere.test', unknown, deafness, exchange);
  assert.deepEqual([first.network, first.look], ['up', 'first']);
  await clock.advance(50);
  const second = await asked('nowhere.test', unknown, deafness, exchange);
  assert.deepEqual([second.network, second.look], ['up', 'last']);
  assert.equal(notices.length, 2);
});

const ok: Verdict = { fault: 'none', reason: 'ok', evidence: { kind: 'status', status: 200 } };

function requestTo(host: string, clock: FakeClock): Exchange {
  const exchange = exchangeFor({ policy }, clock.now());
  return { ...exchange, target: { ...exchange.target, host, authority: host } };
}
