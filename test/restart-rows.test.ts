import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSaving } from '../src/saving/saving.ts';
import type { State } from '../src/store/store.ts';
import { FakeClock, flush } from './support/fake-clock.ts';
import { ok, Traffic } from './support/lane-traffic.ts';

test('a host that is forgotten takes its row along', async () => {
  const traffic = new Traffic({ maxHosts: 20, keep: () => {} });
  const rows = new Set<string>();
  for (let n = 0; n < 200; n += 1) {
    const one = traffic.ask({ host: `h${n}.test` });
    await flush();
    one.finish(ok);
    if (n % 10 < 9) continue;
    await traffic.clock.advance(5_000);
    for (const { key, value } of traffic.lanes.kept.changes('rough')) {
      if (value === undefined) rows.delete(key);
      else rows.add(key);
    }
  }
  assert.deepEqual([...rows].sort(), [...traffic.lanes.list()].map(({ id }) => id).sort());
  assert.equal(rows.size, 20);
});

test('thousands of rows are written a few at a time, so that nothing else has to wait for long', async () => {
  const waiting: (() => void)[] = [];
  let most = 0;
  let written = 0;
  const put = () =>
    new Promise<void>((resolve) => {
      written += 1;
      waiting.push(resolve);
      most = Math.max(most, waiting.length);
    });
  const state: State = {
    save: put,
    load: async () => undefined,
    rows: () => ({ put, delete: put, entries: async () => [] }),
  };
  const clock = new FakeClock();
  const moment = () => ({ now: clock.now(), wall: clock.now(), uptimeMs: 0, boot: 'one' });
  const saving = createSaving({ state, clock, moment, emit: () => {} });
  const changes = Array.from({ length: 1_050 }, (_, n) => ({ key: `k${n}`, value: n }));
  await saving.restore([{ name: 'many', changes: () => changes, restore: () => [] }]);

  const saved = saving.saveAll();
  for (await flush(); waiting.length > 0; await flush()) {
    for (const done of waiting.splice(0)) done();
  }
  await saved;
  assert.equal(written, 1_050);
  assert.ok(most <= 100, `${most} rows at once`);
  saving.stop();
});
