import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  CODE,
  codeOf,
  data,
  FLAG,
  PREFACE,
  request,
  rstStream,
  SETTING,
  settings,
  TYPE,
  windowUpdate,
} from '../support/h2-frames.ts';
import { got, HOST, h2Client, rawH2, secure, tunnel } from './h2-client-rig.ts';
import { neverSent, replyWith, startRig } from './listener-rig.ts';

test('a client that offers h2 gets it, and each stream is an exchange with the wishes of its CONNECT and its own', async (t) => {
  const rig = await startRig();
  t.after(() => rig.stop());
  const client = await h2Client(rig, `${HOST}:443`, 'Forbear-Session: s9', 'Forbear-Country: de');
  const asked = [
    client.request({
      ':path': '/a?b#c',
      'forbear-country': 'us',
      'x-a': '1',
      cookie: ['a=1', 'b=2'],
    }),
    client.request({ ':method': 'DELETE', ':path': '/b', te: 'trailers', expect: '100-continue' }),
  ];
  for (const { status, body } of await Promise.all(asked.map(got))) {
    assert.equal(status, 200);
    assert.equal(body, 'hello');
  }
  const [first, second] = rig.seen;
  assert.deepEqual(first!.target, {
    scheme: 'https',
    host: HOST,
    port: 443,
    authority: HOST,
    path: '/a?b',
  });
  assert.deepEqual(first!.rawHeaders, ['host', `${HOST}:443`, 'x-a', '1', 'cookie', 'a=1; b=2']);
  assert.deepEqual([first!.session, first!.country], ['127.0.0.1/s9', 'us']);
  assert.deepEqual([second!.session, second!.country], ['127.0.0.1/s9', 'de']);
  assert.deepEqual([first!.overH2, second!.overH2], [true, true]);
  assert.deepEqual([second!.method, second!.body.present], ['DELETE', false]);
  assert.deepEqual(second!.rawHeaders, ['host', `${HOST}:443`]);
  assert.equal(second!.wording?.te?.value, 'trailers');
  client.close();
});

test('a reply goes out with its fields in order, doubles and trailers kept, and nothing of its old connection', async (t) => {
  const rig = await startRig({
    run: async () =>
      replyWith({
        status: 404,
        reason: 'No such thing',
        rawHeaders: [
          ...[
            'X-B',
            '1',
            'Set-Cookie',
            'a=1',
            'X-B',
            '2',
            'Set-Cookie',
            'b=\xe9',
            'Content-Type',
            'x',
          ],
          ...['Connection', 'close, x-hop', 'X-Hop', '1', 'Keep-Alive', 'timeout=5'],
          ...[
            'Transfer-Encoding',
            'chunked',
            'Upgrade',
            'h2c',
            'Content-Type',
            'y',
            'X-Pad',
            ' p ',
          ],
        ],
        body: 'gone',
        rawTrailers: ['X-Sum', '1', 'X-Sum', '2', 'Content-Length', '3'],
      }),
  });
  t.after(() => rig.stop());
  const client = await h2Client(rig);
  const reply = await got(client.request({ ':path': '/' }));
  assert.deepEqual(reply.rawHeaders.slice(0, 18), [
    ...[':status', '404', 'x-b', '1', 'set-cookie', 'a=1', 'x-b', '2', 'set-cookie', 'b=\xe9'],
    ...['content-type', 'x', 'content-type', 'y', 'x-pad', 'p', 'forbear-attempts', '2'],
  ]);
  assert.deepEqual(reply.rawTrailers, ['x-sum', '1', 'x-sum', '2']);
  assert.deepEqual([reply.body, reply.code], ['gone', 0]);
  client.close();
});

test('HEAD, 204, 205 and 304 have no body, and the length of a HEAD is told', async (t) => {
  const rig = await startRig({
    run: async ({ target, method }) =>
      replyWith({
        status: Number(target.path.slice(1)),
        rawHeaders: ['Content-Length', '5'],
        body: method === 'HEAD' || target.path !== '/200' ? '' : 'hello',
      }),
  });
  t.after(() => rig.stop());
  const client = await h2Client(rig);
  for (const [method, status, length] of [
    ['HEAD', 200, '5'],
    ['GET', 304, '5'],
    ['GET', 204, undefined],
    ['GET', 200, '5'],
  ] as const) {
    const reply = await got(client.request({ ':method': method, ':path': `/${status}` }));
    assert.deepEqual([reply.status, reply.code], [status, 0]);
    const at = reply.rawHeaders.indexOf('content-length');
    assert.equal(at === -1 ? undefined : reply.rawHeaders[at + 1], length, `${method} ${status}`);
  }
  client.close();
});

test('replies of our own are problem details on a stream that ends well', async (t) => {
  const rig = await startRig({ run: async () => neverSent('breaker_open', 7000) });
  t.after(() => rig.stop());
  const client = await h2Client(rig);
  const reply = await got(client.request({ ':path': '/' }));
  assert.deepEqual([reply.status, reply.code], [503, 0]);
  assert.equal(JSON.parse(reply.body).reason, 'breaker_open');
  const fields = reply.rawHeaders.join('\n');
  assert.match(fields, /retry-after\n7\n/);
  assert.match(fields, /content-type\napplication\/problem\+json\n/);
  const wrong = await got(client.request({ ':path': '/', 'forbear-sesion': 'x' }));
  assert.equal(wrong.status, 400);
  assert.match(wrong.body, /Did you mean Forbear-Session/);
  const odd = await got(client.request({ ':method': 'POST', ':path': '/', expect: 'miracle' }));
  assert.equal(odd.status, 417);
  client.close();
});

test('an upload and its trailers arrive whole; one that is empty after all is there as an empty one', async (t) => {
  const lengths: [number | undefined, number, readonly string[]][] = [];
  const rig = await startRig({
    run: async ({ body }) => {
      let bytes = 0;
      for await (const chunk of body.open()) bytes += (chunk as Buffer).length;
      lengths.push([body.length, bytes, body.rawTrailers]);
      return replyWith({});
    },
  });
  t.after(() => rig.stop());
  const client = await h2Client(rig);
  const known = client.request({ ':method': 'POST', ':path': '/', 'content-length': 3_000_000 });
  known.end(Buffer.alloc(3_000_000));
  await got(known);
  const trailed = client.request({ ':method': 'PUT', ':path': '/' }, { waitForTrailers: true });
  trailed.on('wantTrailers', () => trailed.sendTrailers({ 'x-sum': 'abc' }));
  trailed.end('some');
  await got(trailed);
  const empty = client.request({ ':method': 'POST', ':path': '/' });
  empty.end();
  await got(empty);
  assert.deepEqual(lengths, [
    [3_000_000, 3_000_000, []],
    [undefined, 4, ['x-sum', 'abc']],
    [undefined, 0, []],
  ]);
  client.close();
});

test('a client that waits for a 100 gets it when its body is wanted, and not before', async (t) => {
  const asked = Promise.withResolvers<void>();
  const rig = await startRig({
    run: async ({ body }) => {
      asked.resolve();
      for await (const _ of body.open());
      return replyWith({});
    },
  });
  t.after(() => rig.stop());
  const client = await h2Client(rig);
  const stream = client.request({ ':method': 'POST', ':path': '/', expect: '100-continue' });
  await once(stream, 'continue');
  await asked.promise;
  stream.end('body');
  assert.equal((await got(stream)).status, 200);
  client.close();
});

test('an upload that a reply does not wait for is told to stop without an error', async (t) => {
  const rig = await startRig({ run: async () => replyWith({ body: 'enough' }) });
  t.after(() => rig.stop());
  const wire = await rawH2(rig);
  wire.ask(1, request('/', HOST, ['content-length', '9999999']), FLAG.endHeaders);
  wire.send(data(1, 'the first of many'));
  const reset = await wire.reader.wait(({ type }) => type === TYPE.rstStream);
  assert.equal(codeOf(reset), CODE.noError);
  const ends = wire.reader.frames.filter((one) => one.type === TYPE.data && one.flags & 1);
  assert.equal(ends.length, 1, 'the reply is whole before that');
  wire.socket.destroy();
});

test('a reply that breaks off ends in INTERNAL_ERROR and never in END_STREAM, and the next stream is served', async (t) => {
  const rig = await startRig({
    run: async ({ target }) => {
      if (target.path !== '/cut') return replyWith({ body: 'ok' });
      const body = new PassThrough();
      body.write('half');
      setImmediate(() => body.destroy(new Error('cut')));
      return replyWith({ body });
    },
  });
  t.after(() => rig.stop());
  const wire = await rawH2(rig);
  wire.ask(1, request('/cut', HOST));
  const reset = await wire.reader.wait(({ type }) => type === TYPE.rstStream);
  assert.equal(codeOf(reset), CODE.internalError);
  const ends = wire.reader.frames.filter(
    ({ type, flags }) => (type === TYPE.data || type === TYPE.headers) && flags & FLAG.endStream,
  );
  assert.deepEqual(ends, []);
  wire.ask(3, request('/', HOST));
  await wire.head(3);
  const finished = rig.events.find(({ type }) => type === 'exchange_finished');
  assert.equal(finished?.type === 'exchange_finished' && finished.answered, 'broken_off');
  wire.socket.destroy();
});

test('what came of a reply before it broke off stands before its reset, for a client that reads late', async (t) => {
  const full = Promise.withResolvers<void>();
  const big = Array.from({ length: 512 }, () => Buffer.alloc(64 * 1024));
  const rig = await startRig({
    run: async ({ target }) => {
      if (target.path === '/big') return replyWith({ body: Readable.from(big) });
      await full.promise;
      const body = new PassThrough();
      body.write('half');
      setImmediate(() => body.destroy(new Error('cut')));
      return replyWith({ body });
    },
  });
  t.after(() => rig.stop());
  const wire = await rawH2(rig, [PREFACE, settings([SETTING.initialWindowSize, 2 ** 31 - 1])]);
  wire.send(windowUpdate(0, 2 ** 30));
  wire.ask(3, request('/cut', HOST));
  wire.ask(5, request('/big', HOST));
  await wire.reader.wait(({ type }) => type === TYPE.data);
  wire.socket.pause();
  // Until all buffers on the way are full.
  await pause(300);
  full.resolve();
  const isOver = () => rig.events.some(({ type }) => type === 'exchange_finished');
  while (!isOver()) await pause(5);
  wire.socket.resume();
  await wire.reader.wait(({ type, stream }) => type === TYPE.rstStream && stream === 3);
  const told = wire.reader.frames.filter(({ stream }) => stream === 3).map(({ type }) => type);
  assert.deepEqual(told, [TYPE.headers, TYPE.data, TYPE.rstStream]);
  wire.socket.destroy();
});

for (const code of [CODE.cancel, CODE.noError, CODE.protocolError]) {
  test(`a stream that the client resets with ${code} ends its exchange at once, and no other`, async (t) => {
    const gone = Promise.withResolvers<void>();
    const rig = await startRig({
      run: async ({ signal, target }) => {
        if (target.path !== '/slow') return replyWith({});
        await once(signal, 'abort');
        gone.resolve();
        return neverSent('client_gone');
      },
    });
    t.after(() => rig.stop());
    const wire = await rawH2(rig);
    wire.ask(1, request('/slow', HOST));
    wire.ask(3, request('/slow', HOST, ['content-length', '10']), FLAG.endHeaders);
    wire.send(data(3, 'half'));
    while (rig.seen.length < 2) await new Promise(setImmediate);
    wire.send(rstStream(3, code));
    await gone.promise;
    assert.deepEqual(
      rig.seen.map(({ signal }) => signal.aborted),
      [false, true],
    );
    const finished = await rig.event('exchange_finished');
    assert.equal(finished.answered, 'client_gone');
    wire.ask(5, request('/', HOST));
    await wire.head(5);
    wire.socket.destroy();
  });
}

test('a stream that nobody takes fills nothing and blocks no other', async (t) => {
  let made = 0;
  const rig = await startRig({
    run: async ({ target }) => {
      if (target.path !== '/endless') return replyWith({ body: 'ok' });
      const body = new Readable({
        read() {
          made += 65_536;
          this.push(Buffer.alloc(65_536));
        },
      });
      return replyWith({ body });
    },
  });
  t.after(() => rig.stop());
  const client = await h2Client(rig);
  const endless = client.request({ ':path': '/endless' });
  endless.on('error', () => {});
  await once(endless, 'response');
  for (let i = 0; i < 20; i += 1) {
    assert.equal((await got(client.request({ ':path': '/' }))).body, 'ok');
  }
  assert.ok(made < 1_000_000, `${made} bytes were read ahead`);
  endless.close();
  client.close();
});

test('a client that went before its stream was looked at costs no attempt', async (t) => {
  const rig = await startRig();
  t.after(() => rig.stop());
  const socket = await tunnel(rig);
  const inner = await secure(rig, socket);
  inner.destroy();
  socket.destroy();
  while (rig.listener.openConnections() > 0) await new Promise(setImmediate);
  assert.equal(rig.seen.length, 0);
});
