import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drainTrial } from '../support/drain-trial.ts';

test('five times stopped under load, nobody who asked goes without an answer', {
  timeout: 100_000,
}, async () => {
  const report = await drainTrial(5);
  assert.deepEqual(report.bad, []);
  assert.ok(report.answered > 0 && report.turnedAway > 0);
  // Backoffs of five seconds and more were not sat out.
  assert.ok(report.longestStopMs < 5_000, `${report.longestStopMs} ms`);
});
