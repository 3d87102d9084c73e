import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProxyEvent } from '../src/telemetry/events.ts';
import { logLine } from '../src/telemetry/log-lines.ts';
import { createWarnings } from '../src/telemetry/warnings.ts';
import { chance } from './support/chance.ts';
import { exchangeFor } from './support/playbook.ts';
import { policyWith } from './support/policy.ts';

type Warning = Extract<ProxyEvent, { type: 'early_warning' }>;

const START = Date.UTC(2026, 0, 1, 10);
const good = { fault: 'none', reason: 'ok' };
const challenged = { fault: 'route', reason: 'challenged' };
const throttled = { fault: 'host', kind: 'rate', reason: 'rate_limited', waitMs: 5000 };

/** A lane with one attempt each second, and what the watch has told of it. */
function watched() {
  const told: Warning[] = [];
  const timeOfDay = (at: number) => new Date(at).toISOString().slice(11, 16);
  const warnings = createWarnings({ emit: (event) => told.push(event as Warning), timeOfDay });
  const exchange = exchangeFor({ policy: policyWith() }, START);
  let at = START;
  const attempt = (verdict: object, route = 0, durationMs = 100) =>
    warnings.record({
      ...{ type: 'attempt_finished', at, exchange, lane: 'shop.test', n: 1, durationMs },
      ...{ route: { id: `r${route}`, label: `dc/r${route}`, upstream: 'dc' }, verdict },
    } as unknown as ProxyEvent);
  const seconds = (count: number, verdictOf: (n: number) => object) => {
    for (let n = 0; n < count; n += 1) {
      at += 1000;
      attempt(verdictOf(n), n % 5);
    }
  };
  return { warnings, told, seconds, attempt };
}

test('a challenge that becomes usual on some routes is told in a sentence, long before most requests fail', () => {
  const { warnings, told, seconds } = watched();
  seconds(3600, () => good);
  assert.equal(told.length, 0);
  seconds(600, (n) => (n % 5 < 3 && chance('challenge', n) < 0.25 ? challenged : good));
  const raised = told.filter((one) => one.raised && one.signal === 'challenged');
  assert.equal(raised.length, 1);
  assert.match(
    raised[0]?.sentence ?? '',
    /^challenged: 0 % → \d+(\.\d)? % on 3 of 5 routes since 11:0\d$/,
  );
  assert.ok((raised[0]?.at ?? 0) < START + 3600_000 + 300_000);
  assert.ok(warnings.raised().some(({ signal }) => signal === 'challenged'));
  const line = logLine(raised[0] as Warning);
  assert.equal(line.level, 'warn');
  assert.match(line.message, /^shop\.test: challenged: /);
});

test('a warning is taken back when all is as before', () => {
  const { warnings, told, seconds } = watched();
  seconds(3600, () => good);
  seconds(600, (n) => (n % 3 === 0 ? challenged : good));
  assert.ok(warnings.raised().length > 0);
  seconds(3600, () => good);
  assert.deepEqual(warnings.raised(), []);
  const cleared = told.filter((one) => !one.raised && one.signal === 'challenged');
  assert.match(cleared[0]?.sentence ?? '', /^challenged: back at \d\.\d %$/);
  assert.equal(logLine(cleared[0] as Warning).level, 'info');
});

test('a hundred throttles of one moment are one event, and no warning', () => {
  const { told, seconds, attempt } = watched();
  seconds(3600, () => good);
  for (let n = 0; n < 100; n += 1) attempt(throttled, n % 5, 3000);
  seconds(120, () => good);
  assert.equal(told.length, 0);
});

test('what is usual is kept over a restart, and a warning that is raised stays raised', () => {
  const before = watched();
  before.seconds(3600, () => good);
  before.seconds(600, (n) => (n % 3 === 0 ? challenged : good));
  assert.equal(before.warnings.raised().length, 1);
  const rows = [...before.warnings.kept.changes('all')].map(({ key, value }) => ({
    ...{ key, value: JSON.parse(JSON.stringify(value)), shiftMs: 0 },
  }));
  const after = watched();
  const broken = { key: 'broken.test', value: { weight: 'much' }, shiftMs: 0 };
  assert.deepEqual(after.warnings.kept.restore([...rows, broken]), ['broken.test']);
  assert.deepEqual(after.warnings.raised(), before.warnings.raised());
});

test('trends are written once a minute, however many attempts there are, and all of them at the end', () => {
  const { warnings, seconds } = watched();
  const saved = (how: 'rough' | 'all') => [...warnings.kept.changes(how)].map(({ key }) => key);
  seconds(5, () => good);
  assert.deepEqual(saved('rough'), ['shop.test']);
  seconds(30, () => good);
  assert.deepEqual(saved('rough'), []);
  seconds(31, () => good);
  assert.deepEqual(saved('rough'), ['shop.test']);
  seconds(1, () => good);
  assert.deepEqual(saved('all'), ['shop.test']);
  assert.deepEqual(saved('all'), []);
});
