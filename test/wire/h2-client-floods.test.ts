import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flush } from '../support/fake-clock.ts';
import {
  CODE,
  codeOf,
  continuation,
  data,
  FLAG,
  frame,
  headers,
  hpack,
  ping,
  request,
  rstStream,
  settings,
  statusOf,
  TYPE,
} from '../support/h2-frames.ts';
import { endsWith, HOST, nothingLeft, rawH2, rigFor, streams, waiting } from './h2-client-rig.ts';
import { replyWith } from './listener-rig.ts';

test('streams that are opened and reset without end are a flood, and leave nothing running', async (t) => {
  const rig = await rigFor(t, { run: waiting });
  const wire = await rawH2(rig);
  for (let from = 1; from < 1000 && !wire.reader.ended; from += 100) {
    for (const id of streams(50, from)) {
      wire.send(headers(id, request('/', HOST)), rstStream(id, CODE.cancel));
    }
    const mark = String(from).padStart(8, '0');
    wire.send(ping(Buffer.from(mark)));
    await wire.reader.wait(({ payload }) => payload.toString() === mark).catch(() => {});
  }
  await endsWith(rig, wire, CODE.enhanceYourCalm, /too many streams were reset/);
  assert.ok(rig.seen.length <= 300, `${rig.seen.length} exchanges`);
});

test('a flood of them too fast to be looked at ends the connection as well', async (t) => {
  const rig = await rigFor(t, { run: waiting });
  const wire = await rawH2(rig);
  for (const id of streams(5000)) {
    wire.send(headers(id, request('/', HOST)), rstStream(id, CODE.cancel));
  }
  await wire.reader.closed();
  wire.socket.destroy();
  await nothingLeft(rig);
  assert.ok(rig.seen.length <= 300, `${rig.seen.length} exchanges`);
});

test('a hundred streams given up at once are no flood', async (t) => {
  const rig = await rigFor(t, { run: waiting });
  const wire = await rawH2(rig);
  for (const id of streams(100)) wire.ask(id, request('/', HOST));
  while (rig.seen.length < 100) await flush();
  wire.send(...streams(100).map((id) => rstStream(id, CODE.cancel)));
  wire.ask(301, request('/now', HOST));
  assert.equal(statusOf(await wire.head(301)), 200);
  wire.socket.destroy();
  await nothingLeft(rig);
});

test('streams that the proxy is made to reset are counted like those that the client resets', async (t) => {
  const rig = await rigFor(t, { run: waiting });
  const wire = await rawH2(rig);
  for (const id of streams(2000)) {
    wire.send(headers(id, request('/', HOST), FLAG.endHeaders), headers(id, [['x', '1']], 4));
  }
  await wire.reader.closed();
  wire.socket.destroy();
  await nothingLeft(rig);
  assert.ok(rig.seen.length <= 300, `${rig.seen.length} exchanges`);
});

test('replies that break off are not held against the client', async (t) => {
  const rig = await rigFor(t, {
    run: async () => {
      const delivery = replyWith({ rawHeaders: ['Content-Length', '9'], body: 'x' });
      delivery.received!.response!.body.destroy(new Error('cut'));
      return delivery;
    },
  });
  const wire = await rawH2(rig);
  for (const id of streams(300)) {
    wire.ask(id, request('/', HOST));
    await wire.reader.wait(({ type, stream }) => type === TYPE.rstStream && stream === id);
  }
  assert.equal(
    wire.reader.frames.some(({ type }) => type === TYPE.goaway),
    false,
  );
  wire.socket.destroy();
});

for (const [what, flood, debug] of [
  ['PING', Array.from({ length: 3000 }, () => ping()), /too many PING/],
  ['SETTINGS', Array.from({ length: 500 }, () => settings()), /too many SETTINGS/],
] as const) {
  test(`a flood of ${what} frames ends the connection`, async (t) => {
    const rig = await rigFor(t, { run: waiting });
    const wire = await rawH2(rig);
    wire.ask(1, request('/', HOST));
    // In pieces: to a flood in one piece the library may answer by leaving without a word.
    for (let at = 0; at < flood.length; at += 250) {
      const { reader } = wire;
      const answered = () => reader.frames.filter(({ flags }) => flags === FLAG.ack).length > at;
      wire.send(...flood.slice(at, at + 250));
      await Promise.race([reader.closed(), reader.wait(answered)]);
    }
    await endsWith(rig, wire, CODE.enhanceYourCalm, debug);
  });
}

test('hundreds of PINGs that measure a connection are answered', async (t) => {
  const rig = await rigFor(t);
  const wire = await rawH2(rig);
  for (let i = 0; i < 500; i += 1) wire.send(ping(Buffer.from(String(i).padStart(8, '0'))));
  await wire.reader.wait(({ payload }) => payload.toString() === '00000499');
  wire.socket.destroy();
});

test('a flood of CONTINUATION frames ends the connection before anything is made of it', async (t) => {
  const rig = await rigFor(t);
  const wire = await rawH2(rig);
  const more = continuation(1, hpack([['x', 'y'.repeat(1000)]]));
  wire.send(headers(1, request('/', HOST), FLAG.endStream), ...Array(200).fill(more));
  await wire.reader.closed();
  assert.equal(
    wire.reader.frames.some(({ type }) => type === TYPE.headers),
    false,
  );
  assert.equal(rig.seen.length, 0);
  wire.socket.destroy();
  await nothingLeft(rig);
});

test('a flood of empty DATA frames ends the connection', async (t) => {
  const rig = await rigFor(t, { run: waiting });
  const wire = await rawH2(rig);
  wire.ask(1, request('/', HOST), FLAG.endHeaders);
  wire.send(...Array.from({ length: 3000 }, () => data(1, '')));
  await wire.reader.closed();
  wire.socket.destroy();
  await nothingLeft(rig);
});

test('a field block that unpacks to megabytes is cut off', async (t) => {
  const rig = await rigFor(t);
  const wire = await rawH2(rig);
  // One entry of the dynamic table, named again and again in one byte each.
  const entry = Buffer.concat([
    Buffer.from([0x40]),
    hpack([['x-bomb', 'b'.repeat(3000)]]).subarray(1),
  ]);
  const block = Buffer.concat([hpack(request('/', HOST)), entry, Buffer.alloc(12_000, 0xbe)]);
  wire.send(frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, 1, block));
  const reset = await wire.reader.wait(({ type }) => type === TYPE.rstStream);
  assert.equal(codeOf(reset), CODE.enhanceYourCalm);
  assert.equal(rig.seen.length, 0);
  wire.socket.destroy();
});
