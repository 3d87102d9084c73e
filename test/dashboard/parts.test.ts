import assert from 'node:assert/strict';
import { test } from 'node:test';

// Written for the browser, in plain JavaScript: what they take and give is said here.
type Shower<K extends string, T> = Record<K, (value: T) => string>;
const part = (name: string) => import(`../../src/admin/dashboard/${name}`);
const { SseParser } = (await part('sse.js')) as {
  SseParser: new () => { push(piece: string): { id?: string; type: string; data: string }[] };
};
type Point = { retry: number | undefined; success: number | undefined };
const { Rates } = (await part('rates.js')) as {
  Rates: new () => {
    attempt(at: number, n: number): void;
    end(at: number, isGood: boolean): void;
    points(now: number): Point[];
    recent(now: number): Point;
    retriesPerMinute(now: number): number;
  };
};
const { brief, visible } = (await part('plain-text.js')) as Shower<'brief' | 'visible', string>;
const { span, percent, size } = (await part('format.js')) as Shower<
  'span' | 'percent' | 'size',
  number | undefined
>;
const { Model } = (await part('model.js')) as {
  Model: new (api: undefined) => { hear(message: object): void; events: { i: number }[] };
};
const { byTrouble } = (await part('lane-order.js')) as {
  byTrouble(a: object, b: object): number;
};

const STREAM =
  'retry: 2000\nevent: hello\ndata: "a-1"\n\n: still here\nid: a-2\n\nid: a-3\nevent: notice\ndata: {"x":\ndata: 1}\n\n';

test('an event stream is read the same in whatever pieces it comes', () => {
  const whole = new SseParser().push(STREAM);
  assert.deepEqual(whole, [
    { id: undefined, type: 'hello', data: '"a-1"' },
    { id: 'a-2', type: 'message', data: '' },
    { id: 'a-3', type: 'notice', data: '{"x":\n1}' },
  ]);
  for (const text of [STREAM, STREAM.replaceAll('\n', '\r\n')]) {
    for (let length = 1; length <= 7; length += 1) {
      const parser = new SseParser();
      const pieces = text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
      assert.deepEqual(
        pieces.flatMap((piece) => parser.push(piece)),
        whole,
        `pieces of ${length}`,
      );
    }
  }
});

test('a message that is cut off is not told', () => {
  assert.deepEqual(new SseParser().push('event: notice\ndata: 1\n'), []);
});

test('retries are a share of attempts, successes of exchanges that ended', () => {
  const rates = new Rates();
  const now = 1_800_000_000_000;
  for (let i = 0; i < 8; i += 1) rates.attempt(now, 1);
  for (let i = 0; i < 2; i += 1) rates.attempt(now, 2);
  for (let i = 0; i < 3; i += 1) rates.end(now, true);
  rates.end(now, false);
  assert.deepEqual(rates.recent(now), { retry: 0.2, success: 0.75 });
  assert.deepEqual(rates.points(now).at(-1), { retry: 0.2, success: 0.75 });
  assert.equal(rates.retriesPerMinute(now), 2);
});

test('what is older than five minutes is forgotten, and does not come back when the ring goes round', () => {
  const rates = new Rates();
  const now = 1_800_000_000_000;
  rates.end(now, false);
  assert.deepEqual(rates.recent(now + 299_000), { retry: undefined, success: 0 });
  assert.deepEqual(rates.recent(now + 301_000), { retry: undefined, success: undefined });
  rates.end(now + 300_000, true);
  assert.deepEqual(rates.recent(now + 300_000).success, 1);
  // A straggler from before is not put into the place of the present.
  rates.end(now - 5_000, false);
  assert.deepEqual(rates.recent(now + 300_000).success, 1);
});

test('a minute without traffic shows the whole five minutes instead', () => {
  const rates = new Rates();
  const now = 1_800_000_000_000;
  rates.end(now, true);
  assert.equal(rates.recent(now + 120_000).success, 1);
});

test('characters that hide, or turn the direction of text, are written out', () => {
  assert.equal(visible('shop\u202Egnp.exe'), 'shop<U+202E>gnp.exe');
  assert.equal(visible('a\nb\u0000c\u200bd\u{e0041}'), 'a<U+000A>b<U+0000>c<U+200B>d<U+E0041>');
  assert.equal(visible('a\ud800b'), 'a<U+D800>b');
  assert.equal(visible('<b>ü & 漢字 😀</b>'), '<b>ü & 漢字 😀</b>');
  assert.equal(brief('x'.repeat(10_000)), `${'x'.repeat(300)}…`);
});

test('spans, shares and sizes are said as people say them', () => {
  const spans = [0, 999, 1500, 12_000, 245_000, 12_000_000, 187_200_000].map(span);
  assert.deepEqual(spans, [
    '0 ms',
    '999 ms',
    '1.5 s',
    '12 s',
    '4 min 05 s',
    '3 h 20 min',
    '2 d 4 h',
  ]);
  const shares = [undefined, 0, 0.001, 0.5, 0.999, 1].map(percent);
  assert.deepEqual(shares, ['–', '0 %', '<1 %', '50 %', '>99 %', '100 %']);
  assert.deepEqual([0, 999, 1000, 2_500_000].map(size), ['0 B', '999 B', '1.0 kB', '2.5 MB']);
});

test('lanes in trouble come first, and among equals those that most wait for', () => {
  const states = ['idle', 'active', 'paused', 'breaker_half_open', 'breaker_open', 'isolated'];
  const lanes = states.map((state) => ({ state, waiting: 0 }));
  assert.deepEqual(
    lanes.sort(byTrouble).map(({ state }) => state),
    states.toReversed(),
  );
  const busy = { state: 'active', waiting: 3 };
  assert.ok(byTrouble(busy, { state: 'active', waiting: 2 }) < 0);
});

test('however much is told, only the newest is kept', () => {
  const model = new Model(undefined);
  for (let i = 0; i < 50_000; i += 1) {
    model.hear({ type: 'notice', data: `{"type":"notice","at":"2026-01-01T00:00:00Z","i":${i}}` });
  }
  assert.ok(model.events.length <= 1_000);
  assert.equal(model.events.at(-1)?.i, 49_999);
});
