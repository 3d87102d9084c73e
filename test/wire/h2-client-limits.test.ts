import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { FakeClock, flush } from '../support/fake-clock.ts';
import {
  CODE,
  codeOf,
  continuation,
  type Field,
  FLAG,
  type Frame,
  frame,
  headers,
  hpack,
  PREFACE,
  ping,
  request,
  rstStream,
  SETTING,
  settings,
  statusOf,
  TYPE,
  windowUpdate,
} from '../support/h2-frames.ts';
import { rawServer } from '../support/raw-server.ts';
import {
  endsWith,
  got,
  HOST,
  h2Client,
  nothingLeft,
  rawH2,
  rigFor,
  streams,
  tunnel,
  waiting,
} from './h2-client-rig.ts';
import { replyWith, until } from './listener-rig.ts';

test('the limits are told in SETTINGS, and a client that has them and goes beyond ends its connection', async (t) => {
  const rig = await rigFor(t, { run: waiting });
  const wire = await rawH2(rig);
  const told = wire.reader.frames.find(({ type }) => type === TYPE.settings)!.payload;
  const of = (id: number) => {
    for (let at = 0; at < told.length; at += 6) {
      if (told.readUInt16BE(at) === id) return told.readUInt32BE(at + 2);
    }
    return undefined;
  };
  assert.equal(of(SETTING.maxConcurrentStreams), 100);
  assert.equal(of(SETTING.maxHeaderListSize), 128 * 1024);
  assert.equal(of(SETTING.enableConnectProtocol), 1);
  for (const id of streams(101)) wire.ask(id, request('/', HOST));
  await endsWith(rig, wire, CODE.protocolError, /concurrent streams/);
});

test('one stream too many of a client that cannot know the limit yet is refused, so that it may be sent again', async (t) => {
  const rig = await rigFor(t, { run: waiting });
  const wire = await rawH2(rig, []);
  wire.send(PREFACE, settings());
  for (const id of streams(101)) wire.ask(id, request('/', HOST));
  const refused = await wire.reader.wait(({ type }) => type === TYPE.rstStream);
  assert.deepEqual([refused.stream, codeOf(refused)], [201, CODE.refusedStream]);
  while (rig.seen.length < 100) await flush();
  wire.send(rstStream(1, CODE.cancel));
  wire.ask(203, request('/now', HOST));
  assert.equal(statusOf(await wire.head(203)), 200);
  wire.socket.destroy();
});

test('more header bytes than allowed are answered 431, and far more end the stream; the next is served', async (t) => {
  const rig = await rigFor(t);
  const wire = await rawH2(rig);
  const sent = (id: number, bytes: number) => {
    const crumb: Field = ['cookie', 'c'.repeat(bytes / 4)];
    const block = hpack([...request('/', HOST), crumb, crumb, crumb, crumb]);
    const pieces = Array.from({ length: Math.ceil(block.length / 16_384) }, (_, i) =>
      block.subarray(i * 16_384, (i + 1) * 16_384),
    );
    const [first, ...rest] = pieces as [Buffer, ...Buffer[]];
    wire.send(
      frame(TYPE.headers, FLAG.endStream, id, first),
      ...rest.map((piece, i) => continuation(id, piece, i + 1 === rest.length ? 4 : 0)),
    );
  };
  sent(1, 60_000);
  assert.equal(statusOf(await wire.head(1)), 200);
  sent(3, 66_000);
  assert.equal(statusOf(await wire.head(3)), 431);
  sent(5, 140_000);
  const reset = await wire.reader.wait(({ type }) => type === TYPE.rstStream);
  assert.deepEqual([reset.stream, codeOf(reset)], [5, CODE.enhanceYourCalm]);
  wire.ask(7, request('/', HOST));
  assert.equal(statusOf(await wire.head(7)), 200);
  assert.equal(rig.seen.length, 2);
  wire.socket.destroy();
});

test('a client that opens no window for a reply loses the stream after four idle spans, and only that', async (t) => {
  const clock = new FakeClock();
  const rig = await rigFor(t, {
    clock,
    run: async ({ target }) =>
      replyWith({ body: target.path === '/' ? 'x'.repeat(100_000) : 'ok' }),
  });
  const wire = await rawH2(rig, [PREFACE, settings([SETTING.initialWindowSize, 0])]);
  wire.ask(1, request('/', HOST));
  await wire.head(1);
  await clock.advance(rig.seen[0]!.policy.timeouts.idleMs * 4 - 1);
  assert.equal(
    wire.reader.frames.some(({ type }) => type === TYPE.rstStream),
    false,
  );
  await clock.advance(1);
  const reset = await wire.reader.wait(({ type }) => type === TYPE.rstStream);
  assert.equal(codeOf(reset), CODE.cancel);
  assert.equal((await rig.event('exchange_finished')).answered, 'client_gone');
  wire.ask(3, request('/ok', HOST));
  wire.send(windowUpdate(3, 1000));
  assert.equal(statusOf(await wire.head(3)), 200);
  wire.socket.destroy();
});

test('a body that never comes is answered 408, and the other streams go on', async (t) => {
  const clock = new FakeClock();
  const rig = await rigFor(t, { clock });
  const wire = await rawH2(rig);
  wire.ask(1, request('/', HOST, ['content-length', '5']), FLAG.endHeaders);
  wire.ask(3, request('/', HOST));
  await wire.head(3);
  await clock.advance(rig.seen[0]!.policy.timeouts.idleMs);
  assert.equal(statusOf(await wire.head(1)), 408);
  wire.ask(5, request('/', HOST));
  await wire.head(5);
  assert.equal(rig.seen.length, 2);
  wire.socket.destroy();
});

test('a connection without streams is closed with a GOAWAY when it has idled for keep_alive, PINGs or not', async (t) => {
  const clock = new FakeClock();
  const rig = await rigFor(t, { clock });
  const wire = await rawH2(rig);
  wire.ask(1, request('/', HOST));
  await wire.reader.wait(({ type, flags }) => type === TYPE.data && flags === FLAG.endStream);
  await clock.advance(74_000);
  wire.send(ping());
  await wire.reader.wait(({ type }) => type === TYPE.ping);
  assert.equal(wire.reader.ended, false);
  await clock.advance(1000);
  await endsWith(rig, wire, CODE.noError);
});

test('a client that agrees on h2 and then says nothing is let go', async (t) => {
  const clock = new FakeClock();
  const rig = await rigFor(t, { clock });
  const wire = await rawH2(rig, []);
  await clock.advance(75_000);
  await wire.reader.closed();
  wire.socket.destroy();
  await nothingLeft(rig);
});

test('a client that does not answer a PING while streams are open is gone after four idle spans', async (t) => {
  const clock = new FakeClock();
  const rig = await rigFor(t, { clock, run: waiting });
  const quiet = await rawH2(rig);
  const lively = await rawH2(rig);
  quiet.ask(1, request('/', HOST));
  lively.ask(1, request('/', HOST));
  while (rig.seen.length < 2) await flush();
  const { idleMs } = rig.seen[0]!.policy.timeouts;
  for (let span = 1; span <= 5; span += 1) {
    await clock.advance(idleMs);
    if (span === 5) break;
    const asks = () => lively.reader.frames.filter(({ type }) => type === TYPE.ping);
    while (asks().length < span) await flush();
    lively.send(frame(TYPE.ping, FLAG.ack, 0, asks().at(-1)!.payload));
    lively.send(ping());
    const answers = ({ type, flags }: Frame) => type === TYPE.ping && flags === FLAG.ack;
    while (lively.reader.frames.filter(answers).length < span) await flush();
  }
  await quiet.reader.closed();
  assert.equal(lively.reader.ended, false);
  assert.equal(rig.listener.openConnections(), 1);
  lively.socket.destroy();
  await nothingLeft(rig);
});

test('what runs for a client that broke the protocol and left is ended as well', async (t) => {
  const clock = new FakeClock();
  const rig = await rigFor(t, { clock, run: waiting });
  const wire = await rawH2(rig);
  wire.ask(1, request('/', HOST));
  while (rig.seen.length === 0) await flush();
  wire.send(frame(TYPE.ping, 0, 1, Buffer.alloc(8)));
  await wire.reader.wait(({ type }) => type === TYPE.goaway);
  wire.socket.destroy();
  await clock.advance(rig.seen[0]!.policy.timeouts.idleMs * 5);
  await nothingLeft(rig);
});

test('draining sends GOAWAY, lets running streams finish, and closes behind the last', async (t) => {
  const go = Promise.withResolvers<void>();
  const rig = await rigFor(t, {
    run: async () => {
      await go.promise;
      return replyWith({ body: 'ok' });
    },
  });
  const wire = await rawH2(rig);
  wire.ask(1, request('/', HOST));
  while (rig.seen.length === 0) await flush();
  void rig.listener.stopAccepting();
  const goaway = await wire.reader.wait(({ type }) => type === TYPE.goaway);
  assert.deepEqual([codeOf(goaway), goaway.payload.readUInt32BE(0)], [CODE.noError, 1]);
  wire.ask(3, request('/', HOST));
  go.resolve();
  await wire.reader.closed();
  const body = wire.reader.frames.filter(({ type }) => type === TYPE.data);
  assert.equal(Buffer.concat(body.map(({ payload }) => payload)).toString(), 'ok');
  assert.equal(rig.seen.length, 1);
  wire.socket.destroy();
  await nothingLeft(rig);
});

test('an HTTP/2 connection counts as one of its client, however many streams it has', async (t) => {
  const rig = await rigFor(t, { run: waiting });
  const client = await h2Client(rig);
  const asked = Array.from({ length: 20 }, () => client.request({ ':path': '/' }));
  while (rig.seen.length < 20) await flush();
  assert.equal(rig.listener.openConnections(), 1);
  for (const stream of asked) stream.close(CODE.cancel);
  await Promise.all(asked.map(got));
  client.destroy();
  await nothingLeft(rig);
});

test('HTTP/2 by prior knowledge inside a plain tunnel is passed through with every byte', async (t) => {
  const site = await rawServer((socket) => void socket.pipe(socket));
  t.after(() => site.close());
  const rig = await rigFor(t, {
    runTunnel: async () => {
      const socket = connect(site.port, '127.0.0.1');
      await once(socket, 'connect');
      return { ...replyWith({}), socket };
    },
  });
  const socket = await tunnel(rig, 'o.test:80');
  const sent = Buffer.concat([PREFACE, settings(), headers(1, request('/', HOST))]);
  socket.write(sent);
  const heard = await until(socket, (text) => text.length >= sent.length);
  assert.equal(heard, sent.toString('latin1'));
  assert.equal(rig.seen[0]?.method, 'CONNECT');
  socket.destroy();
});
