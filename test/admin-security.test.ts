import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { foreign, isLoopbackAddress, unauthorized } from '../src/admin/guard.ts';
import { ask } from './support/admin.ts';
import { adminDesk, heard, raw } from './support/admin-desk.ts';

const LIMIT = { timeout: 30_000 };
const OPEN = ['/livez', '/readyz'];

test('on loopback only a local Host header is served, wherever it goes', async (t) => {
  const { port } = await adminDesk(t);
  const local = ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.9.9.9:80', '[::1]', '[::1]:8889'];
  for (const Host of local) {
    assert.equal((await ask(port, 'GET', '/livez', { headers: { Host } })).status, 200, Host);
  }
  const others = ['evil.test', 'localhost.evil.test', '127.0.0.1.evil.test', '10.0.0.1', '[::2]'];
  for (const Host of [...others, '0.0.0.0', 'localhost:1:2', '127.0.0.1@evil.test']) {
    for (const path of ['/', '/livez', '/metrics', '/api/v1/status']) {
      const { status } = await ask(port, 'GET', path, { headers: { Host } });
      assert.equal(status, 403, `${Host} ${path}`);
    }
  }
});

test('a request without a Host header is refused', LIMIT, async (t) => {
  const { port } = await adminDesk(t);
  assert.match(
    await raw(port, 'GET /livez HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 403 /,
  );
  assert.match(await raw(port, 'GET /livez HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 /);
  assert.match(await raw(port, 'GET /livez HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 403 /);
});

test('pages of other origins reach nothing, also not by reading', async (t) => {
  const { port } = await adminDesk(t);
  const own = { Origin: `http://127.0.0.1:${port}` };
  assert.equal((await ask(port, 'GET', '/api/v1/status', { headers: own })).status, 200);
  const foreigners = [
    { Origin: 'http://evil.test' },
    { Origin: 'null' },
    { Origin: `http://localhost:${port}` },
    { Origin: `http://127.0.0.1:${port + 1}` },
    { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' },
    { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'cors' },
  ];
  for (const headers of foreigners) {
    const what = JSON.stringify(headers);
    assert.equal((await ask(port, 'GET', '/api/v1/status', { headers })).status, 403, what);
    assert.equal((await ask(port, 'POST', '/api/v1/drain', { headers })).status, 403, what);
  }
  const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
  assert.equal((await ask(port, 'GET', '/livez', { headers: link })).status, 200);
});

test('no answer may be used by another origin', async (t) => {
  const { port } = await adminDesk(t);
  for (const [method, path] of [
    ['GET', '/livez'],
    ['GET', '/none'],
    ['OPTIONS', '/api/v1/lanes'],
  ]) {
    const { headers } = await ask(port, method ?? '', path ?? '');
    assert.equal(headers['access-control-allow-origin'], undefined);
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
    assert.equal(headers['x-content-type-options'], 'nosniff');
  }
});

test('a call that changes something needs JSON, which no form of another page can send', async (t) => {
  let drained = 0;
  const { port } = await adminDesk(t, { ports: { drain: () => (drained += 1) } });
  const types = ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', ''];
  for (const type of types) {
    const headers = { 'Content-Type': type };
    assert.equal((await ask(port, 'POST', '/api/v1/drain', { headers })).status, 415, type);
  }
  assert.match(
    await raw(port, 'POST /api/v1/drain HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 415 /,
  );
  assert.equal(drained, 0);
  const headers = { 'Content-Type': 'Application/JSON ; charset=utf-8' };
  assert.equal((await ask(port, 'POST', '/api/v1/drain', { headers })).status, 202);
  assert.equal(drained, 1);
});

test('where a token is set nothing is told without it but that the process lives', async (t) => {
  const { port } = await adminDesk(t, { token: 'open-sesame' });
  const status = async (path: string, authorization?: string) => {
    const headers = authorization === undefined ? {} : { Authorization: authorization };
    return (await ask(port, 'GET', path, { headers })).status;
  };
  for (const path of ['/api/v1/status', '/api/v1/none', '/metrics', '/api/v1/openapi.json']) {
    const bad = [undefined, 'Bearer', 'Bearer open', 'Bearer open-sesame2', 'Basic open-sesame'];
    for (const login of [...bad, 'Bearer open-sesame x', 'open-sesame']) {
      assert.equal(await status(path, login), 401, `${path} ${login}`);
    }
    assert.notEqual(await status(path, 'bearer  open-sesame'), 401);
  }
  for (const path of OPEN) assert.equal(await status(path), 200);
  const told = await ask(port, 'GET', '/api/v1/status');
  assert.match(String(told.headers['www-authenticate']), /^Bearer/);
  assert.doesNotMatch(told.text, /sesame/);
});

const headersOf = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage;

test('off loopback any Host header will do, and nothing is shown without a token', () => {
  const abroad = { loopback: false, token: null };
  assert.equal(foreign(headersOf({ host: 'proxy.example:8889' }), abroad), undefined);
  assert.equal(
    foreign(headersOf({ host: 'proxy.example', origin: 'http://evil.test' }), abroad)?.status,
    403,
  );
  assert.equal(unauthorized(headersOf({}), abroad)?.status, 401);
  assert.equal(unauthorized(headersOf({ authorization: 'Bearer null' }), abroad)?.status, 401);
  const token = { loopback: false, token: 'x' };
  assert.equal(unauthorized(headersOf({ authorization: 'Bearer x' }), token), undefined);
});

test('what is loopback, and what only looks like it', () => {
  for (const address of ['127.0.0.1', '127.255.1.2', '::1']) assert.ok(isLoopbackAddress(address));
  for (const address of ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', 'localhost', '']) {
    assert.equal(isLoopbackAddress(address), false, address);
  }
});

test('a body of more than a megabyte is refused, and its client hears so', LIMIT, async (t) => {
  const { port } = await adminDesk(t);
  const o = { body: JSON.stringify({ ids: ['x'.repeat(4_000_000)] }) };
  const { status, json } = await ask(port, 'POST', '/api/v1/dead-letters/redrive', o);
  assert.deepEqual([status, json.reason], [413, 'body_too_large']);
  const fitting = { body: { ids: ['x'.repeat(200)] } };
  assert.equal((await ask(port, 'POST', '/api/v1/dead-letters/redrive', fitting)).status, 202);
});

test('a head that is too long is refused, and so is what is no HTTP', LIMIT, async (t) => {
  const { port } = await adminDesk(t);
  const long = `GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`;
  assert.match(await raw(port, long), /^HTTP\/1\.1 431 /);
  assert.match(await raw(port, 'hello\r\n\r\n'), /^HTTP\/1\.1 400 /);
});

test('who sends a head or a body too slowly is let go', LIMIT, async (t) => {
  const { port } = await adminDesk(t, { limits: { headMs: 150, requestMs: 300, checkMs: 50 } });
  const slow = connect({ host: '127.0.0.1', port });
  slow.write('GET /livez HTTP/1.1\r\nHost: loc');
  assert.match(await heard(slow), /^HTTP\/1\.1 408 /);
  const body = connect({ host: '127.0.0.1', port });
  body.write(
    'POST /api/v1/drain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
  );
  assert.match(await heard(body), /^HTTP\/1\.1 408 /);
});

test('who takes nothing of a long answer is let go', LIMIT, async (t) => {
  const config = () => ({ text: 'x'.repeat(40_000_000) });
  const limits = { idleMs: 200, connections: 1 };
  const { port } = await adminDesk(t, { ports: { config }, limits });
  const deaf = connect({ host: '127.0.0.1', port });
  deaf.write('GET /api/v1/config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  deaf.pause();
  await once(deaf, 'connect');
  // As long as it holds the only place, nobody else is served.
  const asking = 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  while ((await raw(port, asking)) === '');
  assert.ok((await heard(deaf.resume())).length < 40_000_000);
});

test('who says nothing at all is let go', LIMIT, async (t) => {
  const { port } = await adminDesk(t, { limits: { headMs: 150, checkMs: 50 } });
  await heard(connect({ host: '127.0.0.1', port }));
});

test('beyond the most connections a new one is closed, and the others go on', LIMIT, async (t) => {
  const { port } = await adminDesk(t, { limits: { connections: 2 } });
  const first = connect({ host: '127.0.0.1', port }).on('error', () => {});
  const second = connect({ host: '127.0.0.1', port });
  await Promise.all([once(first, 'connect'), once(second, 'connect')]);
  const asking = 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  assert.equal(await raw(port, asking), '');
  first.write(asking);
  assert.match(await heard(first), /^HTTP\/1\.1 200 /);
  assert.match(await raw(port, asking), /^HTTP\/1\.1 200 /);
  second.destroy();
});

test('odd requests have an answer, and the server lives on', LIMIT, async (t) => {
  const { port } = await adminDesk(t);
  const close = 'Host: localhost\r\nConnection: close\r\n\r\n';
  const odd: [string, RegExp][] = [
    [`GET http://localhost/livez HTTP/1.1\r\n${close}`, /^HTTP\/1\.1 400 /],
    [`OPTIONS * HTTP/1.1\r\n${close}`, /^HTTP\/1\.1 400 /],
    [`CONNECT shop.test:443 HTTP/1.1\r\n${close}`, /^$|^HTTP\/1\.1 4/],
    [`GET /../../etc/passwd HTTP/1.1\r\n${close}`, /^HTTP\/1\.1 404 /],
    [`GET /%2e%2e/package.json HTTP/1.1\r\n${close}`, /^HTTP\/1\.1 404 /],
    [`GET //evil.test/ HTTP/1.1\r\n${close}`, /^HTTP\/1\.1 404 /],
    [`GET /api/v1/lanes/%zz HTTP/1.1\r\n${close}`, /^HTTP\/1\.1 400 /],
    [`GET /api/v1/lanes/ HTTP/1.1\r\n${close}`, /^HTTP\/1\.1 404 /],
    [`BREW /api/v1/lanes HTTP/1.1\r\n${close}`, /^HTTP\/1\.1 400 /],
    [
      `GET /livez HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\nHost: localhost\r\n\r\n`,
      /^HTTP\/1\.1 200 /,
    ],
  ];
  for (const [said, expected] of odd) assert.match(await raw(port, said), expected, said);
  assert.equal((await ask(port, 'GET', '/livez')).status, 200);
});
