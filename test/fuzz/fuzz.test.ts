import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readChunks } from './chunk-reader.ts';
import { Dice } from './dice.ts';
import { finals, readReplies, readRequests } from './http-reader.ts';
import type { Kind } from './kind.ts';
import { kinds } from './kinds.ts';
import { minimise } from './minimise.ts';

interface Kept {
  readonly kind: string;
  readonly note: string;
  readonly case: unknown;
}

const CORPUS = new URL('corpus/', import.meta.url);
const DRAWN = 12;
const SEED = 20_260_101;

for (const kind of kinds) {
  test(`${kind.name}: what was found once, and some that are drawn, fare as they should`, async () => {
    const kept = keptOf(kind);
    const drawn = Array.from({ length: DRAWN }, (_, n) => kind.make(new Dice(SEED, kind.name, n)));
    const bench = await kind.open();
    for (const one of [...kept.map((found) => found.case), ...drawn]) {
      assert.equal(await bench.play(one), undefined, JSON.stringify(one));
    }
    assert.equal(await bench.settle(), undefined);
    assert.equal(await bench.close(), undefined);
  });
}

test('every case that is kept belongs to a kind, and says what it is about', () => {
  for (const file of readdirSync(CORPUS)) {
    const { kind, note } = read(file);
    assert.ok(
      kinds.some(({ name }) => name === kind),
      file,
    );
    assert.match(note, /^[A-Z].{20,}\.$/, file);
  }
});

test('the same seed draws the same case', () => {
  for (const kind of kinds) {
    const [a, b, c] = [1, 1, 2].map((n) => JSON.stringify(kind.make(new Dice(7, kind.name, n))));
    assert.equal(a, b);
    assert.notEqual(a, c);
  }
});

test('a failing case is made as small as it can be', async () => {
  const failing = {
    pieces: ['a long way to the', ' culprit ', 'and beyond'],
    n: 1000,
    way: 'plain',
  };
  const fails = async ({ pieces }: typeof failing) => pieces.join('').includes('lpr');
  const small = await minimise(failing, fails, { ms: 5000, now: () => performance.now() });
  assert.deepEqual(small, { pieces: ['lpr'], n: 0, way: 'plain' });
});

test('the reader of chunks tells whole, partial and bad', () => {
  const read = (bytes: string) => {
    const { end, body } = readChunks(bytes, 0);
    return `${end} ${body}`;
  };
  assert.equal(read('3\r\nabc\r\n0\r\n\r\n'), 'whole abc');
  assert.equal(read('3;a="b;c"\r\nabc\r\n00\r\nX: 1\r\n\r\n'), 'whole abc');
  assert.equal(read('3\r\nab'), 'partial ab');
  assert.equal(read('3\r\nabc\r'), 'partial abc');
  assert.equal(read('3\r\nabcd\r\n'), 'bad abc');
  assert.equal(read('3\nabc\r\n0\r\n\r\n'), 'bad ');
  assert.equal(read('-3\r\nabc'), 'bad ');
  assert.equal(read('0\r\nX : 1\r\n\r\n'), 'bad ');
});

test('the reader of messages tells where each ends, and what is none', () => {
  const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi';
  assert.deepEqual(
    readRequests(get + post).messages.map(({ body }) => body),
    ['', 'hi'],
  );
  assert.equal(readRequests(post.slice(0, -1)).end, 'partial');
  assert.equal(readRequests(get.replace('\r\n\r\n', '\n\r\n')).end, 'bad');
  assert.equal(
    readRequests(post.replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n')).end,
    'bad',
  );
  const reply = 'HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody';
  assert.equal(readReplies(reply, ['GET'], 'stays').end, 'partial');
  assert.equal(finals(readReplies(reply, ['GET'], 'ended').messages)[0]?.body, 'body');
  assert.equal(readReplies(reply, ['HEAD'], 'ended').end, 'bad');
});

function keptOf({ name }: Kind): Kept[] {
  return readdirSync(CORPUS)
    .map(read)
    .filter(({ kind }) => kind === name);
}

function read(file: string): Kept {
  return JSON.parse(readFileSync(new URL(file, CORPUS), 'utf8')) as Kept;
}
