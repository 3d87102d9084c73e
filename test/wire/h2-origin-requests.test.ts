import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Exchange, RequestBody } from '../../src/exchange/ports.ts';
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
import { good } from '../support/certificates.ts';
import { h2Origin } from '../support/h2-origin.ts';
import { rawServer, until } from '../support/raw-server.ts';
import { httpUpstream, socksUpstream } from '../support/upstream.ts';

type Asked = Parameters<typeof exchangeTo>[1];

/** A request whose client speaks HTTP/2. */
function overH2(server: { host: string; port: number }, o: Asked = {}): Exchange {
  return { ...exchangeTo(server, { scheme: 'https', ...o }), overH2: true };
}

const pairs = (raw: readonly string[]): string[] =>
  raw.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${raw[i + 1]}`] : []));

async function echoing(t: TestContext) {
  return h2Origin(t, (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/x' });
    stream.pipe(stream);
  });
}

test('fields go out in lower case, in their order and number, and Host as :authority', async (t) => {
  const origin = await h2Origin(t, (stream) => {
    stream.respond({ ':status': 204 });
    stream.end();
  });
  const { attempt } = attemptsFor(t);
  const headers = [
    ...['User-Agent', 'x', 'Host', 'o.test', 'X-Two', 'b', 'Cookie', 'a=1; b=2', 'X-Two', 'a'],
    ...['Authorization', 'one', 'Authorization', 'two', 'Keep-Alive', '5', 'X-Empty', ''],
    ...['X-Latin', 'caf\u00e9', 'Upgrade', 'h2c', 'Proxy-Connection', 'keep-alive'],
  ];
  await attempt(overH2(origin, { headers, path: '/a?b=%20c' }), direct);
  assert.deepEqual(pairs(origin.heads[0] ?? []), [
    ...[':method: GET', ':authority: o.test', ':scheme: https', ':path: /a?b=%20c'],
    ...['user-agent: x', 'x-two: b', 'cookie: a=1; b=2', 'x-two: a'],
    ...['authorization: one', 'authorization: two', 'x-empty: ', 'x-latin: caf\u00e9'],
  ]);
});

test('the reply keeps order and doubles of its fields, and has the usual reason', async (t) => {
  const origin = await h2Origin(t, (stream) => {
    const fields = [':status', '404', 'set-cookie', 'a=1', 'x-latin', '\u00e9', 'set-cookie', 'b'];
    stream.respond(fields as never);
    stream.end('gone');
  });
  const received = await attemptsFor(t).attempt(overH2(origin), direct);
  const { status, reason, rawHeaders } = received.response ?? assert.fail();
  assert.deepEqual([status, reason, await textOf(received)], [404, 'Not Found', 'gone']);
  const fields = rawHeaders.filter((name, i) => i % 2 === 1 || name !== 'date');
  assert.deepEqual(fields.slice(0, 6), [
    'set-cookie',
    'a=1',
    'x-latin',
    '\u00e9',
    'set-cookie',
    'b',
  ]);
});

test('many exchanges ask at once over one session, which dials once', async (t) => {
  const origin = await echoing(t);
  const attempts = attemptsFor(t);
  const texts = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const body = bodyOf(Buffer.from(`body ${i}`));
      return textOf(await attempts.attempt(overH2(origin, { method: 'POST', body }), direct));
    }),
  );
  assert.deepEqual(
    texts,
    Array.from({ length: 40 }, (_, i) => `body ${i}`),
  );
  assert.equal(origin.sessions.length, 1);
  assert.equal(attempts.openSockets(), 1);
});

test('more exchanges than the origin takes at a time are spread over more sessions', async (t) => {
  const waiting: (() => void)[] = [];
  const running = new Map<unknown, number>();
  const origin = await h2Origin(
    t,
    (stream) => {
      running.set(stream.session, (running.get(stream.session) ?? 0) + 1);
      waiting.push(() => {
        stream.respond({ ':status': 200 });
        stream.end('ok');
      });
    },
    { maxConcurrentStreams: 2 },
  );
  const attempts = attemptsFor(t);
  const all = Array.from({ length: 6 }, async () =>
    textOf(await attempts.attempt(overH2(origin), direct)),
  );
  await until(() => waiting.length === 6);
  assert.ok([...running.values()].every((count) => count <= 2));
  for (const finish of waiting) finish();
  assert.deepEqual(
    await Promise.all(all),
    Array.from({ length: 6 }, () => 'ok'),
  );
});

test('bodies larger than any window pass both ways', async (t) => {
  const origin = await echoing(t);
  const { attempt } = attemptsFor(t);
  const bytes = Buffer.alloc(5_000_000, 'forbear ');
  const post = overH2(origin, { method: 'POST', body: bodyOf(bytes, 'chunked') });
  const received = await attempt(post, direct);
  assert.equal(await textOf(received), bytes.toString('latin1'));
});

test('trailers pass both ways', async (t) => {
  const got: unknown[] = [];
  const origin = await h2Origin(t, (stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on(
      'wantTrailers',
      () => stream.sentTrailers ?? stream.sendTrailers({ 'x-sum': '1', 'x-more': ['a', 'b'] }),
    );
    stream.on('trailers', (fields: Record<string, unknown>) => {
      got.push(fields['x-check']);
      stream.end('ok');
    });
    stream.resume();
  });
  const body: RequestBody = {
    ...bodyOf(Buffer.from('x'), 'chunked'),
    rawTrailers: ['X-Check', '7', 'Content-Length', '9', 'X-Check', '8'],
  };
  const received = await attemptsFor(t).attempt(overH2(origin, { method: 'PUT', body }), direct);
  assert.equal(await textOf(received), 'ok');
  assert.deepEqual(got, ['7, 8']);
  assert.deepEqual(received.response?.rawTrailers, ['x-sum', '1', 'x-more', 'a', 'x-more', 'b']);
});

test('interim replies are handed on, and the reply comes behind them', async (t) => {
  const origin = await h2Origin(t, (stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a.css>; rel=preload' });
    stream.additionalHeaders({ ':status': 102 });
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  const told: [number, readonly string[]][] = [];
  const exchange = {
    ...overH2(origin),
    inform: (status: number, raw: readonly string[]) => told.push([status, raw]),
  };
  const received = await attemptsFor(t).attempt(exchange, direct);
  assert.equal(responseOf(received).status, 200);
  assert.deepEqual(told, [
    [103, ['link', '</a.css>; rel=preload']],
    [102, []],
  ]);
});

test('HEAD, 204 and 304 end with their heads', async (t) => {
  const origin = await h2Origin(t, (stream, n) => {
    stream.respond(
      { ':status': [200, 204, 304][n - 1] ?? 500, 'x-n': `${n}` },
      { endStream: true },
    );
  });
  const { attempt } = attemptsFor(t);
  for (const [status, method] of [
    [200, 'HEAD'],
    [204, 'GET'],
    [304, 'GET'],
  ] as const) {
    const received = await attempt(overH2(origin, { method }), direct);
    assert.equal(responseOf(received).status, status);
    assert.equal(await textOf(received), '');
    await received.closed;
  }
});

test('whoever speaks first decides: clients of HTTP/1.1 get HTTP/1.1, and policy can force either', async (t) => {
  const origin = await h2Origin(
    t,
    (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('two');
    },
    { allowHTTP1: true },
  );
  const { attempt } = attemptsFor(t);
  const asked = async (exchange: Exchange) => textOf(await attempt(exchange, direct));
  const https = { scheme: 'https' } as const;
  assert.equal(await asked(exchangeTo(origin, https)), 'one');
  assert.equal(await asked(overH2(origin)), 'two');
  assert.equal(await asked(exchangeTo(origin, { ...https, policy: { http2: 'always' } })), 'two');
  assert.equal(await asked(overH2(origin, { policy: { http2: 'never' } })), 'one');
});

test('h2 goes through every kind of upstream', async (t) => {
  const origin = await echoing(t);
  const names = { 'o.test': origin.port };
  const ways = [
    ['http', await httpUpstream({ names })],
    ['https', await httpUpstream({ names, tls: good })],
    ['socks5', await socksUpstream({ names })],
  ] as const;
  const attempts = attemptsFor(t);
  for (const [kind, server] of ways) {
    t.after(() => server.close());
    const route = routeOver(server, {
      kind,
      id: kind,
      host: kind === 'https' ? 'up.test' : '127.0.0.1',
    });
    const body = bodyOf(Buffer.from(kind));
    const received = await attempts.attempt(overH2(origin, { method: 'POST', body }), route);
    assert.equal(await textOf(received), kind);
    assert.equal(received.reply.via, 'tunnel');
  }
  assert.equal(origin.sessions.length, 3);
});

test('a session belongs to its route alone, and ends when that is retired', async (t) => {
  const origin = await h2Origin(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  const attempts = attemptsFor(t);
  const other = { ...direct, id: 'other' };
  for (const route of [direct, other, { ...direct, session: 's' }]) {
    assert.equal(await textOf(await attempts.attempt(overH2(origin), route)), 'ok');
  }
  assert.equal(origin.sessions.length, 3);
  attempts.retire('other');
  await until(() => origin.open === 2 && attempts.openSockets() === 2);
  assert.equal(await textOf(await attempts.attempt(overH2(origin), direct)), 'ok');
  assert.equal(origin.sessions.length, 3);
});

test('a retired session lets its running replies come to their ends', async (t) => {
  let finish = () => {};
  const origin = await h2Origin(t, (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/x' });
    stream.write('be');
    finish = () => void stream.end('gun');
  });
  const attempts = attemptsFor(t);
  const received = await attempts.attempt(overH2(origin), direct);
  attempts.retire('direct');
  finish();
  assert.equal(await textOf(received), 'begun');
  await until(() => attempts.openSockets() === 0);
});

test('an abort resets its own stream and no other', async (t) => {
  const codes: number[] = [];
  const origin = await h2Origin(t, (stream, n) => {
    stream.on('close', () => codes.push(stream.rstCode));
    if (n === 1) return;
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  const attempts = attemptsFor(t);
  const leaver = new AbortController();
  const first = attempts.attempt(overH2(origin, { signal: leaver.signal }), direct);
  await until(() => origin.heads.length === 1);
  leaver.abort();
  assert.equal(failureOf(await first).code, 'aborted');
  await until(() => codes.length === 1);
  assert.deepEqual(codes, [8]);
  assert.equal(await textOf(await attempts.attempt(overH2(origin), direct)), 'ok');
  assert.equal(origin.sessions.length, 1);
});

test('the bytes of all exchanges together are those on the wire', async (t) => {
  const origin = await echoing(t);
  const near: Socket[] = [];
  const pipe = await rawServer((socket) => {
    near.push(socket);
    const far = connect(origin.port, '127.0.0.1').on('error', () => {});
    socket.pipe(far).pipe(socket);
  });
  t.after(() => pipe.close());
  const attempts = attemptsFor(t);
  const target = { host: 'o.test', port: pipe.port };
  const all = await Promise.all(
    [1000, 20_000, 300_000].map(async (size) => {
      const body = bodyOf(Buffer.alloc(size, 'x'));
      const received = await attempts.attempt(overH2(target, { method: 'POST', body }), direct);
      await textOf(received);
      await received.closed;
      return [received.sentBytes, received.receivedBytes] as const;
    }),
  );
  assert.equal(near.length, 1);
  const sum = (i: 0 | 1) => all.reduce((bytes, each) => bytes + each[i], 0);
  for (const [counted, real = 1] of [
    [sum(0), near[0]?.bytesRead],
    [sum(1), near[0]?.bytesWritten],
  ] as const) {
    assert.ok(counted > 0.995 * real && counted <= real, `${counted} of ${real}`);
  }
});
