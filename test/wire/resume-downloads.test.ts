import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  asked,
  get,
  type Site,
  type Step,
  scriptedSite,
  startProxy,
} from '../support/whole-proxy.ts';

const QUICK = ['policy: { backoff: { base: 1ms, cap: 2ms }, timeouts: { idle: 150ms } }'];
const SIZE = 300_000;
const FILE = Buffer.from(Array.from({ length: SIZE }, (_, i) => (i * 7919) % 251));
const TYPE = 'Content-Type: application/octet-stream\r\n';
const ETAG = 'ETag: "v1"\r\n';

/** The beginning of the file, which breaks off. */
const first = (bytes: number, fields: string = ETAG): Step => ({
  bytes: Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\n${TYPE}${fields}Content-Length: ${SIZE}\r\n\r\n`),
    FILE.subarray(0, bytes),
  ]),
  after: 'end',
});

/** What a well-behaved site answers to the question for the rest; at most `bytes` of it come. */
const rest =
  (o: { bytes?: number; fields?: string; after?: Step['after'] } = {}) =>
  (head: string): Step => {
    const from = Number(/^bytes=(\d+)-$/.exec(asked(head, 'range') ?? '')?.[1]);
    const fields = `${o.fields ?? ETAG}Content-Range: bytes ${from}-${SIZE - 1}/${SIZE}\r\n`;
    const length = `Content-Length: ${SIZE - from}\r\n`;
    const start = Buffer.from(`HTTP/1.1 206 Partial Content\r\n${TYPE}${fields}${length}\r\n`);
    const body = FILE.subarray(from, o.bytes === undefined ? SIZE : from + o.bytes);
    return { bytes: Buffer.concat([start, body]), after: o.after ?? 'stay' };
  };

const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const ranges = (site: Site) => site.heads.map((head) => asked(head, 'range'));

test('a download that breaks off goes on where it ended, and arrives as one whole body', async (t) => {
  const proxy = await startProxy(t, QUICK);
  const site = await scriptedSite(t, [first(100_000), rest()]);
  const got = await get(proxy.port, site.url, {
    headers: { Cookie: 'a=1', 'If-None-Match': '"v0"' },
  });
  assert.deepEqual([got.status, got.end, sha(got.body)], [200, 'whole', sha(FILE)]);
  assert.equal(got.headers['content-length'], String(SIZE));
  assert.equal(got.headers['content-range'], undefined);
  assert.deepEqual(ranges(site), [undefined, 'bytes=100000-']);
  assert.equal(asked(site.heads[1], 'if-range'), '"v1"');
  assert.equal(asked(site.heads[1], 'cookie'), 'a=1');
  assert.equal(asked(site.heads[1], 'if-none-match'), undefined);

  const [resumed] = proxy.told('download_resumed');
  assert.deepEqual([resumed?.n, resumed?.offset, resumed?.totalBytes], [1, 100_000, SIZE]);
  assert.deepEqual(
    proxy.told('attempt_finished').map(({ n, verdict }) => [n, verdict.reason]),
    [
      [1, 'ok'],
      [2, 'ok'],
    ],
  );
  const done = await proxy.finished();
  const heads = site.heads.reduce((sum, head) => sum + head.length, 0);
  assert.equal(done.answered, 200);
  assert.equal(got.headers['forbear-attempts'], '1', 'so far');
  assert.equal(done.delivery.ledger.attempts, 2);
  assert.equal(done.sentBytes, heads);
  assert.ok(done.receivedBytes > SIZE && done.receivedBytes < SIZE + 1000, `${done.receivedBytes}`);
});

test('a reset and a silence are resumed like an end', async (t) => {
  const { port } = await startProxy(t, QUICK);
  for (const after of ['reset', 'stay'] as const) {
    const site = await scriptedSite(t, [{ ...first(100_000), after }, rest()]);
    const got = await get(port, site.url);
    assert.deepEqual([got.end, sha(got.body)], ['whole', sha(FILE)], after);
    assert.equal(site.heads.length, 2);
  }
});

test('it goes on again and again, up to max_attempts in all', async (t) => {
  const { port, told } = await startProxy(t, [
    'policy: { max_attempts: 3, backoff: { base: 1ms, cap: 2ms } }',
  ]);
  const cut = rest({ bytes: 50_000, after: 'end' });
  const enough = await scriptedSite(t, [first(10_000), cut, rest()]);
  const got = await get(port, enough.url);
  assert.deepEqual([got.end, sha(got.body)], ['whole', sha(FILE)]);
  assert.deepEqual(ranges(enough), [undefined, 'bytes=10000-', 'bytes=60000-']);
  assert.deepEqual(
    told('download_resumed').map(({ n }) => n),
    [1, 2],
  );

  const tooOften = await scriptedSite(t, [first(10_000), cut]);
  assert.equal((await get(port, tooOften.url)).end, 'broken');
  assert.equal(tooOften.heads.length, 3);
  const [lost] = told('download_lost');
  assert.deepEqual([lost?.reason, lost?.offset], ['attempts_exhausted', 110_000]);
});

test('a site may give the rest in parts', async (t) => {
  const { port } = await startProxy(t, QUICK);
  const part = (head: string): Step => {
    const from = Number(/^bytes=(\d+)-$/.exec(asked(head, 'range') ?? '')?.[1]);
    const to = Math.min(SIZE, from + 120_000);
    const fields = `${ETAG}Content-Range: bytes ${from}-${to - 1}/${SIZE}\r\n`;
    const start = `HTTP/1.1 206 Partial Content\r\n${fields}Content-Length: ${to - from}\r\n\r\n`;
    return { bytes: Buffer.concat([Buffer.from(start), FILE.subarray(from, to)]) };
  };
  const site = await scriptedSite(t, [first(100_000), part]);
  const got = await get(port, site.url);
  assert.deepEqual([got.end, sha(got.body)], ['whole', sha(FILE)]);
  assert.equal(site.heads.length, 3);
});

const chunks = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
const CHUNKED = `HTTP/1.1 200 OK\r\n${TYPE}${ETAG}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n`;
const firstChunked = (bytes: number, end = ''): Step => ({
  bytes: Buffer.concat([Buffer.from(CHUNKED), chunks(FILE.subarray(0, bytes)), Buffer.from(end)]),
  after: 'end',
});

test('a chunked body goes on in chunks, and ends with the trailers of its last part', async (t) => {
  const { port } = await startProxy(t, QUICK);
  const last: Step = {
    bytes: Buffer.concat([
      Buffer.from(
        `HTTP/1.1 206 Partial Content\r\n${ETAG}Content-Range: bytes 100000-${SIZE - 1}/${SIZE}\r\n` +
          'Transfer-Encoding: chunked\r\n\r\n',
      ),
      chunks(FILE.subarray(100_000)),
      Buffer.from('0\r\nX-Sum: last\r\n\r\n'),
    ]),
  };
  const site = await scriptedSite(t, [firstChunked(100_000), last]);
  const got = await get(port, site.url);
  assert.deepEqual([got.end, sha(got.body)], ['whole', sha(FILE)]);
  assert.equal(got.headers['transfer-encoding'], 'chunked');
  assert.equal(got.trailers['x-sum'], 'last');
});

test('a chunked body that lacks only its end is whole, once the site says that nothing lies behind it', async (t) => {
  const { port } = await startProxy(t, QUICK);
  const nothing = (total: number): Step => ({
    bytes: `HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */${total}\r\nContent-Length: 0\r\n\r\n`,
  });
  const site = await scriptedSite(t, [firstChunked(SIZE, '0\r\n'), nothing(SIZE)]);
  const got = await get(port, site.url);
  assert.deepEqual([got.end, sha(got.body)], ['whole', sha(FILE)]);
  const other = await scriptedSite(t, [firstChunked(SIZE), nothing(SIZE + 1)]);
  assert.equal((await get(port, other.url)).end, 'broken');
});

test('a date that is long past serves as validator', async (t) => {
  const { port } = await startProxy(t, QUICK);
  const dated =
    'Date: Fri, 02 Jan 2026 00:00:00 GMT\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n';
  const site = await scriptedSite(t, [first(5000, dated), rest({ fields: dated })]);
  const got = await get(port, site.url);
  assert.deepEqual([got.end, sha(got.body)], ['whole', sha(FILE)]);
  assert.equal(asked(site.heads[1], 'if-range'), 'Thu, 01 Jan 2026 00:00:00 GMT');
});

test('a compressed page goes on in compressed bytes', async (t) => {
  const { port } = await startProxy(t, [
    'policy: { inspect: { hold: 1KiB }, backoff: { base: 1ms } }',
  ]);
  const page = gzipSync(Array.from({ length: 60_000 }, (_, i) => (i * 7919) % 10007).join(' '));
  const head = `Content-Type: text/html\r\nContent-Encoding: gzip\r\n${ETAG}`;
  const begun = `HTTP/1.1 200 OK\r\n${head}Content-Length: ${page.length}\r\n\r\n`;
  const from = 40_000;
  const going = `HTTP/1.1 206 Partial Content\r\n${head}Content-Range: bytes ${from}-${page.length - 1}/${page.length}\r\nContent-Length: ${page.length - from}\r\n\r\n`;
  const site = await scriptedSite(t, [
    (_, socket) => {
      socket.write(Buffer.concat([Buffer.from(begun), page.subarray(0, 5000)]));
      setImmediate(() => socket.end(page.subarray(5000, from)));
      return undefined;
    },
    { bytes: Buffer.concat([Buffer.from(going), page.subarray(from)]) },
  ]);
  const got = await get(port, site.url);
  assert.equal(got.end, 'whole');
  assert.equal(sha(got.body), sha(page));
});

const OTHERS: Readonly<Record<string, Step | ((head: string) => Step)>> = {
  'the whole again': { ...first(SIZE), after: 'stay' },
  'the rest of another version': rest({ fields: 'ETag: "v2"\r\n' }),
  'the rest under a weak tag': rest({ fields: 'ETag: W/"v1"\r\n' }),
  'the rest in another coding': rest({ fields: `${ETAG}Content-Encoding: br\r\n` }),
  'another range': {
    bytes: `HTTP/1.1 206 Partial Content\r\n${ETAG}Content-Range: bytes 0-9/${SIZE}\r\nContent-Length: 10\r\n\r\n0123456789`,
  },
  'another length': {
    bytes: `HTTP/1.1 206 Partial Content\r\n${ETAG}Content-Range: bytes 100000-100009/100010\r\nContent-Length: 10\r\n\r\n0123456789`,
  },
  'several ranges': {
    bytes: `HTTP/1.1 206 Partial Content\r\n${ETAG}Content-Type: multipart/byteranges; boundary=x\r\nContent-Length: 5\r\n\r\n--x--`,
  },
  'a 404': { bytes: 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n' },
  'a 416': { bytes: 'HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n' },
  'more than the rest': {
    bytes: Buffer.concat([
      Buffer.from(
        `HTTP/1.1 206 Partial Content\r\n${ETAG}Content-Range: bytes 100000-${SIZE - 1}/${SIZE}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      ),
      chunks(Buffer.concat([FILE.subarray(100_000), Buffer.from('!')])),
      Buffer.from('0\r\n\r\n'),
    ]),
  },
};

for (const [name, answer] of Object.entries(OTHERS)) {
  test(`${name} in answer to the question for the rest: the client is broken off, with no wrong byte`, async (t) => {
    const { port, told, proxy } = await startProxy(t, QUICK);
    const site = await scriptedSite(t, [first(100_000), answer]);
    const got = await get(port, site.url);
    assert.equal(got.end, 'broken');
    assert.equal(site.heads.length, 2);
    assert.ok(FILE.subarray(0, got.body.length).equals(got.body));
    assert.equal(told('exchange_finished')[0]?.answered, 'broken_off');
    assert.equal(proxy.activity().exchanges, 0);
    if (name !== 'more than the rest') assert.equal(told('download_lost').length, 1);
  });
}

const NEVER: Readonly<Record<string, { fields?: string; ask?: object; policy?: string }>> = {
  'a weak tag': { fields: 'ETag: W/"v1"\r\n' },
  'no validator': { fields: '' },
  'a date of this minute': {
    fields:
      'Date: Fri, 02 Jan 2026 00:00:00 GMT\r\nLast-Modified: Thu, 01 Jan 2026 23:59:30 GMT\r\n',
  },
  'Accept-Ranges: none': { fields: `${ETAG}Accept-Ranges: none\r\n` },
  'an event stream': { fields: `${ETAG}Content-Type: text/event-stream\r\n` },
  'a POST': { ask: { method: 'POST' } },
  'a range that the client asked for': { ask: { headers: { Range: 'bytes=0-' } } },
  'Forbear-Retry: off': { ask: { headers: { 'Forbear-Retry': 'off' } } },
  'resume_downloads: false': { policy: 'policy: { resume_downloads: false }' },
  'max_attempts: 1': { policy: 'policy: { max_attempts: 1 }' },
  'a budget that is spent': { policy: 'policy: { budget: { ratio: 0, floor_per_minute: 0 } }' },
};

for (const [name, { fields, ask, policy }] of Object.entries(NEVER)) {
  test(`nothing is resumed for ${name}: the client is broken off`, async (t) => {
    const { port } = await startProxy(t, [policy ?? QUICK[0] ?? '']);
    const step = first(100_000, fields);
    const plain = String(step.bytes.toString('latin1')).replace(/^Content-Type: app.*\r\n/m, '');
    const isStream = name === 'an event stream';
    const site = await scriptedSite(t, [
      isStream ? { ...step, bytes: Buffer.from(plain, 'latin1') } : step,
      rest(),
    ]);
    assert.equal((await get(port, site.url, ask)).end, 'broken');
    assert.equal(site.heads.length, 1);
  });
}
