import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ask } from '../support/client-wire.ts';
import { onHead, rawServer, until } from '../support/raw-server.ts';
import { startProxy } from '../support/whole-proxy.ts';

const FRAMED = 'Content-Length: 5\r\n\r\nhello';
const CHUNKS = '5\r\nhello\r\n0\r\n\r\n';

/** A fault, the reply that has it, and the head that a lenient host's client gets (less its framing). */
const MENDED: readonly (readonly [fault: string, reply: string, head: string])[] = [
  ['a folded field', `HTTP/1.1 200 OK\r\nX-A: a\r\n\t b\r\n${FRAMED}`, '200 OK\r\nX-A: a b'],
  [
    'lines that end in LF',
    'HTTP/1.1 200 OK\nX-A: a\nContent-Length: 5\n\nhello',
    '200 OK\r\nX-A: a',
  ],
  ['one line that ends in LF', `HTTP/1.1 200 OK\r\nX-A: a\n${FRAMED}`, '200 OK\r\nX-A: a'],
  ['a length twice', `HTTP/1.1 200 OK\r\nContent-Length: 5\r\n${FRAMED}`, '200 OK'],
  ['a length as a list', 'HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello', '200 OK'],
  ['a blank before the colon', `HTTP/1.1 200 OK\r\nX-A : a\r\n${FRAMED}`, '200 OK\r\nX-A: a'],
  ['a name that is none', `HTTP/1.1 200 OK\r\nX A: a\r\nX-B: b\r\n${FRAMED}`, '200 OK\r\nX-B: b'],
  ['a line without a colon', `HTTP/1.1 200 OK\r\nrubbish\r\n${FRAMED}`, '200 OK'],
  ['a blank before the first field', `HTTP/1.1 200 OK\r\n X-A: a\r\n${FRAMED}`, '200 OK\r\nX-A: a'],
  ['control characters', `HTTP/1.1 200 OK\r\nX-A: a\x01\x00\rb\r\n${FRAMED}`, '200 OK\r\nX-A: ab'],
  ['two blanks in the status line', `HTTP/1.1  200 OK\r\n${FRAMED}`, '200 OK'],
  ['half a version', `HTTP/1 200 OK\r\n${FRAMED}`, '200 OK'],
  [
    'chunks beside a length',
    `HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
    '200 OK',
  ],
  [
    'chunks announced with a blank',
    `HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n${CHUNKS}`,
    '200 OK',
  ],
];

/** What no leniency takes. */
const HOPELESS: readonly (readonly [fault: string, reply: string])[] = [
  ['lengths that differ', `HTTP/1.1 200 OK\r\nContent-Length: 4\r\n${FRAMED}`],
  ['a list of lengths that differ', 'HTTP/1.1 200 OK\r\nContent-Length: 4, 5\r\n\r\nhello'],
  ['a length below zero', 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello'],
  ['a length with a plus', 'HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello'],
  ['a length that is empty', 'HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nhello'],
  ['a status of two digits', `HTTP/1.1 20 OK\r\n${FRAMED}`],
  ['a status of four digits', `HTTP/1.1 2000 OK\r\n${FRAMED}`],
  ['another protocol', `ICY 200 OK\r\n${FRAMED}`],
];

const BAD_CHUNKS = [
  '0x5\r\nhello\r\n0\r\n\r\n',
  '-5\r\nhello\r\n0\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  '5\nhello\n0\n\n',
  'fffffffffffffffff\r\nhello\r\n0\r\n\r\n',
];

test('a reply that breaks HTTP is refused as malformed, at the first try', async (t) => {
  const { fetch, tries } = await rig(t, false);
  for (const [fault, reply] of [...MENDED, ...HOPELESS]) {
    const got = await fetch(reply);
    assert.match(got, /^HTTP\/1\.1 502 /, fault);
    assert.match(got, /\r\nForbear-Verdict: client\/malformed_reply\r\n/, fault);
    assert.match(got, /\r\nProxy-Status: forbear; error=http_protocol_error;/, fault);
  }
  assert.equal(tries(), MENDED.length + HOPELESS.length);
});

test('a lenient host has its replies repaired, before the client reads them', async (t) => {
  const { fetch } = await rig(t, true);
  for (const [fault, reply, head] of MENDED) {
    const got = await fetch(reply);
    const framing = reply.includes('chunked')
      ? `Transfer-Encoding: chunked\r\n#\r\n${CHUNKS}`
      : `${FRAMED.replace('\r\n\r\n', '\r\n#\r\n')}`;
    const settled = got
      .replace(/(?:Forbear-[\w-]+|Connection): [^\r]*\r\n/g, '')
      .replace('\r\n\r\n', '\r\n#\r\n');
    assert.equal(settled, `HTTP/1.1 ${head}\r\n${framing}`, fault);
  }
});

test('what could be read in two ways stays refused, lenient or not', async (t) => {
  const { fetch } = await rig(t, true);
  for (const [fault, reply] of HOPELESS) {
    assert.match(await fetch(reply), /\r\nForbear-Verdict: client\/malformed_reply\r\n/, fault);
  }
});

test('a chunk size that is none is never repaired', async (t) => {
  for (const lenient of [false, true]) {
    const { fetch } = await rig(t, lenient);
    for (const chunks of BAD_CHUNKS) {
      const got = await fetch(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`);
      assert.match(got, /^HTTP\/1\.1 502 /, chunks);
    }
  }
});

test('a connection whose reply was repaired is not used again; others are', async (t) => {
  const { fetch, site } = await rig(t, true);
  const good = `HTTP/1.1 200 OK\r\n${FRAMED}`;
  await fetch(good);
  await fetch(good);
  assert.equal(site.accepted, 1);
  await fetch(`HTTP/1.1 200 OK\r\nX-A : a\r\n${FRAMED}`);
  await until(() => site.open === 0);
  await fetch(good);
  assert.equal(site.accepted, 2);
});

test('leniency is for its host alone', async (t) => {
  const { fetch } = await rig(t, true, 'other.test');
  assert.match(await fetch(`HTTP/1.1 200 OK\r\nX-A : a\r\n${FRAMED}`), /^HTTP\/1\.1 502 /);
});

async function rig(t: TestContext, lenient: boolean, match = '127.0.0.1') {
  let reply = '';
  let tries = 0;
  const site = await rawServer((socket) => {
    onHead(socket, () => {
      tries += 1;
      socket.write(reply, 'latin1');
    });
  });
  t.after(() => site.close());
  const { port } = await startProxy(t, [`targets: [{ match: ${match}, lenient: ${lenient} }]`]);
  const host = `127.0.0.1:${site.port}`;
  return {
    site,
    tries: () => tries,
    fetch(bytes: string) {
      reply = bytes;
      return ask(
        { port },
        `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
    },
  };
}
