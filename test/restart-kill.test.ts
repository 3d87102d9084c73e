import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killTrial } from './support/kill-trial.ts';

test('five times killed under load, it knows every pause, session, burned id and letter that it told', {
  timeout: 100_000,
}, async () => {
  const report = await killTrial(5);
  assert.deepEqual(report.lost, []);
  // The load was one: each kind of thing was told.
  for (const kind of ['replies', 'pauses', 'sessions', 'burned', 'letters'] as const) {
    assert.ok(report[kind] > 5, `${kind}: ${report[kind]}`);
  }
});
