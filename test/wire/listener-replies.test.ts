import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { FakeClock, flush } from '../support/fake-clock.ts';
import {
  dial,
  failedWith,
  field,
  neverSent,
  parse,
  replyWith,
  startRig,
  talk,
  until,
  untilClosed,
} from './listener-rig.ts';

const GET = 'GET http://o.test/ HTTP/1.1\r\nHost: o.test\r\nConnection: close\r\n\r\n';

test('a reply comes as it was: reason, order, case, doubles and bytes above 0x7F, then what is ours', async () => {
  const rig = await startRig({
    run: async () =>
      replyWith({
        reason: 'Fine \xe9',
        rawHeaders: [
          ...['x-CaSe', '1', 'Set-Cookie', 'a=1', 'ETag', '"x"', 'Set-Cookie', 'b=2'],
          ...['Content-Disposition', 'filename="\xc3\xa9.txt"', 'Content-Length', '5'],
          ...['Connection', 'X-Resp-Hop', 'X-Resp-Hop', '1', 'Keep-Alive', 'timeout=600'],
          ...['Proxy-Status', 'squid', 'Date', 'Thu, 01 Jan 2026 00:00:00 GMT'],
        ],
        body: 'hello',
      }),
  });
  const { lines, body, status } = parse(await talk(rig.port, GET));
  const reply = await talk(rig.port, GET);
  assert.match(reply, /^HTTP\/1\.1 200 Fine \xe9\r\n/);
  assert.equal(status, 200);
  assert.equal(body, 'hello');
  assert.deepEqual(lines.slice(0, 8), [
    'x-CaSe: 1',
    'Set-Cookie: a=1',
    'ETag: "x"',
    'Set-Cookie: b=2',
    'Content-Disposition: filename="\xc3\xa9.txt"',
    'Content-Length: 5',
    'Proxy-Status: squid',
    'Date: Thu, 01 Jan 2026 00:00:00 GMT',
  ]);
  assert.deepEqual(
    lines.slice(8).map((line) => line.replace(/(Exchange: ).*/, '$1ID')),
    [
      'Forbear-Attempts: 2',
      'Forbear-Verdict: none/ok',
      'Forbear-Waited-Ms: 1234',
      'Forbear-Route: direct-abc123',
      'Forbear-Exchange: ID',
      'Connection: close',
    ],
  );
  const finished = await rig.event('exchange_finished');
  assert.deepEqual([finished.answered, finished.sentBytes, finished.receivedBytes], [200, 11, 22]);
  await rig.stop();
});

test('without annotations nothing of ours is on a good reply', async () => {
  const rig = await startRig({
    policy: { annotate: false },
    run: async () =>
      replyWith({ rawHeaders: ['Content-Length', '2', 'Forbear-Attempts', '9'], body: 'ok' }),
  });
  const { lines } = parse(await talk(rig.port, GET));
  assert.deepEqual(lines, ['Content-Length: 2', 'Forbear-Attempts: 9', 'Connection: close']);
  await rig.stop();
});

test('a marked reply says why it was not tried again, after what an upstream said of it', async () => {
  const rig = await startRig({
    sessionState: () => 'burned',
    run: async () =>
      replyWith({
        status: 403,
        rawHeaders: [
          'Proxy-Status',
          'gw; error=x',
          'Content-Length',
          '2',
          'Forbear-Verdict',
          'none/ok',
        ],
        body: 'no',
        stop: 'session_burned',
        verdict: {
          fault: 'route',
          reason: 'blocked',
          scope: 'lane',
          evidence: { kind: 'status', status: 403 },
        },
      }),
  });
  const { lines, status, body } = parse(
    await talk(rig.port, GET.replace('Connection', 'Forbear-Session: s1\r\nConnection')),
  );
  assert.equal(status, 403);
  assert.equal(body, 'no');
  const own = lines.filter(
    (line) => line.startsWith('Forbear-') || line.startsWith('Proxy-Status'),
  );
  assert.equal(own[0], 'Proxy-Status: gw; error=x');
  assert.ok(own.includes('Forbear-Verdict: route/blocked'));
  assert.ok(!own.includes('Forbear-Verdict: none/ok'));
  assert.ok(own.includes('Forbear-Session: s1; state=burned'));
  assert.ok(own.includes('Forbear-Stop: session_burned'));
  assert.match(own.at(-1)!, /^Proxy-Status: forbear; error=\w+; received-status=403; details="/);
  await rig.stop();
});

test('a reply of our own is problem details with Retry-After rounded up, and lets the last reply go', async () => {
  let discarded = 0;
  const rig = await startRig({
    run: async (exchange) =>
      exchange.target.path === '/paused'
        ? neverSent('lane_paused', 1500)
        : replyWith({
            status: 200,
            body: 'captcha',
            stop: 'addresses_exhausted',
            verdict: {
              fault: 'route',
              reason: 'challenged',
              scope: 'lane',
              evidence: { kind: 'status', status: 200 },
            },
            onDiscard: () => {
              discarded += 1;
            },
          }),
  });
  const paused = parse(await talk(rig.port, GET.replace('.test/', '.test/paused')));
  assert.equal(paused.status, 429);
  assert.equal(field(paused.lines, 'retry-after'), '2');
  assert.equal(field(paused.lines, 'forbear-stop'), 'lane_paused');
  assert.match(field(paused.lines, 'proxy-status')!, /^forbear; error=\w+; details="/);
  const problem = JSON.parse(paused.body);
  assert.equal(problem.reason, 'lane_paused');
  assert.equal(problem.status, 429);
  assert.equal(problem.attempts, 0);
  assert.equal(problem.type, 'urn:forbear:lane_paused');
  assert.equal(problem.exchange, field(paused.lines, 'forbear-exchange'));
  const soft = parse(await talk(rig.port, GET));
  assert.equal(soft.status, 502);
  assert.doesNotMatch(soft.body, /captcha/);
  assert.equal(discarded, 1);
  await rig.stop();
});

test('HEAD, 204 and 304 have no body whatever their headers say', async () => {
  const cases: [string, number, string[], string | undefined][] = [
    ['HEAD', 200, ['Content-Length', '1234'], '1234'],
    ['HEAD', 200, ['Transfer-Encoding', 'chunked', 'Content-Encoding', 'gzip'], undefined],
    ['GET', 204, ['Content-Length', '5'], undefined],
    ['GET', 304, ['Content-Length', '1234'], '1234'],
  ];
  for (const [method, status, rawHeaders, length] of cases) {
    const rig = await startRig({ run: async () => replyWith({ status, rawHeaders }) });
    const reply = parse(await talk(rig.port, GET.replace('GET', method)));
    assert.equal(reply.status, status);
    assert.equal(field(reply.lines, 'content-length'), length, `${method} ${status}`);
    assert.equal(field(reply.lines, 'transfer-encoding'), undefined);
    assert.equal(reply.body, '');
    await rig.stop();
  }
});

test('an unknown length goes in chunks, with the trailers that came', async () => {
  const rig = await startRig({
    run: async () =>
      replyWith({ rawHeaders: ['Trailer', 'X-Sum'], body: 'hello', rawTrailers: ['X-Sum', '1'] }),
  });
  const { lines, body } = parse(await talk(rig.port, GET));
  assert.equal(field(lines, 'trailer'), 'X-Sum');
  assert.equal(body, '5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n');
  await rig.stop();
});

test('an event stream is passed on head first, piece by piece', async () => {
  const body = new PassThrough();
  const rig = await startRig({ run: async () => replyWith({ body }) });
  const socket = await dial(rig.port);
  socket.write(GET);
  await until(socket, (text) => text.includes('\r\n\r\n'));
  body.write('data: 1\n\n');
  await until(socket, (text) => text.includes('data: 1'));
  body.end();
  await until(socket, (text) => text.includes('0\r\n\r\n'));
  socket.destroy();
  await rig.stop();
});

test('a body that is cut short ends in a reset, never in a clean end', async () => {
  for (const version of ['1.1', '1.0']) {
    const body = new PassThrough();
    const rig = await startRig({ run: async () => replyWith({ body }) });
    const socket = await dial(rig.port);
    const failure = once(socket, 'error');
    failure.catch(() => {});
    let ended = false;
    socket.once('end', () => {
      ended = true;
    });
    const { promise, resolve } = Promise.withResolvers<NodeJS.ErrnoException>();
    socket.on('error', resolve);
    socket.write(GET.replace('1.1', version));
    body.write('half');
    await until(socket, (text) => text.includes('half'));
    body.destroy(new Error('cut'));
    assert.equal((await promise).code, 'ECONNRESET');
    assert.equal(ended, false);
    assert.equal((await rig.event('exchange_finished')).answered, 'broken_off');
    await rig.stop();
  }
});

test('a client that leaves while it waits ends its exchange, by FIN as by RST', async () => {
  for (const how of ['end', 'resetAndDestroy'] as const) {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const rig = await startRig({
      run: (exchange) =>
        new Promise((done) => {
          exchange.signal.addEventListener('abort', () => {
            resolve();
            done(neverSent('client_gone'));
          });
        }),
    });
    const socket = await dial(rig.port);
    socket.write(GET);
    await rig.event('exchange_started');
    socket[how]();
    await aborted;
    assert.equal((await rig.event('exchange_finished')).answered, 'client_gone');
    socket.destroy();
    await rig.stop();
  }
});

test('a client that leaves in the middle of the reply lets the body go', async () => {
  const body = new PassThrough();
  const rig = await startRig({ run: async () => replyWith({ body }) });
  const socket = await dial(rig.port);
  socket.write(GET);
  body.write('half');
  await until(socket, (text) => text.includes('half'));
  const closed = once(body, 'close');
  socket.resetAndDestroy();
  await closed;
  assert.equal((await rig.event('exchange_finished')).answered, 'client_gone');
  await rig.stop();
});

test('a normal end is not an abort, and the connection goes on', async () => {
  const signals: AbortSignal[] = [];
  const rig = await startRig({
    run: async (exchange) => {
      signals.push(exchange.signal);
      return replyWith({ rawHeaders: ['Content-Length', '2'], body: 'ok' });
    },
  });
  const socket = await dial(rig.port);
  for (let i = 0; i < 3; i += 1) {
    socket.write(GET.replace('Connection: close\r\n', ''));
    await until(socket, (text) => text.endsWith('ok'));
  }
  socket.destroy();
  await once(socket, 'close');
  assert.deepEqual(
    signals.map((signal) => signal.aborted),
    [false, false, false],
  );
  await rig.stop();
});

test('a client that reads slowly holds the body back, and one that stops for good is cut off', async () => {
  let given = 0;
  const piece = Buffer.alloc(65_536);
  const body = new Readable({
    read() {
      given += piece.length;
      this.push(piece);
    },
  });
  const clock = new FakeClock();
  const rig = await startRig({ clock, run: async () => replyWith({ body }) });
  const socket = await dial(rig.port);
  socket.pause();
  socket.write(GET);
  for (let seen = -1; seen !== given || given === 0; ) {
    seen = given;
    for (let i = 0; i < 50; i += 1) await flush();
  }
  assert.ok(
    given < 16 * 1024 * 1024,
    `${given} bytes were taken in for a client that reads nothing`,
  );
  await clock.advance(120_000);
  assert.equal((await rig.event('exchange_finished')).answered, 'client_gone');
  assert.equal(body.destroyed, true);
  assert.equal(clock.pending, 0);
  socket.destroy();
  await rig.stop();
});

test('an early reply to a client that still uploads arrives whole, and the upload is let go by', async () => {
  const rig = await startRig({
    run: async () =>
      replyWith({
        status: 413,
        rawHeaders: ['Content-Length', '3'],
        body: 'big',
        stop: 'retry_off',
        verdict: { fault: 'client', reason: 'rejected', evidence: { kind: 'status', status: 413 } },
      }),
  });
  const socket = await dial(rig.port);
  const reply = untilClosed(socket);
  socket.write(
    'POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\nConnection: close\r\nContent-Length: 3000000\r\n\r\n',
  );
  socket.write(Buffer.alloc(1_000_000));
  await rig.event('exchange_started');
  socket.write(Buffer.alloc(2_000_000));
  assert.equal(parse(await reply).body, 'big');
  socket.destroy();
  await rig.stop();
});

test('a failing loop is 500 with a notice, and the process goes on', async () => {
  const rig = await startRig({
    run: async () => {
      throw new Error('a bug');
    },
  });
  const { status, body } = parse(await talk(rig.port, GET));
  assert.equal(status, 500);
  assert.equal(JSON.parse(body).reason, 'internal');
  assert.match((await rig.event('notice')).message, /a bug/);
  await rig.stop();
});

test('a timed out attempt is 504 and a refused one 502, with their tokens', async () => {
  const rig = await startRig({
    run: async (exchange) =>
      exchange.target.path === '/slow'
        ? failedWith('timeout', 'first_byte', 'attempts_exhausted')
        : failedWith('connection_refused', 'dial', 'attempts_exhausted'),
  });
  const slow = parse(await talk(rig.port, GET.replace('.test/', '.test/slow')));
  assert.equal(slow.status, 504);
  assert.match(field(slow.lines, 'proxy-status')!, /error=http_response_timeout/);
  const refused = parse(await talk(rig.port, GET));
  assert.equal(refused.status, 502);
  assert.match(field(refused.lines, 'proxy-status')!, /error=connection_refused/);
  await rig.stop();
});

test('after stopAccepting what runs is finished and its connection closed', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const rig = await startRig({
    run: async () => {
      await go;
      return replyWith({ rawHeaders: ['Content-Length', '2'], body: 'ok' });
    },
  });
  const socket = await dial(rig.port);
  const reply = untilClosed(socket);
  socket.write(GET.replace('Connection: close\r\n', ''));
  await rig.event('exchange_started');
  const shut = rig.listener.stopAccepting();
  resolve();
  assert.equal(field(parse(await reply).lines, 'connection'), 'close');
  await shut;
  assert.equal(rig.listener.address(), undefined);
  socket.destroy();
  await rig.stop();
});
