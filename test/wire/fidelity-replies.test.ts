import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { ask } from '../support/client-wire.ts';
import { onHead, rawServer } from '../support/raw-server.ts';
import { startProxy } from '../support/whole-proxy.ts';

const latin1 = (bytes: Buffer): string => bytes.toString('latin1');
const zipped = latin1(gzipSync('hello hello hello'));
const brotli = latin1(brotliCompressSync('hello hello hello'));

/** A reply as bytes, and what differs of it behind the proxy; nothing where there is no third entry. */
const REPLIES: readonly (readonly [name: string, reply: string, through?: string])[] = [
  [
    'names in mixed case, doubles and order',
    'HTTP/1.1 200 OK\r\nx-B: 2\r\nX-A: 1\r\nSET-Cookie: a=1\r\nset-cookie: b=2\r\nX-A: 3\r\nContent-Length: 2\r\n\r\nok',
  ],
  [
    'bytes above 0x7F, Latin and UTF-8, in the reason, in values and in the body',
    'HTTP/1.1 200 Fein\xe9\xff\r\nX-L: \xe9\r\nX-U: \xc3\xa9\r\nContent-Length: 3\r\n\r\n\xe9\x00\xff',
  ],
  ['empty values', 'HTTP/1.1 200 OK\r\nX-Empty: \r\nX-B: 1\r\nContent-Length: 0\r\n\r\n'],
  ['an odd reason', 'HTTP/1.1 200 Computer says: yes (really)\r\nContent-Length: 2\r\n\r\nok'],
  ['no reason', 'HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok'],
  ['status 299', 'HTTP/1.1 299 Odd\r\nContent-Length: 2\r\n\r\nok'],
  ['status 499', 'HTTP/1.1 499 Gone Away\r\nContent-Length: 2\r\n\r\nno'],
  ['status 599', 'HTTP/1.1 599 Odd\r\nContent-Length: 2\r\n\r\nno'],
  ['status 999', 'HTTP/1.1 999 Denied\r\nContent-Length: 2\r\n\r\nno'],
  ['a redirect with a body', 'HTTP/1.1 302 Found\r\nLocation: /a b\r\nContent-Length: 2\r\n\r\nok'],
  [
    'a body in gzip',
    `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${zipped.length}\r\n\r\n${zipped}`,
  ],
  [
    'a body in a coding of many names',
    `HTTP/1.1 200 OK\r\ncontent-encoding: BR\r\nContent-Length: ${brotli.length}\r\n\r\n${brotli}`,
  ],
  [
    'trailers that were announced',
    'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: \xe9\r\n\r\n',
  ],
  [
    'trailers that were not, doubled and in mixed case',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-SUM: 1\r\nX-Sum: 2\r\n\r\n',
  ],
  [
    'trailers that would change how the reply is read',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Type: x/y\r\nSet-Cookie: a=1\r\nX-Sum: 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n',
  ],
  [
    'extensions of chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b;c="d"\r\nok\r\n0;end\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  ],
  [
    'a length beside a 304',
    'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nContent-Length: 1234\r\n\r\n',
  ],
  ['a 204', 'HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n'],
  [
    'fields that a Connection names',
    'HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  ],
  [
    'HTTP/1.0',
    'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  ],
  [
    'blanks in front of values',
    'HTTP/1.1 200 OK\r\nX-A:1\r\nX-B: \t 2\r\nX-C: 3 \r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nX-A: 1\r\nX-B: 2\r\nX-C: 3 \r\nContent-Length: 2\r\n\r\nok',
  ],
];

test('odd but legal replies reach a client as they left the site', async (t) => {
  const { fetch } = await rig(t);
  for (const [name, reply, through = reply] of REPLIES) {
    assert.equal(await fetch(reply), through, name);
  }
});

test('a body until close comes in chunks, and its end is a good one', async (t) => {
  const { fetch } = await rig(t);
  assert.equal(
    await fetch('HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nhello', 'end'),
    'HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  );
});

test('the notes of the proxy stand behind the fields of the site', async (t) => {
  const { fetch } = await rig(t, []);
  const got = await fetch('HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok');
  assert.match(
    got,
    /^HTTP\/1\.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\nForbear-Attempts: 1\r\n(?:Forbear-[\w-]+: [^\r]*\r\n)+\r\nok$/,
  );
});

/** A site that says what it is told to, and a client that shows all it got but the proxy's own Connection. */
async function rig(t: TestContext, lines = ['policy: { annotate: false, max_attempts: 1 }']) {
  let reply = '';
  let after: 'stay' | 'end' = 'stay';
  const site = await rawServer((socket) => {
    onHead(socket, () => {
      socket.write(reply, 'latin1');
      if (after === 'end') socket.end();
    });
  });
  t.after(() => site.close());
  const { port } = await startProxy(t, lines);
  const host = `127.0.0.1:${site.port}`;
  return {
    async fetch(bytes: string, then: typeof after = 'stay') {
      reply = bytes;
      after = then;
      const request = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      return (await ask({ port }, request)).replace('\r\nConnection: close', '');
    },
  };
}
