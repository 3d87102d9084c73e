import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AdminCaller } from './support/admin.ts';
import { letterOf, send, site } from './support/letters.ts';
import { get, startProxy } from './support/whole-proxy.ts';

const CONFIG = ['policy: { max_attempts: 1, breaker: { consecutive: 1000, min_attempts: 1000 } }'];

/** A proxy with an admin server before a site that is down until told otherwise. */
async function world(t: TestContext, lines = CONFIG) {
  const state = { status: 503 };
  const far = await site(t, (_, response) => {
    response.writeHead(state.status, { 'Content-Type': 'text/html', 'Set-Cookie': 'sid=hush' });
    response.end('<script>the page</script>');
  });
  const whole = await startProxy(t, lines, { admin: true });
  const park = async (path: string, headers: Record<string, string> = {}): Promise<string> =>
    letterOf(await get(whole.port, `${far.url}${path}`, { headers }));
  return { ...whole, far, state, park, admin: new AdminCaller(whole.adminPort) };
}

test('letters are listed page by page, each once, the newest first', async (t) => {
  const { admin, park } = await world(t);
  const ids: string[] = [];
  for (let i = 0; i < 5; i += 1) ids.unshift(await park(`/${i}`));
  const found: string[] = [];
  let next: string | null = '';
  let pages = 0;
  while (next !== null) {
    const cursor: string = next === '' ? '' : `&cursor=${encodeURIComponent(next)}`;
    const page = (await admin.get(`/dead-letters?limit=2${cursor}`)).json;
    found.push(...page.items.map(({ id }: { id: string }) => id));
    next = page.next;
    pages += 1;
  }
  assert.deepEqual(found, ids);
  assert.equal(pages, 3);
});

test('every filter of letters filters, and what is no filter is an error that names those there are', async (t) => {
  const { admin, park, far } = await world(t);
  const id = await park('/a', { 'Forbear-Session': 's1' });
  const [letter] = (await admin.get('/dead-letters')).json.items;
  const later = new Date(Date.parse(letter.parked_at) + 1).toISOString();
  const count = async (query: string) =>
    (await admin.get(`/dead-letters?${query}`)).json.items.length;
  const fitting = [
    `state=${letter.state}`,
    `lane=${encodeURIComponent(letter.lane)}`,
    `host=${encodeURIComponent(far.authority)}`,
    'reason=overloaded',
    `session=${encodeURIComponent(letter.session)}`,
    `parked_before=${later}`,
    'parked_after=2020-01-01T00:00:00Z',
  ];
  for (const query of fitting) assert.equal(await count(query), 1, query);
  assert.equal(await count(fitting.join('&')), 1);
  const others = ['state=done', 'lane=x', 'host=x', 'reason=slow', 'session=x'];
  for (const query of [...others, `parked_after=${later}`]) assert.equal(await count(query), 0);
  const bad = ['state=lost', 'limit=0', 'limit=501', 'limit=two', 'cursor=nonsense', 'lanes=x'];
  for (const query of [...bad, 'parked_before=yesterday', 'lane=a&lane=b']) {
    assert.equal((await admin.get(`/dead-letters?${query}`)).status, 400, query);
  }
  assert.match((await admin.get('/dead-letters?lanes=x')).json.detail, /known: .*lane/);
  assert.equal((await admin.get(`/dead-letters/${id}`)).json.id, id);
});

test('what would let somebody in is never shown: header fields, parameters, replies', async (t) => {
  const { admin, park, state } = await world(t);
  const id = await park('/a?token=hush&page=2', { Cookie: 'hush=1', Authorization: 'Basic hush' });
  state.status = 200;
  await redriven(admin, { ids: [id] });
  for (const path of [`/dead-letters/${id}`, '/dead-letters', '/dead-letters/export']) {
    const { text, status } = await admin.get(path);
    assert.equal(status, 200);
    assert.match(text, /page=2/);
    assert.doesNotMatch(text, /hush/, path);
  }
  assert.match((await admin.get('/dead-letters/export?with_secrets=true')).text, /Basic hush/);
});

test('the body of the request comes back byte for byte, as something to save', async (t) => {
  const { admin, port, far } = await world(t);
  const body = Buffer.from([0, 255, 10, 13, 60]);
  const id = letterOf(await send(port, `${far.url}/put`, { method: 'PUT', body }));
  const answer = await admin.get(`/dead-letters/${id}/body`);
  assert.equal(answer.headers['content-length'], '5');
  assert.equal(answer.headers['content-disposition'], 'attachment');
  assert.match(String(answer.headers['content-security-policy']), /sandbox/);
});

test('the reply that a redrive brought comes as it was, and never as a page of this server', async (t) => {
  const { admin, park, state } = await world(t);
  const id = await park('/a');
  assert.equal((await admin.get(`/dead-letters/${id}/response`)).json.reason, 'no_response');
  state.status = 200;
  await redriven(admin, { ids: [id] });
  const answer = await admin.get(`/dead-letters/${id}/response`);
  assert.equal(answer.text, '<script>the page</script>');
  assert.equal(answer.headers['forbear-response-status'], '200');
  assert.equal(answer.headers['content-disposition'], 'attachment');
  assert.match(String(answer.headers['content-security-policy']), /sandbox/);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal(answer.headers['set-cookie'], undefined);
});

/** Redrives and waits for the end; what was told. */
async function redriven(admin: AdminCaller, body: object): Promise<Record<string, unknown>[]> {
  const headers = { Accept: 'application/x-ndjson' };
  const answer = await admin.call('POST', '/dead-letters/redrive', { body, headers });
  assert.equal(answer.status, 200);
  return answer.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('a redrive tells each letter in a line, and the sum in the last', async (t) => {
  const { admin, park, state } = await world(t);
  const ids = [await park('/1'), await park('/2')];
  state.status = 200;
  const lines = await redriven(admin, { ids: [...ids, 'no-such'] });
  const outcome = (id: string | undefined) => lines.find((line) => line.id === id)?.outcome;
  assert.equal(outcome(ids[0]), 'done');
  assert.equal(outcome(ids[1]), 'done');
  assert.equal(outcome('no-such'), 'missing');
  assert.deepEqual(lines.at(-1), { summary: { done: 2, missing: 1 } });
});

test('a redrive that nobody watches goes on all the same', async (t) => {
  const { admin, park, state, proxy } = await world(t);
  await park('/1');
  state.status = 200;
  const over = new Promise<void>((resolve) => {
    proxy.subscribe((event) => event.type === 'dead_letter_redriven' && resolve());
  });
  assert.equal((await admin.post('/dead-letters/redrive', { all: true })).status, 202);
  await over;
  assert.equal((await admin.get('/dead-letters?state=done')).json.items.length, 1);
});

test('what is due is told from all that is parked', async (t) => {
  const { admin, park } = await world(t);
  await park('/1');
  assert.deepEqual(await redriven(admin, { due: true }), [{ summary: {} }]);
});

test('a redrive that says nothing, or two things, of which letters it means is refused', async (t) => {
  const { admin } = await world(t);
  const bad = [
    {},
    { all: false },
    { due: true, all: true },
    { ids: [] },
    { ids: ['a'], all: true },
  ];
  for (const body of [...bad, { ids: 'a' }, { ids: [1] }, { all: true, force: true }, 'x', '[]']) {
    const { status } = await admin.post('/dead-letters/redrive', body);
    assert.equal(status, 400, JSON.stringify(body));
  }
});

test('letters are dropped one by one or many at once, and a dropped one is gone', async (t) => {
  const { admin, park } = await world(t);
  const ids = [await park('/1'), await park('/2'), await park('/3')];
  assert.deepEqual((await admin.delete(`/dead-letters/${ids[0]}`)).json, { dropped: 1 });
  assert.equal((await admin.delete(`/dead-letters/${ids[0]}`)).status, 404);
  assert.deepEqual((await admin.delete('/dead-letters', { ids })).json, { dropped: 2 });
  for (const path of ['', '/body', '/response']) {
    assert.equal((await admin.get(`/dead-letters/${ids[0]}${path}`)).status, 404);
  }
  assert.equal((await admin.delete('/dead-letters')).status, 400);
});

test('an id of any form names one letter, or none', async (t) => {
  const { admin } = await world(t);
  for (const id of ['..%2F..', '%00', 'a%20b', '%F0%9F%98%80', 'x'.repeat(5000)]) {
    assert.equal((await admin.get(`/dead-letters/${id}`)).status, 404);
  }
  assert.equal((await admin.get('/dead-letters/%')).status, 400);
});
