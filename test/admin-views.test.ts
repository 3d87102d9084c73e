import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AdminCaller } from './support/admin.ts';
import { adminDesk, laneSight, routeSight } from './support/admin-desk.ts';
import { letterOf, site } from './support/letters.ts';
import { rawServer } from './support/raw-server.ts';
import { exchange, gateway, list, siteWith, take } from './support/ways.ts';
import { get, startProxy } from './support/whole-proxy.ts';

/** All items of a list, page by page, and how many pages it took. */
async function pagesOf(admin: AdminCaller, path: string, limit: number) {
  const items: { id: string }[] = [];
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages += 1) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = (await admin.get(`${path}?limit=${limit}${query}`)).json;
    items.push(...page.items);
    cursor = page.next;
  }
  return { items, pages };
}

test('every list of a thousand lanes and ten thousand routes is bounded, whole and quick', async (t) => {
  const { admin, lanes, routes } = await adminDesk(t);
  for (let i = 0; i < 1_000; i += 1) lanes.push(laneSight(`h${(i * 7919) % 1000}.test`));
  for (let i = 0; i < 10_000; i += 1) routes.push(routeSight(`r${(i * 7919) % 10_000}`));
  const sinceAt = performance.now();
  const all = await pagesOf(admin, '/routes', 500);
  const each = (performance.now() - sinceAt) / all.pages;
  assert.equal(new Set(all.items.map(({ id }) => id)).size, 10_000);
  assert.equal(all.pages, 20);
  assert.ok(each < 500, `${each} ms for a page`);
  const some = await pagesOf(admin, '/lanes', 100);
  const ids = some.items.map(({ id }) => id);
  assert.deepEqual(ids, lanes.map(({ id }) => id).sort());
  assert.equal((await admin.get('/lanes')).json.items.length, 100);
  assert.ok((await admin.get('/lanes?limit=500')).text.length < 200_000);
});

test('what comes and goes between two pages hides nothing and repeats nothing', async (t) => {
  const { admin, lanes } = await adminDesk(t);
  lanes.push(...['a', 'c', 'e', 'g'].map((id) => laneSight(id)));
  const first = (await admin.get('/lanes?limit=2')).json;
  lanes.shift();
  lanes.push(laneSight('b'), laneSight('d'));
  const second = (await admin.get(`/lanes?limit=10&cursor=${first.next}`)).json;
  assert.deepEqual(
    second.items.map(({ id }: { id: string }) => id),
    ['d', 'e', 'g'],
  );
  for (const cursor of ['x', '%00', Buffer.from('nope').toString('base64url')]) {
    assert.equal((await admin.get(`/lanes?cursor=${cursor}`)).json.reason, 'bad_cursor');
  }
});

test('lists are filtered by what they say, and know no other keys', async (t) => {
  const { admin, lanes, routes } = await adminDesk(t);
  lanes.push(
    laneSight('a.test', { state: 'paused' }),
    laneSight('a.test#slow'),
    laneSight('b.test'),
  );
  routes.push(routeSight('r1', { upstream: 'x' }), routeSight('r2', { state: 'ejected' }));
  const ids = async (path: string) =>
    (await admin.get(path)).json.items.map(({ id }: { id: string }) => id);
  assert.deepEqual(await ids('/lanes?state=paused'), ['a.test']);
  assert.deepEqual(await ids('/lanes?host=a.test'), ['a.test', 'a.test#slow']);
  assert.deepEqual(await ids('/routes?state=ejected'), ['r2']);
  assert.deepEqual(await ids('/routes?upstream=x'), ['r1']);
  assert.equal((await admin.get('/lanes/a.test%23slow')).json.id, 'a.test#slow');
  const bad = ['/lanes?state=x', '/lanes?sort=id', '/routes?state=out', '/sessions?state=x'];
  for (const path of [...bad, '/exchanges?state=x', '/status?x', '/lanes/a.test?x=1', '/spend?a']) {
    assert.equal((await admin.get(path)).status, 400, path);
  }
});

test('a path knows its methods, and HEAD wherever there is GET', async (t) => {
  const { admin } = await adminDesk(t);
  const { paths } = await admin.document();
  for (const [path, operations] of Object.entries(paths)) {
    const concrete = path.replace('/api/v1', '').replace(/\{\w+\}/g, 'x');
    const known = Object.keys(operations).map((method) => method.toUpperCase());
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (known.includes(method)) continue;
      const { status, headers, json } = await admin.call(method, concrete);
      assert.deepEqual([status, json.reason], [405, 'method_not_allowed'], `${method} ${path}`);
      const allowed = String(headers.allow).split(', ');
      assert.deepEqual(allowed.filter((one) => one !== 'HEAD').sort(), known.sort());
      assert.equal(allowed.includes('HEAD'), known.includes('GET'));
    }
  }
  const head = await admin.call('HEAD', '/lanes');
  assert.deepEqual([head.status, head.text], [200, '']);
  assert.equal((await admin.call('HEAD', '/events')).status, 200);
  assert.equal((await admin.call('HEAD', '/dead-letters/export')).status, 200);
  assert.equal((await admin.get('/nothing')).status, 404);
});

test('trouble with the store is a 503 that says so, and the status shows the rest', async (t) => {
  const broken = async () => {
    throw Object.assign(new Error('the disk is full'), { name: 'StoreError', code: 'no_room' });
  };
  const deadLetters = {
    ...{ list: broken, get: broken, body: broken, response: broken, counts: broken, drop: broken },
    redrive: broken,
    export: () => ({ [Symbol.asyncIterator]: () => ({ next: broken }) }),
  };
  const { admin } = await adminDesk(t, { ports: { deadLetters } });
  for (const path of ['', '/x', '/x/body', '/x/response', '/export']) {
    const { status, json } = await admin.get(`/dead-letters${path}`);
    assert.deepEqual(
      [status, json.reason, json.detail],
      [503, 'store_no_room', 'the disk is full'],
    );
  }
  assert.equal((await admin.delete('/dead-letters/x')).status, 503);
  assert.equal((await admin.get('/status')).json.dead_letters, null);
  const lines = await admin.call('POST', '/dead-letters/redrive', {
    ...{ body: { all: true }, headers: { Accept: 'application/x-ndjson' } },
  });
  assert.deepEqual(lines.json, { failed: 'the disk is full' });
});

test('nothing of a bug is told to the outside', async (t) => {
  const ports = {
    config: () => {
      throw new Error('password123');
    },
  };
  const { admin } = await adminDesk(t, { ports });
  const { status, text } = await admin.get('/config');
  assert.equal(status, 500);
  assert.doesNotMatch(text, /password123/);
});

test('a listed route that is taken out comes back; a gateway address that is taken out does not', async (t) => {
  const dc = siteWith([list('dc', 2)]);
  const { admin, clock } = await adminDesk(t, { ports: { routes: deskOf(dc) } });
  const [listed] = (await admin.get('/routes?upstream=dc')).json.items;
  const id = encodeURIComponent(listed.id);
  const out = (await admin.post(`/routes/${id}/eject`, { for_ms: 60_000 })).json;
  assert.equal(out.state, 'ejected');
  assert.equal(Date.parse(out.ejected_until) - clock.now(), 60_000);
  assert.equal((await admin.get('/routes?state=ejected')).json.items.length, 1);
  assert.equal((await admin.post(`/routes/${id}/restore`)).json.state, 'in');
  for (const for_ms of [0, -1, 1.5, '60000', 365 * 24 * 3_600_000 + 1]) {
    assert.equal((await admin.post(`/routes/${id}/eject`, { for_ms })).status, 400);
  }
  assert.equal((await admin.post('/routes/none/eject')).status, 404);

  const held = siteWith([gateway()]);
  const { id: token } = take(held, exchange({ now: held.clock.now() }));
  const other = await adminDesk(t, { ports: { routes: deskOf(held) } });
  const path = `/routes/${encodeURIComponent(token)}`;
  assert.equal((await other.admin.post(`${path}/eject`)).json.state, 'gone');
  for (const what of ['restore', 'eject']) {
    assert.equal((await other.admin.post(`${path}/${what}`)).status, 404);
  }
  assert.notEqual(take(held, exchange({ now: held.clock.now() })).id, token);
  const never = encodeURIComponent(token.replace(/g\d+$/, 'g999'));
  assert.equal((await other.admin.post(`/routes/${never}/eject`)).status, 404);
});

/** The operator's hand on real routes. */
const deskOf = ({ routes }: ReturnType<typeof siteWith>) => ({
  list: () => routes.list(),
  eject: (id: string, untilAt: number) => routes.operator.eject(id, untilAt),
  restore: (id: string) => routes.operator.restore(id),
  reputation: (id: string) => routes.operator.reputation(id),
  endSession: (id: string) => routes.endSession(id),
});

test('the configuration, letters, events and trails hold no secret', async (t) => {
  const upstream = await rawServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n'));
  });
  t.after(() => upstream.close());
  const far = await site(t, (_, response) => response.end('x'));
  const whole = await startProxy(
    t,
    [
      `upstreams: [{ name: dc, routes: ["http://user:hush1@127.0.0.1:${upstream.port}"] }]`,
      'clients: [{ name: me, password: hush2 }]',
      'policy: { max_attempts: 1 }',
    ],
    { admin: true },
  );
  const admin = new AdminCaller(whole.adminPort);
  const login = Buffer.from('me:hush2').toString('base64');
  const got = await get(whole.port, `${far.url}/a?api_key=hush3&sid=hush4`, {
    headers: {
      'Proxy-Authorization': `Basic ${login}`,
      Cookie: 'a=hush5',
      Authorization: 'Bearer hush6',
      'X-Api-Key': 'hush7',
    },
  });
  const exchangeId = String(got.headers['forbear-exchange']);
  const paths = ['/config', '/status', '/lanes', '/routes', '/sessions', '/exchanges'];
  const letter = `/dead-letters/${letterOf(got)}`;
  for (const path of [...paths, `/exchanges/${exchangeId}`, '/dead-letters', letter]) {
    const { status, text } = await admin.get(path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(text, /hush\d|bWU6aHVzaDI/, path);
  }
  const trail = (await admin.get(`/exchanges/${exchangeId}`)).json;
  assert.equal(trail.state, 'done');
  assert.equal(trail.attempts.length, trail.attempted);
  assert.equal((await admin.get('/exchanges?state=done')).json.items[0].id, exchangeId);
  assert.deepEqual((await admin.get('/exchanges?state=waiting')).json.items, []);
  assert.equal((await admin.get('/exchanges/none')).status, 404);
});
