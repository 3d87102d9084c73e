import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { events, letterOf, type Seen, send, site } from '../support/letters.ts';
import { get, startProxy } from '../support/whole-proxy.ts';

const page = (response: ServerResponse, status: number) => response.writeHead(status).end('page');

/** A site that is down until told otherwise. */
async function faulty(t: TestContext) {
  const state = {
    status: 503,
    answer: page as (r: ServerResponse, status: number, s: Seen) => void,
  };
  const world = await site(t, (seen, response) => state.answer(response, state.status, seen));
  return { ...world, state };
}

const policy = (deadLetters: string, more = '') =>
  `policy: { max_attempts: 1, ${more} dead_letters: { ${deadLetters} } }`;

test('the first letter of a host tries it alone: when it fails, the others are put off untried', async (t) => {
  const { url, seen } = await faulty(t);
  const { port, proxy } = await startProxy(t, [policy('cooldown: 1h')]);
  for (const n of [1, 2, 3, 4]) await get(port, `${url}/${n}`);
  assert.equal(seen.length, 4);
  const summary = await proxy.deadLetters.redrive({ kind: 'all' });
  assert.deepEqual(summary, { parked: 1, put_off: 3 });
  assert.equal(seen.length, 5);
  const { items } = await proxy.deadLetters.list({ limit: 10 });
  assert.deepEqual(items.map(({ redrives }) => redrives).sort(), [0, 0, 0, 1]);
});

test('a host that is away does not hold up the letters of another', async (t) => {
  const [down, up] = [await faulty(t), await faulty(t)];
  const { port, proxy } = await startProxy(t, [policy('cooldown: 1h')]);
  for (const n of [1, 2]) {
    await get(port, `${down.url}/${n}`);
    await get(port, `${up.url}/${n}`);
  }
  up.state.status = 200;
  const summary = await proxy.deadLetters.redrive({ kind: 'all' });
  assert.deepEqual(summary, { parked: 1, put_off: 1, done: 2 });
});

test('what fails too often by itself expires, and its trail tells every try', async (t) => {
  const { url, seen } = await faulty(t);
  const lines = [policy('cooldown: 30ms, max_redrives: 2', 'breaker: { consecutive: 100 },')];
  const whole = await startProxy(t, lines);
  const id = letterOf(await get(whole.port, `${url}/a`));
  const [first, second] = await events(whole, 'dead_letter_redriven', 2);
  assert.deepEqual([first?.outcome, second?.outcome], ['parked', 'expired']);
  const letter = await whole.proxy.deadLetters.get(id);
  assert.equal(letter?.state, 'expired');
  assert.equal(letter.attempts.length, 3);
  assert.equal(seen.length, 3);
});

test('a failing redrive parks no second letter', async (t) => {
  const { url } = await faulty(t);
  const { port, proxy, told } = await startProxy(t, [policy('cooldown: 1h')]);
  await get(port, `${url}/a`);
  await proxy.deadLetters.redrive({ kind: 'all' });
  assert.equal(told('dead_letter_parked').length, 1);
  const { items } = await proxy.deadLetters.list({ limit: 10 });
  assert.deepEqual(
    items.map(({ count }) => count),
    [1],
  );
});

test('an answer that is no good page ends the letter too, and is kept', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy } = await startProxy(t, [policy('cooldown: 1h')]);
  const id = letterOf(await get(port, `${url}/a`));
  state.status = 404;
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), { done: 1 });
  const letter = await proxy.deadLetters.get(id);
  assert.deepEqual([letter?.reason, letter?.response?.status], ['not_found', 404]);
});

test('credentials that the site does not take any more are left to the client', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy } = await startProxy(t, [policy('cooldown: 1h')]);
  const id = letterOf(await get(port, `${url}/a`, { headers: { Authorization: 'Bearer old' } }));
  state.status = 401;
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), { needs_client: 1 });
  assert.equal((await proxy.deadLetters.get(id))?.needs, 'credentials');
});

test('a reply longer than may be stored is cut, and says so', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy } = await startProxy(t, [policy('cooldown: 1h, max_response: 1KiB')]);
  const id = letterOf(await get(port, `${url}/a`));
  state.answer = (response) => response.end(Buffer.alloc(3_000_000, 7));
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), { done: 1 });
  const response = await proxy.deadLetters.response(id);
  assert.deepEqual([response?.bytes, response?.truncated], [1024, true]);
  assert.deepEqual(Buffer.from(response?.body ?? []), Buffer.alloc(1024, 7));
});

test('a reply that breaks off is no success', async (t) => {
  const { url, state } = await faulty(t);
  const lines = [policy('cooldown: 1h', 'resume_downloads: false, inspect: { hold: 1KiB },')];
  const { port, proxy } = await startProxy(t, lines);
  const id = letterOf(await get(port, `${url}/a`));
  state.answer = (response) => {
    response.writeHead(200, { 'Content-Length': '5000000', 'Content-Type': 'image/png' });
    response.write(Buffer.alloc(200_000), () => response.destroy());
  };
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), { parked: 1 });
  assert.equal((await proxy.deadLetters.get(id))?.redrives, 1);
});

test('a letter that is being sent is not sent twice, and one that its client closes stays closed', async (t) => {
  const { url, state, seen } = await faulty(t);
  const whole = await startProxy(t, [policy('cooldown: 1h')]);
  const { port, proxy } = whole;
  // A lane that is known to be well does not wait for each answer.
  state.status = 200;
  for (const n of [1, 2, 3]) await get(port, `${url}/${n}`);
  state.status = 503;
  const id = letterOf(await get(port, `${url}/a`));
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<ServerResponse>();
  state.answer = (response) => onAsked(response);
  const ids = { kind: 'ids', ids: [id], force: false } as const;
  const first = proxy.deadLetters.redrive(ids);
  const held = await asked;
  assert.equal((await proxy.deadLetters.get(id))?.state, 'redriving');
  assert.deepEqual(await proxy.deadLetters.redrive(ids), { busy: 1 });
  state.answer = page;
  state.status = 200;
  await get(port, `${url}/a`);
  await events(whole, 'dead_letter_closed');
  page(held, 503);
  assert.deepEqual(await first, { busy: 1 });
  assert.equal((await proxy.deadLetters.get(id))?.state, 'done');
  assert.equal(seen.length, 6);
});

test('stopping ends a redrive under way, and its letter is parked as before', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy } = await startProxy(t, [policy('cooldown: 1h')]);
  const id = letterOf(await get(port, `${url}/a`));
  const due = (await proxy.deadLetters.get(id))?.dueAt;
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>();
  state.answer = () => onAsked();
  const redriving = proxy.deadLetters.redrive({ kind: 'all' });
  await asked;
  await proxy.drain();
  assert.deepEqual(await redriving, { interrupted: 1 });
  const letter = await proxy.deadLetters.get(id);
  assert.deepEqual([letter?.state, letter?.redrives, letter?.dueAt], ['parked', 0, due]);
});

test('a POST whose redrive is cut off by stopping is not sent again by itself', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy } = await startProxy(t, [policy('cooldown: 1h', 'max_rate_waits: 0,')]);
  state.answer = (response) => response.writeHead(503, { 'Retry-After': '1' }).end();
  const id = letterOf(await send(port, `${url}/order`, { body: Buffer.from('one cake') }));
  assert.equal((await proxy.deadLetters.get(id))?.state, 'parked');
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>();
  state.answer = () => onAsked();
  const redriving = proxy.deadLetters.redrive({ kind: 'all' });
  await asked;
  await proxy.drain();
  await redriving;
  const letter = await proxy.deadLetters.get(id);
  assert.deepEqual([letter?.state, letter?.needs], ['needs_client', 'consent']);
});

test('within its time the same request of the same user gets the reply that its redrive brought', async (t) => {
  const { url, state, seen } = await faulty(t);
  const { port, proxy } = await startProxy(t, [policy('cooldown: 1h, serve_redriven: 10m')]);
  const headers = { Cookie: 'sid=1' };
  const id = letterOf(await get(port, `${url}/a`, { headers }));
  state.status = 200;
  await proxy.deadLetters.redrive({ kind: 'all' });
  assert.equal(seen.length, 2);
  const served = await get(port, `${url}/a`, { headers });
  assert.deepEqual([served.status, served.body.toString()], [200, 'page']);
  assert.equal(served.headers['forbear-source'], 'dead-letter');
  assert.equal(served.headers['forbear-dead-letter'], id);
  assert.equal(served.headers['forbear-attempts'], '0');
  assert.equal(seen.length, 2);
  const other = await get(port, `${url}/a`, { headers: { Cookie: 'sid=2' } });
  assert.equal(other.headers['forbear-source'], undefined);
  assert.equal(seen.length, 3);
});
