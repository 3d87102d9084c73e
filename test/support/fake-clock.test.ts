import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from './fake-clock.ts';

test('timers run in order of their instant, each seeing its own time', async () => {
  const clock = new FakeClock(0);
  const seen: string[] = [];
  clock.after(30, () => seen.push(`c ${clock.now()}`));
  clock.after(10, () => {
    seen.push(`a ${clock.now()}`);
    clock.after(5, () => seen.push(`b ${clock.now()}`));
  });
  await clock.advance(29);
  assert.deepEqual(seen, ['a 10', 'b 15']);
  await clock.advance(1);
  assert.deepEqual(seen, ['a 10', 'b 15', 'c 30']);
  assert.equal(clock.pending, 0);
});

test('a cancelled timer never runs and is not pending', async () => {
  const clock = new FakeClock(0);
  const cancel = clock.after(10, () => assert.fail('ran'));
  cancel();
  assert.equal(clock.pending, 0);
  await clock.advance(100);
  assert.equal(clock.now(), 100);
});

test('what a timer wakes runs before the next timer', async () => {
  const clock = new FakeClock(0);
  const seen: string[] = [];
  void (async () => {
    await clock.sleep(10);
    await clock.sleep(5);
    seen.push(`slept until ${clock.now()}`);
  })();
  clock.after(20, () => seen.push('timer at 20'));
  await clock.advance(50);
  assert.deepEqual(seen, ['slept until 15', 'timer at 20']);
});

test('a sleep ends with its signal and leaves no timer', async () => {
  const clock = new FakeClock(0);
  const stop = new AbortController();
  const slept = clock.sleep(1e12, stop.signal);
  stop.abort();
  assert.equal(await slept, 'aborted');
  assert.equal(clock.pending, 0);
});

test('runAll winds through whatever is set and stops on endless timers', async () => {
  const clock = new FakeClock(0);
  let runs = 0;
  const again = () => {
    runs += 1;
    if (runs < 5) clock.after(2 ** 32, again);
  };
  again();
  await clock.runAll();
  assert.equal(runs, 5);
  assert.equal(clock.now(), 4 * 2 ** 32);
  const forever = () => clock.after(1, forever);
  forever();
  await assert.rejects(clock.runAll(50), /keep setting/);
});
