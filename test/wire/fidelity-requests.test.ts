import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ask, statuses } from '../support/client-wire.ts';
import { type RawServer, rawServer } from '../support/raw-server.ts';
import { startProxy } from '../support/whole-proxy.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const LAST_CHUNK = /(?:^|\r\n)0\r\n(?:[^\r\n]+\r\n)*\r\n$/;

/** A site that takes whole requests, with lengths, in chunks or without a body. */
async function startSite(t: TestContext, answers: readonly string[] = [OK]): Promise<RawServer> {
  let served = 0;
  const site = await rawServer((socket: Socket) => {
    let heard = '';
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
      const [head = '', ...rest] = heard.split('\r\n\r\n');
      const body = rest.join('\r\n\r\n');
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      const isWhole = /^transfer-encoding:/im.test(head)
        ? LAST_CHUNK.test(body)
        : heard.includes('\r\n\r\n') && body.length >= length;
      if (!isWhole) return;
      heard = '';
      socket.write(answers[Math.min(served++, answers.length - 1)] ?? OK);
    });
  });
  t.after(() => site.close());
  return site;
}

/** Sends one request with these lines behind its request line, and gives what the site got of it. */
async function sent(t: TestContext, lines: readonly string[], body = '', method = 'POST') {
  const site = await startSite(t);
  const { port } = await startProxy(t, []);
  const host = `127.0.0.1:${site.port}`;
  const head = [`${method} http://${host}/ HTTP/1.1`, ...lines.map((l) => l.replace('HOST', host))];
  const got = await ask({ port }, `${head.join('\r\n')}\r\n\r\n${body}`);
  assert.deepEqual(statuses(got), [200]);
  return site.heard.join('').replaceAll(host, 'HOST');
}

test('a request that names its connection in its own way is worded that way to the site', async (t) => {
  const lines = ['Host: HOST', 'A: 1', 'CONNECTION: Keep-Alive, close', 'B: 2'];
  assert.equal(
    await sent(t, lines, '', 'GET'),
    'GET / HTTP/1.1\r\nHost: HOST\r\nA: 1\r\nCONNECTION: Keep-Alive\r\nB: 2\r\n\r\n',
  );
});

test('a client that says nothing of its connection has no Connection at the site, for HEAD neither', async (t) => {
  const site = await startSite(t, ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n']);
  const { port } = await startProxy(t, []);
  const url = `http://127.0.0.1:${site.port}/`;
  await ask({ port }, `HEAD ${url} HTTP/1.0\r\nHost: 127.0.0.1:${site.port}\r\nA: 1\r\n\r\n`);
  assert.equal(
    site.heard.join(''),
    `HEAD / HTTP/1.1\r\nHost: 127.0.0.1:${site.port}\r\nA: 1\r\n\r\n`,
  );
});

test('what came in chunks goes on in chunks, though all of it is here and its length known', async (t) => {
  const lines = ['Host: HOST', 'transfer-encoding: Chunked', 'A: 1', 'Connection: close'];
  const seen = await sent(t, lines, '2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n');
  assert.equal(
    // Where chunks are cut is nobody's promise.
    seen.replace('2\r\nhe\r\n3\r\nllo\r\n', '5\r\nhello\r\n'),
    'POST / HTTP/1.1\r\nHost: HOST\r\ntransfer-encoding: Chunked\r\nA: 1\r\nConnection: keep-alive\r\n\r\n' +
      '5\r\nhello\r\n0\r\n\r\n',
  );
});

test('an empty body in chunks stays one, and keeps its trailers', async (t) => {
  const lines = ['Host: HOST', 'Transfer-Encoding: chunked', 'Connection: close'];
  for (const method of ['POST', 'GET']) {
    const head = `${method} / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n`;
    assert.equal(await sent(t, lines, '0\r\n\r\n', method), `${head}0\r\n\r\n`);
    const trailed = await sent(t, lines, '0\r\nX-Sum: 1\r\n\r\n', method);
    assert.equal(trailed, `${head}0\r\nX-Sum: 1\r\n\r\n`);
  }
});

test('trailers go on behind the last chunk, less what would change how the request is read', async (t) => {
  const lines = [
    'Host: HOST',
    'TE: trailers',
    'Trailer: X-Sum',
    'Transfer-Encoding: chunked',
    'Connection: TE, close',
  ];
  const forbidden = ['Content-Type: x/y', 'Trailer: X', 'Host: evil', 'Cookie: a'];
  const hop = ['Authorization: x', 'Connection: x', 'Proxy-Status: x', 'Forbear-Retry: off'];
  const own = ['X-sum: a\xe9', 'X-SUM: b', 'If-Match: x', 'Server-Timing: t'];
  const body = `5\r\nhello\r\n0\r\n${[...forbidden, ...own, ...hop].join('\r\n')}\r\n\r\n`;
  assert.equal(
    await sent(t, lines, body),
    'POST / HTTP/1.1\r\nHost: HOST\r\nTE: trailers\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n' +
      'Connection: keep-alive, TE\r\n\r\n' +
      '5\r\nhello\r\n0\r\nX-sum: a\xe9\r\nX-SUM: b\r\nServer-Timing: t\r\n\r\n',
  );
});

test('a retried request has its chunks and its trailers again', async (t) => {
  const busy = 'HTTP/1.1 429 Slow\r\nRetry-After: 0.05\r\nContent-Length: 0\r\n\r\n';
  const site = await startSite(t, [busy, OK]);
  const { port } = await startProxy(t, []);
  const host = `127.0.0.1:${site.port}`;
  const request = [
    `POST http://${host}/ HTTP/1.1`,
    `Host: ${host}`,
    'Transfer-Encoding: chunked',
    'Connection: close',
    '',
    '5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n',
  ];
  assert.deepEqual(statuses(await ask({ port }, request.join('\r\n'))), [200]);
  assert.equal(site.heard.join('').split('5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n').length, 3);
});

test('a body that looks like the end of one is a body', async (t) => {
  const lines = ['Host: HOST', 'Transfer-Encoding: chunked', 'Connection: close'];
  const body = '\r\n0\r\n\r\n';
  const got = await sent(t, lines, `7\r\n${body}\r\n0\r\nX-Sum: 1\r\n\r\n`);
  assert.equal(
    got.split('\r\n\r\n').slice(1).join('\r\n\r\n'),
    `7\r\n${body}\r\n0\r\nX-Sum: 1\r\n\r\n`,
  );
});
