import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ProxyEvent } from '../src/telemetry/events.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import type { StateSource } from '../src/telemetry/state-gauges.ts';
import { ask } from './support/admin.ts';
import { FakeClock } from './support/fake-clock.ts';
import { site } from './support/letters.ts';
import { exchangeFor } from './support/playbook.ts';
import { policyWith } from './support/policy.ts';
import { until } from './support/raw-server.ts';
import { get, startProxy } from './support/whole-proxy.ts';

type Labels = Readonly<Record<string, string>>;
type Lane = ReturnType<StateSource['lanes']>[number];

/** The value of a series; undefined where there is none. */
function seriesOf(text: string, name: string, labels: Labels = {}): number | undefined {
  for (const line of text.split('\n')) {
    const [, found, inner = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const has = Object.entries(labels).every(([key, one]) => inner.includes(`${key}="${one}"`));
    if (found === name && has) return Number(value);
  }
  return undefined;
}

const laneState = (id: string, patch: Partial<Lane> = {}): Lane => ({
  ...{ id, waiting: 0, budget: 6, breaker: 'closed', pausedUntil: undefined, rate: null },
  ...patch,
});

/** Metrics over a state that is made up, and a way to have an attempt counted. */
function counting(mostLanes = 500) {
  const clock = new FakeClock();
  const state = { lanes: [] as Lane[] };
  const metrics = createMetrics({
    mostLanes: () => mostLanes,
    priceOf: (upstream) => (upstream === 'dc' ? 4 : null),
    state: {
      now: () => clock.now(),
      lanes: () => state.lanes,
      routes: () => ({
        routes: [
          { upstream: 'dc', state: 'in' },
          { upstream: 'dc', state: 'in' },
          { upstream: 'dc', state: 'ejected' },
        ],
        sessions: [{ session: { state: 'active' } }],
      }),
      letters: async () => [{ lane: 'a.test', state: 'parked', letters: 3 }],
      warnings: () => [{ lane: 'a.test', signal: 'challenged' }],
      failures: () => 3,
    },
  });
  const exchange = exchangeFor({ policy: policyWith() }, clock.now());
  const attempt = (lane: string, n: number, patch: object = {}) =>
    metrics.record({
      ...{ type: 'attempt_finished', at: clock.now(), exchange, lane, n, durationMs: 20 },
      route: { id: 'r', label: 'dc/r', upstream: 'dc' },
      verdict: { fault: 'none', reason: 'ok' },
      reply: { kind: 'response', via: 'tunnel', status: 200 },
      action: { kind: 'deliver' },
      ...patch,
    } as unknown as ProxyEvent);
  const text = async () => (await metrics.render()).text;
  return { metrics, clock, state, attempt, text };
}

test('waits, rotations and the share of retries are counted for each lane', async () => {
  const { state, attempt, text } = counting();
  state.lanes = [laneState('a.test')];
  const throttled = { fault: 'host', kind: 'rate', reason: 'rate_limited' };
  attempt('a.test', 1, { verdict: throttled, action: { kind: 'wait', delayMs: 2500 } });
  attempt('a.test', 2, {
    verdict: { fault: 'route', reason: 'blocked' },
    action: { kind: 'rotate' },
  });
  attempt('a.test', 3);
  attempt('a.test', 1);
  const shown = await text();
  const lane = 'a.test';
  assert.equal(
    seriesOf(shown, 'forbear_waits_seconds_total', { lane, reason: 'rate_limited' }),
    2.5,
  );
  assert.equal(seriesOf(shown, 'forbear_rotations_total', { lane, reason: 'blocked' }), 1);
  assert.equal(seriesOf(shown, 'forbear_retries_total', { lane, reason: 'blocked' }), 1);
  assert.equal(
    seriesOf(shown, 'forbear_attempts_total', {
      lane,
      upstream: 'dc',
      fault: 'none',
      reason: 'ok',
    }),
    2,
  );
  assert.equal(seriesOf(shown, 'forbear_retry_ratio', { lane }), 0.5);
  const tls = (result: string) =>
    seriesOf(shown, 'forbear_tls_attempts_total', { lane, mode: 'intercepted', result });
  assert.deepEqual([tls('blocked'), tls('other')], [1, 3]);
});

test('the state of lanes, ways out and letters is that of the moment', async () => {
  const { state, clock, text } = counting();
  const pausedUntil = clock.now() + 30_000;
  state.lanes = [laneState('a.test', { pausedUntil, waiting: 4, rate: 2.5, breaker: 'open' })];
  const lane = 'a.test';
  const shown = await text();
  assert.equal(seriesOf(shown, 'forbear_lane_paused_seconds', { lane }), 30);
  assert.equal(seriesOf(shown, 'forbear_queue_depth', { lane }), 4);
  assert.equal(seriesOf(shown, 'forbear_lane_rate', { lane }), 2.5);
  assert.equal(seriesOf(shown, 'forbear_breaker_state', { lane, state: 'open' }), 1);
  assert.equal(seriesOf(shown, 'forbear_breaker_state', { lane, state: 'closed' }), 0);
  assert.equal(seriesOf(shown, 'forbear_routes', { upstream: 'dc', state: 'in' }), 2);
  assert.equal(seriesOf(shown, 'forbear_sessions', { state: 'active' }), 1);
  assert.equal(seriesOf(shown, 'forbear_dead_letters', { lane, state: 'parked' }), 3);
  assert.equal(seriesOf(shown, 'forbear_early_warning', { lane, reason: 'challenged' }), 1);
  await clock.advance(30_000);
  state.lanes = [laneState('a.test')];
  const later = await text();
  assert.equal(seriesOf(later, 'forbear_lane_paused_seconds', { lane }), 0);
  assert.equal(seriesOf(later, 'forbear_lane_rate', { lane }), undefined);
});

test('lanes beyond the cap are one, and the label of a lane that is forgotten is free again', async () => {
  const { state, attempt, text } = counting(2);
  state.lanes = ['a.test', 'b.test', 'c.test'].map((id) => laneState(id, { waiting: 1 }));
  for (const { id } of state.lanes) attempt(id, 1);
  attempt('d.test', 1);
  const shown = await text();
  const attempts = (text: string, lane: string) =>
    seriesOf(text, 'forbear_attempts_total', { lane });
  assert.deepEqual(
    ['a.test', 'b.test', 'c.test', 'other'].map((lane) => attempts(shown, lane)),
    [1, 1, undefined, 2],
  );
  assert.equal(seriesOf(shown, 'forbear_queue_depth', { lane: 'other' }), 1);
  assert.equal(seriesOf(shown, 'forbear_budget_remaining', { lane: 'other' }), undefined);
  state.lanes = [laneState('b.test'), laneState('c.test')];
  const later = await text();
  assert.equal(attempts(later, 'a.test'), undefined);
  attempt('c.test', 1);
  assert.equal(attempts(await text(), 'c.test'), 1);
});

test('names with quotes and line ends stay within their label', async () => {
  const { state, attempt, text } = counting();
  const lane = 'a"b\nforbear_evil 1';
  state.lanes = [laneState(lane)];
  attempt(lane, 1);
  assert.equal(seriesOf(await text(), 'forbear_evil'), undefined);
});

test('a whole proxy shows every metric that is promised, and tells first success from the final one', async (t) => {
  const answers = [500, 200, 200, 404];
  const { url, authority: lane } = await site(t, (_, reply) =>
    reply.writeHead(answers.shift() ?? 500).end('ok'),
  );
  const whole = await startProxy(t, ['policy: { backoff: { base: 1ms } }'], { admin: true });
  for (const path of ['/a', '/b', '/c']) await get(whole.port, `${url}${path}`);
  await until(() => whole.told('attempt_closed').length === 4);
  const answer = await ask(whole.adminPort, 'GET', '/metrics');
  assert.match(String(answer.headers['content-type']), /^text\/plain; version=0\.0\.4/);
  const { text } = answer;
  const ended = (outcome: string) => seriesOf(text, 'forbear_exchanges_total', { lane, outcome });
  assert.deepEqual(['ok_first', 'ok_retried', 'client_error', 'failed'].map(ended), [
    1,
    1,
    1,
    undefined,
  ]);
  assert.equal(seriesOf(text, 'forbear_exchange_duration_seconds_count'), 3);
  assert.equal(seriesOf(text, 'forbear_overhead_seconds_count'), 3);
  const sent = { upstream: 'direct', direction: 'sent', cause: 'retry' };
  assert.ok((seriesOf(text, 'forbear_bytes_total', sent) ?? 0) > 0);
  const page = readFileSync(new URL('../docs/metrics.md', import.meta.url), 'utf8');
  const documented = [...page.matchAll(/^\| `((?:forbear|process)_\w+)/gm)].map(
    ([, name = '']) => name,
  );
  const shown = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
  assert.deepEqual(documented.sort(), shown.sort());
});
