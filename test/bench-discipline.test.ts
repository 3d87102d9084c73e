import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Check, checks, type Row, table, verdict } from '../bench/discipline-report.ts';
import type { Result } from '../bench/discipline-run.ts';
import { scenarios } from '../bench/discipline-scenarios.ts';
import { exitAddress } from './support/gateway.ts';

const CLEAN: Result = {
  items: 1000,
  delivered: 1000,
  falseData: 0,
  elapsedMs: 10_000,
  requests: 1050,
  throttles: 0,
  strikes: 0,
  bans: 0,
  poolBurns: 0,
  requestsIntoOutage: 0,
  sessionsBroken: 0,
};

function row(result: Partial<Result>, scenario: Partial<Row['scenario']> = {}): Row {
  return {
    scenario: { number: 1, name: 'a limit', idealMs: undefined, ...scenario },
    client: 'Forbear',
    result: { ...CLEAN, ...result },
  };
}

function broken(found: readonly Check[]): string[] {
  return found.filter(({ kept }) => !kept).map(({ promise }) => promise);
}

test('a clean run keeps every promise', () => {
  assert.deepEqual(broken(checks([row({})], 'full')), []);
});

test('each harm breaks its own promise', () => {
  const harms: [Partial<Result>, string][] = [
    [{ strikes: 1 }, 'no strike'],
    [{ bans: 1 }, 'no ban'],
    [{ poolBurns: 1 }, 'no pool burned'],
    [{ falseData: 1 }, 'no false data'],
    [{ sessionsBroken: 1 }, 'no session changed its address'],
    [{ delivered: 989, requests: 900 }, '1: share delivered at least 0.99'],
  ];
  for (const [harm, promise] of harms) {
    assert.deepEqual(broken(checks([row(harm)], 'full')), [promise]);
  }
});

test('what the loops do breaks no promise', () => {
  const naive: Row = { ...row({ strikes: 9, bans: 3, delivered: 1 }), client: 'naive loop' };
  assert.deepEqual(broken(checks([naive, row({})], 'full')), []);
});

test('time is held against the ideal, and giving up is not fast', () => {
  const ideal = { idealMs: 6000 };
  const slow = '1: time / ideal at most 1.5';
  assert.deepEqual(broken(checks([row({ elapsedMs: 9000 }, ideal)], 'full')), []);
  assert.deepEqual(broken(checks([row({ elapsedMs: 9001 }, ideal)], 'full')), [slow]);
  const lazy = broken(checks([row({ elapsedMs: 1, delivered: 10, requests: 10 }, ideal)], 'full'));
  assert.deepEqual(lazy, ['1: share delivered at least 0.99', slow]);
});

test('isolated faults may cost a tenth more requests', () => {
  const faults = { name: '4 % isolated faults' };
  assert.deepEqual(broken(checks([row({ requests: 1100 }, faults)], 'full')), []);
  const found = broken(checks([row({ requests: 1101 }, faults)], 'full'));
  assert.deepEqual(found, ['1: requests / item at most 1.1']);
});

test("an outage may be asked a twentieth of the naive loop's requests", () => {
  const ours = (requestsIntoOutage: number) => {
    const forbear = row({ requestsIntoOutage });
    const naive: Row = { ...forbear, client: 'naive loop', result: { ...CLEAN } };
    return [{ ...naive, result: { ...CLEAN, requestsIntoOutage: 1000 } }, forbear];
  };
  assert.deepEqual(broken(checks(ours(50), 'full')), []);
  assert.equal(broken(checks(ours(51), 'full')).length, 1);
  assert.deepEqual(broken(checks(ours(51), 'quick')), []);
});

test('the table has a cell for each column, and the verdict a line for each promise', () => {
  const rows = [row({}), { ...row({ delivered: 0 }), client: 'naive loop' as const }];
  const widths = table(rows)
    .split('\n')
    .map((line) => line.split('|').length);
  assert.equal(new Set(widths).size, 1);
  assert.match(
    verdict(checks([row({ bans: 2 })], 'full')),
    /^- \*\*BROKEN\*\*: no ban \(2 in 1\)$/m,
  );
});

test('thirty of a hundred exits are burned, other ones for another seed', () => {
  const burned = (seed: number) => {
    const isBurned = scenarios({ scale: 1, seed })[2]?.site.burned;
    return Array.from({ length: 200 }, (_, n) => exitAddress(n)).filter((a) => isBurned?.(a));
  };
  assert.equal(burned(1).length, 60);
  assert.notDeepEqual(burned(1), burned(2));
});
