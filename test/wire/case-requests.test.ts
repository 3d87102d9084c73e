import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  ask,
  type ClientWire,
  connectTo,
  fieldOf,
  heard,
  heardToEnd,
  startWire,
  statuses,
} from '../support/client-wire.ts';
import { onHead, type RawServer, rawServer, replying, until } from '../support/raw-server.ts';
import { httpUpstream } from '../support/upstream.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

interface Scene {
  readonly origin: RawServer;
  readonly wire: ClientWire;
  readonly authority: string;
  /** A GET for a path of the origin that closes its connection, with more headers. */
  get(path: string, ...headers: string[]): Promise<string>;
}

async function scene(
  t: TestContext,
  lines: readonly string[] = [],
  reply: string | Buffer = OK,
): Promise<Scene> {
  const origin = await rawServer(replying(reply));
  t.after(() => origin.close());
  const wire = await startWire(t, lines);
  const authority = `o.test:${origin.port}`;
  const get = (path: string, ...headers: string[]) =>
    ask(
      wire,
      [
        `GET http://${authority}${path} HTTP/1.1`,
        `Host: ${authority}`,
        ...headers,
        'Connection: close',
        '',
        '',
      ].join('\r\n'),
    );
  return { origin, wire, authority, get };
}

const all = (origin: RawServer) => origin.heard.join('');
const basic = (login: string) => Buffer.from(login).toString('base64');

test('B30 user info becomes Authorization unless the client has its own, and shows nowhere else', async (t) => {
  const { origin, wire, authority } = await scene(t);
  const send = (...headers: string[]) =>
    ask(
      wire,
      [
        `GET http://user:p%40ss@${authority}/a?b=1 HTTP/1.1`,
        'Host: o.test',
        ...headers,
        'Connection: close',
        '',
        '',
      ].join('\r\n'),
    );
  const first = await send();
  assert.match(all(origin), /^GET \/a\?b=1 HTTP\/1\.1\r\n/);
  assert.equal(fieldOf(all(origin), 'Host'), authority);
  assert.equal(fieldOf(all(origin), 'Authorization'), `Basic ${basic('user:p@ss')}`);
  const second = await send('Authorization: Bearer mine');
  assert.match(all(origin), /Authorization: Bearer mine\r\n/);
  const told = JSON.stringify(wire.events, (key, value) =>
    key === 'rawHeaders' ? undefined : value,
  );
  for (const text of [all(origin), first, second, told]) assert.doesNotMatch(text, /p%40ss|p@ss/);
  assert.deepEqual(statuses(await ask(wire, connectTo('user:pw@o.test:443'))), [400]);
});

test('B31 the target of an absolute form wins over Host; two Hosts or none are 400; inside a tunnel Host is passed as given', async (t) => {
  const { origin, wire, authority } = await scene(t);
  await ask(wire, `GET http://${authority}/ HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n`);
  assert.equal(fieldOf(all(origin), 'Host'), authority);
  assert.deepEqual(wire.lookups, ['o.test']);
  for (const hosts of [
    'Host: a.test\r\nHost: a.test\r\n',
    'Host: a.test\r\nHost: b.test\r\n',
    '',
  ]) {
    assert.deepEqual(
      statuses(await ask(wire, `GET http://${authority}/ HTTP/1.1\r\n${hosts}\r\n`)),
      [400],
    );
  }
  const inner = await wire.tunnel(authority);
  inner.write('GET /in HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n');
  assert.deepEqual(statuses(await heardToEnd(inner)), [200]);
  assert.match(all(origin), /GET \/in HTTP\/1\.1\r\nHost: b\.test\r\n/);
  assert.deepEqual(new Set(wire.lookups), new Set(['o.test']));
  assert.equal(
    new Set(wire.told('exchange_started').map(({ exchange }) => exchange.target.authority)).size,
    1,
  );
});

test('B28 one host has one name however it is spelled, and Host goes out as the client wrote it', async (t) => {
  const { origin, wire } = await scene(t);
  const spellings = ['O.TEST', 'o.test', 'o.test.', 'o%2Etest'];
  for (const name of spellings) {
    const authority = `${name}:${origin.port}`;
    const host = `O.Test.:${origin.port}`;
    assert.deepEqual(
      statuses(
        await ask(
          wire,
          `GET http://${authority}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
        ),
      ),
      [200],
      name,
    );
  }
  const targets = wire.told('exchange_started').map(({ exchange }) => exchange.target.authority);
  assert.deepEqual(new Set(targets), new Set([`o.test:${origin.port}`]));
  assert.equal(all(origin).match(/Host: O\.Test\.:/g)?.length, spellings.length);
});

test('B33 the proxy login ends here, whatever its case and wherever it is sent; an upstream sees its own only', async (t) => {
  const origin = await rawServer(replying(OK.replace('\r\n', '\r\nConnection: close\r\n')));
  t.after(() => origin.close());
  const upstream = await httpUpstream({ names: { 'o.test': origin.port }, login: 'their:pass' });
  t.after(() => upstream.close());
  const ours = basic('local:secret');
  const host = 'o.test';
  for (const way of [
    [],
    [`upstreams: [{ name: u, routes: ["http://their:pass@127.0.0.1:${upstream.port}"] }]`],
  ]) {
    const wire = await startWire(t, way);
    const authority = way.length === 0 ? `${host}:${origin.port}` : host;
    for (const field of ['Proxy-Authorization', 'PROXY-authorization']) {
      const plain = await ask(
        wire,
        `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n${field}: Basic ${ours}\r\nConnection: close\r\n\r\n`,
      );
      assert.deepEqual(statuses(plain), [200]);
      const inner = await wire.tunnel(
        authority.includes(':') ? authority : `${authority}:80`,
        `${field}: Basic ${ours}`,
      );
      inner.write(
        `GET /in HTTP/1.1\r\nHost: ${authority}\r\n${field}: Basic ${ours}\r\nConnection: close\r\n\r\n`,
      );
      assert.deepEqual(statuses(await heardToEnd(inner)), [200]);
    }
    const told = JSON.stringify(wire.events);
    assert.doesNotMatch(told, new RegExp(`secret|${ours}`), 'nor do the events tell it');
  }
  assert.doesNotMatch(all(origin), /proxy-authorization|secret|their/i);
  assert.doesNotMatch(all(upstream), new RegExp(`${ours}`));
  assert.match(all(upstream), new RegExp(basic('their:pass')));
  const guarded = await startWire(t, ['clients: [{ name: a, password: b }]']);
  const refused = await ask(
    guarded,
    'GET http://o.test/ HTTP/1.1\r\nHost: o.test\r\nConnection: close\r\n\r\n',
  );
  assert.deepEqual(statuses(refused), [407]);
  assert.match(
    refused,
    /Proxy-Authenticate: Basic realm="forbear"\r\n[\s\S]*Proxy-Status: forbear;/,
  );
});

test('B34 B35 what is said between neighbours stays between neighbours, in both directions', async (t) => {
  const reply =
    'HTTP/1.1 200 OK\r\nConnection: X-Resp-Hop\r\nX-Resp-Hop: 1\r\nKeep-Alive: timeout=600\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nok';
  const { origin, wire, authority } = await scene(t, [], reply);
  const got = await ask(
    wire,
    `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: X-Secret-Hop, close\r\nX-Secret-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  );
  assert.deepEqual(statuses(got), [200]);
  assert.doesNotMatch(
    all(origin),
    /X-Secret-Hop|Keep-Alive:|Proxy-Connection|Upgrade|HTTP2-Settings/i,
  );
  // Made anew, since trailers go through.
  assert.match(all(origin), /\r\nConnection: keep-alive, TE\r\nTE: trailers\r\n/);
  assert.doesNotMatch(got, /X-Resp-Hop|timeout=600|Proxy-Authenticate/i);
  assert.match(got, /\r\nConnection: close\r\n/);
  const named = await ask(
    wire,
    `POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: host, content-length, close\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello`,
  );
  assert.equal(statuses(named).at(-1), 200);
  assert.match(
    all(origin),
    /POST \/ HTTP\/1\.1\r\nHost: [\s\S]*Content-Length: 5\r\n[\s\S]*hello$/,
  );
});

test('B34 a Connection: close of the origin ends the connection to it, not the one to the client', async (t) => {
  const { origin, wire, authority } = await scene(
    t,
    [],
    OK.replace('\r\n', '\r\nConnection: close\r\n'),
  );
  const socket = await wire.dial();
  for (let round = 1; round <= 2; round += 1) {
    socket.write(`GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await heard(socket, (got) => got.endsWith('ok'));
    assert.equal(origin.accepted, round);
  }
});

test('B36 the client gets one 100 and one final reply; Expect goes no further; nobody waits for ever', async (t) => {
  const { origin, wire, authority } = await scene(t, [
    'policy: { timeouts: { idle: 200ms, linger: 100ms } }',
  ]);
  const head = (version = '1.1', expect = '100-continue') =>
    `POST http://${authority}/ HTTP/${version}\r\nHost: ${authority}\r\nContent-Length: 5\r\nExpect: ${expect}\r\nConnection: close\r\n\r\n`;
  const waits = await wire.dial();
  waits.write(head());
  assert.equal(
    await heard(waits, (got) => got.includes('\r\n\r\n')),
    'HTTP/1.1 100 Continue\r\n\r\n',
  );
  waits.write('hello');
  assert.deepEqual(statuses(await heardToEnd(waits)), [200]);
  const eager = await ask(wire, `${head()}hello`);
  assert.equal(statuses(eager).filter((status) => status !== 100).length, 1);
  assert.ok(statuses(eager).filter((status) => status === 100).length <= 1);
  assert.deepEqual(statuses(await ask(wire, `${head('1.0')}hello`)), [200], 'no 100 to HTTP/1.0');
  assert.deepEqual(statuses(await ask(wire, `${head('1.1', 'banana')}hello`)), [417]);
  assert.doesNotMatch(all(origin), /expect/i);
  assert.equal(all(origin).match(/hello/g)?.length, 3);
  const never = await wire.dial();
  never.write(head());
  assert.deepEqual(statuses(await heardToEnd(never)), [100, 408]);
  const guarded = await startWire(t, ['clients: [{ name: a, password: b }]']);
  assert.deepEqual(statuses(await ask(guarded, head())), [407], 'a refusal needs no body');
});

test('B39 path and query reach the origin byte for byte; a fragment does not, and a raw byte is 400', async (t) => {
  const { origin, wire, authority, get } = await scene(t);
  const paths = [
    ...[
      '/a%2Fb',
      '/a//b',
      '/a/../b',
      '/a/%2e%2e/b',
      '/?q=a+b%20c',
      '/?q=%zz',
      '/x?',
      '/a;b=c',
      '/|"<>',
      '/%e9',
    ],
    ...['/a\\b', `/?${'q'.repeat(8000)}`],
  ];
  for (const path of paths) {
    assert.deepEqual(statuses(await get(path)), [200], path);
    assert.ok(all(origin).includes(`GET ${path} HTTP/1.1\r\n`), path);
  }
  await get('?x=1');
  assert.ok(all(origin).includes('GET /?x=1 HTTP/1.1\r\n'));
  await get('/a#f');
  assert.ok(all(origin).includes('GET /a HTTP/1.1\r\n') && !all(origin).includes('#'));
  await ask(
    wire,
    `OPTIONS http://${authority} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`,
  );
  assert.ok(all(origin).includes('OPTIONS * HTTP/1.1\r\n'));
  const hits = origin.heard.length;
  assert.deepEqual(statuses(await get('/\xe9')), [400]);
  assert.deepEqual(statuses(await get('/a b')), [400]);
  assert.equal(origin.heard.length, hits);
});

test('B41 B57 names, case, order, doubles and bytes above 0x7F stay; nothing is added but our own Connection', async (t) => {
  const reply = Buffer.from(
    'HTTP/1.1 200 Fein\xe9\r\nx-CaSe: \xc3\xa9\r\nX-L: \xe9\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nok',
    'latin1',
  );
  const { origin, get } = await scene(t, [], reply);
  const lines = [
    'X-B: 2',
    'x-a: 1',
    'COOKIE: n=\xe5\x90\x8d',
    'X-Multi: 1',
    'X-Multi: 2',
    'Accept-Encoding: gzip',
    'X-Empty: ',
  ];
  const got = await get('/', ...lines);
  const sent = all(origin).split('\r\n').slice(1, -2);
  // The client said close, in the last place.
  assert.deepEqual(sent, [`Host: o.test:${origin.port}`, ...lines, 'Connection: keep-alive']);
  assert.match(
    got,
    /^HTTP\/1\.1 200 Fein\xe9\r\nx-CaSe: \xc3\xa9\r\nX-L: \xe9\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n/,
  );
});

test('B42 an HTTP/1.0 client gets no chunks, no 1xx and a closed connection, and may CONNECT', async (t) => {
  const chunked =
    'HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
  const { wire, authority } = await scene(t, ['intercept: { mode: none }'], chunked);
  for (const headers of [
    'Host: o.test\r\n',
    '',
    'Connection: keep-alive\r\n',
    'Proxy-Connection: keep-alive\r\n',
  ]) {
    const got = await ask(wire, `GET http://${authority}/ HTTP/1.0\r\n${headers}\r\n`);
    assert.deepEqual(statuses(got), [200]);
    assert.doesNotMatch(got, /transfer-encoding/i);
    assert.ok(got.endsWith('\r\n\r\nhello'));
  }
  const socket = await wire.dial();
  socket.write(`CONNECT ${authority} HTTP/1.0\r\n\r\n`);
  assert.match(await heard(socket, (text) => text.includes('\r\n\r\n')), /^HTTP\/1\.1 200 /);
});

test('B42 a reply that is cut short ends in a reset for an HTTP/1.0 client without a length', async (t) => {
  const origin = await rawServer((socket) => {
    onHead(socket, () => {
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
      );
      setImmediate(() => socket.destroy());
    });
  });
  t.after(() => origin.close());
  const wire = await startWire(t, ['policy: { resume_downloads: false }']);
  const socket = await wire.dial();
  const { promise, resolve } = Promise.withResolvers<string>();
  socket
    .once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    .once('end', () => resolve('FIN'));
  socket.resume();
  socket.write(`GET http://o.test:${origin.port}/ HTTP/1.0\r\n\r\n`);
  assert.equal(await promise, 'ECONNRESET');
});

test('B87 a client that leaves in a wait or in the middle of an attempt costs nothing more, and blames nobody', async (t) => {
  const { origin, wire, authority } = await scene(
    t,
    [],
    'HTTP/1.1 429 Slow\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n',
  );
  const request = (to: string) => `GET http://${to}/ HTTP/1.1\r\nHost: ${to}\r\n\r\n`;
  const waiting = await wire.dial();
  waiting.write(request(authority));
  await until(() => wire.told('attempt_finished').length === 1);
  waiting.destroy();
  await until(() => wire.proxy.activity().exchanges === 0);
  assert.equal(all(origin).match(/GET/g)?.length, 1);
  const silent = await rawServer(() => {});
  t.after(() => silent.close());
  const asking = await wire.dial();
  asking.write(request(`s.test:${silent.port}`));
  await until(() => silent.heard[0]?.includes('GET') === true);
  asking.resetAndDestroy();
  await until(() => silent.open === 0 && wire.proxy.activity().exchanges === 0);
  assert.deepEqual(
    wire.told('exchange_finished').map(({ answered }) => answered),
    ['client_gone', 'client_gone'],
  );
  const blamed = wire
    .told('attempt_finished')
    .slice(1)
    .filter(({ verdict }) => verdict.fault !== 'client');
  assert.deepEqual(blamed, []);
});

test('B118 a host that is paused, with its queue full, keeps nobody from another host', async (t) => {
  const slow = await rawServer(
    replying('HTTP/1.1 429 Slow\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n'),
  );
  t.after(() => slow.close());
  const { wire, get } = await scene(t, ['policy: { pace: { queue: 50 } }']);
  const to = `a.test:${slow.port}`;
  const request = `GET http://${to}/ HTTP/1.1\r\nHost: ${to}\r\n\r\n`;
  const sockets = await Promise.all(Array.from({ length: 120 }, () => wire.dial()));
  let refused = 0;
  for (const socket of sockets) {
    socket.on('data', (chunk: Buffer) => {
      refused += /^HTTP\/1\.1 503 [\s\S]*Retry-After: /.test(chunk.toString('latin1')) ? 1 : 0;
    });
    socket.write(request);
  }
  await until(() => refused > 0 && wire.told('exchange_started').length === 120);
  assert.deepEqual(statuses(await get('/')), [200]);
  assert.equal(wire.told('exchange_finished').filter(({ answered }) => answered === 200).length, 1);
  await until(() => refused >= 69);
  assert.ok(slow.open <= 1, 'who waits holds no connection');
});
