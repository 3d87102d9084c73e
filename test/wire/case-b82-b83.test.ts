import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { fieldOf, heardToEnd, startWire } from '../support/client-wire.ts';
import {
  type Answer,
  farOrigin,
  farUpstream,
  fetchOver,
  listOf,
  refuser,
  reply,
  reset,
  sha,
  silence,
} from '../support/far-side.ts';
import { rawServer } from '../support/raw-server.ts';

const QUICK =
  'policy: { max_attempts: 3, backoff: { base: 1ms, cap: 2ms }, timeouts: { first_byte: 150ms }, replay_body: 2MiB }';
const OK = reply(200, 'done');
const post = { method: 'POST', body: 'pay=1' };

const EXECUTED: Readonly<Record<string, { answer: Answer; status: number; token: string }>> = {
  '(a) is reset after it was read': { answer: reset, status: 502, token: 'connection_terminated' },
  '(b) is answered 503': {
    answer: reply(503, 'busy'),
    status: 503,
    token: 'destination_unavailable',
  },
  '(c) is answered by silence': { answer: silence, status: 504, token: 'http_response_timeout' },
};

for (const [name, { answer, status, token }] of Object.entries(EXECUTED)) {
  test(`B82 a POST that ${name} is executed once, and the client is told that it may have been`, async (t) => {
    const wire = await startWire(t, [QUICK]);
    const origin = await farOrigin(t, [answer, OK]);
    const got = await fetchOver(wire, origin.url, post);
    assert.equal(got.status, status);
    assert.equal(got.field('Forbear-Stop'), 'maybe_executed');
    assert.match(got.field('Proxy-Status') ?? '', new RegExp(`error=${token}`));
    assert.equal(origin.hits.length, 1);
  });

  test(`B82 the same with a key, as a PUT, a DELETE or by rule is repeated with the same body: ${name}`, async (t) => {
    const wire = await startWire(t, [
      QUICK,
      'targets: [{ match: o.test/search, replay_methods: [GET, POST] }]',
    ]);
    for (const [method, path, fields] of [
      ['POST', '', ['Idempotency-Key: k1']],
      ['PUT', '', []],
      ['DELETE', '', []],
      ['POST', 'search', []],
    ] as const) {
      const origin = await farOrigin(t, [answer, OK]);
      const got = await fetchOver(wire, origin.url + path, { method, body: 'pay=1', fields });
      assert.deepEqual([got.status, got.body], [200, 'done'], method);
      assert.deepEqual(
        origin.hits.map(({ body }) => String(body)),
        ['pay=1', 'pay=1'],
      );
      const [first, second] = origin.hits.map(({ head }) => fieldOf(head, 'Idempotency-Key'));
      assert.equal(first, second);
    }
  });
}

test('B82 (d) a POST whose connection is refused never left, and is sent when the origin is there', async (t) => {
  let looks = 0;
  const there = () => [{ address: ++looks === 1 ? '127.0.0.9' : '127.0.0.1', family: 4 as const }];
  const wire = await startWire(t, [QUICK], there);
  const origin = await farOrigin(t, [OK]);
  const got = await fetchOver(wire, origin.url, post);
  assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '2']);
  assert.equal(origin.hits.length, 1);
});

test('B82 (e) a POST on a reused socket that is reset while it is written goes out once', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const origin = await farOrigin(t, [OK, reset, OK]);
  await fetchOver(wire, origin.url);
  const got = await fetchOver(wire, origin.url, post);
  assert.deepEqual(
    origin.hits.map(({ connection }) => connection),
    [1, 1],
  );
  assert.equal(got.status, 502);
  assert.equal(got.field('Forbear-Stop'), 'maybe_executed');
});

test('B82 (f) a POST that is throttled was not processed: it waits as told, and goes out once more', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const origin = await farOrigin(t, [reply(429, '', 'Retry-After: 1'), OK]);
  const got = await fetchOver(wire, origin.url, post);
  assert.equal(got.status, 200);
  const [first, second] = origin.hits;
  assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 1000);
  assert.equal(String(second?.body), 'pay=1');
});

test('B82 (g) a POST whose upstream refuses its CONNECT goes out over the next one', async (t) => {
  const origin = await farOrigin(t, [OK], { tls: true });
  const away = await refuser(t, 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n');
  const up = await farUpstream(t, { names: { 'o.test': origin.port } });
  const wire = await startWire(t, [QUICK, ...listOf([away, up])]);
  const got = await fetchOver(wire, origin.url, post);
  assert.equal(got.status, 200);
  assert.equal(origin.hits.length, 1);
});

const MEGABYTE = Array.from({ length: 2 ** 16 }, (_, i) => String(i).padStart(16, '.')).join('');

test('B83 a body that was read in part comes whole and in its framing the next time', async (t) => {
  const wire = await startWire(t, [QUICK.replace('150ms', '5s')]);
  const wholes: { head: string; hash: string }[] = [];
  for (const framing of ['length', 'chunks']) {
    let connections = 0;
    const origin = await rawServer((socket) => {
      const first = ++connections === 1;
      let bytes = '';
      socket.on('data', (chunk) => {
        bytes += chunk.toString('latin1');
        if (first) {
          if (bytes.length > 300_000) socket.end(reply(503, '', 'Connection: close'));
          return;
        }
        const at = bytes.indexOf('\r\n\r\n') + 4;
        const chunked = /^transfer-encoding: chunked/im.test(bytes.slice(0, at));
        const body = bytes.slice(at);
        if (chunked ? !body.endsWith('0\r\n\r\n') : body.length < MEGABYTE.length) return;
        const plain = chunked ? body.replace(/(^|\r\n)[0-9a-f]+\r\n(\r\n$)?/gi, '') : body;
        wholes.push({ head: bytes.slice(0, at), hash: sha(plain) });
        socket.write(OK);
      });
    });
    t.after(() => origin.close());
    const target = `o.test:${origin.port}`;
    const socket = connect(wire.port, '127.0.0.1');
    const all = heardToEnd(socket);
    const frame =
      framing === 'length' ? `Content-Length: ${MEGABYTE.length}` : 'Transfer-Encoding: chunked';
    socket.write(
      `PUT http://${target}/ HTTP/1.1\r\nHost: ${target}\r\n${frame}\r\nConnection: close\r\n\r\n`,
    );
    const size = MEGABYTE.length.toString(16);
    socket.write(framing === 'length' ? MEGABYTE : `${size}\r\n${MEGABYTE}\r\n0\r\n\r\n`);
    assert.match(await all, /^HTTP\/1\.1 200 [\s\S]*Forbear-Attempts: 2\r\n/);
    socket.destroy();
  }
  assert.deepEqual(
    wholes.map(({ hash }) => hash),
    [sha(MEGABYTE), sha(MEGABYTE)],
  );
  assert.equal(fieldOf(wholes[0]?.head ?? '', 'Content-Length'), '1048576');
});

test('B83 when the first attempt fails while the client still uploads, the second is whole', async (t) => {
  const wire = await startWire(t, [QUICK]);
  let rest = () => {};
  const early = await rawServer((socket, n) => {
    if (n > 1) return void whole.serve(socket);
    socket.once('data', () => {
      socket.end(reply(503, '', 'Connection: close'));
      setImmediate(rest);
    });
  });
  t.after(() => early.close());
  const whole = {
    body: '',
    serve(socket: import('node:net').Socket) {
      socket.on('data', (chunk) => {
        whole.body += chunk.toString('latin1');
        if (whole.body.endsWith('second half')) socket.write(OK);
      });
    },
  };
  const target = `o.test:${early.port}`;
  const socket = connect(wire.port, '127.0.0.1');
  rest = () => socket.write('second half');
  const all = heardToEnd(socket);
  socket.write(
    `PUT http://${target}/ HTTP/1.1\r\nHost: ${target}\r\nContent-Length: 21\r\nConnection: close\r\n\r\nfirst half`,
  );
  assert.match(await all, /^HTTP\/1\.1 200 /);
  assert.ok(whole.body.endsWith('\r\n\r\nfirst halfsecond half'));
});

test('B83 an empty body stays one, and a body that was not kept is sent once', async (t) => {
  const wire = await startWire(t, [QUICK.replace('2MiB', '1KiB')]);
  const origin = await farOrigin(t, [reply(503), OK]);
  await fetchOver(wire, origin.url, { method: 'PUT', body: '' });
  assert.deepEqual(
    origin.hits.map(({ head }) => fieldOf(head, 'Content-Length')),
    ['0', '0'],
  );
  const other = await farOrigin(t, [reply(503, 'busy'), OK]);
  const got = await fetchOver(wire, other.url, { method: 'PUT', body: 'x'.repeat(5000) });
  assert.deepEqual([got.status, got.body, other.hits.length], [503, 'busy', 1]);
  assert.equal(got.field('Forbear-Stop'), 'body_not_replayable');
});
