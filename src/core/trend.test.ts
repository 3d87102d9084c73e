import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chance } from '../../test/support/chance.ts';
import { newTrend, observe, raised, sightingOf, type Trend, type Warning } from './trend.ts';
import type { Reason } from './verdict.ts';

const SECOND = 1000;
const HOUR = 3_600;

interface Told {
  readonly at: number;
  readonly warning: Warning;
}

/** One attempt a second, each over one of five routes. */
function watch(
  trend: Trend,
  o: { from: number; seconds: number; share: number; reason?: Reason; routes?: readonly number[] },
): { trend: Trend; told: Told[] } {
  const told: Told[] = [];
  let state = trend;
  for (let at = o.from; at < o.from + o.seconds; at += 1) {
    const route = at % 5;
    const isHit = (o.routes ?? [0, 1, 2, 3, 4]).includes(route);
    const bad = isHit && chance('watch', at) < o.share;
    const reason = bad ? (o.reason ?? 'challenged') : 'ok';
    const next = observe(state, { at: at * SECOND, reason, bad, route: `r${route}` });
    state = next.trend;
    for (const warning of next.warnings) told.push({ at, warning });
  }
  return { trend: state, told };
}

const usual = () => watch(newTrend(), { from: 0, seconds: HOUR, share: 0 });

describe('trend', () => {
  it('says what has risen, from where to where, on how many routes and since when', () => {
    const before = usual();
    const after = watch(before.trend, { from: HOUR, seconds: 600, share: 0.5, routes: [0, 1, 2] });
    assert.deepEqual(before.told, []);
    assert.equal(after.told.length, 1);
    const [{ at, warning }] = after.told as [Told];
    assert.equal(warning.kind, 'raised');
    assert.equal(warning.signal, 'challenged');
    assert.ok(warning.before < 0.01);
    assert.ok(warning.now > 0.2 && warning.now < 0.45, String(warning.now));
    assert.equal(warning.badRoutes, 3);
    assert.equal(warning.routes, 5);
    assert.ok(Math.abs(warning.since - HOUR * SECOND) <= 30_000);
    assert.ok(at - HOUR < 180, `after ${at - HOUR} s`);
    assert.deepEqual(
      raised(after.trend).map(({ signal }) => signal),
      ['challenged'],
    );
  });

  it('keeps still about one burst of 40 s', () => {
    const burst = watch(usual().trend, { from: HOUR, seconds: 40, share: 0.9 });
    const after = watch(burst.trend, { from: HOUR + 40, seconds: HOUR, share: 0 });
    assert.deepEqual([...burst.told, ...after.told], []);
  });

  it('keeps still about a share that was high from the beginning', () => {
    assert.deepEqual(watch(newTrend(), { from: 0, seconds: 8 * HOUR, share: 0.3 }).told, []);
  });

  it('gives the all-clear when the share is back, and can warn again', () => {
    const first = watch(usual().trend, { from: HOUR, seconds: 600, share: 0.4 });
    const quiet = watch(first.trend, { from: HOUR + 600, seconds: 2 * HOUR, share: 0 });
    const second = watch(quiet.trend, { from: 3 * HOUR + 600, seconds: 900, share: 0.4 });
    assert.deepEqual(
      [first, quiet, second].map(({ told }) => told.map(({ warning }) => warning.kind)),
      [['raised'], ['cleared'], ['raised']],
    );
  });

  it('takes what stays for six hours as the new usual, without a word', () => {
    const long = watch(usual().trend, { from: HOUR, seconds: 12 * HOUR, share: 0.3 });
    assert.deepEqual(
      long.told.map(({ warning }) => warning.kind),
      ['raised'],
    );
    assert.deepEqual(raised(long.trend), []);
  });

  it('tells of retries as such where no single reason stands out', () => {
    const reasons: Reason[] = ['reset', 'slow', 'overloaded', 'truncated', 'empty', 'refused'];
    let trend = usual().trend;
    const signals: string[] = [];
    for (let at = HOUR; at < 4 * HOUR; at += 1) {
      const bad = chance('mixed', at) < 0.13;
      const reason = bad ? (reasons[at % reasons.length] as Reason) : 'ok';
      const next = observe(trend, { at: at * SECOND, reason, bad, route: 'r' });
      trend = next.trend;
      signals.push(...next.warnings.map(({ signal }) => signal));
    }
    assert.equal(signals[0], 'retry');
  });

  it('counts failures of hosts, routes, accounts and ourselves, and not what clients ask in vain', () => {
    const of = (fault: 'none' | 'client', reason: 'ok' | 'not_found' | 'persistent_block') =>
      sightingOf({ fault, reason, evidence: [] } as never, 'r', 0).bad;
    assert.equal(of('none', 'ok'), false);
    assert.equal(of('client', 'not_found'), false);
    assert.equal(of('client', 'persistent_block'), true);
  });

  it('is JSON', () => {
    const { trend } = watch(usual().trend, { from: HOUR, seconds: 100, share: 0.4 });
    assert.deepEqual(JSON.parse(JSON.stringify(trend)), trend);
  });
});
