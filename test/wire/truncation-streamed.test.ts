import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { until } from '../support/raw-server.ts';
import { get, type Step, scriptedSite, startProxy } from '../support/whole-proxy.ts';

const HELD_SHORTLY = [
  'policy: { backoff: { base: 1ms }, inspect: { hold: 1KiB }, timeouts: { idle: 150ms } }',
];
const HTML = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
const FILE = 'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n';
const body = 'x'.repeat(3000);
const chunk = `bb8\r\n${body}\r\n`;

const BREAKS: Readonly<Record<string, Step>> = {
  'a page beyond the hold, then FIN': {
    bytes: `${HTML}Content-Length: 9000\r\n\r\n${body}`,
    after: 'end',
  },
  'a page beyond the hold, then RST': {
    bytes: `${HTML}Content-Length: 9000\r\n\r\n${body}`,
    after: 'reset',
  },
  'a page beyond the hold, then silence': { bytes: `${HTML}Content-Length: 9000\r\n\r\n${body}` },
  'a file, then FIN': { bytes: `${FILE}Content-Length: 9000\r\n\r\n${body}`, after: 'end' },
  'chunks without an end': {
    bytes: `${FILE}Transfer-Encoding: chunked\r\n\r\n${chunk}`,
    after: 'end',
  },
  'a chunk cut inside': {
    bytes: `${FILE}Transfer-Encoding: chunked\r\n\r\n${chunk}fff\r\n${body}`,
    after: 'end',
  },
  'a size line cut inside': {
    bytes: `${FILE}Transfer-Encoding: chunked\r\n\r\n${chunk}f`,
    after: 'end',
  },
  'only the 0 line of the last chunk': {
    bytes: `${FILE}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n`,
    after: 'end',
  },
  'a size line that is no number': {
    bytes: `${FILE}Transfer-Encoding: chunked\r\n\r\n${chunk}zz\r\n${body}`,
  },
  'a body until close that is reset': { bytes: `${FILE}\r\n${body}`, after: 'reset' },
  'an event stream in chunks': {
    bytes: `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n`,
    after: 'end',
  },
};

for (const [name, step] of Object.entries(BREAKS)) {
  test(`${name}: once the client has bytes, its connection is broken off`, async (t) => {
    const { port, told, proxy } = await startProxy(t, HELD_SHORTLY);
    const site = await scriptedSite(t, [step]);
    const got = await get(port, site.url);
    assert.equal(got.end, 'broken');
    assert.equal(site.heads.length, 1);
    assert.equal(told('exchange_finished')[0]?.answered, 'broken_off');
    assert.equal(proxy.activity().exchanges, 0);
    await until(() => proxy.activity().sockets === 0);
  });
}

test('a client with chunks never sees a last chunk that the site did not send', async (t) => {
  const { port } = await startProxy(t, HELD_SHORTLY);
  for (const end of ['', '0\r\n']) {
    const bytes = `${FILE}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n${end}`;
    const site = await scriptedSite(t, [{ bytes, after: 'end' }]);
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
    });
    socket.on('error', () => {});
    socket.write(`GET ${site.url} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    assert.ok(!text.includes('0\r\n\r\n'), JSON.stringify(text));
  }
});

test('an HTTP/1.0 client of a body without length is reset, not left with a clean end', async (t) => {
  const { port } = await startProxy(t, HELD_SHORTLY);
  const bytes = `${FILE}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`;
  const site = await scriptedSite(t, [{ bytes, after: 'end' }]);
  const socket = connect(port, '127.0.0.1');
  socket.resume();
  socket.write(`GET ${site.url} HTTP/1.0\r\n\r\n`);
  const [error] = await once(socket, 'error');
  assert.equal((error as NodeJS.ErrnoException).code, 'ECONNRESET');
});

test('a client that takes nothing for longer than the idle time still gets all of it', async (t) => {
  const { port, proxy } = await startProxy(t, ['policy: { timeouts: { idle: 100ms } }']);
  const size = 8 * 1024 * 1024;
  const head = Buffer.from(`${FILE}Content-Length: ${size}\r\n\r\n`);
  const site = await scriptedSite(t, [{ bytes: Buffer.concat([head, Buffer.alloc(size, 'z')]) }]);
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${site.url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await once(socket, 'readable');
  const heldSince = performance.now();
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = setInterval(() => {
    // Its own timer, not the proxy's: the client stays away for two idle spans.
    if (performance.now() - heldSince < 250) return;
    clearInterval(look);
    resolve();
  }, 10);
  await promise;
  let got = 0;
  socket.on('data', (piece) => {
    got += piece.length;
  });
  await once(socket, 'close');
  assert.ok(got >= size, `${got} of ${size}`);
  assert.equal(proxy.activity().exchanges, 0);
});
