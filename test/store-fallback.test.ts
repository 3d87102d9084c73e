import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { withFallback } from '../src/store/fallback.ts';
import type { Letter, Settlement } from '../src/store/letter.ts';
import { createMemoryStore } from '../src/store/memory.ts';
import type { StoreHealth } from '../src/store/outage.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { type Store, StoreError } from '../src/store/store.ts';
import { isCoded, storeContract } from './store.contract.ts';
import { NOW, sampleBody, sampleLetter } from './store-sample.ts';
import { FakeClock, flush, seededRandom } from './support/fake-clock.ts';

const RETRY_MS = 5000;
const BOUNDS = { maxLetters: 100, maxBytes: 1_000_000 };
const SETTLED = { at: NOW + 1, attempts: [], why: undefined, keepUntil: undefined } as const;

const folder = mkdtempSync(join(tmpdir(), 'forbear-fallback-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Trouble = 'none' | 'writing' | 'all';
const READS = new Set(['get', 'body', 'response', 'list', 'counts', 'due', 'nextDueAt']);
const STATE_READS = new Set(['load', 'entries']);

/** A store over one that fails when it is told to. */
function setUp(bounds = BOUNDS) {
  const disk = createMemoryStore({ maxLetters: 10_000, maxBytes: 100_000_000 });
  const clock = new FakeClock();
  const told: StoreHealth[] = [];
  const trouble = { kind: 'none' as Trouble };
  const lag = { turns: 0 };
  const failing = <Part extends object>(part: Part, reads: ReadonlySet<string>): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const member = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          const fails =
            trouble.kind === 'all' || (trouble.kind === 'writing' && !reads.has(String(name)));
          if (fails && name !== 'rows')
            return Promise.reject(new StoreError('full', 'the disk is full'));
          const result = member.apply(target, args);
          if (name === 'rows') return failing(result, STATE_READS);
          // Done in the order of asking, and answered later: like a thread of its own.
          return lag.turns === 0 ? result : answeredAfter(lag.turns, result);
        };
      },
    });
  const inner: Store = {
    letters: failing(disk.letters, READS),
    state: failing(disk.state, STATE_READS),
    recovered: 3,
    close: () => disk.close(),
  };
  const store = withFallback({
    inner,
    clock,
    bounds,
    retryMs: RETRY_MS,
    onHealth: (health) => told.push(health),
  });
  return {
    disk,
    store,
    told,
    clock,
    fail: (kind: Trouble) => {
      trouble.kind = kind;
    },
    answerAfter: (turns: number) => {
      lag.turns = turns;
    },
    /** The next try to write what waits has begun when this returns. */
    async beginRecovery() {
      trouble.kind = 'none';
      await clock.advance(RETRY_MS);
    },
    async recovered() {
      while (store.health.state !== 'healthy') {
        await flush();
        if (clock.pending > 0) await clock.advance(RETRY_MS);
      }
    },
    async recover() {
      trouble.kind = 'none';
      await clock.advance(RETRY_MS);
      assert.equal(store.health.state, 'healthy');
    },
  };
}

async function answeredAfter<T>(turns: number, result: Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns; turn += 1) await flush();
  return result;
}

const ids = (letters: readonly Letter[]) => letters.map(({ id }) => id);

storeContract('fallback', async () => ({ store: setUp().store, kept: 'memory' }));

test('while all is well everything goes to the store below', async () => {
  const { store, disk, told, clock } = setUp();
  const letter = sampleLetter();
  await store.letters.park(letter, undefined);
  await store.state.save('lanes', 1);
  await store.state.rows('sessions').put('s', 2);
  assert.ok(await disk.letters.get(letter.id));
  assert.equal(await disk.state.load('lanes'), 1);
  assert.deepEqual(await disk.state.rows('sessions').entries(), [['s', 2]]);
  assert.deepEqual([told, clock.pending, store.recovered], [[], 0, 3]);
});

test('letters that the disk does not take wait in memory, seen like any other, and are written later', async () => {
  const { store, disk, told, fail, recover } = setUp();
  const before = sampleLetter({ parkedAt: NOW - 5, lane: 'a.test' });
  await store.letters.park(before, undefined);
  fail('writing');
  const during = sampleLetter({ bodyBytes: 5, lane: 'a.test' });
  assert.deepEqual(await store.letters.park(during, sampleBody(5)), {
    id: during.id,
    count: 1,
    kept: 'memory',
  });
  assert.equal(await disk.letters.get(during.id), undefined);
  assert.equal((await store.letters.get(during.id))?.state, 'parked');
  assert.deepEqual(await store.letters.body(during.id), sampleBody(5));
  assert.deepEqual(ids((await store.letters.list({ limit: 9 })).items), [during.id, before.id]);
  assert.deepEqual(await store.letters.counts(), [{ lane: 'a.test', state: 'parked', letters: 2 }]);
  await recover();
  assert.deepEqual(await disk.letters.body(during.id), sampleBody(5));
  assert.deepEqual(await store.letters.get(during.id), await disk.letters.get(during.id));
  assert.deepEqual(
    told.map((health) => (health.state === 'healthy' ? health : health.error.code)),
    ['full', { state: 'healthy', written: 1 }],
  );
});

test('an outage is told once, however many writes fail, and goes on until it is over', async () => {
  const { store, told, clock, fail, recover } = setUp();
  fail('all');
  for (let n = 0; n < 20; n += 1) await store.letters.park(sampleLetter(), undefined);
  await clock.advance(20 * RETRY_MS);
  assert.deepEqual([told.length, clock.pending], [1, 1]);
  await recover();
  assert.deepEqual([told.length, clock.pending], [2, 0]);
  assert.equal((await store.letters.list({ limit: 50 })).items.length, 20);
});

test('pages of letters on disk and in memory follow on from each other', async () => {
  const { store, fail } = setUp();
  const all = Array.from({ length: 30 }, (_, n) => sampleLetter({ parkedAt: NOW + n }));
  for (const [n, letter] of all.entries()) {
    fail(n % 3 === 0 ? 'writing' : 'none');
    await store.letters.park(letter, undefined);
  }
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.letters.list({ limit: 7, cursor });
    seen.push(...ids(page.items));
    cursor = page.next;
  } while (cursor !== undefined);
  assert.deepEqual(seen, all.map(({ id }) => id).reverse());
});

test('the same request in memory and on disk becomes one letter again, found by both ids', async () => {
  const { store, disk, fail, recover } = setUp();
  const first = sampleLetter();
  await store.letters.park(first, undefined);
  fail('writing');
  const second = sampleLetter({ key: first.key, reason: 'blocked' });
  await store.letters.park(second, undefined);
  const third = sampleLetter({ key: first.key, reason: 'slow' });
  assert.equal((await store.letters.park(third, undefined)).count, 2);
  await recover();
  const merged = await disk.letters.get(first.id);
  assert.deepEqual([merged?.count, merged?.reason], [3, 'slow']);
  assert.deepEqual(await store.letters.get(second.id), merged);
  assert.equal(await store.letters.claim(second.id, NOW), true);
});

test('nothing is redriven during an outage, and what is under redrive ends as it ended', async () => {
  const { store, disk, fail, recover } = setUp();
  const [claimed, due] = [sampleLetter({ dueAt: NOW }), sampleLetter({ dueAt: NOW })];
  await store.letters.park(claimed, undefined);
  await store.letters.park(due, undefined);
  await store.letters.claim(claimed.id, NOW);
  fail('writing');
  await store.letters.park(sampleLetter({ dueAt: NOW }), undefined);
  await assert.rejects(store.letters.due(NOW, 5), isCoded('full'));
  await assert.rejects(store.letters.nextDueAt(), isCoded('full'));
  await assert.rejects(store.letters.claim(due.id, NOW), isCoded('full'));
  const response = { status: 200, reason: 'OK', rawHeaders: [], body: sampleBody(20) };
  const outcome: Settlement = {
    ...SETTLED,
    to: 'done',
    response: { ...response, truncated: false, capBytes: 100, at: NOW },
  };
  assert.equal(await store.letters.settle(claimed.id, outcome), true);
  assert.equal((await disk.letters.get(claimed.id))?.state, 'redriving');
  await recover();
  assert.equal((await disk.letters.get(claimed.id))?.state, 'done');
  assert.deepEqual((await disk.letters.response(claimed.id))?.body, sampleBody(20));
  assert.equal((await store.letters.due(NOW, 5)).length, 2);
});

test('a success during an outage ends the letter on disk and the one in memory', async () => {
  const { store, disk, fail, recover } = setUp();
  const onDisk = sampleLetter();
  await store.letters.park(onDisk, undefined);
  fail('writing');
  const inMemory = sampleLetter();
  await store.letters.park(inMemory, undefined);
  assert.equal(await store.letters.close(inMemory.key, NOW), inMemory.id);
  await store.letters.close(onDisk.key, NOW);
  // And the same request that fails once more after its success is a letter of its own.
  const later = sampleLetter({ key: onDisk.key });
  await store.letters.park(later, undefined);
  await recover();
  assert.equal(await disk.letters.get(inMemory.id), undefined);
  assert.equal((await disk.letters.get(onDisk.id))?.state, 'done');
  assert.equal((await disk.letters.get(later.id))?.state, 'parked');
});

test('a success that comes while its letter is being written ends that letter too', async () => {
  const { store, disk, fail, clock } = setUp();
  fail('writing');
  const letters = Array.from({ length: 50 }, () => sampleLetter());
  for (const letter of letters) await store.letters.park(letter, undefined);
  fail('none');
  const written = clock.advance(RETRY_MS);
  for (const { key } of letters) {
    await Promise.resolve();
    await store.letters.close(key, NOW);
  }
  await written;
  const { items } = await disk.letters.list({ limit: 100 });
  assert.deepEqual(
    items.filter(({ state }) => state !== 'done'),
    [],
  );
  assert.equal(store.health.state, 'healthy');
});

test('dropping and sweeping reach the letters in memory', async () => {
  const { store, fail } = setUp();
  fail('all');
  const [one, old, kept] = [sampleLetter(), sampleLetter({ keepUntil: NOW }), sampleLetter()];
  for (const letter of [one, old, kept]) await store.letters.park(letter, undefined);
  assert.equal(await store.letters.drop([one.id]), 1);
  assert.equal(await store.letters.sweep(NOW), 1);
  assert.deepEqual(ids((await store.letters.list({ limit: 9 })).items), [kept.id]);
});

test('memory has bounds: what is beyond them is refused, and nothing that waits is lost', async () => {
  const { store, disk, fail, recover } = setUp({ maxLetters: 3, maxBytes: 1_000_000 });
  fail('all');
  const letters = Array.from({ length: 3 }, () => sampleLetter());
  for (const letter of letters) await store.letters.park(letter, undefined);
  await assert.rejects(store.letters.park(sampleLetter(), undefined), isCoded('no_room'));
  const rows = store.state.rows('sessions');
  for (const key of ['a', 'b', 'c']) await rows.put(key, key);
  await assert.rejects(rows.put('d', 'd'), isCoded('no_room'));
  await rows.put('a', 'again');
  await recover();
  assert.deepEqual(
    ids((await disk.letters.list({ limit: 9 })).items).sort(),
    ids(letters as never),
  );
  assert.equal((await disk.state.rows('sessions').entries()).length, 3);
});

test('state that the disk does not take is read back as it was saved, and written later', async () => {
  const { store, disk, fail, recover } = setUp();
  const rows = store.state.rows('sessions');
  await rows.put('kept', 1);
  await rows.put('gone', 1);
  await store.state.save('lanes', { rate: 1 });
  fail('writing');
  const lanes = { rate: 2 };
  await store.state.save('lanes', lanes);
  lanes.rate = 99;
  await rows.put('new', 2);
  await rows.delete('gone');
  const seen = async (from: Store) => [
    await from.state.load('lanes'),
    await from.state.rows('sessions').entries(),
  ];
  const expected = [
    { rate: 2 },
    [
      ['kept', 1],
      ['new', 2],
    ],
  ];
  assert.deepEqual(await seen(store), expected);
  await recover();
  assert.deepEqual(await seen(disk), expected);
  assert.deepEqual(await seen(store), expected);
});

test('what was written before an outage is never put over what came after', async () => {
  const { store, disk, fail, clock } = setUp();
  const rows = store.state.rows('sessions');
  for (let round = 0; round < 40; round += 1) {
    fail(round % 4 < 2 ? 'writing' : 'none');
    const winding = clock.advance(RETRY_MS / 2);
    await rows.put('s', round);
    await store.state.save('lanes', round);
    await winding;
    assert.deepEqual(await rows.entries(), [['s', round]]);
    assert.equal(await store.state.load('lanes'), round);
  }
  fail('none');
  await clock.advance(RETRY_MS);
  assert.deepEqual(await disk.state.rows('sessions').entries(), [['s', 39]]);
  assert.equal(await disk.state.load('lanes'), 39);
});

test('what comes while the rest is being written is written too, and after it', async () => {
  const { store, disk, fail, answerAfter, beginRecovery, recovered } = setUp();
  const rows = store.state.rows('sessions');
  const [parkedAgain, dropped, late] = [sampleLetter(), sampleLetter(), sampleLetter()];
  fail('writing');
  await store.letters.park(parkedAgain, undefined);
  await store.letters.park(dropped, undefined);
  await rows.put('s', 'old');
  await store.state.save('lanes', 'old');
  answerAfter(4);
  await beginRecovery();
  let gone = false;
  // By turns of the loop, until each write has been met half-way.
  for (let turn = 0; turn < 40; turn += 1) {
    if (turn === 3) await rows.put('s', 'new');
    if (turn === 6) await store.state.save('lanes', 'new');
    if (!gone && (await disk.letters.get(dropped.id))) {
      assert.equal(await store.letters.drop([dropped.id]), 1);
      gone = true;
    }
    if (turn === 20) await store.letters.park(late, undefined);
    await flush();
  }
  await store.letters.park(sampleLetter({ key: parkedAgain.key, reason: 'slow' }), undefined);
  await recovered();
  assert.deepEqual(await disk.state.rows('sessions').entries(), [['s', 'new']]);
  assert.equal(await disk.state.load('lanes'), 'new');
  assert.equal(await disk.letters.get(dropped.id), undefined);
  assert.ok(await disk.letters.get(late.id));
  const again = await disk.letters.get(parkedAgain.id);
  assert.deepEqual([again?.count, again?.reason], [2, 'slow']);
});

test('whatever fails when, in the end each request’s letter is as its last news were', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const { store, disk, fail, answerAfter, clock, recovered, beginRecovery } = setUp();
    const roll = seededRandom(seed);
    const below = (limit: number) => Math.floor(roll() * limit);
    const expected = new Map<string, string | undefined>();
    const rows = store.state.rows('sessions');
    answerAfter(1 + below(3));
    const about = async (key: string) => {
      for (let n = 0; n < 30; n += 1) {
        for (let turn = below(4); turn > 0; turn -= 1) await flush();
        for (let tick = below(6); tick > 0; tick -= 1) await Promise.resolve();
        const news = `${key} ${n}`;
        if (roll() < 0.5) {
          expected.set(key, news);
          await store.letters.park(sampleLetter({ key, reason: news }), undefined);
          await rows.put(key, news);
        } else {
          expected.set(key, undefined);
          await store.letters.close(key, NOW);
          await rows.delete(key);
        }
        await store.state.save(key, news);
      }
    };
    const disturb = async () => {
      for (let n = 0; n < 25; n += 1) {
        fail(roll() < 0.5 ? 'writing' : 'none');
        for (let turn = below(8); turn > 0; turn -= 1) await flush();
        await clock.advance(RETRY_MS / 2);
      }
    };
    await Promise.all([...['a', 'b', 'c', 'd'].map(about), disturb()]);
    await beginRecovery();
    await recovered();
    const open = (await disk.letters.list({ limit: 500 })).items.filter(
      (l) => l.state === 'parked',
    );
    const news = open.map(({ key, reason }) => [key, reason]).sort();
    const wanted = [...expected].filter(([, reason]) => reason !== undefined).sort();
    assert.deepEqual(news, wanted, `seed ${seed}`);
    assert.deepEqual(await disk.state.rows('sessions').entries(), wanted, `seed ${seed}`);
    for (const key of expected.keys()) assert.equal(await disk.state.load(key), `${key} 29`);
  }
});

test('an error of the caller is no outage', async () => {
  const { store, told } = setUp();
  const bad = sampleLetter({ dueAt: Number.NaN });
  await assert.rejects(store.letters.park(bad, undefined), isCoded('invalid'));
  await assert.rejects(store.letters.list({ limit: 1, cursor: '?' }), isCoded('bad_cursor'));
  assert.deepEqual(told, []);
});

test('closing writes what waits, if the disk takes it by then', async () => {
  const { store, disk, clock, fail } = setUp();
  fail('writing');
  const letter = sampleLetter();
  await store.letters.park(letter, undefined);
  fail('none');
  const written = disk.letters.get(letter.id);
  assert.equal(await written, undefined);
  let onDisk: Letter | undefined;
  const close = disk.close;
  disk.close = async () => {
    onDisk = await disk.letters.get(letter.id);
    await close();
  };
  await store.close();
  assert.equal(onDisk?.id, letter.id);
  assert.equal(clock.pending, 0);
});

test('closing while the disk is still full ends all the same', async () => {
  const { store, clock, fail } = setUp();
  fail('all');
  await store.letters.park(sampleLetter(), undefined);
  await store.close();
  assert.equal(clock.pending, 0);
});

test('a real file that is full is written as soon as there is room', async (t: TestContext) => {
  const file = join(folder, 'forbear.db');
  const inner = await openSqliteStore({ file, maxPages: 200 });
  const clock = new FakeClock();
  const told: StoreHealth['state'][] = [];
  const store = withFallback({
    inner,
    clock,
    bounds: { maxLetters: 100, maxBytes: 10_000_000 },
    retryMs: RETRY_MS,
    onHealth: ({ state }) => told.push(state),
  });
  t.after(() => store.close());
  const letters = Array.from({ length: 20 }, () => sampleLetter({ bodyBytes: 50_000 }));
  const parked = [];
  for (const letter of letters) parked.push(await store.letters.park(letter, sampleBody(50_000)));
  const durable = parked.filter(({ kept }) => kept === 'durable').map(({ id }) => id);
  assert.ok(durable.length > 2 && durable.length < 18, `${durable.length} durable`);
  assert.equal((await store.letters.list({ limit: 50 })).items.length, 20);
  for (const id of durable) assert.equal((await store.letters.body(id))?.byteLength, 50_000);
  assert.deepEqual(told, ['degraded']);
  // Somebody frees room on the disk: here by what is dropped.
  await store.letters.drop(durable);
  const over = new Promise<void>((resolve) => {
    const look = () =>
      store.health.state === 'healthy'
        ? resolve()
        : void clock.advance(RETRY_MS).then(() => setImmediate(look));
    look();
  });
  const waiting = parked.filter(({ kept }) => kept === 'memory').map(({ id }) => id);
  if (waiting.length > 14) await store.letters.drop(waiting.splice(14));
  await over;
  assert.deepEqual(told, ['degraded', 'healthy']);
  for (const id of waiting) assert.equal((await inner.letters.body(id))?.byteLength, 50_000);
});
