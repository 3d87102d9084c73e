import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import type { Exchange } from '../../src/exchange/ports.ts';
import { attemptsFor, bodyOf, direct, exchangeTo, textOf } from '../support/attempts.ts';
import { FakeClock } from '../support/fake-clock.ts';
import {
  data,
  type Field,
  FLAG,
  goaway,
  headers,
  ping,
  rstStream,
  settings,
} from '../support/h2-frames.ts';
import { type FramePeer, frameOrigin } from '../support/h2-origin.ts';

const BODY = 'a whole body, and not a byte less';
const PIECES = [BODY.slice(0, 7), BODY.slice(7, 20), BODY.slice(20)];

/** With a length: without one, a reset with NO_ERROR would be an end like any other. */
const HEAD: readonly Field[] = [
  [':status', '200'],
  ['content-length', `${BODY.length}`],
];

/** What an origin does about one request, step by step, with a turn of the event loop between two of them. */
type Step =
  | { readonly kind: 'wait' | 'head' | 'piece' | 'end' | 'ping' | 'settings' | 'destroy' | 'fin' }
  | { readonly kind: 'reset'; readonly code: number }
  | { readonly kind: 'goaway'; readonly back: number; readonly code: number };

const code = fc.constantFrom(0, 1, 2, 7, 8, 11, 13);
const plain = fc.constantFrom<Step>(
  ...(['wait', 'ping', 'settings', 'destroy', 'fin'] as const).map((kind) => ({ kind })),
);
const breach = fc.oneof<fc.Arbitrary<Step>[]>(
  plain,
  fc.record({ kind: fc.constant('reset' as const), code }),
  fc.record({ kind: fc.constant('goaway' as const), back: fc.constantFrom(0, 2, 100), code }),
);
const GOOD: readonly Step[] = (['head', 'piece', 'piece', 'piece', 'end'] as const).map((kind) => ({
  kind,
}));

/** A good answer with something put in between, perhaps cut off there. */
const script = fc
  .record({ at: fc.nat({ max: GOOD.length }), what: fc.option(breach), cut: fc.boolean() })
  .map(({ at, what, cut }) =>
    what === null ? GOOD : [...GOOD.slice(0, at), what, ...(cut ? [] : GOOD.slice(at))],
  );

const ask = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT'),
  size: fc.constantFrom(0, 10, 100_000),
  leaves: fc.option(fc.nat({ max: 8 })),
});

async function play(peer: FramePeer, stream: number, steps: readonly Step[]): Promise<void> {
  let pieces = 0;
  for (const step of steps) {
    await nextTurn();
    switch (step.kind) {
      case 'wait':
        await nextTurn();
        break;
      case 'head':
        peer.say(headers(stream, HEAD, FLAG.endHeaders));
        break;
      case 'piece':
        peer.say(data(stream, PIECES[pieces++] ?? ''));
        break;
      case 'end':
        peer.say(data(stream, '', FLAG.endStream));
        break;
      case 'ping':
        peer.say(ping());
        break;
      case 'settings':
        peer.say(settings());
        break;
      case 'destroy':
        peer.socket.destroy();
        break;
      case 'fin':
        peer.socket.end();
        break;
      case 'reset':
        peer.say(rstStream(stream, step.code));
        break;
      case 'goaway':
        peer.say(goaway(Math.max(0, stream - step.back), step.code));
        break;
    }
  }
}

/** Winds the clock in small steps until all is over, so that whatever waits for a deadline meets it. */
async function windUntil(clock: FakeClock, what: string, over: () => boolean): Promise<void> {
  const since = clock.now();
  while (!over()) {
    assert.ok(clock.now() - since < 3_600_000, `after an hour not yet: ${what}`);
    for (let turn = 0; turn < 20 && !over(); turn += 1) await nextTurn();
    await clock.advance(1000);
  }
}

test('whatever an origin does, each exchange has one result, no half passes for a whole, and nothing stays open', async (t) => {
  const world = fc.record({
    asks: fc.array(ask, { minLength: 1, maxLength: 6 }),
    scripts: fc.array(script, { minLength: 1, maxLength: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(world, async ({ asks, scripts }) => {
      let requests = 0;
      const origin = await frameOrigin(t, (peer, stream, nth) => {
        requests = nth;
        void play(peer, stream, scripts[(nth - 1) % scripts.length] ?? GOOD);
      });
      const clock = new FakeClock();
      const attempts = attemptsFor(t, { clock });
      let results = 0;
      const run = async ({ method, size, leaves }: (typeof asks)[number]) => {
        const leaver = new AbortController();
        if (leaves !== null) void afterTurns(leaves).then(() => leaver.abort());
        const o = size > 0 && method !== 'GET' ? { body: bodyOf(Buffer.alloc(size)) } : {};
        const exchange: Exchange = {
          ...exchangeTo(
            { host: 'o.test', port: origin.port },
            { scheme: 'https', method, signal: leaver.signal, ...o },
          ),
          overH2: true,
        };
        const received = await attempts.attempt(exchange, direct);
        results += 1;
        const text = await textOf(received).catch(() => undefined);
        if (received.reply.kind === 'response' && text !== undefined) assert.equal(text, BODY);
        await received.closed;
      };
      const all = Promise.allSettled(asks.map(run));
      let over = false;
      void all.then(() => {
        over = true;
      });
      await windUntil(clock, 'all exchanges ended', () => over);
      for (const end of await all) if (end.status === 'rejected') throw end.reason;
      assert.equal(results, asks.length);
      assert.ok(requests <= 4 * asks.length, `${requests} requests for ${asks.length}`);
      await windUntil(clock, 'all sockets closed', () => attempts.openSockets() === 0);
      await windUntil(clock, 'no timer left', () => clock.pending === 0);
      await origin.close();
    }),
    { numRuns: 60, endOnFailure: true },
  );
});

async function afterTurns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await nextTurn();
}
