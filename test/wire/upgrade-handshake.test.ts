import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type RawServer, rawServer, until } from '../support/raw-server.ts';
import { frame, handshake, open, SWITCH, switchingSite } from '../support/switching.ts';
import { scriptedSite, startProxy } from '../support/whole-proxy.ts';

const FAST = ['policy:', '  patience: 20s', '  backoff: {base: 1ms, cap: 2ms}'];
const reply = (status: string, body = '', ...fields: string[]) =>
  [`HTTP/1.1 ${status}`, `Content-Length: ${body.length}`, ...fields, '', body].join('\r\n');

async function site(t: TestContext, steps: Parameters<typeof switchingSite>[0]) {
  const heads: string[] = [];
  const server: RawServer = await rawServer(switchingSite(steps, heads));
  t.after(() => server.close());
  const host = `127.0.0.1:${server.port}`;
  return { heads, server, host, url: `http://${host}/chat?a=%7e/../b` };
}

test('a handshake goes out as the client wrote it, and the 101 and the frame behind it come back byte for byte', async (t) => {
  const { heads, host, url } = await site(t, [
    Buffer.concat([Buffer.from(SWITCH, 'latin1'), frame('hello')]),
  ]);
  const whole = await startProxy(t, FAST);
  const client = await open(whole.port, handshake(url, host, ['Cookie: a=1', 'X-Last: y']));
  assert.equal(await client.hears('hello'), SWITCH + frame('hello').toString('latin1'));
  assert.equal(
    heads[0],
    handshake('/chat?a=%7e/../b', host, ['Cookie: a=1', 'X-Last: y']),
    'order, case and path',
  );
  client.socket.write('ping');
  await client.hears('>ping');
  client.socket.end();
  await client.closed;
  const { answered, delivery, exchange, sentBytes, receivedBytes } = await whole.finished();
  assert.equal(answered, 101);
  assert.equal(delivery.verdict?.reason, 'ok');
  assert.equal(exchange.target.path, '/chat?a=%7e/../b');
  assert.deepEqual([sentBytes, receivedBytes], [4, frame('hello').length + 5]);
});

test('what the client says right behind its handshake is said to the origin after the switch', async (t) => {
  const { host, url } = await site(t, [SWITCH]);
  const { port } = await startProxy(t, FAST);
  const client = await open(port, `${handshake(url, host)}early`);
  assert.equal(await client.hears('>early'), `${SWITCH}>early`);
  client.socket.destroy();
});

test('a throttled handshake waits on the same route and is sent again; only the 101 is seen', async (t) => {
  const { heads, host, url } = await site(t, [
    reply('429 Too Many Requests', 'slow down', 'Retry-After: 1'),
    SWITCH,
  ]);
  const whole = await startProxy(t, FAST);
  const client = await open(whole.port, handshake(url, host));
  assert.equal(await client.hears('\r\n\r\n'), SWITCH);
  assert.equal(heads.length, 2);
  assert.equal(heads[0], heads[1]);
  const verdicts = whole.told('attempt_finished').map(({ verdict }) => verdict.reason);
  assert.deepEqual(verdicts, ['rate_limited', 'ok']);
  assert.equal(whole.told('lane_paused').length, 1);
  client.socket.destroy();
});

for (const step of ['reset', 'close', reply('503 Busy')] as const) {
  test(`a handshake that meets ${JSON.stringify(step.slice(0, 12))} is made again`, async (t) => {
    const { heads, host, url } = await site(t, [step, step, SWITCH]);
    const whole = await startProxy(t, FAST);
    const client = await open(whole.port, handshake(url, host));
    assert.equal(await client.hears('\r\n\r\n'), SWITCH);
    assert.equal(heads.length, 3);
    client.socket.destroy();
    assert.equal((await whole.finished()).delivery.ledger.transientRetries, 2);
  });
}

test('a refusal is an ordinary reply with its body and our marks, and the connection ends behind it', async (t) => {
  const { heads, host, url } = await site(t, [
    reply('403 Forbidden', 'not you', 'Content-Type: text/plain', 'X-Mine: 1'),
  ]);
  const whole = await startProxy(t, FAST);
  const client = await open(whole.port, handshake(url, host));
  const got = await client.closed;
  assert.match(got, /^HTTP\/1\.1 403 Forbidden\r\n/);
  assert.match(got, /\r\nX-Mine: 1\r\n/);
  assert.match(got, /\r\nForbear-Verdict: route\/blocked\r\n/);
  assert.match(got, /\r\nConnection: close\r\n/);
  assert.ok(got.endsWith('\r\n\r\nnot you'));
  assert.equal(heads.length, 1, 'there is no other address');
  assert.equal((await whole.finished()).answered, 403);
});

test('an upgrade that the origin does not care for is answered by its page, chunked or not', async (t) => {
  const chunked =
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n';
  const { heads, host, url } = await site(t, [reply('200 OK', 'a page'), chunked]);
  const { port } = await startProxy(t, FAST);
  const ask = `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: foo/2\r\n\r\n`;
  const plain = await (await open(port, ask)).closed;
  assert.match(plain, /^HTTP\/1\.1 200 OK\r\n/);
  assert.ok(plain.endsWith('\r\n\r\na page'));
  assert.match(heads[0] ?? '', /\r\nUpgrade: foo\/2\r\n/);
  const second = await (await open(port, ask)).closed;
  assert.match(second, /\r\nTransfer-Encoding: chunked\r\n/i);
  assert.ok(second.endsWith('\r\n\r\n5\r\nabcde\r\n0\r\n\r\n'), second);
});

test('a page that ends with its connection, even at once, comes whole', async (t) => {
  const origin = await scriptedSite(t, [
    { bytes: 'HTTP/1.1 200 OK\r\n\r\nto the end', after: 'end' },
  ]);
  const { port } = await startProxy(t, FAST);
  const client = await open(port, handshake(origin.url, `127.0.0.1:${origin.port}`));
  const got = await client.closed;
  assert.match(got, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(got, /to the end/);
  assert.equal(origin.accepted, 1);
});

for (const [what, bytes, seen] of [
  ['a refusal', reply('403 Forbidden', 'not you'), 'not you'],
  ['a page without an end', 'HTTP/1.1 200 OK\r\n\r\nto the end', 'to the end'],
  ['a switch', `${SWITCH}last words`, 'last words'],
  ['a switch without words', SWITCH, '101 Web Socket Protocol Handshake'],
] as const) {
  test(`${what} whose connection ends in the same breath comes whole, and nothing hangs`, async (t) => {
    const origin = await scriptedSite(t, [(_, socket) => void socket.end(bytes)]);
    const whole = await startProxy(t, FAST);
    const client = await open(whole.port, handshake(origin.url, `127.0.0.1:${origin.port}`));
    assert.ok((await client.closed).includes(seen));
    await whole.finished();
    assert.equal(origin.accepted, 1);
    await until(() => whole.proxy.activity().connections === 0);
    assert.deepEqual(whole.proxy.activity(), { connections: 0, exchanges: 0, sockets: 0 });
  });
}

test('a big page in answer to a handshake is taken at the pace of the client, and comes whole', async (t) => {
  const body = 'x'.repeat(6_000_000);
  const { host, url } = await site(t, [
    reply('200 OK', body, 'Content-Type: application/octet-stream'),
  ]);
  const { port } = await startProxy(t, FAST);
  const client = await open(port, handshake(url, host));
  const got = await client.closed;
  assert.equal(got.length - got.indexOf('\r\n\r\n') - 4, body.length);
});

test('interim replies before the 101 are handed on, and not taken for the answer', async (t) => {
  const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
  const { host, url } = await site(t, [`${hint}${SWITCH}`]);
  const { port } = await startProxy(t, FAST);
  const client = await open(port, handshake(url, host));
  // The site of this test switches on a 101 only at the very start, so nothing echoes here.
  assert.equal(await client.hears(SWITCH), `${hint}${SWITCH}`);
  client.socket.destroy();
});

for (const [what, bytes] of [
  ['without Upgrade', 'HTTP/1.1 101 X\r\nConnection: upgrade\r\n\r\n'],
  ['to what was not offered', 'HTTP/1.1 101 X\r\nUpgrade: foo\r\nConnection: upgrade\r\n\r\n'],
  ['with bare line feeds', 'HTTP/1.1 101 X\nUpgrade: websocket\nConnection: upgrade\n\n'],
  [
    'with a space in a name',
    'HTTP/1.1 101 X\r\nUpgrade : websocket\r\nConnection: upgrade\r\n\r\n',
  ],
  ['with a folded line', 'HTTP/1.1 101 X\r\nUpgrade: websocket\r\n folded\r\n\r\n'],
] as const) {
  test(`a 101 ${what} is a malformed reply, not a switch`, async (t) => {
    const { heads, host, url } = await site(t, [bytes]);
    const whole = await startProxy(t, FAST);
    const client = await open(whole.port, handshake(url, host));
    assert.match(await client.closed, /^HTTP\/1\.1 502 [\s\S]*error=http_protocol_error/);
    assert.equal(heads.length, 1);
    assert.equal((await whole.finished()).delivery.verdict?.reason, 'malformed_reply');
  });
}

test('an offer of h2c is dropped and the request served plain', async (t) => {
  const { heads, host, url } = await site(t, [reply('200 OK', 'one')]);
  const { port } = await startProxy(t, FAST);
  const ask = [
    `GET ${url} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABk',
    '',
    '',
  ].join('\r\n');
  const client = await open(port, ask);
  assert.match(await client.hears('one'), /^HTTP\/1\.1 200 OK\r\n/);
  assert.equal(heads.length, 1);
  assert.doesNotMatch(heads[0] ?? '', /h2c|http2-settings|upgrade/i);
  client.socket.destroy();
});

test('h2c beside another protocol leaves the other one', async (t) => {
  const { heads, host, url } = await site(t, [SWITCH]);
  const { port } = await startProxy(t, FAST);
  const client = await open(
    port,
    `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c, websocket\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  );
  await client.hears('\r\n\r\n');
  assert.match(heads[0] ?? '', /\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n$/);
  client.socket.destroy();
});

test('a request with a body, or one behind another, is served without its upgrade', async (t) => {
  const { heads, host, url } = await site(t, [reply('200 OK', 'one')]);
  const { port } = await startProxy(t, FAST);
  const posted = `POST ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 4\r\n\r\nbody`;
  const client = await open(port, posted);
  await client.hears('one');
  assert.doesNotMatch(heads[0] ?? '', /upgrade/i);
  client.socket.destroy();
  const ahead = `GET ${url} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const piped = await open(port, ahead + handshake(url, host));
  assert.equal((await piped.closed).match(/HTTP\/1\.1 200 OK/g)?.length, 2);
  assert.equal(heads.length, 3);
  assert.doesNotMatch(heads[2] ?? '', /upgrade/i);
});

test('a bad handshake is refused before anything is dialled', async (t) => {
  const { server, host, url } = await site(t, [SWITCH]);
  const whole = await startProxy(t, FAST);
  const refused = await open(whole.port, handshake('/origin-form', host));
  assert.match(await refused.closed, /^HTTP\/1\.1 400 [\s\S]*forward proxy/);
  const typo = await open(whole.port, handshake(url, host, ['Forbear-Typo: 1']));
  assert.match(await typo.closed, /^HTTP\/1\.1 400 /);
  assert.equal(server.accepted, 0);
  assert.equal(whole.told('request_refused').length, 2);
});
