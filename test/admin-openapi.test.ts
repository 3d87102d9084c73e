import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type JsonSchema, violation } from '../src/admin/json-schema.ts';
import { EVENT_TYPES } from '../src/telemetry/event-view.ts';
import { AdminCaller, ask } from './support/admin.ts';
import { adminDesk } from './support/admin-desk.ts';
import { letterOf, site } from './support/letters.ts';
import { get, startProxy } from './support/whole-proxy.ts';

test('the document is OpenAPI 3.1, and all that it refers to is in it', async (t) => {
  const { admin } = await adminDesk(t);
  // biome-ignore lint/suspicious/noExplicitAny: a document of any form is walked
  const document = (await admin.get('/openapi.json')).json as any;
  assert.match(document.openapi, /^3\.1\.\d+$/);
  assert.equal(document.info.version, '1.2.3');
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
  for (const [, name] of refs) assert.ok(document.components.schemas[name ?? ''], name);
  const used = new Set(refs.map(([, name]) => name));
  assert.deepEqual(
    Object.keys(document.components.schemas).filter((name) => !used.has(name)),
    [],
  );
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path as object).map(({ operationId }) => operationId),
  );
  assert.equal(new Set(ids).size, ids.length);
  for (const [path, operations] of Object.entries(document.paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const operation of Object.values(operations as object)) {
      const inPath = (operation.parameters ?? []).filter(
        (one: { in: string }) => one.in === 'path',
      );
      assert.deepEqual(
        inPath.map(({ name }: { name: string }) => name),
        named,
        path,
      );
      assert.ok(operation.responses.default.content['application/problem+json']);
      assert.match(operation.summary, /\.$/);
    }
  }
});

test('every operation of the document answers as it says, over a whole proxy', async (t) => {
  const far = await site(t, (_, response) => response.writeHead(503).end('down'));
  const whole = await startProxy(t, ['policy: { max_attempts: 1 }'], { admin: true });
  const admin = new AdminCaller(whole.adminPort);
  const park = async (path: string) =>
    get(whole.port, `${far.url}${path}`, { headers: { 'Forbear-Session': 's1' } });
  const got = await park('/1');
  const other = letterOf(await park('/2'));
  const letter = letterOf(got);
  const host = encodeURIComponent(far.authority);
  const listed = ['/status', '/config', '/lanes', '/routes', '/sessions', '/exchanges'];
  for (const path of [...listed, '/dead-letters', '/openapi.json', `/lanes/${host}`]) {
    assert.equal((await admin.get(path)).status, 200, path);
  }
  const [session] = (await admin.get('/sessions')).json.items;
  assert.equal((await admin.delete(`/sessions/${encodeURIComponent(session.id)}`)).status, 200);
  assert.equal((await admin.delete(`/sessions/${encodeURIComponent(session.id)}`)).status, 404);
  const exchange = String(got.headers['forbear-exchange']);
  for (const path of [`/exchanges/${exchange}`, `/dead-letters/${letter}`]) await admin.get(path);
  await admin.get(`/dead-letters/${letter}/body`);
  await admin.get('/dead-letters/export');
  await admin.post(`/lanes/${host}/isolate`);
  await admin.post(`/lanes/${host}/resume`);
  await admin.post('/routes/direct/eject', { for_ms: 1000 });
  await admin.post('/routes/direct/restore');
  await admin.get('/routes/direct/reputation');
  await admin.post('/dead-letters/redrive', { ids: [letter], force: true });
  await admin.delete('/dead-letters', { ids: [letter] });
  await admin.delete(`/dead-letters/${other}`);
  await admin.call('HEAD', '/events');
  assert.equal((await admin.get('/spend')).status, 200);
  assert.equal((await admin.get('/warnings')).status, 200);
  assert.equal((await admin.get('/interception')).status, 200);
  assert.equal((await admin.post('/drain')).status, 202);

  const { paths } = await admin.document();
  const all = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  // These are the business of other tests here: one needs a reply, one is a stream, one a counter.
  const elsewhere = ['GET /api/v1/dead-letters/{id}/response', 'GET /api/v1/events'];
  const unused = all.filter((one) => !admin.used.has(one) && !elsewhere.includes(one));
  assert.deepEqual(unused, []);
});

test('what is promised is there, and the page on the API names every call and nothing else', async (t) => {
  const { admin } = await adminDesk(t);
  const { paths } = await admin.document();
  const there = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.slice(7)}`),
  );
  const page = readFileSync(new URL('../docs/admin-api.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(GET|POST|DELETE) ([^`?]+)[^`]*` \|/gm)];
  const told = rows.map(([, method, path]) => `${method} ${path}`);
  assert.deepEqual(told.sort(), there.sort());
  const events = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual(events.sort(), [...Object.keys(EVENT_TYPES), 'lanes', 'hello', 'gap'].sort());
});

test('beside the API: health for everybody, and nothing where nothing is', async (t) => {
  const { port } = await adminDesk(t);
  for (const path of ['/livez', '/readyz']) {
    assert.equal((await ask(port, 'GET', path)).status, 200);
    assert.equal((await ask(port, 'HEAD', path)).status, 200);
    const wrong = await ask(port, 'POST', path);
    assert.deepEqual([wrong.status, wrong.headers.allow], [405, 'HEAD, GET']);
  }
  assert.equal((await ask(port, 'GET', '/metrics')).status, 200);
  assert.equal((await ask(port, 'GET', '/api/v2/status')).status, 404);
  assert.equal((await ask(port, 'GET', '/server.ts')).status, 404);
});

test('a value that does not fit its schema is told with its place', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      n: { type: 'integer', minimum: 1, maximum: 3 },
      list: { type: 'array', items: { type: 'string', maxLength: 2 }, minItems: 1, maxItems: 2 },
      at: { type: ['string', 'null'], format: 'date-time' },
      one: { oneOf: [{ type: 'string' }, { enum: [7] }] },
    },
    required: ['n'],
    additionalProperties: false,
  };
  for (const good of [{ n: 1 }, { n: 3, list: ['a'], at: null, one: 7 }]) {
    assert.equal(violation(good, schema), undefined);
  }
  const bad: [unknown, RegExp][] = [
    [[], /must be object/],
    [{}, /lacks n/],
    [{ n: 0 }, /n must be 1 to 3/],
    [{ n: 1.5 }, /n must be integer/],
    [{ n: 1, list: [] }, /at least 1/],
    [{ n: 1, list: ['a', 'b', 'c'] }, /at most 2/],
    [{ n: 1, list: ['abc'] }, /list\[0\] is too long/],
    [{ n: 1, at: 'soon' }, /date-time/],
    [{ n: 1, one: 8 }, /one must be/],
    [JSON.parse('{"n":1,"__proto__":1}'), /__proto__ is not known/],
  ];
  for (const [value, told] of bad) assert.match(violation(value, schema) ?? '', told);
});
