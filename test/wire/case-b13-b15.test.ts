import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import tls from 'node:tls';
import { loadConfig } from '../../src/config/load.ts';
import { connectTo, fieldOf, heard, heardToEnd, startWire } from '../support/client-wire.ts';
import { LIMIT, scratch, started } from '../support/forbear-process.ts';
import { onHead, rawServer, until } from '../support/raw-server.ts';

/** What a client says first, as bytes. */
async function clientHello(): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = await rawServer((socket) => socket.once('data', resolve));
  const client = tls.connect({ host: '127.0.0.1', port: server.port, servername: 'o.test' });
  client.on('error', () => {});
  const bytes = await promise;
  client.destroy();
  await server.close();
  return bytes;
}

/** The same handshake message in two TLS records. */
function inTwoRecords(hello: Buffer, cut: number): Buffer {
  const message = hello.subarray(5);
  const record = (part: Buffer) => {
    const head = Buffer.from(hello.subarray(0, 5));
    head.writeUInt16BE(part.length, 3);
    return Buffer.concat([head, part]);
  };
  return Buffer.concat([record(message.subarray(0, cut)), record(message.subarray(cut))]);
}

test('B13 a ClientHello in two TLS records is one, wherever it is split and however it comes', async (t) => {
  const wire = await startWire(t);
  const hello = await clientHello();
  for (const cut of [1, 4, 60, hello.length - 6]) {
    const bytes = inTwoRecords(hello, cut);
    for (const at of [bytes.length, 5 + cut, 7 + cut]) {
      const socket = await wire.tunnel('o.test:443');
      socket.write(bytes.subarray(0, at));
      await new Promise((resolve) => setImmediate(resolve));
      if (at < bytes.length) socket.write(bytes.subarray(at));
      const [first] = await heard(socket, (got) => got.length > 0);
      assert.equal(first, '\x16', `a ServerHello, split at ${cut}, sent up to ${at}`);
      socket.destroy();
    }
  }
});

test('B13 a ClientHello that ends before its declared length is dropped, and dials nobody', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const wire = await startWire(t);
  const socket = await wire.tunnel(`o.test:${origin.port}`);
  const begun = Buffer.alloc(105, 1);
  begun.set([0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb]);
  socket.end(begun);
  assert.ok(!(await heardToEnd(socket)).startsWith('\x16'), 'no ServerHello');
  await until(() => Object.values(wire.proxy.activity()).every((open) => open === 0));
  assert.equal(origin.accepted, 0);
  assert.deepEqual(wire.told('breaker_changed'), []);
});

test(
  'B15 on SIGTERM three idle tunnels and a request that would wait for an hour do not hold the process',
  LIMIT,
  async (t) => {
    const file = join(scratch, 'shutdown.yaml');
    writeFileSync(
      file,
      'drain: 500ms\nintercept: { except: ["127.0.0.1"] }\npolicy: { patience: 2h, retry_after: { max: 2h } }\n',
    );
    const idle = await rawServer((socket) => socket.write('220 here\r\n'));
    t.after(() => idle.close());
    const throttling = await rawServer((socket) =>
      onHead(socket, () =>
        socket.write('HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n'),
      ),
    );
    t.after(() => throttling.close());
    const { child, closed, port } = await started(t, ['--config', file]);
    const dialled = async (bytes: string): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      t.after(() => socket.destroy());
      socket.write(bytes);
      return socket;
    };
    for (let n = 0; n < 3; n++) {
      const tunnel = await dialled(connectTo(`127.0.0.1:${idle.port}`));
      await heard(tunnel, (text) => text.includes('220 here'));
    }
    const target = `127.0.0.1:${throttling.port}`;
    const waiting = await dialled(`GET http://${target}/ HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    const answer = heardToEnd(waiting);
    await until(() => throttling.heard[0]?.includes('GET') === true);
    // The reply is on its way through the proxy: nothing outside tells when it has begun to wait.
    await pause(300);
    const begunAt = performance.now();
    child.kill('SIGTERM');
    const said = await answer;
    assert.match(said, /^HTTP\/1\.1 503 /);
    assert.equal(fieldOf(said, 'Forbear-Stop'), 'draining');
    assert.ok(Number(fieldOf(said, 'Retry-After')) > 0);
    const [status] = await closed;
    assert.equal(status, 0);
    assert.ok(performance.now() - begunAt < 5000, `${performance.now() - begunAt} ms`);
  },
);

test('B57 a header value that cannot go out in a header is an error of the configuration', () => {
  const load = (value: string) =>
    loadConfig({
      file: undefined,
      text: `upstreams: [{ name: gw, gateway: 'http://u:p@gw.test:1', headers: { X-Name: '${value}' } }]`,
      env: {},
      flags: {},
    });
  assert.equal(load('name').kind, 'ok');
  const refused = load('名');
  assert.equal(refused.kind, 'faults');
  assert.match(JSON.stringify(refused), /X-Name|headers/);
});
