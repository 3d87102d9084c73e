import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type ClientWire, startWire } from '../support/client-wire.ts';
import { farOrigin, fetchOver, login, reply } from '../support/far-side.ts';
import { rawServer, replying, until } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
/** A thousand take their time; a part of them shows the same. */
const COUNT = process.env.CI === undefined ? 300 : 1000;

interface Race {
  readonly socket: Socket;
  replies: number;
  failure: string | undefined;
  ended: boolean;
}

/** Opens a connection on which one request has been answered. */
async function answeredOnce(wire: ClientWire, request: string): Promise<Race> {
  const socket = await wire.dial();
  const race: Race = { socket, replies: 0, failure: undefined, ended: false };
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    race.replies = text.match(/HTTP\/1\.1 200 /g)?.length ?? 0;
  });
  socket.on('end', () => {
    race.ended = true;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    race.failure = error.code;
  });
  socket.write(request);
  await until(() => race.replies === 1);
  return race;
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

test('B45 hundreds of requests after five seconds of silence, as many clients close at, are all answered', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const wire = await startWire(t, [
    'limits: { client_connections: 2000 }',
    'policy: { pace: { concurrency: 500, queue: 2000 } }',
  ]);
  const authority = `o.test:${origin.port}`;
  const request = (method: string) =>
    `${method} http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: 0\r\n\r\n`;
  const races: Race[] = [];
  for (let n = 0; n < COUNT; n++) races.push(await answeredOnce(wire, request('GET')));
  await pause(4900);
  for (const [n, { socket }] of races.entries()) {
    if (n % 50 === 0) await pause(10);
    socket.write(request(n % 2 === 0 ? 'POST' : 'GET'));
  }
  await until(() => races.every(({ replies, failure }) => replies === 2 || failure !== undefined));
  assert.deepEqual(
    races.flatMap(({ failure }) => failure ?? []),
    [],
  );
  for (const { socket } of races) socket.destroy();
});

test('B45 a request in the very moment of the idle limit is answered or meets a FIN, never half an answer', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const idleMs = 400;
  const wire = await startWire(t, [`limits: { keep_alive: ${idleMs}ms }`]);
  const authority = `o.test:${origin.port}`;
  const request = `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
  const races = await Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      const race = await answeredOnce(wire, request);
      await pause(idleMs - 30 + n * 40);
      if (!race.ended) race.socket.write(request);
      return race;
    }),
  );
  await until(() => races.every(({ replies, ended }) => replies === 2 || ended));
  assert.ok(races.some(({ replies }) => replies === 2));
  assert.ok(races.some(({ replies, ended }) => replies === 1 && ended));
  const asked = origin.heard.join('').match(/GET \//g)?.length ?? 0;
  const answered = races.reduce((sum, { replies }) => sum + replies, 0);
  assert.equal(answered, asked, 'whatever reached the origin was answered');
});

test('B45 what is announced as the keep-alive time is kept, and a little more', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const wire = await startWire(t, ['limits: { keep_alive: 2s }']);
  const got = await fetchOver(wire, `http://o.test:${origin.port}/`);
  assert.match(got.head, /connection: close/i, 'a client that closes is promised nothing');
  const authority = `o.test:${origin.port}`;
  const race = await answeredOnce(
    wire,
    `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
  );
  const since = performance.now();
  await until(() => race.ended);
  assert.ok(performance.now() - since > 1900, `${performance.now() - since} ms`);
  assert.equal(race.failure, undefined);
});

test('B118 of thousands of requests for one host in its pause those beyond the queue are answered at once, and another host is served meanwhile', async (t) => {
  const ALL = process.env.CI === undefined ? 4000 : 10_000;
  const QUEUE = 200;
  const CLIENTS = 8;
  const slow = await farOrigin(t, (_, n) => (n === 1 ? reply(429, '', 'Retry-After: 60') : OK));
  const quick = await farOrigin(t, [OK], { name: 'p.test' });
  const wire = await startWire(t, [
    'limits: { client_connections: 20000 }',
    `policy: { pace: { queue: ${QUEUE}, concurrency: 200 }, patience: 120s }`,
  ]);
  await new Promise<void>((resolve) => {
    void fetchOver(wire, slow.url);
    void until(() => slow.hits.length === 1).then(resolve);
  });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let refused = 0;
  let withTime = 0;
  let left = ALL;
  const kept: Socket[] = [];
  const client = async (n: number) => {
    while (left-- > 0) {
      const socket = await wire.dial();
      let text = '';
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        if (!text.includes('\r\n\r\n')) return;
        if (text.startsWith('HTTP/1.1 503 ')) refused += 1;
        if (/^Retry-After: \d+\r$/im.test(text)) withTime += 1;
        socket.destroy();
        resolve();
      });
      socket.write(`GET ${slow.url} HTTP/1.1\r\nHost: o.test\r\n${login(`c${n}`)}\r\n\r\n`);
      const answered = await Promise.race([promise.then(() => true), pause(60, false)]);
      if (!answered) kept.push(socket);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
  assert.ok(refused >= ALL - QUEUE - 50, `${refused} were turned away`);
  assert.equal(withTime, refused);
  assert.ok(slow.hits.length < 400 && wire.proxy.activity().exchanges <= QUEUE + 1);
  collectGarbage();
  assert.ok(process.memoryUsage().heapUsed - before < 200 * 1024 * 1024);
  const begunAt = performance.now();
  assert.equal((await fetchOver(wire, quick.url)).status, 200);
  assert.ok(performance.now() - begunAt < 1500);
  for (const socket of kept) socket.destroy();
  await until(() => wire.proxy.activity().exchanges <= 1);
});
