import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ask } from './support/admin.ts';
import { adminDesk, heard, laneSight, noticed } from './support/admin-desk.ts';

const LIMIT = { timeout: 60_000 };

interface Message {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

/** A listener to the events, with everything it has got so far. */
async function listener(
  t: TestContext,
  port: number,
  o: { query?: string; lastEventId?: string } = {},
) {
  const headers = o.lastEventId === undefined ? {} : { 'Last-Event-ID': o.lastEventId };
  const path = `/api/v1/events${o.query ?? ''}`;
  const asked = request({ host: '127.0.0.1', port, path, headers, agent: false }).end();
  asked.on('error', () => {});
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  t.after(() => asked.destroy());
  const pieces: string[] = [];
  // There may be megabytes: only what is new is looked at, and a little before it.
  let recently = '';
  let look = () => {};
  response.setEncoding('utf8').on('data', (piece: string) => {
    pieces.push(piece);
    recently += piece;
    look();
    recently = recently.slice(-2_000);
  });
  return {
    response,
    asked,
    get text() {
      return pieces.join('');
    },
    /** Whole messages so far. */
    messages: () => pieces.join('').split('\n\n').slice(0, -1).map(read),
    until: (pattern: RegExp): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      look = () => pattern.test(recently) && resolve();
      look();
      return promise;
    },
  };
}

function read(message: string): Message {
  const fields = message.split('\n').map((line) => /^(\w+): (.*)$/.exec(line) ?? []);
  return Object.fromEntries(fields.flatMap(([, name, value]) => (name ? [[name, value]] : [])));
}

const texts = (messages: readonly Message[]): string[] =>
  messages
    .filter(({ event }) => event === 'notice')
    .map(({ data }) => JSON.parse(data ?? '').message);

test('what happens reaches everybody who listens, with ids that rise', async (t) => {
  const { port, emit } = await adminDesk(t);
  const [one, two] = await Promise.all([listener(t, port), listener(t, port)]);
  assert.equal(one.response.headers['content-type'], 'text/event-stream; charset=utf-8');
  assert.equal(one.response.headers['cache-control'], 'no-store');
  emit(noticed('first'));
  emit(noticed('second\nline'));
  for (const each of [one, two]) {
    await each.until(/second/);
    assert.deepEqual(texts(each.messages()), ['first', 'second\\x0aline']);
    const ids = each.messages().map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
  }
});

test('who comes back with the last id gets what it missed, once and in order', async (t) => {
  const { port, emit } = await adminDesk(t);
  const first = await listener(t, port);
  emit(noticed('a'));
  await first.until(/"a"/);
  first.asked.destroy();
  const { id } = first.messages().at(-1) ?? {};
  for (const text of ['b', 'c']) emit(noticed(text));
  for (const o of [{ lastEventId: id ?? '' }, { query: `?last_event_id=${id}` }]) {
    const again = await listener(t, port, o);
    emit(noticed('d'));
    await again.until(/"d"/);
    assert.deepEqual(texts(again.messages()).slice(0, 2), ['b', 'c']);
    assert.equal(texts(again.messages()).filter((text) => text === 'b').length, 1);
    // A cut before `b` must not make it skip `b`.
    assert.equal(again.messages()[0]?.event, 'hello');
    assert.equal(again.messages()[0]?.id, undefined);
  }
});

test('an id that is too old, of another process, or made up is told as a gap', async (t) => {
  const { port, emit } = await adminDesk(t);
  const first = await listener(t, port);
  await first.until(/hello/);
  const boot = first.messages()[0]?.id?.split('-')[0];
  for (let i = 0; i < 2_100; i += 1) emit(noticed(`n${i}`));
  for (const lastEventId of [
    `${boot}-0`,
    `${boot}-99`,
    `${boot}-9999`,
    'other-1',
    'x',
    `${boot}-`,
  ]) {
    const again = await listener(t, port, { lastEventId });
    await again.until(/event: gap\n/);
    assert.deepEqual(texts(again.messages()), [], lastEventId);
  }
  const edge = await listener(t, port, { lastEventId: `${boot}-100` });
  await edge.until(/"n2099"/);
  assert.equal(texts(edge.messages()).length, 2_000);
  assert.equal(texts(edge.messages())[0], 'n100');
});

test('who missed more than can be sent at once is told of a gap, and stays', async (t) => {
  const { port, emit } = await adminDesk(t);
  const first = await listener(t, port);
  await first.until(/hello/);
  const { id = '' } = first.messages()[0] ?? {};
  for (let i = 0; i < 1_900; i += 1) emit(noticed('x'.repeat(900)));
  const again = await listener(t, port, { lastEventId: id });
  await again.until(/event: gap\n/);
  emit(noticed('after'));
  await again.until(/"after"/);
});

test('who names types gets those alone, and an unknown type is an error', async (t) => {
  const { port, emit, clock, lanes } = await adminDesk(t);
  const some = await listener(t, port, { query: '?types=lane_paused,lane_isolated' });
  emit(noticed('a'));
  emit({ type: 'lane_paused', at: 0, lane: 'shop.test', untilAt: 1000 });
  await some.until(/lane_paused/);
  lanes.push(laneSight('shop.test'));
  await clock.advance(1_000);
  emit({ type: 'lane_isolated', at: 0, lane: 'shop.test', isolated: true });
  await some.until(/lane_isolated/);
  assert.deepEqual(
    some.messages().map(({ event }) => event),
    ['hello', 'lane_paused', 'lane_isolated'],
  );
  const bad = await ask(port, 'GET', '/api/v1/events?types=lane_paused,nonsense');
  assert.equal(bad.status, 400);
  assert.match(bad.json.detail, /nonsense.*known: .*lane_paused/);
});

test('silence is broken every 15 seconds, and the sign carries the newest id', async (t) => {
  const { port, emit, clock } = await adminDesk(t);
  const some = await listener(t, port, { query: '?types=lane_paused' });
  await some.until(/hello/);
  emit(noticed('not for this one'));
  await clock.advance(14_000);
  assert.doesNotMatch(some.text, /still here/);
  await clock.advance(2_000);
  await some.until(/: still here\nid: \w+-1\n\n/);
  await clock.advance(60_000);
  await some.until(/(: still here[\s\S]*){5}/);
});

test('lanes that changed come once a second at most, those that did not never', async (t) => {
  const { port, clock, lanes } = await adminDesk(t);
  lanes.push(laneSight('a.test'), laneSight('b.test'));
  const one = await listener(t, port);
  await one.until(/hello/);
  const changes = () =>
    one
      .messages()
      .filter(({ event }) => event === 'lanes')
      .map(({ data }) => JSON.parse(data ?? ''));
  await clock.advance(5_000);
  lanes[1] = laneSight('b.test', { inFlight: 1, state: 'active' });
  lanes[1] = laneSight('b.test', { inFlight: 2, state: 'active' });
  await clock.advance(1_000);
  await one.until(/event: lanes/);
  lanes.shift();
  await clock.advance(1_000);
  await one.until(/"gone":\["a.test"\]/);
  const [first, second] = changes();
  assert.equal(changes().length, 2);
  assert.deepEqual(
    [first.lanes.map(({ id }: { id: string }) => id), first.lanes[0].in_flight],
    [['b.test'], 2],
  );
  assert.deepEqual(second.lanes, []);
});

test('nothing ticks while nobody listens', async (t) => {
  const { port, clock } = await adminDesk(t);
  assert.equal(clock.pending, 0);
  const one = await listener(t, port);
  assert.equal(clock.pending, 1);
  one.asked.destroy();
  while (clock.pending > 0) await new Promise((resolve) => setImmediate(resolve));
});

test('one that never reads is let go; who reads misses nothing meanwhile', LIMIT, async (t) => {
  const { port, emit } = await adminDesk(t);
  const deaf = connect({ host: '127.0.0.1', port });
  deaf.write('GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(deaf, 'connect');
  deaf.pause();
  const reader = await listener(t, port);
  await reader.until(/hello/);
  const gone = once(deaf, 'close').catch(() => {});
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 20_000; i += 1) {
    emit(noticed(`${i} ${'x'.repeat(900)}`));
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await reader.until(/"19999 /);
  assert.equal(texts(reader.messages()).length, 20_000);
  assert.ok(process.memoryUsage().arrayBuffers - before < 64 * 1024 * 1024);
  // It reads at last, and finds that it was let go.
  assert.ok((await Promise.all([heard(deaf.resume()), gone]))[0].length < 15_000_000);
});

test('two hundred tabs listen, and each hears everything', LIMIT, async (t) => {
  const { port, emit } = await adminDesk(t);
  const tabs = await Promise.all(Array.from({ length: 200 }, () => listener(t, port)));
  for (let i = 0; i < 50; i += 1) emit(noticed(`n${i}`));
  await Promise.all(tabs.map((tab) => tab.until(/"n49"/)));
  for (const tab of tabs) assert.equal(texts(tab.messages()).length, 50);
  const status = await ask(port, 'GET', '/api/v1/status');
  assert.equal(status.status, 200);
});

test(
  'when there are too many the next is told when to come again, and a place that is left is given',
  LIMIT,
  async (t) => {
    const { port } = await adminDesk(t);
    const tabs = await Promise.all(Array.from({ length: 256 }, () => listener(t, port)));
    const refused = await ask(port, 'GET', '/api/v1/events');
    assert.deepEqual([refused.status, refused.json.reason], [503, 'too_many_listeners']);
    assert.equal(refused.headers['retry-after'], '5');
    tabs[0]?.asked.destroy();
    for (;;) {
      const asked = request({
        host: '127.0.0.1',
        port,
        path: '/api/v1/events',
        agent: false,
      }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      response.on('error', () => {});
      asked.on('error', () => {});
      asked.destroy();
      if (response.statusCode === 200) break;
    }
  },
);

test('the end of the server ends every stream', async (t) => {
  const { port, server } = await adminDesk(t);
  const one = await listener(t, port);
  const ended = once(one.response, 'end');
  await server.close();
  await ended.catch(() => {});
});
