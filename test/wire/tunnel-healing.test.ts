import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { rawServer, until } from '../support/raw-server.ts';
import { open, talker, tunnelTo } from '../support/switching.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { httpUpstream } from '../support/upstream.ts';
import { startProxy, type WholeProxy } from '../support/whole-proxy.ts';

const BLIND = ['intercept: {mode: none}'];
const FAST = [...BLIND, 'policy:', '  backoff: {base: 1ms, cap: 2ms}'];

type Step = 'reset' | 'close' | 'silence' | 'serve';

/** A site that treats its connections by the script (the last step again and again), once they have said something. */
async function site(
  t: TestContext,
  steps: readonly Step[],
  serve: (socket: Socket, first: Buffer) => void,
) {
  const firsts: Buffer[] = [];
  const from: (string | undefined)[] = [];
  const server = await rawServer((socket, n) => {
    from.push(socket.remoteAddress);
    socket.once('data', (first: Buffer) => {
      firsts.push(first);
      const step = steps[Math.min(n, steps.length) - 1];
      if (step === 'reset') socket.resetAndDestroy();
      if (step === 'close') socket.end();
      if (step === 'serve') serve(socket, first);
    });
  });
  t.after(() => server.close());
  return { server, firsts, from, target: `127.0.0.1:${server.port}` };
}

/** A server that speaks TLS and echoes, reached by handing it a socket and what was read of it. */
async function tlsEcho(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'forbear-heal-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const inner = createTlsServer(makeTestCa(folder, ['DNS:heal.test']), (socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  inner.listen(0, '127.0.0.1');
  await once(inner, 'listening');
  t.after(() => inner.close());
  const { port } = inner.address() as { port: number };
  return (socket: Socket, first: Buffer) => {
    const far = connect({ host: '127.0.0.1', port });
    far.on('error', () => socket.destroy());
    far.on('close', () => socket.destroy());
    socket.on('close', () => far.destroy());
    far.write(first);
    socket.pipe(far).pipe(socket);
  };
}

async function greets(whole: WholeProxy, target: string) {
  const inner = connectTls({
    socket: await tunnelTo(whole.port, target),
    servername: 'heal.test',
    rejectUnauthorized: false,
  });
  await once(inner, 'secureConnect');
  const client = talker(inner);
  inner.write('hello');
  await client.hears('hello');
  inner.destroy();
  return (await whole.finished()) as ReturnType<typeof whole.told<'exchange_finished'>>[0];
}

const verdicts = (whole: WholeProxy) =>
  whole.told('attempt_finished').map(({ verdict }) => `${verdict.fault}/${verdict.reason}`);

test('a TLS set-up that is reset or closed before a byte is made again inside the blind tunnel', async (t) => {
  const serve = await tlsEcho(t);
  const origin = await site(t, ['reset', 'close', 'serve'], serve);
  const whole = await startProxy(t, FAST);
  const { answered, delivery, sentBytes } = await greets(whole, origin.target);
  assert.equal(answered, 200);
  assert.deepEqual(verdicts(whole), ['host/reset', 'host/reset', 'none/ok']);
  assert.equal(delivery.ledger.attempts, 3);
  assert.equal(origin.firsts.length, 3);
  for (const hello of origin.firsts) assert.deepEqual(hello, origin.firsts[0]);
  assert.ok(sentBytes > (origin.firsts[0]?.length ?? 0));
});

test('a far side that stays silent after the ClientHello is a timeout, and is asked again', async (t) => {
  const serve = await tlsEcho(t);
  const origin = await site(t, ['silence', 'serve'], serve);
  const whole = await startProxy(t, [...FAST, '  timeouts: {first_byte: 100ms}']);
  await greets(whole, origin.target);
  assert.deepEqual(verdicts(whole), ['host/slow', 'none/ok']);
  await until(() => origin.server.open === 0);
});

test('a tunnel through upstreams heals too, and no leg of it is direct', async (t) => {
  const serve = await tlsEcho(t);
  const origin = await site(t, ['reset', 'serve'], serve);
  const plan = { names: { 'heal.test': origin.server.port }, exit: '127.0.0.31' };
  const upstream = await httpUpstream(plan);
  t.after(() => upstream.close());
  const whole = await startProxy(t, [
    ...FAST,
    'upstreams:',
    `  - {name: pool, routes: ["http://127.0.0.1:${upstream.port}"]}`,
  ]);
  await greets(whole, 'heal.test:443');
  assert.deepEqual(origin.from, ['127.0.0.31', '127.0.0.31']);
  assert.equal(whole.told('exchange_finished')[0]?.delivery.ledger.attempts, 2);
});

test('a request of a repeatable method in plain HTTP heals; one of another is said once', async (t) => {
  const origin = await site(t, ['reset', 'serve', 'reset', 'serve'], (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
  );
  const whole = await startProxy(t, FAST);
  const get = talker(await tunnelTo(whole.port, origin.target));
  get.socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.match(await get.hears('\r\n\r\n'), /^HTTP\/1\.1 200 /);
  assert.equal(origin.firsts.length, 2);
  const post = talker(await tunnelTo(whole.port, origin.target));
  post.socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab');
  assert.equal(await post.closed, '');
  assert.equal(origin.firsts.length, 3);
  get.socket.destroy();
});

test('a ClientHello that is still on its way when the leg breaks arrives whole on the next one', async (t) => {
  const heard: Buffer[] = [];
  const server = await rawServer((socket, n) => {
    socket.on('data', (chunk: Buffer) => {
      if (n === 1) return void socket.resetAndDestroy();
      heard.push(chunk);
      if (Buffer.concat(heard).length === 9) socket.end('answer');
    });
  });
  t.after(() => server.close());
  const whole = await startProxy(t, FAST);
  const client = talker(await tunnelTo(whole.port, `127.0.0.1:${server.port}`));
  const hello = Buffer.from([0x16, 3, 1, 0, 4, 1, 0, 0, 0]);
  client.socket.write(hello.subarray(0, 4));
  await until(() => heard.length > 0);
  client.socket.write(hello.subarray(4));
  assert.equal(await client.closed, 'answer');
  assert.deepEqual(Buffer.concat(heard), hello);
});

test('early data, a second request and other protocols are never said twice', async (t) => {
  const origin = await site(t, ['reset'], () => {});
  const whole = await startProxy(t, FAST);
  const hello = Buffer.from([0x16, 3, 1, 0, 4, 1, 0, 0, 0]);
  const early = Buffer.from([0x17, 3, 3, 0, 2, 1, 2]);
  const flights = [
    Buffer.concat([hello, early]),
    'GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\n',
    'SSH-2.0-x\r\n',
    'EHLO me\r\n',
    '\0\x01\x02',
  ];
  for (const flight of flights) {
    const client = talker(await tunnelTo(whole.port, origin.target));
    client.socket.write(flight);
    await client.closed;
  }
  assert.equal(origin.firsts.length, flights.length);
});

test('a server that speaks first is heard at once, and a silent client is no timeout', async (t) => {
  const server = await rawServer((socket) => {
    socket.write('220 mail\r\n');
    socket.on('data', () => socket.write('250 ok\r\n'));
  });
  t.after(() => server.close());
  const whole = await startProxy(t, [...FAST, '  timeouts: {sniff: 1h, first_byte: 10ms}']);
  const client = await open(
    whole.port,
    `CONNECT 127.0.0.1:${server.port} HTTP/1.1\r\nHost: x\r\n\r\n`,
  );
  await client.hears('220 mail\r\n');
  client.socket.write('EHLO me\r\n');
  await client.hears('250 ok\r\n');
  client.socket.destroy();
  assert.deepEqual(verdicts(whole), ['none/ok']);
});

test('a tunnel on which nobody speaks keeps its lane for no longer than the sniff time', async (t) => {
  const server = await rawServer((socket) => socket.pipe(socket));
  t.after(() => server.close());
  const whole = await startProxy(t, [
    ...FAST,
    '  pace: {concurrency: 1}',
    '  timeouts: {sniff: 20ms, first_byte: 10ms}',
  ]);
  const target = `127.0.0.1:${server.port}`;
  const first = talker(await tunnelTo(whole.port, target));
  const second = talker(await tunnelTo(whole.port, target));
  await until(() => whole.told('attempt_finished').length === 2);
  for (const client of [first, second]) {
    client.socket.write('\x16\x03\x01');
    await client.hears('\x16\x03\x01');
    client.socket.destroy();
  }
  assert.deepEqual(verdicts(whole), ['none/ok', 'none/ok']);
});

test('a client that has said all with its first words is served, not taken for gone', async (t) => {
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    let said = '';
    socket.on('data', (chunk) => {
      said += chunk;
    });
    socket.on('end', () => socket.end(`you said ${said}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const whole = await startProxy(t, FAST);
  const socket = connect({ host: '127.0.0.1', port: whole.port, allowHalfOpen: true });
  const client = talker(socket);
  socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await client.hears('\r\n\r\n');
  socket.end('GET / HTTP/1.1\r\n\r\n');
  assert.match(await client.hears('you said'), /you said GET/);
  socket.destroy();
});

test('when tries run out the tunnel is closed, and its last word is in the books', async (t) => {
  const origin = await site(t, ['reset'], () => {});
  const whole = await startProxy(t, [...FAST, '  max_attempts: 3']);
  const client = talker(await tunnelTo(whole.port, origin.target));
  client.socket.write(Buffer.from([0x16, 3, 1, 0, 4, 1, 0, 0, 0]));
  assert.equal(await client.closed, '');
  const { answered, delivery } = await whole.finished();
  assert.deepEqual([answered, delivery.stop], ['broken_off', 'attempts_exhausted']);
  assert.equal(origin.firsts.length, 3);
  await until(() => whole.proxy.activity().connections === 0);
  assert.deepEqual(whole.proxy.activity(), { connections: 0, exchanges: 0, sockets: 0 });
});

test('retries inside tunnels are charged to the budget, and failures open the breaker', async (t) => {
  const origin = await site(t, ['reset'], () => {});
  const whole = await startProxy(t, [
    ...FAST,
    '  max_attempts: 9',
    '  budget: {floor_per_minute: 2}',
    '  breaker: {consecutive: 4, cooldown: 1h, max_cooldown: 1h, when_open: refuse}',
  ]);
  const hello = Buffer.from([0x16, 3, 1, 0, 4, 1, 0, 0, 0]);
  const ends: unknown[] = [];
  for (let n = 0; n < 2; n += 1) {
    const client = talker(await tunnelTo(whole.port, origin.target));
    client.socket.write(hello);
    await client.closed;
    ends.push((await whole.finished()).delivery.stop);
  }
  assert.deepEqual(ends, ['retry_budget_spent', 'retry_budget_spent']);
  assert.equal(origin.firsts.length, 4);
  const refused = await open(whole.port, `CONNECT ${origin.target} HTTP/1.1\r\nHost: x\r\n\r\n`);
  assert.match(await refused.closed, /^HTTP\/1\.1 503 /);
  assert.equal(origin.server.accepted, 4);
});

test('a client that leaves while its set-up is repeated ends it, and nothing is left', async (t) => {
  const origin = await site(t, ['silence'], () => {});
  const whole = await startProxy(t, FAST);
  for (const how of ['resetAndDestroy', 'end'] as const) {
    const client = talker(await tunnelTo(whole.port, origin.target));
    const before = origin.firsts.length;
    client.socket.write(Buffer.from([0x16, 3, 1, 0, 4, 1, 0, 0, 0]));
    await until(() => origin.firsts.length > before);
    client.socket[how]();
    await whole.finished();
    await until(() => origin.server.open === 0);
    assert.ok(
      verdicts(whole).every((verdict) => verdict === 'none/ok'),
      'nobody is blamed',
    );
  }
});
