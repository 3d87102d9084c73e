import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import {
  attemptsFor,
  bodyOf,
  direct,
  exchangeTo,
  failureOf,
  responseOf,
  routeOver,
  textOf,
} from '../support/attempts.ts';
import { onHead, rawServer, replying, until } from '../support/raw-server.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('request fields keep order, case, duplicates and every byte; nothing is added but Connection', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  const headers = ['X-B', '1', 'hOST', 'shop.test', 'x-a', '\xe9t\xe9', 'COOKIE', 'a=1'];
  headers.push('X-Multi', 'one', 'X-Multi', 'two', 'X-Empty', '');
  const received = await attempt(
    exchangeTo(origin, { headers, path: '/a%2Fb//c/../d?q=%zz+|"<>' }),
    direct,
  );
  assert.equal(await textOf(received), 'ok');
  assert.equal(
    origin.heard[0],
    'GET /a%2Fb//c/../d?q=%zz+|"<> HTTP/1.1\r\nX-B: 1\r\nhOST: shop.test\r\nConnection: keep-alive\r\n' +
      'x-a: \xe9t\xe9\r\nCOOKIE: a=1\r\nX-Multi: one\r\nX-Multi: two\r\nX-Empty: \r\n\r\n',
  );
});

test('a request without Host gets the target as Host', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  await attempt(exchangeTo(origin, { method: 'OPTIONS', path: '*' }), direct);
  assert.equal(
    origin.heard[0],
    `OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\nConnection: keep-alive\r\n\r\n`,
  );
});

test('reply fields, reason and body come as they were sent', async (t) => {
  const body = Buffer.from([0xff, 0x00, 0xfe, 0x80]);
  const head =
    'HTTP/1.1 203 Tr\xe8s bien\r\nx-CaSe: 1\r\nSet-Cookie: a\r\nset-cookie: b\xe9\r\nX-Empty:\r\n' +
    'Content-Type: image/x\r\nContent-Length: 4\r\n\r\n';
  const origin = await rawServer(replying(Buffer.concat([Buffer.from(head, 'latin1'), body])));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  const received = await attempt(exchangeTo(origin), direct);
  assert.equal(received.response?.reason, 'Tr\xe8s bien');
  assert.deepEqual(responseOf(received).rawHeaders, [
    ...['x-CaSe', '1', 'Set-Cookie', 'a', 'set-cookie', 'b\xe9', 'X-Empty', ''],
    ...['Content-Type', 'image/x', 'Content-Length', '4'],
  ]);
  assert.deepEqual(responseOf(received).body, { kind: 'unseen' });
  assert.equal(await textOf(received), body.toString('latin1'));
});

test('interim replies are not the reply, however they are cut', async (t) => {
  const bytes = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}`;
  const origin = await rawServer((socket) => {
    onHead(socket, async () => {
      socket.setNoDelay(true);
      for (const byte of bytes) {
        socket.write(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
  });
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  const received = await attempt(exchangeTo(origin), direct);
  assert.equal(responseOf(received).status, 200);
  assert.equal(await textOf(received), 'ok');
});

test('HEAD, 204 and 304 have no body, whatever their fields say', async (t) => {
  const cases = [
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nContent-Encoding: gzip\r\n\r\n'],
    ['HEAD', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody'],
    ['GET', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\n\r\n'],
  ] as const;
  for (const [method, bytes] of cases) {
    const origin = await rawServer(replying(bytes));
    t.after(() => origin.close());
    const { attempt } = attemptsFor(t);
    const received = await attempt(exchangeTo(origin, { method }), direct);
    assert.deepEqual(responseOf(received).body, { kind: 'none' }, bytes);
    assert.equal(await textOf(received), '', bytes);
    await received.closed;
    const again = await attempt(exchangeTo(origin, { method }), direct);
    assert.equal(responseOf(again).body.kind, 'none', bytes);
  }
});

test('trailers are there when the body has ended', async (t) => {
  const chunked =
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n';
  const origin = await rawServer(replying(chunked));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  const received = await attempt(exchangeTo(origin), direct);
  assert.equal(await textOf(received), 'ok');
  assert.deepEqual(received.response?.rawTrailers, ['X-Sum', '1']);
});

test('request bodies go out whole: with their length, in chunks, or empty', async (t) => {
  const origin = await rawServer((socket) => {
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      if (/\r\n\r\n(hello|5\r\nhello\r\n0\r\n\r\n|$)/.test(heard)) {
        heard = '';
        socket.write(OK);
      }
    });
  });
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  const hello = Buffer.from('hello');
  const requests = [
    exchangeTo(origin, {
      method: 'POST',
      headers: ['Host', 'o', 'content-LENGTH', '5', 'X-A', '1'],
      body: bodyOf(hello),
    }),
    exchangeTo(origin, {
      method: 'PUT',
      headers: ['Host', 'o'],
      body: { ...bodyOf(hello, 'chunked'), open: slow },
    }),
    exchangeTo(origin, { method: 'POST', headers: ['Host', 'o', 'Content-Length', '0'] }),
    exchangeTo(origin, { method: 'DELETE', headers: ['Host', 'o', 'Content-Length', '0'] }),
  ];
  for (const request of requests) {
    const received = await attempt(request, direct);
    assert.equal(await textOf(received), 'ok');
    await received.closed;
  }
  const start = '/ HTTP/1.1\r\nHost: o\r\nConnection: keep-alive\r\n';
  assert.equal(
    origin.heard.join(''),
    `POST ${start}content-LENGTH: 5\r\nX-A: 1\r\n\r\nhello` +
      `PUT ${start}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n` +
      `POST ${start}Content-Length: 0\r\n\r\nDELETE ${start}Content-Length: 0\r\n\r\n`,
  );
});

test('an early refusal is seen although the body was not taken', async (t) => {
  const origin = await rawServer((socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig');
    });
  });
  t.after(() => origin.close());
  const attempts = attemptsFor(t);
  const body = bodyOf(Buffer.alloc(8 * 1024 * 1024));
  const received = await attempts.attempt(exchangeTo(origin, { method: 'POST', body }), direct);
  assert.equal(responseOf(received).status, 413);
  assert.equal(await textOf(received), 'big');
  await until(() => attempts.openSockets() === 0);
});

test('a client that leaves in the middle of its body aborts the attempt and blames nobody', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const attempts = attemptsFor(t);
  const body = bodyOf(Buffer.alloc(10));
  const pass = new Readable({ read() {} });
  pass.push('hello');
  const exchange = exchangeTo(origin, { method: 'POST', body: { ...body, open: () => pass } });
  const pending = attempts.attempt(exchange, direct);
  await until(() => (origin.heard[0] ?? '').includes('hello'));
  pass.destroy(Object.assign(new Error('client reset'), { code: 'ECONNRESET' }));
  const failure = failureOf(await pending);
  assert.deepEqual([failure.code, failure.leg, failure.sent], ['aborted', 'local', true]);
  await until(() => attempts.openSockets() === 0);
});

test('what cannot be sent is invalid, and no byte of it leaves', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  for (const exchange of [
    exchangeTo(origin, { path: '/a b' }),
    exchangeTo(origin, { headers: ['X', 'a\r\nInjected: 1'] }),
    exchangeTo(origin, { headers: ['X', '\u540d'] }),
    exchangeTo(origin, { headers: ['bad name', '1'] }),
  ]) {
    const failure = failureOf(await attempt(exchange, direct));
    assert.deepEqual(
      [failure.code, failure.leg, failure.sent],
      ['invalid_request', 'local', false],
    );
  }
  assert.equal(origin.heard.join(''), '');
});

test('only one framing is taken in strict mode, and lenient mode mends the head', async (t) => {
  const both =
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
  const bare = 'HTTP/1.1 200 OK\nX : y\nContent-Length: 5\n\nhello';
  for (const bytes of [both, bare]) {
    const origin = await rawServer(replying(bytes));
    t.after(() => origin.close());
    const { attempt } = attemptsFor(t);
    const strict = failureOf(await attempt(exchangeTo(origin), direct));
    assert.deepEqual([strict.code, strict.phase], ['http_protocol', 'first_byte'], bytes);
    const mended = await attempt(exchangeTo(origin, { policy: { lenient: true } }), direct);
    assert.equal(await textOf(mended), 'hello', bytes);
  }
});

test('a head above 64 KiB is an overflow; one of 40 KiB passes', async (t) => {
  for (const [size, outcome] of [
    [40_000, 'response'],
    [80_000, 'failure'],
  ] as const) {
    const origin = await rawServer(
      replying(`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(size)}\r\nContent-Length: 0\r\n\r\n`),
    );
    t.after(() => origin.close());
    const { attempt } = attemptsFor(t);
    const received = await attempt(exchangeTo(origin), direct);
    assert.equal(received.reply.kind, outcome);
    if (outcome === 'failure') assert.equal(failureOf(received).code, 'header_overflow');
  }
});

test('bytes are counted per attempt, kept-alive sockets included', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  const sizes: number[][] = [];
  for (let i = 0; i < 2; i++) {
    const received = await attempt(exchangeTo(origin, { headers: ['Host', 'o'] }), direct);
    await textOf(received);
    await received.closed;
    sizes.push([received.sentBytes, received.receivedBytes]);
  }
  const request = 'GET / HTTP/1.1\r\nHost: o\r\nConnection: keep-alive\r\n\r\n';
  assert.equal(origin.accepted, 1);
  assert.deepEqual(sizes, [
    [request.length, OK.length],
    [request.length, OK.length],
  ]);
});

test('a plain request goes to an HTTP upstream in absolute-form, with its login and fields', async (t) => {
  const upstream = await rawServer(replying(OK));
  t.after(() => upstream.close());
  const { attempt } = attemptsFor(t);
  const route = routeOver(upstream, { username: 'u', password: 'p', headers: ['X-Zone', 'a'] });
  const exchange = exchangeTo(
    { host: 'o.test', port: 80 },
    { headers: ['Host', 'o.test'], path: '/?a' },
  );
  const received = await attempt(exchange, route);
  assert.equal(responseOf(received).via, 'forward');
  assert.equal(
    upstream.heard[0],
    'GET http://o.test:80/?a HTTP/1.1\r\nHost: o.test\r\nConnection: keep-alive\r\n' +
      'Proxy-Authorization: Basic dTpw\r\nX-Zone: a\r\n\r\n',
  );
});

function slow() {
  return Readable.from(
    (async function* () {
      yield Buffer.from('hello');
      await Promise.resolve();
    })(),
    { objectMode: false },
  );
}
