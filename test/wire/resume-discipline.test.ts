import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../support/raw-server.ts';
import { httpUpstream } from '../support/upstream.ts';
import { asked, get, type Step, scriptedSite, startProxy } from '../support/whole-proxy.ts';

const SIZE = 400_000;
const FILE = Buffer.from(Array.from({ length: SIZE }, (_, i) => (i * 7919) % 251));
const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const first: Step = {
  bytes: Buffer.concat([
    Buffer.from(
      `HTTP/1.1 200 OK\r\nETag: "v1"\r\nContent-Type: a/b\r\nContent-Length: ${SIZE}\r\n\r\n`,
    ),
    FILE.subarray(0, 100_000),
  ]),
  after: 'end',
};
const rest: Step = {
  bytes: Buffer.concat([
    Buffer.from(
      `HTTP/1.1 206 Partial Content\r\nETag: "v1"\r\nContent-Range: bytes 100000-${SIZE - 1}/${SIZE}\r\n` +
        `Content-Length: ${SIZE - 100_000}\r\n\r\n`,
    ),
    FILE.subarray(100_000),
  ]),
};
const answer = (status: string, fields = ''): Step => ({
  bytes: `HTTP/1.1 ${status}\r\n${fields}Content-Length: 0\r\n\r\n`,
});

test('a throttle in answer to the question for the rest pauses the lane, and is waited for', async (t) => {
  const { port, told } = await startProxy(t, ['policy: { backoff: { base: 1ms } }']);
  const site = await scriptedSite(t, [first, answer('429 Slow', 'Retry-After: 0.3\r\n'), rest]);
  const got = await get(port, site.url);
  assert.deepEqual([got.end, sha(got.body)], ['whole', sha(FILE)]);
  assert.equal(site.heads.length, 3);
  const [paused] = told('lane_paused');
  const attempts = told('attempt_finished');
  assert.ok(paused !== undefined);
  assert.deepEqual(
    attempts.map(({ action }) => action.kind),
    ['deliver', 'wait', 'deliver'],
  );
  assert.ok((attempts[2]?.at ?? 0) >= paused.untilAt, 'not before the pause was over');
});

test('an overload in answer is tried again, and a refusal is not', async (t) => {
  const { port, told } = await startProxy(t, ['policy: { backoff: { base: 1ms, cap: 2ms } }']);
  const busy = await scriptedSite(t, [first, answer('503 Busy'), rest]);
  assert.equal(sha((await get(port, busy.url)).body), sha(FILE));
  assert.equal(busy.heads.length, 3);
  const blocking = await scriptedSite(t, [first, answer('403 Forbidden'), rest]);
  assert.equal((await get(port, blocking.url)).end, 'broken');
  assert.equal(blocking.heads.length, 2);
  assert.equal(told('download_lost').length, 1);
});

test('the question for the rest needs a free place, which the broken part has given back', async (t) => {
  const { port } = await startProxy(t, [
    'policy: { backoff: { base: 1ms }, pace: { concurrency: 1 } }',
  ]);
  const site = await scriptedSite(t, [first, rest]);
  assert.equal(sha((await get(port, site.url)).body), sha(FILE));
});

test('it keeps the distance of the pace', async (t) => {
  const { port, told } = await startProxy(t, [
    'policy: { backoff: { base: 1ms }, pace: { delay: 200ms } }',
  ]);
  const site = await scriptedSite(t, [first, rest]);
  assert.equal(sha((await get(port, site.url)).body), sha(FILE));
  const [a, b] = told('attempt_finished');
  const startOf = (event: typeof a) => (event?.at ?? 0) - (event?.durationMs ?? 0);
  assert.ok(startOf(b) - startOf(a) >= 190, `${startOf(b) - startOf(a)} ms`);
});

test('each question is charged to the retry budget', async (t) => {
  const { port, told } = await startProxy(t, [
    'policy: { backoff: { base: 1ms, cap: 1ms }, budget: { ratio: 0, floor_per_minute: 2 } }',
  ]);
  const site = await scriptedSite(t, [first, rest, first, rest, first, rest]);
  const ends: string[] = [];
  for (let i = 0; i < 3; i++) ends.push((await get(port, site.url)).end);
  assert.deepEqual(ends, ['whole', 'whole', 'broken']);
  assert.equal(told('download_lost')[0]?.reason, 'retry_budget_spent');
});

test('a rest that does not come within the patience is not waited for', async (t) => {
  const { port, told } = await startProxy(t, [
    'policy: { backoff: { base: 1ms }, patience: 400ms }',
  ]);
  const site = await scriptedSite(t, [first, { bytes: '' }]);
  assert.equal((await get(port, site.url)).end, 'broken');
  assert.equal(told('download_lost')[0]?.reason, 'patience_exceeded');
});

test('the patience of a resumption begins with the break, not with the download', async (t) => {
  const { port } = await startProxy(t, ['policy: { backoff: { base: 1ms }, patience: 300ms }']);
  const drip = (_: string, socket: Socket): undefined => {
    socket.write((first.bytes as Buffer).subarray(0, 2000));
    let at = 2000;
    const more = setInterval(() => {
      const next = Math.min(first.bytes.length, at + 10_000);
      socket.write((first.bytes as Buffer).subarray(at, next));
      at = next;
      if (at < first.bytes.length) return;
      clearInterval(more);
      socket.end();
    }, 50);
  };
  const site = await scriptedSite(t, [drip, rest]);
  assert.equal(sha((await get(port, site.url)).body), sha(FILE));
});

test('a client that has gone costs no further question', async (t) => {
  const { port, proxy, told } = await startProxy(t, [
    'policy: { backoff: { base: 300ms, jitter: 0 } }',
  ]);
  const site = await scriptedSite(t, [first, rest]);
  const asking = request({ host: '127.0.0.1', port, path: site.url, agent: false }).end();
  const [reply] = (await once(asking, 'response')) as [IncomingMessage];
  let got = 0;
  reply.on('data', (chunk) => {
    got += chunk.length;
  });
  reply.on('error', () => {});
  await until(() => got === 100_000);
  reply.destroy();
  await until(() => proxy.activity().exchanges === 0);
  assert.equal(told('exchange_finished')[0]?.answered, 'client_gone');
  assert.equal(told('download_lost').length, 0);
  await until(() => proxy.activity().sockets === 0);
  assert.equal(site.heads.length, 1);
});

test('a slow client gets the whole of a download that broke off while it was not reading', async (t) => {
  const { port } = await startProxy(t, ['policy: { backoff: { base: 1ms } }']);
  const size = 6 * 1024 * 1024;
  const big = Buffer.alloc(size);
  for (let i = 0; i < size; i += 4) big.writeUInt32LE((i * 2654435761) % 2 ** 32, i);
  const site = await scriptedSite(t, [
    {
      bytes: Buffer.concat([
        Buffer.from(
          `HTTP/1.1 200 OK\r\nETag: "v1"\r\nContent-Type: a/b\r\nContent-Length: ${size}\r\n\r\n`,
        ),
        big.subarray(0, size / 2 + 13),
      ]),
      after: 'reset',
    },
    (head) => {
      const from = Number(/bytes=(\d+)-/.exec(asked(head, 'range') ?? '')?.[1]);
      const start = `HTTP/1.1 206 Partial Content\r\nETag: "v1"\r\nContent-Range: bytes ${from}-${size - 1}/${size}\r\nContent-Length: ${size - from}\r\n\r\n`;
      return { bytes: Buffer.concat([Buffer.from(start), big.subarray(from)]) };
    },
  ]);
  const asking = request({ host: '127.0.0.1', port, path: site.url, agent: false }).end();
  const [reply] = (await once(asking, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  for await (const chunk of reply) {
    hash.update(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(hash.digest('hex'), sha(big));
});

for (const where of ['outside sessions, with a fresh address for each exchange', 'in a session']) {
  test(`the rest comes over the same address: ${where}`, async (t) => {
    const from: string[] = [];
    const site = await scriptedSite(t, [
      ...[0, 1, 2]
        .flatMap(() => [first, rest])
        .map((step) => (_: string, socket: Socket) => {
          from.push(socket.remoteAddress ?? '');
          return step;
        }),
    ]);
    const { port } = await startProxy(t, [
      `upstreams: [{ name: exits, routes: [${(await exits(t, site.port)).join(', ')}] }]`,
      'policy: { backoff: { base: 1ms }, routes: { rotation: fresh } }',
    ]);
    for (const id of ['a', 'b', 'c']) {
      const headers = where === 'in a session' ? { 'Forbear-Session': id } : {};
      const got = await get(port, `http://site.test:${site.port}/file`, { headers });
      assert.deepEqual([got.end, sha(got.body)], ['whole', sha(FILE)]);
    }
    assert.deepEqual(
      [from[1], from[3], from[5]],
      [from[0], from[2], from[4]],
      'each rest came where its beginning had come',
    );
    assert.ok(new Set(from).size > 1, 'there was a choice of addresses');
  });
}

test('a session whose address is refused under way is burned', async (t) => {
  const site = await scriptedSite(t, [first, answer('403 Forbidden'), rest]);
  const { port, told } = await startProxy(t, [
    `upstreams: [{ name: exits, routes: [${(await exits(t, site.port)).join(', ')}] }]`,
    'policy: { backoff: { base: 1ms } }',
  ]);
  const ask = () =>
    get(port, `http://site.test:${site.port}/file`, { headers: { 'Forbear-Session': 'a' } });
  assert.equal((await ask()).end, 'broken');
  assert.deepEqual([told('session_ended')[0]?.end, (await ask()).status], ['burned', 409]);
  assert.equal(site.heads.length, 2);
});

async function exits(t: TestContext, port: number): Promise<string[]> {
  const urls: string[] = [];
  for (const exit of ['127.0.1.1', '127.0.1.2', '127.0.1.3']) {
    const upstream = await httpUpstream({ exit, names: { 'site.test': port } });
    t.after(() => upstream.close());
    urls.push(`http://127.0.0.1:${upstream.port}`);
  }
  return urls;
}
