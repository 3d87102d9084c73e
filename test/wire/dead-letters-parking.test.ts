import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { events, letterOf, send, site } from '../support/letters.ts';
import { get, startProxy } from '../support/whole-proxy.ts';

const ONE_TRY = 'policy: { max_attempts: 1 }';

/** A site that is down until told otherwise. */
async function faulty(t: TestContext, headers: Record<string, string> = {}) {
  const state = { status: 503 };
  const world = await site(t, (_, response) => {
    response.writeHead(state.status, state.status === 200 ? {} : headers).end('the page');
  });
  return { ...world, state };
}

test('a request that was given up is on disk before its client hears of it, whole', async (t) => {
  const { url, authority } = await faulty(t);
  const { port, proxy } = await startProxy(t, [ONE_TRY]);
  const body = randomBytes(70_000);
  const got = await send(port, `${url}/a?b=c%20d`, {
    method: 'PUT',
    body,
    headers: { 'X-A': 'é' },
  });
  assert.equal(got.status, 503);
  assert.equal(got.body.toString(), 'the page');
  const letter = await proxy.deadLetters.get(letterOf(got));
  assert.equal(letter?.state, 'parked');
  assert.equal(letter.url, `${url}/a?b=c%20d`);
  assert.equal(letter.lane, authority);
  assert.deepEqual(
    [letter.reason, letter.stop, letter.fault],
    ['overloaded', 'attempts_exhausted', 'host'],
  );
  assert.ok(letter.rawHeaders.includes('é'));
  assert.equal(letter.attempts.length, 1);
  const [attempt] = letter.attempts;
  assert.equal(attempt?.status, 503);
  assert.match(attempt?.sentence ?? '', /503/);
  assert.ok((attempt?.sentBytes ?? 0) > 70_000);
  assert.equal(letter.dueAt - letter.parkedAt, 3_600_000);
  assert.deepEqual(Buffer.from((await proxy.deadLetters.body(letter.id)) ?? []), body);
});

test('a reply of our own names the letter in its body too', async (t) => {
  const { url, seen } = await faulty(t, { 'Retry-After': '3600' });
  const { port, proxy } = await startProxy(t, []);
  assert.equal((await get(port, `${url}/first`)).status, 503);
  // The lane is paused for an hour now: this one is never sent.
  const got = await get(port, `${url}/second`);
  assert.equal(got.status, 429);
  assert.equal(JSON.parse(got.body.toString()).dead_letter, letterOf(got));
  assert.equal(seen.length, 1);
  const letter = await proxy.deadLetters.get(letterOf(got));
  assert.equal(letter?.stop, 'lane_paused');
  assert.deepEqual(letter.attempts, []);
  assert.ok(Math.abs(letter.dueAt - letter.parkedAt - 3_600_000) < 5_000);
});

test('a POST that may have been executed waits for the consent of its client', async (t) => {
  const { url, seen, state } = await faulty(t);
  const { port, proxy } = await startProxy(t, []);
  const got = await send(port, `${url}/order`, { body: Buffer.from('one cake') });
  const id = letterOf(got);
  const letter = await proxy.deadLetters.get(id);
  assert.deepEqual([letter?.state, letter?.needs], ['needs_client', 'consent']);
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), {});
  state.status = 200;
  const { redrive } = proxy.deadLetters;
  assert.deepEqual(await redrive({ kind: 'ids', ids: [id], force: false }), { unsendable: 1 });
  assert.equal(seen.length, 1);
  assert.deepEqual(await redrive({ kind: 'ids', ids: [id], force: true }), { done: 1 });
  assert.equal(seen[1]?.body.toString(), 'one cake');
});

test('a POST that the site has refused unread is redriven like any other', async (t) => {
  const { url, state, seen } = await faulty(t, { 'Retry-After': '1' });
  const { port, proxy, told } = await startProxy(t, ['policy: { max_rate_waits: 0 }']);
  const got = await send(port, `${url}/order`, { body: Buffer.from('one cake') });
  assert.equal((await proxy.deadLetters.get(letterOf(got)))?.state, 'parked');
  state.status = 200;
  const [redriven] = await events({ proxy, told }, 'dead_letter_redriven');
  assert.equal(redriven?.outcome, 'done');
  assert.equal(seen.length, 2);
});

test('the same request parked twice is one letter, and its own later success closes it', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy, told } = await startProxy(t, [ONE_TRY]);
  const [first, second] = [await get(port, `${url}/a`), await get(port, `${url}/a`)];
  const other = await get(port, `${url}/b`);
  assert.equal(letterOf(first), letterOf(second));
  assert.notEqual(letterOf(first), letterOf(other));
  assert.equal((await proxy.deadLetters.get(letterOf(first)))?.count, 2);
  state.status = 200;
  const good = await get(port, `${url}/a`);
  assert.equal(good.status, 200);
  assert.equal(good.headers['forbear-dead-letter'], undefined);
  const [closed] = await events({ proxy, told }, 'dead_letter_closed');
  assert.equal(closed?.id, letterOf(first));
  assert.equal((await proxy.deadLetters.get(letterOf(first)))?.state, 'done');
  assert.equal((await proxy.deadLetters.get(letterOf(other)))?.state, 'parked');
});

test('a body that differs makes another letter, and closes only its own', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy, told } = await startProxy(t, [ONE_TRY]);
  const put = (text: string) => send(port, `${url}/a`, { method: 'PUT', body: Buffer.from(text) });
  const [one, two] = [await put('one'), await put('two')];
  assert.notEqual(letterOf(one), letterOf(two));
  state.status = 200;
  await put('two');
  const [closed] = await events({ proxy, told }, 'dead_letter_closed');
  assert.equal(closed?.id, letterOf(two));
  assert.equal((await proxy.deadLetters.get(letterOf(one)))?.state, 'parked');
});

test('what is no failure, or not to be retried, leaves no letter', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy } = await startProxy(t, [
    ONE_TRY,
    'targets: [{ match: "*/off", dead_letters: { enabled: false } }]',
  ]);
  const off = await get(port, `${url}/x`, { headers: { 'Forbear-Retry': 'off' } });
  assert.equal(off.headers['forbear-dead-letter'], undefined);
  assert.equal((await get(port, `${url}/off`)).headers['forbear-dead-letter'], undefined);
  state.status = 404;
  assert.equal((await get(port, `${url}/gone`)).headers['forbear-dead-letter'], undefined);
  const { items } = await proxy.deadLetters.list({ limit: 10 });
  assert.deepEqual(items, []);
});

test('a body too large to be kept leaves a letter that says so', async (t) => {
  const { url } = await faulty(t);
  const { port, proxy } = await startProxy(t, ['policy: { max_attempts: 1, replay_body: 1KiB }']);
  const got = await send(port, `${url}/up`, { method: 'PUT', body: randomBytes(300_000) });
  const letter = await proxy.deadLetters.get(letterOf(got));
  assert.deepEqual([letter?.state, letter?.needs, letter?.body], ['needs_client', 'body', 'lost']);
  assert.equal(letter?.bodyBytes, 300_000);
  const ids = [letterOf(got)];
  const summary = await proxy.deadLetters.redrive({ kind: 'ids', ids, force: true });
  assert.deepEqual(summary, { unsendable: 1 });
  // The same upload once more is the same letter.
  const again = await send(port, `${url}/up`, { method: 'PUT', body: randomBytes(300_000) });
  assert.equal(letterOf(again), letterOf(got));
});

test('credentials that must not be kept are blank at rest, and the letter needs its client', async (t) => {
  const { url } = await faulty(t);
  const lines = ['policy: { max_attempts: 1, dead_letters: { keep_secrets: false } }'];
  const { port, proxy } = await startProxy(t, lines);
  const headers = { Cookie: 'sid=hush', 'X-Api-Key': 'hush', 'X-Plain': 'seen' };
  const got = await get(port, `${url}/a?token=hush&page=2`, { headers });
  const letter = await proxy.deadLetters.get(letterOf(got));
  assert.ok(!JSON.stringify(letter).includes('hush'));
  assert.deepEqual([letter?.state, letter?.needs], ['needs_client', 'secrets']);
  assert.ok(letter?.rawHeaders.includes('seen'));
  const plain = await get(port, `${url}/b`);
  assert.equal((await proxy.deadLetters.get(letterOf(plain)))?.state, 'parked');
});
