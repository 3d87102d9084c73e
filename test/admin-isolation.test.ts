import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLanes } from '../src/lanes/lanes.ts';
import { AdminCaller, ask } from './support/admin.ts';
import { adminDesk, laneSight } from './support/admin-desk.ts';
import { FakeClock } from './support/fake-clock.ts';
import { LIMIT, started } from './support/forbear-process.ts';
import { events, letterOf, site } from './support/letters.ts';
import { get, startProxy } from './support/whole-proxy.ts';

const encoded = encodeURIComponent;

/** A site that answers when it is told to. */
async function slowSite(t: TestContext) {
  const held: ServerResponse[] = [];
  let look = () => {};
  const far = await site(t, (_, response) => {
    held.push(response);
    look();
  });
  const asked = (count: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    look = () => held.length >= count && resolve();
    look();
    return promise;
  };
  return { ...far, held, asked };
}

test('isolating a host refuses who waits there, parks it, and lets what runs finish', async (t) => {
  const far = await slowSite(t);
  const whole = await startProxy(t, ['policy: { pace: { concurrency: 1 } }'], { admin: true });
  const admin = new AdminCaller(whole.adminPort);
  const running = get(whole.port, `${far.url}/1`);
  await far.asked(1);
  const waiting = get(whole.port, `${far.url}/2`);
  const path = `/lanes/${encoded(far.authority)}`;
  while ((await admin.get(path)).json.waiting !== 1);
  const lane = (await admin.post(`${path}/isolate`)).json;
  assert.deepEqual([lane.state, lane.waiting, lane.in_flight], ['isolated', 0, 1]);
  const refused = await waiting;
  assert.equal(refused.status, 503);
  assert.equal(refused.headers['forbear-stop'], 'isolated');
  const letter = (await admin.get(`/dead-letters/${letterOf(refused)}`)).json;
  assert.deepEqual([letter.state, letter.stop, letter.attempts], ['parked', 'isolated', []]);
  far.held[0]?.end('the page');
  assert.equal((await running).body.toString(), 'the page');

  const later = await get(whole.port, `${far.url}/3`);
  assert.deepEqual([later.status, later.headers['forbear-stop']], [503, 'isolated']);
  assert.equal(far.held.length, 1);
  // Once more changes nothing; resuming lets requests through again.
  assert.equal((await admin.post(`${path}/isolate`)).json.state, 'isolated');
  assert.notEqual((await admin.post(`${path}/resume`)).json.state, 'isolated');
  assert.notEqual((await admin.post(`${path}/resume`)).json.state, 'isolated');
  const again = get(whole.port, `${far.url}/4`);
  await far.asked(2);
  far.held[1]?.end('again');
  assert.equal((await again).status, 200);
  const told = whole.told('lane_isolated').map(({ isolated }) => isolated);
  assert.deepEqual(told, [true, false]);
});

test('an exchange that sits out a backoff is not sent again, and is parked', async (t) => {
  const far = await site(t, (_, response) => response.writeHead(503).end('down'));
  const whole = await startProxy(
    t,
    ['policy: { backoff: { base: 300ms, factor: 1, jitter: 0 } }'],
    { admin: true },
  );
  const admin = new AdminCaller(whole.adminPort);
  const asked = get(whole.port, `${far.url}/1`);
  await events(whole, 'attempt_finished');
  await admin.post(`/lanes/${encoded(far.authority)}/isolate`);
  const got = await asked;
  assert.equal(got.headers['forbear-stop'], 'isolated');
  assert.equal(far.seen.length, 1);
  const letter = (await admin.get(`/dead-letters/${letterOf(got)}`)).json;
  assert.deepEqual([letter.state, letter.stop], ['parked', 'isolated']);
  assert.equal(letter.attempts.length, 1);
  // Neither is the letter, as long as it lasts.
  const { text } = await admin.call('POST', '/dead-letters/redrive', {
    body: { ids: [letter.id] },
    headers: { Accept: 'application/x-ndjson' },
  });
  assert.doesNotMatch(text, /done/);
  assert.equal(far.seen.length, 1);
});

test('isolation outlives the process', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'forbear-isolated-'));
  t.after(() => rmSync(home, { recursive: true }));
  const far = await site(t, (_, response) => response.end('the page'));
  const first = await startProxy(t, [], { admin: true, home });
  const isolate = `/lanes/${encoded(far.authority)}/isolate`;
  assert.equal((await new AdminCaller(first.adminPort).post(isolate)).status, 200);
  await first.proxy.stop();

  const second = await startProxy(t, [], { admin: true, home });
  const admin = new AdminCaller(second.adminPort);
  const refused = await get(second.port, `${far.url}/`);
  assert.equal(refused.headers['forbear-stop'], 'isolated');
  const [lane] = (await admin.get('/lanes?state=isolated')).json.items;
  assert.equal(lane.host, far.authority);
  await admin.post(`/lanes/${encoded(far.authority)}/resume`);
  await second.proxy.stop();

  const third = await startProxy(t, [], { home });
  assert.equal((await get(third.port, `${far.url}/`)).status, 200);
});

test('isolation that was told outlives a kill at that very moment', LIMIT, async (t) => {
  const far = await site(t, (_, response) => response.end('the page'));
  const first = await started(t);
  const [, port] = await first.printed.until(/dashboard +http:\/\/127\.0\.0\.1:(\d+)/);
  const path = `/api/v1/lanes/${encoded(far.authority)}/isolate`;
  assert.equal((await ask(Number(port), 'POST', path)).status, 200);
  first.child.kill('SIGKILL');
  await first.closed;
  const second = await started(t, [], { FORBEAR_HOME: first.home });
  const refused = await get(second.port, `${far.url}/`);
  assert.equal(refused.headers['forbear-stop'], 'isolated');
  assert.equal(far.seen.length, 0);
});

test('a change is told when it would outlive the process, and not before', async (t) => {
  const disk = Promise.withResolvers<void>();
  const { admin, lanes } = await adminDesk(t, { ports: { kept: () => disk.promise } });
  lanes.push(laneSight('a.test'));
  let told = false;
  const isolating = admin.post('/lanes/a.test/isolate').then(() => {
    told = true;
  });
  assert.equal((await admin.get('/lanes/a.test')).status, 200);
  assert.equal(told, false);
  disk.resolve();
  await isolating;
});

test('a host is named as it is written: with a port, by address, in any case, escaped or not', async (t) => {
  const whole = await startProxy(t, [], { admin: true });
  const admin = new AdminCaller(whole.adminPort);
  const names: [string, string][] = [
    ['shop.test', 'shop.test'],
    ['SHOP.test:8080', 'shop.test:8080'],
    ['shop.test%3A9090', 'shop.test:9090'],
    ['%5B2001%3Adb8%3A%3A1%5D', '[2001:db8::1]'],
    ['[2001:db8::1]:8443', '[2001:db8::1]:8443'],
    ['xn--bcher-kva.test', 'xn--bcher-kva.test'],
    ['b%C3%BCcher.test:81', 'xn--bcher-kva.test:81'],
    ['web.test:80', 'web.test'],
    ['secure.test:443', 'secure.test'],
    ['10.0.0.1', '10.0.0.1'],
  ];
  for (const [written, id] of names) {
    const lane = (await admin.post(`/lanes/${written}/isolate`)).json;
    assert.deepEqual([lane.id, lane.state], [id, 'isolated'], written);
    assert.equal((await admin.get(`/lanes/${encoded(id)}`)).json.id, id);
  }
  assert.equal((await admin.get('/lanes?state=isolated')).json.items.length, names.length);
  for (const [written, id] of names) {
    assert.equal((await admin.post(`/lanes/${written}/resume`)).json.state, 'idle');
    assert.equal((await admin.post(`/lanes/${written}/resume`)).status, 404);
    assert.equal((await admin.get(`/lanes/${encoded(id)}`)).status, 404);
  }
  const bad = ['a%20b', 'user%40shop.test', 'a%2Fb', '2001:db8::1', 'shop.test:port', '%0d', '%7F'];
  for (const written of [...bad, 'x'.repeat(300)]) {
    assert.equal((await admin.post(`/lanes/${written}/isolate`)).status, 400, written);
  }
});

test('when as many hosts are isolated as may be, one more is refused plainly', async (t) => {
  const lanes = createLanes({ clock: new FakeClock(), random: () => 0.5, emit: () => {} });
  for (let i = 0; i < 10_000; i += 1) assert.equal(lanes.isolate(`h${i}.test`), 'now');
  assert.equal(lanes.isolate('h0.test'), 'already');
  const { admin } = await adminDesk(t, { ports: { lanes } });
  const full = await admin.post('/lanes/one-more.test/isolate');
  assert.deepEqual([full.status, full.json.reason], [503, 'too_many_isolated']);
  assert.equal((await admin.post('/lanes/h0.test/isolate')).status, 200);
  await admin.post('/lanes/h0.test/resume');
  assert.equal((await admin.post('/lanes/one-more.test/isolate')).status, 200);
});
