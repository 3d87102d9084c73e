import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectTo, heard } from '../support/client-wire.ts';
import { LIMIT, scratch, started } from '../support/forbear-process.ts';
import { onHead, rawServer, until } from '../support/raw-server.ts';

const MIB = 1024 * 1024;
/** What the proxy may grow by while a body of any length passes through it. */
const MOST_GROWTH = 64 * MIB;
const SLOW_BYTES = 120 * MIB;
/** The whole five gigabytes take their time: elsewhere a part of them shows the same. */
const BIG_BYTES = process.env.CI === undefined ? 256 * MIB : 5 * 1024 * MIB;

const WARM_BYTES = 64 * MIB;

const block = randomBytes(MIB);

/** Sends so many bytes, as fast as they are taken, and keeps their hash. */
function flood(socket: Socket, bytes: number) {
  const hash = createHash('sha256');
  const sent = { bytes: 0, digest: () => hash.digest('hex') };
  const more = () => {
    while (sent.bytes < bytes) {
      const piece = block.subarray(0, Math.min(MIB, bytes - sent.bytes));
      piece.writeUInt32BE(sent.bytes / MIB, 0);
      hash.update(piece);
      sent.bytes += piece.length;
      // A copy: the block is stamped anew while these bytes may still wait.
      if (!socket.write(Buffer.from(piece))) return;
    }
    socket.off('drain', more);
  };
  socket.on('drain', more);
  more();
  return sent;
}

/** Takes so many bytes, a head in front of them not counted, and tells their hash. */
async function sink(socket: Socket, bytes: number, hasHead: boolean): Promise<string> {
  const hash = createHash('sha256');
  const { promise, resolve } = Promise.withResolvers<string>();
  let head = hasHead ? '' : undefined;
  let got = 0;
  socket.on('data', (piece: Buffer) => {
    let rest = piece;
    if (head !== undefined) {
      const before = head.length;
      head += piece.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end === -1) return;
      rest = piece.subarray(end + 4 - before);
      head = undefined;
    }
    hash.update(rest);
    got += rest.length;
    if (got === bytes) resolve(hash.digest('hex'));
  });
  socket.resume();
  return promise;
}

async function service(t: TestContext) {
  const file = join(scratch, 'flows.yaml');
  writeFileSync(file, 'intercept: { mode: none }\npolicy: { inspect: { types: [] } }\n');
  const { child, port } = await started(t, ['--config', file]);
  const rss = () => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
  };
  return { port, rss };
}

const client = (t: TestContext, port: number): Socket => {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  return socket.on('error', () => {});
};

/** Resolves once a number has not changed for half a second. */
async function still(value: () => number): Promise<void> {
  let last = -1;
  let since = performance.now();
  await until(() => {
    if (value() !== last) {
      last = value();
      since = performance.now();
    }
    return last > 0 && performance.now() - since > 500;
  });
}

for (const way of ['plain reply', 'blind tunnel', 'plain upload', 'upload in a tunnel'] as const) {
  test(
    `B14 a ${way} whose reader stops does not fill the memory, and arrives whole when it goes on`,
    LIMIT,
    async (t) => {
      const inTunnel = way.endsWith('tunnel');
      const isUpload = way.includes('upload');
      let far: Socket | undefined;
      const origin = await rawServer((socket) => {
        // What it heard is not kept: only this test's own listeners are.
        socket.removeAllListeners('data');
        onHead(socket, (_, rest) => {
          socket.removeAllListeners('data');
          socket.pause();
          socket.unshift(rest);
          far = socket;
        });
      });
      t.after(() => origin.close());
      const { port, rss } = await service(t);
      const near = client(t, port);
      const authority = `127.0.0.1:${origin.port}`;
      if (inTunnel) {
        near.write(connectTo(authority));
        await heard(near, (text) => text.includes('\r\n\r\n'));
      }
      near.pause();
      const target = inTunnel ? '/' : `http://${authority}/`;
      near.write(
        isUpload
          ? `PUT ${target} HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: ${SLOW_BYTES}\r\n\r\n`
          : `GET ${target} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
      );
      const before = rss();
      // An upload brings its head to the origin with its first bytes.
      const upload = isUpload ? flood(near, SLOW_BYTES) : undefined;
      await until(() => far !== undefined);
      if (!isUpload) {
        far?.write(
          `HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: ${SLOW_BYTES}\r\n\r\n`,
        );
      }
      const sent = upload ?? flood(far as unknown as Socket, SLOW_BYTES);
      await still(() => sent.bytes);
      assert.ok(sent.bytes < SLOW_BYTES, 'the fast side is held back');
      assert.ok(rss() - before < MOST_GROWTH, `${Math.round((rss() - before) / MIB)} MiB`);
      const digest = await sink(
        isUpload ? (far as unknown as Socket) : near,
        SLOW_BYTES,
        !isUpload,
      );
      assert.equal(digest, sent.digest());
      const atEnd = rss() - before;
      // What the first flow of a process costs comes on top: code, and garbage that nobody hurries to collect.
      assert.ok(atEnd < 1.5 * MOST_GROWTH, `${Math.round(atEnd / MIB)} MiB at the end`);
    },
  );
}

test(
  `B59 a download of ${BIG_BYTES / MIB} MiB streams: its first byte is there before its last is sent, and the memory stays small`,
  LIMIT,
  async (t) => {
    let sent = { bytes: 0 };
    const origin = await rawServer((socket) => {
      socket.removeAllListeners('data');
      onHead(socket, (head) => {
        const bytes = head.startsWith('GET /warm') ? WARM_BYTES : BIG_BYTES;
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: ${bytes}\r\nConnection: close\r\n\r\n`,
        );
        sent = pour(socket, bytes);
      });
    });
    t.after(() => origin.close());
    const { port, rss } = await service(t);
    const ask = async (path: string) => {
      const near = client(t, port);
      const authority = `127.0.0.1:${origin.port}`;
      near.write(
        `GET http://${authority}${path} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`,
      );
      await once(near, 'readable');
      return near;
    };
    // What any first download costs is no growth.
    await once((await ask('/warm')).resume(), 'close');
    const before = rss();
    const near = await ask('/big');
    assert.ok(sent.bytes < BIG_BYTES / 2, `${sent.bytes} were sent before the first came`);
    let most = 0;
    let looks = 0;
    let got = 0;
    near.on('data', (piece) => {
      got += piece.length;
      looks += 1;
      if (looks % 100 === 0) most = Math.max(most, rss() - before);
    });
    await once(near, 'close');
    assert.ok(got > BIG_BYTES, `${got} of ${BIG_BYTES}`);
    assert.ok(looks > 500 && most < MOST_GROWTH, `${Math.round(most / MIB)} MiB`);
  },
);

/** Sends so many bytes, whatever they are. */
function pour(socket: Socket, bytes: number): { bytes: number } {
  const sent = { bytes: 0 };
  const more = () => {
    while (sent.bytes < bytes) {
      const piece = block.subarray(0, Math.min(MIB, bytes - sent.bytes));
      sent.bytes += piece.length;
      if (!socket.write(piece)) return;
    }
  };
  socket.on('drain', more);
  more();
  return sent;
}
