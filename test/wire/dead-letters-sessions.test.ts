import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { letterOf, site } from '../support/letters.ts';
import { get, startProxy } from '../support/whole-proxy.ts';

const IN_SESSION = { headers: { 'Forbear-Session': 's1' } };

async function faulty(t: TestContext) {
  const state = { status: 403 };
  const world = await site(t, (_, response) => response.writeHead(state.status).end('page'));
  return { ...world, state };
}

test('a letter whose session was burned is left to the client', async (t) => {
  const { url, state, seen } = await faulty(t);
  const { port, proxy } = await startProxy(t, []);
  const id = letterOf(await get(port, `${url}/a`, IN_SESSION));
  const letter = await proxy.deadLetters.get(id);
  assert.deepEqual([letter?.state, letter?.needs], ['needs_client', 'session']);
  state.status = 200;
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), {});
  assert.equal(seen.length, 1);
});

test('where a fresh session is allowed, its letter is sent in one of its own', async (t) => {
  const { url, state, seen } = await faulty(t);
  const lines = ['policy: { dead_letters: { redrive: fresh_session } }'];
  const { port, proxy, told } = await startProxy(t, lines);
  const id = letterOf(await get(port, `${url}/a`, IN_SESSION));
  assert.equal((await proxy.deadLetters.get(id))?.state, 'parked');
  state.status = 200;
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), { done: 1 });
  assert.equal(seen.length, 2);
  const sessions = told('exchange_finished').map(({ exchange }) => exchange.session);
  assert.notEqual(sessions[0], sessions[1]);
  assert.match(sessions[1] ?? '', /~/);
});

test('a session that stands carries its letter', async (t) => {
  const { url, state } = await faulty(t);
  const { port, proxy, told } = await startProxy(t, ['policy: { max_attempts: 1 }']);
  state.status = 200;
  await get(port, `${url}/login`, IN_SESSION);
  state.status = 429;
  const id = letterOf(
    await get(port, `${url}/a`, { headers: { ...IN_SESSION.headers, 'Forbear-Patience': '1ms' } }),
  );
  assert.equal((await proxy.deadLetters.get(id))?.state, 'parked');
  state.status = 200;
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), { done: 1 });
  const ended = told('exchange_finished').map(({ exchange }) => exchange.session);
  assert.equal(new Set(ended).size, 1);
});

test('a session that has ended since its letter was parked is not begun anew behind its client', async (t) => {
  const { url, state, seen } = await faulty(t);
  const { port, proxy } = await startProxy(t, ['policy: { max_attempts: 1 }']);
  state.status = 500;
  const id = letterOf(await get(port, `${url}/a`, IN_SESSION));
  assert.equal((await proxy.deadLetters.get(id))?.state, 'parked');
  state.status = 403;
  await get(port, `${url}/b`, IN_SESSION);
  state.status = 200;
  const asked = { kind: 'ids', ids: [id] } as const;
  assert.deepEqual(await proxy.deadLetters.redrive({ ...asked, force: false }), {
    needs_client: 1,
  });
  assert.equal(seen.length, 2);
  assert.equal((await proxy.deadLetters.get(id))?.needs, 'session');
  assert.deepEqual(await proxy.deadLetters.redrive({ ...asked, force: true }), { done: 1 });
});
