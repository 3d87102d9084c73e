import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { newLedger } from '../src/core/ledger.ts';
import { Answers } from '../src/dead-letters/answers.ts';
import { Closing } from '../src/dead-letters/closing.ts';
import { OpenKeys } from '../src/dead-letters/open-keys.ts';
import { type ParkDeps, parking } from '../src/dead-letters/park.ts';
import { headKey, requestKey } from '../src/dead-letters/request-key.ts';
import { Trails } from '../src/dead-letters/trail.ts';
import { type BodySource, createRequestBody } from '../src/exchange/body.ts';
import type { Delivery, Exchange } from '../src/exchange/ports.ts';
import { createMemoryStore } from '../src/store/memory.ts';
import type { Letters } from '../src/store/store.ts';
import type { ProxyEvent } from '../src/telemetry/events.ts';
import { FakeClock, flush } from './support/fake-clock.ts';
import { exchangeFor } from './support/playbook.ts';
import { policyWith } from './support/policy.ts';

const hash = (text: string) => Buffer.from(text).toString('hex').padEnd(24, '0');
const refused: Delivery = {
  received: undefined,
  verdict: undefined,
  stop: 'queue_full',
  retryAfterMs: 1000,
  ledger: newLedger,
  route: undefined,
};

function world(letters: Letters = createMemoryStore({ maxLetters: 10, maxBytes: 1e6 }).letters) {
  const clock = new FakeClock();
  const events: ProxyEvent[] = [];
  const emit = (event: ProxyEvent) => events.push(event);
  const openKeys = new OpenKeys();
  openKeys.complete();
  const deps: ParkDeps = {
    ...{ letters, clock, emit, hash, openKeys },
    trails: new Trails(),
    closing: new Closing({ letters, openKeys, hash, clock, emit }),
    answers: new Answers({ letters, hash, clock }),
    laneIdOf: () => 'shop.test',
    sessionState: () => undefined,
    onDue: () => {},
  };
  const exchange = exchangeFor({ policy: policyWith() }, clock.now());
  return { clock, events, openKeys, deps, exchange, letters };
}

test('when the store can keep nothing more, the client gets its answer all the same, and that is told', async () => {
  const full = createMemoryStore({ maxLetters: 0, maxBytes: 0 }).letters;
  const { deps, events, exchange } = world(full);
  const delivery = await parking(async () => refused, deps)(exchange);
  assert.equal(delivery.stop, 'queue_full');
  assert.equal(delivery.deadLetter, undefined);
  assert.deepEqual(
    events.map((event) => event.type === 'store_trouble' && event.code),
    ['no_room'],
  );
});

test('a store that hangs holds the client for five seconds and no longer', async () => {
  const { letters } = createMemoryStore({ maxLetters: 10, maxBytes: 1e6 });
  const late = Promise.withResolvers<void>();
  const slow = Object.create(letters, {
    park: {
      value: async (...args: Parameters<Letters['park']>) => {
        await late.promise;
        return letters.park(...args);
      },
    },
  }) as Letters;
  const { deps, clock, events, exchange } = world(slow);
  const answered = parking(async () => refused, deps)(exchange);
  await clock.advance(5_000);
  assert.equal((await answered).deadLetter, undefined);
  assert.equal(events[0]?.type, 'store_trouble');
  late.resolve();
  await flush();
  // Written after all: nobody was told, and nothing is lost.
  assert.equal(events[1]?.type, 'dead_letter_parked');
});

function arriving(
  exchange: Exchange,
  clock: FakeClock,
  expects: 'nothing' | 'continue' = 'nothing',
) {
  const source = new PassThrough() as PassThrough & BodySource;
  Object.assign(source, { rawTrailers: [] });
  const body = createRequestBody(source, {
    length: 6,
    capBytes: 1000,
    memory: { hasRoom: () => true, add: () => {}, bytes: 0 },
    clock,
    idleMs: 30_000,
    awaitsContinue: expects === 'continue',
    onWanted: () => source.write('abc'),
    onFailed: () => {},
  });
  if (expects === 'nothing') source.write('abc');
  return { source, exchange: { ...exchange, method: 'PUT', body } };
}

test('a body that is still on its way is waited for', async () => {
  const { deps, clock, exchange, letters } = world();
  const { source, exchange: asked } = arriving(exchange, clock);
  const answered = parking(async () => refused, deps)(asked);
  await clock.advance(500);
  source.end('def');
  await flush();
  const id = (await answered).deadLetter ?? '';
  assert.equal(Buffer.from((await letters.body(id)) ?? []).toString(), 'abcdef');
});

test('a body that waits for a 100 Continue is not asked for: the refusal comes at once in its place', async () => {
  const { deps, clock, exchange, letters } = world();
  const { source, exchange: asked } = arriving(exchange, clock, 'continue');
  const { deadLetter } = await parking(async () => refused, deps)(asked);
  assert.equal(source.writableLength + source.readableLength, 0);
  const letter = await letters.get(deadLetter ?? '');
  assert.deepEqual([letter?.state, letter?.needs], ['needs_client', 'body']);
});

test('a body that does not come within a moment leaves a letter without it', async () => {
  const { deps, clock, exchange, letters } = world();
  const { exchange: asked } = arriving(exchange, clock);
  const answered = parking(async () => refused, deps)(asked);
  await clock.advance(1_000);
  const letter = await letters.get((await answered).deadLetter ?? '');
  assert.deepEqual([letter?.state, letter?.needs], ['needs_client', 'body']);
});

test('a client that has gone leaves no letter', async () => {
  const { deps, exchange, events } = world();
  const gone = { ...exchange, signal: AbortSignal.abort() };
  const delivery = await parking(async () => refused, deps)(gone);
  assert.equal(delivery.deadLetter, undefined);
  assert.deepEqual(events, []);
});

test('the key of a request tells methods, clients, sessions, users and documents apart, and nothing else', () => {
  const { exchange } = world();
  const key = (changes: Partial<Exchange>) => {
    const one = { ...exchange, ...changes };
    return requestKey(
      headKey(one, (text) => text.padEnd(24)),
      one,
      new Uint8Array(),
    );
  };
  const headers = (...rawHeaders: string[]) => key({ rawHeaders });
  const long = (changes: Partial<Exchange>) => {
    const seen: string[] = [];
    headKey({ ...exchange, ...changes }, (text) => {
      seen.push(text);
      return text;
    });
    return seen[0];
  };
  assert.notEqual(long({}), long({ method: 'HEAD' }));
  assert.notEqual(long({}), long({ session: 's' }));
  assert.notEqual(long({}), long({ client: { name: 'other', address: '' } }));
  assert.notEqual(long({}), long({ country: 'de' }));
  for (const name of ['Authorization', 'Range', 'Accept-Language', 'Idempotency-Key']) {
    assert.notEqual(long({}), long({ rawHeaders: [name, 'x'] }), name);
  }
  for (const name of ['Cookie', 'User-Agent', 'Accept-Encoding', 'Referer', 'If-None-Match']) {
    assert.equal(long({}), long({ rawHeaders: [name, 'x'] }), name);
  }
  assert.equal(headers('Cookie', 'a'), headers('Cookie', 'b'));
});

test('no success costs a question to the store while there are no letters', async () => {
  const { letters } = createMemoryStore({ maxLetters: 10, maxBytes: 1e6 });
  let asked = 0;
  const counted = Object.create(letters, {
    close: {
      value: async () => {
        asked += 1;
        return undefined;
      },
    },
  }) as Letters;
  const { deps, exchange, clock, openKeys } = world(counted);
  const good: Delivery = {
    ...refused,
    stop: undefined,
    verdict: { fault: 'none', reason: 'ok', evidence: { kind: 'status', status: 200 } },
  };
  const succeed = async () => {
    const one = { ...exchange };
    const delivery = await parking(async () => good, deps)(one);
    deps.closing.finished({
      type: 'exchange_finished',
      at: clock.now(),
      exchange: one,
      delivery,
      answered: 200,
      sentBytes: 0,
      receivedBytes: 0,
    });
  };
  await succeed();
  assert.equal(asked, 0);
  openKeys.add(requestKey(headKey(exchange, hash), exchange, new Uint8Array()));
  await succeed();
  assert.equal(asked, 1);
  await flush();
  // The store knew of none, so the next one is not asked about.
  await succeed();
  assert.equal(asked, 1);
});
