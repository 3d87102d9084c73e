import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { fieldOf, heard, startWire } from '../support/client-wire.ts';
import { begin, farOrigin, fetchOver, reply } from '../support/far-side.ts';
import { until } from '../support/raw-server.ts';

const QUICK =
  'policy: { max_attempts: 3, backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 }, timeouts: { idle: 200ms } }';
const OK = reply(200, 'ok');
const asking = (url: string) =>
  `GET ${url} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: close\r\n\r\n`;

test('B57 bytes above 0x7F pass both ways as they are, in values, Location and reason', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const fields = [
    'Content-Disposition: attachment; filename="\xc3\xa9.txt"',
    'X-L: \xe9',
    'Location: /caf\xc3\xa9',
  ];
  const origin = await farOrigin(t, [reply('302 Trouv\xe9', 'x', ...fields)]);
  const got = await fetchOver(wire, origin.url, { fields: ['Cookie: n=\xe5\x90\x8d'] });
  assert.match(got.head, /^HTTP\/1\.1 302 Trouv\xe9\r\n/);
  for (const line of fields) assert.ok(got.head.includes(`\r\n${line}\r\n`), line);
  assert.equal(fieldOf(origin.hits[0]?.head ?? '', 'Cookie'), 'n=\xe5\x90\x8d');
});

test('B58 fifty Set-Cookie lines stay fifty, in order, commas and all', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const cookies = Array.from(
    { length: 50 },
    (_, n) => `Set-Cookie: c${n}=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT`,
  );
  const origin = await farOrigin(t, [reply(200, 'ok', ...cookies)]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual(
    got.head.split('\r\n').filter((line) => /^set-cookie/i.test(line)),
    cookies,
  );
});

test('B58 cookies of a try that the client never sees are not delivered and not sent; those of the last one are', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const origin = await farOrigin(t, [
    reply(429, '', 'Retry-After: 0.05', 'Set-Cookie: trap=1'),
    reply(503, '', 'Set-Cookie: trap=2'),
    reply(200, 'ok', 'Set-Cookie: a=1', 'Set-Cookie: b=2'),
  ]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual(got.head.match(/set-cookie: .*/gi), ['Set-Cookie: a=1', 'Set-Cookie: b=2']);
  assert.ok(origin.hits.every(({ head }) => !/cookie/i.test(head)));
  const failing = await farOrigin(t, (_, n) => reply(503, '', `Set-Cookie: n=${n}`), {
    name: 'p.test',
  });
  const last = await fetchOver(wire, failing.url);
  assert.deepEqual(last.head.match(/set-cookie: .*/gi), ['Set-Cookie: n=3']);
});

test('B59 each event reaches the client before the next is sent', async (t) => {
  const wire = await startWire(t, [QUICK.replace('idle: 200ms', 'idle: 5s')]);
  let say = (_: string) => {};
  const origin = await farOrigin(t, [
    (socket) => {
      say = (text) => void socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
    },
  ]);
  const { socket } = begin(wire.port, asking(origin.url));
  await heard(socket, (text) => text.includes('\r\n\r\n'));
  for (let n = 0; n < 5; n++) {
    const next = heard(socket, (text) => text.includes(`data: ${n}\n\n`));
    say(`data: ${n}\n\n`);
    await next;
  }
  socket.destroy();
});

test('B59 a body longer than the window is on its way before its end, and what is cut then is broken off, not repeated', async (t) => {
  const wire = await startWire(t, [
    'policy: { inspect: { hold: 64KiB }, resume_downloads: false }',
  ]);
  let cut = () => {};
  const origin = await farOrigin(t, [
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000000\r\n\r\n');
      socket.write('x'.repeat(200_000));
      cut = () => void socket.resetAndDestroy();
    },
  ]);
  const { socket, all } = begin(wire.port, asking(origin.url));
  await heard(socket, (text) => text.length > 190_000);
  cut();
  const text = await all;
  assert.ok(text.length < 300_000);
  assert.equal(origin.hits.length, 1);
  await until(() => wire.told('exchange_finished').length === 1);
  assert.equal(wire.told('exchange_finished')[0]?.answered, 'broken_off');
});

test('B60 a body that stalls while it is held is asked for again, and its socket is closed', async (t) => {
  const wire = await startWire(t, [QUICK]);
  let isClosed = false;
  const origin = await farOrigin(t, [
    (socket) => {
      socket.on('close', () => {
        isClosed = true;
      });
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\nhalf',
      );
    },
    OK,
  ]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.body, got.field('Forbear-Attempts')], [200, 'ok', '2']);
  await until(() => isClosed);
});

test('B60 a drip while it is held ends with the patience', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const timers = new Set<NodeJS.Timeout>();
  t.after(() => timers.forEach(clearInterval));
  const origin = await farOrigin(t, [
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n');
      timers.add(setInterval(() => socket.write('.'), 60));
    },
  ]);
  const got = await fetchOver(wire, origin.url, { fields: ['Forbear-Patience: 700ms'] });
  assert.equal(got.status, 504);
  await until(() => wire.proxy.activity().exchanges === 0);
});

const HTML = 'Content-Type: text/html';
const CODED: Readonly<Record<string, { bytes: string; label: string | undefined }>> = {
  'a plain body under the label gzip': { bytes: '<html></html>', label: 'gzip' },
  'gzip bytes under the label br': {
    bytes: gzipSync('<html></html>').toString('latin1'),
    label: 'br',
  },
  'gzip bytes without a label': {
    bytes: gzipSync('<html></html>').toString('latin1'),
    label: undefined,
  },
  'a label that is no coding': { bytes: '<html></html>', label: 'utf-8' },
  'an empty body with a label': { bytes: '', label: 'gzip' },
};

for (const [name, { bytes, label }] of Object.entries(CODED)) {
  test(`B61 ${name} reaches the client as it came, at the first try`, async (t) => {
    const wire = await startWire(t, [QUICK]);
    const coding = label === undefined ? [] : [`Content-Encoding: ${label}`];
    const origin = await farOrigin(t, [reply(200, bytes, HTML, ...coding)]);
    const got = await fetchOver(wire, origin.url);
    assert.deepEqual([got.status, got.body, got.field('Content-Encoding')], [200, bytes, label]);
    assert.equal(origin.hits.length, 1);
  });
}

test('B65 what is looked at is a copy: coded bytes, length, tag and digest are those of the site, and nothing is asked for in the client’s name', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const body = gzipSync('<html>page</html>').toString('latin1');
  const fields = [
    HTML,
    'Content-Encoding: gzip',
    'ETag: "x"',
    'Content-MD5: Q2hlY2s=',
    'Content-Digest: sha-256=:d2hhdGV2ZXI=:',
    'Accept-Ranges: bytes',
    'Vary: Accept-Encoding',
  ];
  const origin = await farOrigin(t, [reply(200, body, ...fields)]);
  const got = await fetchOver(wire, origin.url, { fields: ['Accept-Encoding: zstd'] });
  assert.equal(got.body, body);
  for (const line of [...fields, `Content-Length: ${body.length}`]) {
    assert.ok(got.head.includes(`\r\n${line}\r\n`), line);
  }
  assert.equal(fieldOf(origin.hits[0]?.head ?? '', 'Accept-Encoding'), 'zstd');
  await fetchOver(wire, origin.url);
  assert.equal(fieldOf(origin.hits[1]?.head ?? '', 'Accept-Encoding'), undefined);
});
