import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Letter, NewLetter, Settlement } from '../src/store/letter.ts';
import { MAX_TRAIL } from '../src/store/letter.ts';
import { type LetterQuery, MAX_PAGE, type Store, StoreError } from '../src/store/store.ts';
import { HOUR, NOW, sampleAttempt, sampleBody, sampleLetter } from './store-sample.ts';

/** A store to be tested, and what only some stores can: to be closed and opened again with all that was in it. */
export interface Opened {
  readonly store: Store;
  /** What `park` promises. */
  readonly kept: 'durable' | 'memory';
  readonly reopen?: () => Promise<Store>;
}

const UNCHANGED = { at: NOW + 1, attempts: [], why: undefined, keepUntil: undefined } as const;

/** What every store must do, whatever it keeps its things in. */
export function storeContract(name: string, open: (t: TestContext) => Promise<Opened>): void {
  const opened = async (t: TestContext) => (await open(t)).store;

  describe(`${name}: letters`, () => {
    test('a parked letter comes back as it was, with its body', async (t) => {
      const { store, kept } = await open(t);
      const { letters } = store;
      const letter = sampleLetter({
        method: 'POST',
        bodyBytes: 70_000,
        session: 'caf\xe9 \u{1f36a}',
      });
      const body = sampleBody(70_000);
      assert.deepEqual(await letters.park(letter, body), { id: letter.id, count: 1, kept });
      assert.deepEqual(await letters.get(letter.id), {
        ...letter,
        updatedAt: NOW,
        body: 'kept',
        redrives: 0,
        response: undefined,
      });
      assert.deepEqual(bytesOf(await letters.body(letter.id)), bytesOf(body));
    });

    test('every latin1 character survives in fields and phrases', async (t) => {
      const { letters } = await opened(t);
      const all = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code));
      const letter = sampleLetter({ rawHeaders: [all, all], rawTrailers: [all, all] });
      await letters.park(letter, undefined);
      await letters.claim(letter.id, NOW);
      const response = reply({ reason: all, rawHeaders: [all, all] });
      await letters.settle(letter.id, { ...UNCHANGED, to: 'done', response });
      const back = await letters.get(letter.id);
      assert.deepEqual(back?.rawHeaders, [all, all]);
      assert.deepEqual(back?.rawTrailers, [all, all]);
      assert.equal(back?.response?.reason, all);
      assert.deepEqual(back?.response?.rawHeaders, [all, all]);
    });

    test('an empty body is not a lost one', async (t) => {
      const { letters } = await opened(t);
      const [empty, lost] = [sampleLetter(), sampleLetter({ bodyBytes: 9_000_000 })];
      await letters.park(empty, new Uint8Array());
      await letters.park(lost, undefined);
      assert.deepEqual(bytesOf(await letters.body(empty.id)), []);
      assert.equal(await letters.body(lost.id), undefined);
      assert.equal((await letters.get(lost.id))?.body, 'lost');
    });

    test('a body that is a view of a larger buffer is stored without its surroundings', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter({ bodyBytes: 3 });
      await letters.park(letter, Buffer.from('before-abc-after').subarray(7, 10));
      assert.equal(Buffer.from((await letters.body(letter.id)) ?? []).toString(), 'abc');
    });

    test('a body changed by its owner after the parking is stored as it was', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter({ bodyBytes: 3 });
      const body = Uint8Array.of(1, 2, 3);
      const parked = letters.park(letter, body);
      body.fill(0);
      await parked;
      assert.deepEqual(bytesOf(await letters.body(letter.id)), [1, 2, 3]);
    });

    test('there is nothing of a letter that does not exist', async (t) => {
      const { letters } = await opened(t);
      assert.equal(await letters.get('none'), undefined);
      assert.equal(await letters.body('none'), undefined);
      assert.equal(await letters.response('none'), undefined);
      assert.equal(await letters.claim('none', NOW), false);
      assert.equal(await letters.settle('none', { ...UNCHANGED, to: 'expired' }), false);
      assert.equal(await letters.close('none', NOW), undefined);
      assert.equal(await letters.drop(['none', 'nor this']), 0);
    });

    test('a time that is none is refused, and harms no other letter', async (t) => {
      const { letters } = await opened(t);
      const good = sampleLetter();
      const [bad, kept] = await Promise.allSettled([
        letters.park(sampleLetter({ dueAt: Number.NaN }), undefined),
        letters.park(good, undefined),
      ]);
      assert.equal(bad.status === 'rejected' && bad.reason.code, 'invalid');
      assert.equal(kept.status, 'fulfilled');
      assert.ok(await letters.get(good.id));
    });
  });

  describe(`${name}: the same request again`, () => {
    test('while its letter is open it is the same letter, with the newest of everything', async (t) => {
      const { letters } = await opened(t);
      const first = sampleLetter({ bodyBytes: 1 });
      await letters.park(first, Uint8Array.of(1));
      const again = sampleLetter({
        key: first.key,
        parkedAt: NOW + 5000,
        dueAt: NOW + 9000,
        keepUntil: NOW + 99_000,
        reason: 'blocked',
        fault: 'route',
        stop: undefined,
        rawHeaders: ['Cookie', 'new'],
        attempts: [sampleAttempt({ n: 1, reason: 'blocked', status: undefined })],
        bodyBytes: 2,
      });
      const parked = await letters.park(again, Uint8Array.of(2, 2));
      assert.deepEqual([parked.id, parked.count], [first.id, 2]);
      assert.deepEqual(await letters.get(first.id), {
        ...again,
        id: first.id,
        count: 2,
        parkedAt: NOW,
        updatedAt: NOW + 5000,
        body: 'kept',
        redrives: 0,
        response: undefined,
      });
      assert.equal(await letters.get(again.id), undefined);
      assert.deepEqual(bytesOf(await letters.body(first.id)), [2, 2]);
    });

    test('at the same time from many sides it is still one letter', async (t) => {
      const { letters } = await opened(t);
      const requests = Array.from({ length: 50 }, () => sampleLetter({ key: 'one key' }));
      const parked = await Promise.all(requests.map((letter) => letters.park(letter, undefined)));
      assert.equal(new Set(parked.map(({ id }) => id)).size, 1);
      assert.equal((await letters.get(parked[0]?.id ?? ''))?.count, 50);
    });

    test('that comes without its body replaces the body too', async (t) => {
      const { letters } = await opened(t);
      const first = sampleLetter({ bodyBytes: 1 });
      await letters.park(first, Uint8Array.of(1));
      const again = sampleLetter({ key: first.key, state: 'needs_client' });
      await letters.park(again, undefined);
      assert.equal(await letters.body(first.id), undefined);
      assert.equal((await letters.get(first.id))?.state, 'needs_client');
    });

    test('while its letter is being redriven leaves it so', async (t) => {
      const { letters } = await opened(t);
      const first = sampleLetter();
      await letters.park(first, undefined);
      await letters.claim(first.id, NOW);
      await letters.park(sampleLetter({ key: first.key }), undefined);
      assert.equal((await letters.get(first.id))?.state, 'redriving');
      assert.equal(await letters.claim(first.id, NOW), false);
    });

    test('after its letter is over it is a new letter', async (t) => {
      const { letters } = await opened(t);
      const first = sampleLetter();
      await letters.park(first, undefined);
      await letters.close(first.key, NOW);
      const second = sampleLetter({ key: first.key });
      const { id, count } = await letters.park(second, undefined);
      assert.deepEqual([id, count], [second.id, 1]);
      assert.equal((await letters.get(first.id))?.state, 'done');
    });

    test('the same id again is the same parking, not a second request', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter();
      await letters.park(letter, undefined);
      assert.equal((await letters.park(letter, undefined)).count, 1);
      await letters.close(letter.key, NOW);
      assert.equal((await letters.park(letter, undefined)).id, letter.id);
      assert.equal((await letters.get(letter.id))?.state, 'done');
    });
  });

  describe(`${name}: redrives`, () => {
    test('a letter is claimed by one of many', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter();
      await letters.park(letter, undefined);
      const claims = await Promise.all(
        Array.from({ length: 20 }, () => letters.claim(letter.id, NOW + 7)),
      );
      assert.equal(claims.filter(Boolean).length, 1);
      const claimed = await letters.get(letter.id);
      assert.deepEqual([claimed?.state, claimed?.updatedAt], ['redriving', NOW + 7]);
    });

    test('a good reply is stored with it, up to the cap', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter();
      await letters.park(letter, undefined);
      await letters.claim(letter.id, NOW);
      const response = reply({ body: sampleBody(5000), capBytes: 1000 });
      const tries = [sampleAttempt({ n: 2, status: 200 })];
      const outcome: Settlement = {
        ...UNCHANGED,
        to: 'done',
        attempts: tries,
        why: { reason: 'ok', stop: undefined, fault: 'none' },
        keepUntil: NOW + 30 * HOUR,
        response,
      };
      assert.equal(await letters.settle(letter.id, outcome), true);
      const { body, capBytes, ...meta } = response;
      const stored = { ...meta, bytes: 1000, truncated: true };
      const done = await letters.get(letter.id);
      assert.deepEqual(done?.response, stored);
      assert.deepEqual(
        [done?.state, done?.reason, done?.stop, done?.fault, done?.keepUntil, done?.updatedAt],
        ['done', 'ok', undefined, 'none', NOW + 30 * HOUR, NOW + 1],
      );
      assert.deepEqual(done?.attempts, [...letter.attempts, ...tries]);
      const got = await letters.response(letter.id);
      assert.deepEqual(bytesOf(got?.body), bytesOf(body.subarray(0, 1000)));
      assert.equal(got?.truncated, true);
    });

    test('a reply that fits its cap is whole, an empty one too', async (t) => {
      const { letters } = await opened(t);
      for (const size of [0, 1000]) {
        const letter = sampleLetter();
        await letters.park(letter, undefined);
        await letters.claim(letter.id, NOW);
        const response = reply({ body: sampleBody(size), capBytes: 1000 });
        await letters.settle(letter.id, { ...UNCHANGED, to: 'done', response });
        const got = await letters.response(letter.id);
        assert.deepEqual([got?.body.byteLength, got?.bytes, got?.truncated], [size, size, false]);
      }
    });

    test('one that did not work out is parked again and counted', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter();
      await letters.park(letter, undefined);
      await letters.claim(letter.id, NOW);
      await letters.settle(letter.id, { ...UNCHANGED, to: 'parked', dueAt: NOW + 2 * HOUR });
      const back = await letters.get(letter.id);
      assert.deepEqual(
        [back?.state, back?.dueAt, back?.redrives, back?.reason, back?.keepUntil],
        ['parked', NOW + 2 * HOUR, 1, letter.reason, letter.keepUntil],
      );
      assert.equal(await letters.claim(letter.id, NOW), true);
    });

    test('ends once, whatever the end', async (t) => {
      const { letters } = await opened(t);
      for (const to of ['expired', 'needs_client'] as const) {
        const letter = sampleLetter();
        await letters.park(letter, undefined);
        assert.equal(await letters.settle(letter.id, { ...UNCHANGED, to }), false);
        await letters.claim(letter.id, NOW);
        assert.equal(await letters.settle(letter.id, { ...UNCHANGED, to }), true);
        assert.equal((await letters.get(letter.id))?.state, to);
        assert.equal(await letters.settle(letter.id, { ...UNCHANGED, to }), false);
      }
    });

    test('after a crash needs what was said when it began, and what it needs is told', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter();
      await letters.park(letter, undefined);
      assert.equal(await letters.claim(letter.id, NOW, 'consent'), true);
      assert.equal((await letters.get(letter.id))?.needs, 'consent');
      await letters.settle(letter.id, { ...UNCHANGED, to: 'needs_client', needs: 'session' });
      assert.equal((await letters.get(letter.id))?.needs, 'session');
      await letters.claim(letter.id, NOW);
      await letters.settle(letter.id, {
        ...UNCHANGED,
        to: 'parked',
        dueAt: NOW + HOUR,
        unsent: true,
      });
      const back = await letters.get(letter.id);
      assert.deepEqual([back?.state, back?.needs, back?.redrives], ['parked', undefined, 0]);
    });

    test('is put off with the others of its host that are due earlier', async (t) => {
      const { letters } = await opened(t);
      const early = Array.from({ length: 1_100 }, () => sampleLetter());
      const late = sampleLetter({ dueAt: NOW + 3 * HOUR });
      const elsewhere = sampleLetter({ host: 'else.test' });
      for (const letter of [...early, late, elsewhere]) await letters.park(letter, undefined);
      assert.equal(await letters.putOff('shop.test', NOW + 2 * HOUR + 0.5), early.length);
      assert.equal((await letters.get(early[7]?.id ?? ''))?.dueAt, NOW + 2 * HOUR + 0.5);
      assert.equal((await letters.get(late.id))?.dueAt, NOW + 3 * HOUR);
      assert.deepEqual(
        (await letters.due(NOW + HOUR, 10)).map(({ id }) => id),
        [elsewhere.id],
      );
      assert.equal((await letters.due(NOW + 2 * HOUR + 1, 2_000)).length, early.length + 1);
    });

    test('has its key among the open ones until it is over', async (t) => {
      const { letters } = await opened(t);
      const [over, waiting, redriving] = [
        sampleLetter(),
        sampleLetter({ state: 'needs_client' }),
        sampleLetter(),
      ];
      for (const letter of [over, waiting, redriving]) await letters.park(letter, undefined);
      await letters.close(over.key, NOW);
      await letters.claim(redriving.id, NOW);
      const keys: string[] = [];
      for await (const some of letters.openKeys()) keys.push(...some);
      assert.deepEqual(keys.toSorted(), [waiting.key, redriving.key].toSorted());
    });

    test('a success of the same request meanwhile is the end of it', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter();
      await letters.park(letter, undefined);
      await letters.claim(letter.id, NOW);
      assert.equal(await letters.close(letter.key, NOW + 3), letter.id);
      assert.equal(await letters.close(letter.key, NOW + 3), undefined);
      assert.equal(await letters.settle(letter.id, { ...UNCHANGED, to: 'expired' }), false);
      assert.equal((await letters.get(letter.id))?.state, 'done');
      assert.equal(await letters.response(letter.id), undefined);
    });

    test('a trail does not grow for ever', async (t) => {
      const { letters } = await opened(t);
      const letter = sampleLetter();
      await letters.park(letter, undefined);
      for (let round = 0; round < 5; round += 1) {
        await letters.claim(letter.id, NOW);
        const attempts = Array.from({ length: 30 }, (_, n) => sampleAttempt({ n: round * 30 + n }));
        await letters.settle(letter.id, { ...UNCHANGED, to: 'parked', dueAt: NOW, attempts });
      }
      const trail = (await letters.get(letter.id))?.attempts;
      assert.deepEqual([trail?.length, trail?.at(-1)?.n], [MAX_TRAIL, 149]);
    });

    test('those due are spread over the hosts, the longest due first', async (t) => {
      const { letters } = await opened(t);
      const at = (host: string, dueAt: number) => sampleLetter({ host, lane: host, dueAt });
      const many = Array.from({ length: 30 }, (_, n) => at('big.test', NOW - 900 + n));
      const few = [at('b.test', NOW - 10), at('a.test', NOW - 20), at('a.test', NOW)];
      const rest = [
        at('late.test', NOW + 1),
        { ...at('c.test', NOW - 999), state: 'needs_client' },
      ];
      for (const letter of [...many, ...few, ...rest] as NewLetter[]) {
        await letters.park(letter, undefined);
      }
      const due = await letters.due(NOW, 6);
      assert.deepEqual(
        due.map(({ host, dueAt }) => [host, dueAt - NOW]),
        [
          ['big.test', -900],
          ['a.test', -20],
          ['b.test', -10],
          ['big.test', -899],
          ['a.test', 0],
          ['big.test', -898],
        ],
      );
      assert.equal((await letters.due(NOW, 100)).length, 33);
      assert.deepEqual(await letters.due(NOW - 1000, 100), []);
    });

    test('a host that was left out is asked first the next time', async (t) => {
      const { letters } = await opened(t);
      const hosts = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test'];
      for (const [n, host] of hosts.entries()) {
        await letters.park(sampleLetter({ host, dueAt: NOW - 100 + n }), undefined);
      }
      const asked = async () => (await letters.due(NOW, 2)).map(({ host }) => host);
      assert.deepEqual(await asked(), ['a.test', 'b.test']);
      assert.deepEqual(await asked(), ['c.test', 'd.test']);
    });

    test('no more than one host with thousands of letters is in nobody’s way', async (t) => {
      const { letters } = await opened(t);
      const big = Array.from({ length: 1500 }, (_, n) =>
        letters.park(sampleLetter({ host: 'm.test', dueAt: NOW - 9000 + n }), undefined),
      );
      const small = ['a.test', 'z.test'].map((host) =>
        letters.park(sampleLetter({ host, dueAt: NOW - 1 }), undefined),
      );
      await Promise.all([...big, ...small]);
      const hosts = (await letters.due(NOW, 3)).map(({ host }) => host);
      assert.deepEqual(hosts.toSorted(), ['a.test', 'm.test', 'z.test']);
    });

    test('the next one is known', async (t) => {
      const { letters } = await opened(t);
      assert.equal(await letters.nextDueAt(), undefined);
      const [soon, later] = [sampleLetter({ dueAt: NOW + 5.5 }), sampleLetter({ dueAt: NOW + 9 })];
      await letters.park(later, undefined);
      await letters.park(soon, undefined);
      assert.equal(await letters.nextDueAt(), NOW + 5.5);
      await letters.claim(soon.id, NOW);
      assert.equal(await letters.nextDueAt(), NOW + 9);
    });
  });

  describe(`${name}: lists`, () => {
    test('are newest first, and every page goes on where the last one ended', async (t) => {
      const { letters } = await opened(t);
      const parked: NewLetter[] = [];
      // Three of each instant, fractions of a millisecond included.
      for (let n = 0; n < 24; n += 1) {
        parked.push(sampleLetter({ parkedAt: NOW + Math.floor(n / 3) + 0.25 }));
      }
      await Promise.all(parked.map((letter) => letters.park(letter, undefined)));
      const seen: Letter[] = [];
      let cursor: string | undefined;
      do {
        const page = await letters.list({ limit: 5, cursor });
        assert.ok(page.items.length > 0);
        seen.push(...page.items);
        cursor = page.next;
        // One that comes meanwhile is newer, and moves nothing.
        await letters.park(sampleLetter({ parkedAt: NOW + 1000 }), undefined);
      } while (cursor !== undefined);
      const expected = parked.toSorted((a, b) => b.parkedAt - a.parkedAt || (a.id < b.id ? 1 : -1));
      assert.deepEqual(
        seen.map(({ id }) => id),
        expected.map(({ id }) => id),
      );
    });

    test('hold what every condition allows, and nothing else', async (t) => {
      const { letters } = await opened(t);
      const hosts = ['a.test', 'b.test'];
      const all: NewLetter[] = [];
      for (let n = 0; n < 60; n += 1) {
        const host = hosts[n % 2] ?? '';
        const letter = sampleLetter({
          parkedAt: NOW + n,
          host,
          lane: n % 3 === 0 ? `${host}/search` : host,
          reason: n % 5 === 0 ? 'blocked' : 'overloaded',
          session: n % 4 === 0 ? `s${n % 8}` : undefined,
          state: n % 7 === 0 ? 'needs_client' : 'parked',
        });
        all.push(letter);
        await letters.park(letter, undefined);
      }
      const queries: Omit<LetterQuery, 'limit'>[] = [
        {},
        { state: 'parked' },
        { state: 'done' },
        { lane: 'a.test/search' },
        { host: 'b.test' },
        { reason: 'blocked' },
        { session: 's4' },
        { olderThan: NOW + 10 },
        { newerThan: NOW + 50 },
        { olderThan: NOW + 30, newerThan: NOW + 10 },
        { lane: 'a.test', state: 'needs_client' },
        { host: 'a.test', reason: 'blocked', olderThan: NOW + 40 },
        { lane: 'a.test', host: 'b.test' },
        { state: 'parked', lane: 'a.test', host: 'a.test', reason: 'overloaded', session: 's0' },
      ];
      for (const query of queries) {
        const { items, next } = await letters.list({ ...query, limit: 100 });
        const expected = all
          .filter((l) => query.state === undefined || l.state === query.state)
          .filter((l) => query.lane === undefined || l.lane === query.lane)
          .filter((l) => query.host === undefined || l.host === query.host)
          .filter((l) => query.reason === undefined || l.reason === query.reason)
          .filter((l) => query.session === undefined || l.session === query.session)
          .filter((l) => query.olderThan === undefined || l.parkedAt < query.olderThan)
          .filter((l) => query.newerThan === undefined || l.parkedAt > query.newerThan);
        const note = JSON.stringify(query);
        assert.deepEqual(
          items.map(({ id }) => id),
          expected.reverse().map(({ id }) => id),
          note,
        );
        assert.equal(next, undefined, note);
      }
    });

    test('have bounds of their own', async (t) => {
      const { letters } = await opened(t);
      const parked = Array.from({ length: MAX_PAGE + 1 }, () =>
        letters.park(sampleLetter(), undefined),
      );
      await Promise.all(parked);
      for (const [limit, length] of [
        [0, 1],
        [-3, 1],
        [Number.NaN, 1],
        [2.9, 2],
        [1e9, MAX_PAGE],
      ]) {
        assert.equal((await letters.list({ limit: limit as number })).items.length, length);
      }
    });

    test('refuse a cursor that is none', async (t) => {
      const { letters } = await opened(t);
      for (const cursor of ['', 'nonsense', Buffer.from('[1]').toString('base64url')]) {
        await assert.rejects(letters.list({ limit: 5, cursor }), isCoded('bad_cursor'));
      }
    });

    test('are counted by lane and state', async (t) => {
      const { letters } = await opened(t);
      assert.deepEqual(await letters.counts(), []);
      const [one, two, three, four] = [
        sampleLetter({ lane: 'a.test' }),
        sampleLetter({ lane: 'a.test' }),
        sampleLetter({ lane: 'b.test', state: 'needs_client' }),
        sampleLetter({ lane: 'b.test' }),
      ];
      for (const letter of [one, two, three, four]) await letters.park(letter, undefined);
      await letters.park(sampleLetter({ key: two.key, lane: 'c.test' }), undefined);
      await letters.claim(one.id, NOW);
      await letters.drop([four.id]);
      const counts = (await letters.counts()).map(({ lane, state, letters }) => [
        lane,
        state,
        letters,
      ]);
      assert.deepEqual(counts.sort(), [
        ['a.test', 'redriving', 1],
        ['b.test', 'needs_client', 1],
        ['c.test', 'parked', 1],
      ]);
    });
  });

  describe(`${name}: the end of letters`, () => {
    test('dropping removes a letter with its body, and frees its key', async (t) => {
      const { letters } = await opened(t);
      const [one, two] = [sampleLetter({ bodyBytes: 5 }), sampleLetter()];
      await letters.park(one, sampleBody(5));
      await letters.park(two, undefined);
      await letters.claim(one.id, NOW);
      assert.equal(await letters.drop([one.id, one.id, 'none']), 1);
      assert.equal(await letters.get(one.id), undefined);
      assert.equal(await letters.body(one.id), undefined);
      assert.equal(await letters.settle(one.id, { ...UNCHANGED, to: 'expired' }), false);
      const again = sampleLetter({ key: one.key });
      assert.equal((await letters.park(again, undefined)).id, again.id);
      assert.ok(await letters.get(two.id));
    });

    test('sweeping removes what was kept long enough, but nothing under redrive', async (t) => {
      const { letters } = await opened(t);
      const old = Array.from({ length: 1100 }, () => sampleLetter({ keepUntil: NOW }));
      const busy = sampleLetter({ keepUntil: NOW - 1 });
      const young = sampleLetter({ keepUntil: NOW + 0.5 });
      const letterList = [...old, busy, young];
      await Promise.all(letterList.map((letter) => letters.park(letter, sampleBody(10))));
      await letters.claim(busy.id, NOW);
      assert.equal(await letters.sweep(NOW), 1100);
      assert.equal(await letters.sweep(NOW), 0);
      const left = (await letters.list({ limit: 10 })).items.map(({ id }) => id);
      assert.deepEqual(left.toSorted(), [busy.id, young.id].toSorted());
    });
  });

  describe(`${name}: state`, () => {
    test('a document is what was saved last', async (t) => {
      const { state } = await opened(t);
      assert.equal(await state.load('lanes'), undefined);
      const value = {
        lanes: [{ id: 'a.test', rate: 1.5, paused: null }],
        'odd "name"': 'é \u{1f36a} \0',
      };
      await state.save('lanes', { first: true });
      await state.save('lanes', value);
      await state.save('routes', null);
      assert.deepEqual(await state.load('lanes'), value);
      assert.equal(await state.load('routes'), null);
    });

    test('rows are put, replaced and deleted one by one, and read in the order of their keys', async (t) => {
      const { state } = await opened(t);
      const rows = state.rows('sessions');
      assert.deepEqual(await rows.entries(), []);
      const keys = ['b', 'a', '\u{1f36a}', 'é', '\uffff', 'gone', ''];
      for (const key of keys) await rows.put(key, { route: key });
      await rows.put('a', { route: 'another' });
      await rows.delete('gone');
      await rows.delete('never there');
      await state.rows('other').put('a', 1);
      assert.deepEqual(await state.rows('sessions').entries(), [
        ['', { route: '' }],
        ['a', { route: 'another' }],
        ['b', { route: 'b' }],
        ['é', { route: 'é' }],
        ['\uffff', { route: '\uffff' }],
        ['\u{1f36a}', { route: '\u{1f36a}' }],
      ]);
      assert.deepEqual(await state.rows('other').entries(), [['a', 1]]);
    });

    test('thousands of rows are all read', async (t) => {
      const { state } = await opened(t);
      const rows = state.rows('sessions');
      const keys = Array.from({ length: 2000 }, (_, n) => `s${String(n).padStart(5, '0')}`);
      await Promise.all(keys.map((key) => rows.put(key, key)));
      assert.deepEqual(
        await rows.entries(),
        keys.map((key) => [key, key]),
      );
    });
  });

  describe(`${name}: closing`, () => {
    test('what was asked before is done, what is asked after is refused', async (t) => {
      const { store } = await open(t);
      const before = store.letters.park(sampleLetter(), undefined);
      const closing = store.close();
      await Promise.all([before, closing, store.close()]);
      for (const late of [
        () => store.letters.park(sampleLetter(), undefined),
        () => store.letters.list({ limit: 1 }),
        () => store.state.save('lanes', 1),
        () => store.state.rows('sessions').put('a', 1),
      ]) {
        await assert.rejects(late, isCoded('closed'));
      }
    });

    test('and opening again finds everything, and puts interrupted redrives back', async (t) => {
      const { store, reopen } = await open(t);
      if (!reopen) return;
      const [parked, claimed, asked] = [
        sampleLetter({ bodyBytes: 300_000 }),
        sampleLetter(),
        sampleLetter({ state: 'needs_client' }),
      ];
      for (const letter of [parked, claimed, asked]) {
        await store.letters.park(letter, sampleBody(letter.bodyBytes));
      }
      await store.letters.claim(claimed.id, NOW);
      await store.letters.claim(asked.id, NOW);
      await store.state.save('lanes', { rate: 2 });
      await store.state.rows('sessions').put('s1', { route: 'r1' });
      const before = await store.letters.get(parked.id);
      await store.close();

      const again = await reopen();
      assert.equal(again.recovered, 2);
      assert.deepEqual(await again.letters.get(parked.id), before);
      assert.deepEqual(bytesOf(await again.letters.body(parked.id)), bytesOf(sampleBody(300_000)));
      assert.equal((await again.letters.get(claimed.id))?.state, 'parked');
      assert.equal((await again.letters.get(asked.id))?.state, 'needs_client');
      assert.deepEqual(await again.state.load('lanes'), { rate: 2 });
      assert.deepEqual(await again.state.rows('sessions').entries(), [['s1', { route: 'r1' }]]);
      assert.equal(
        (await again.letters.park(sampleLetter({ key: parked.key }), undefined)).count,
        2,
      );
    });
  });
}

/** Whether an error is a `StoreError` with this code. */
export function isCoded(code: StoreError['code']) {
  return (error: unknown) => error instanceof StoreError && error.code === code;
}

function reply(
  changes: Partial<NonNullable<Extract<Settlement, { to: 'done' }>['response']>> = {},
) {
  return {
    status: 200,
    reason: 'OK',
    rawHeaders: ['Content-Type', 'text/html'],
    body: sampleBody(10),
    truncated: false,
    capBytes: 1_000_000,
    at: NOW + 4,
    ...changes,
  };
}

const bytesOf = (bytes: Uint8Array | undefined): number[] => [...(bytes ?? [])];
