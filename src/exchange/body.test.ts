import assert from 'node:assert/strict';
import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClock, flush } from '../../test/support/fake-clock.ts';
import { type BodySource, type ClientBody, createRequestBody } from './body.ts';
import { createHeldMemory, type HeldMemory } from './held-memory.ts';

interface Rig {
  readonly source: PassThrough;
  readonly body: ClientBody;
  readonly clock: FakeClock;
  readonly wanted: () => number;
  readonly failures: () => number;
}

function rig(
  length: number | undefined,
  capBytes: number,
  awaitsContinue = false,
  memory: HeldMemory = createHeldMemory(() => Number.MAX_SAFE_INTEGER),
): Rig {
  const clock = new FakeClock();
  const source = Object.assign(new PassThrough(), { rawTrailers: ['X-Sum', '1'] });
  let wanted = 0;
  let failures = 0;
  const body = createRequestBody(source as unknown as BodySource, {
    length,
    capBytes,
    memory,
    clock,
    idleMs: 30_000,
    awaitsContinue,
    onFailed: () => {
      failures += 1;
    },
    onWanted: () => {
      wanted += 1;
    },
  });
  return { source, body, clock, wanted: () => wanted, failures: () => failures };
}

test('a kept body is given whole to every pass', async () => {
  const { source, body, clock } = rig(undefined, 1000);
  source.write('hello ');
  const first = text(body.open());
  source.end('world');
  assert.equal(await first, 'hello world');
  assert.equal(body.replayable, true);
  assert.equal(await text(body.open()), 'hello world');
  assert.deepEqual(body.rawTrailers, ['X-Sum', '1']);
  assert.equal(body.state, 'complete');
  assert.equal(clock.pending, 0);
});

test('a second pass while the client still sends gets the kept bytes, then the live rest', async () => {
  const { source, body } = rig(11, 1000);
  source.write('hello ');
  const first = body.open();
  first.on('error', () => assert.fail('an earlier pass ends quietly'));
  first.resume();
  await flush();
  const second = text(body.open());
  await flush();
  assert.equal(first.destroyed, true);
  source.end('world');
  assert.equal(await second, 'hello world');
});

test('a body beyond the cap goes through once and then says that it cannot be sent again', async () => {
  const { source, body } = rig(undefined, 4);
  assert.equal(body.replayable, true);
  const pass = text(body.open());
  source.write('hello ');
  await flush();
  source.end('world');
  assert.equal(await pass, 'hello world');
  assert.equal(body.replayable, false);
  await assert.rejects(text(body.open()), /no longer whole/);
});

test('a body known to be too long is not read before it is wanted, and is whole until then', async () => {
  const { source, body, wanted } = rig(100_000, 10);
  source.write(Buffer.alloc(50_000, 'a'));
  await flush();
  assert.equal(body.replayable, true);
  assert.equal(wanted(), 0);
  const pass = text(body.open());
  assert.equal(wanted(), 1);
  source.end(Buffer.alloc(50_000, 'b'));
  assert.equal((await pass).length, 100_000);
  assert.equal(body.replayable, false);
});

test('reading ahead stops at the cap and goes on when a pass asks for more', async () => {
  const { source, body } = rig(undefined, 100_000);
  const pieces = 40;
  let taken = 0;
  for (let i = 0; i < pieces; i += 1) {
    source.write(Buffer.alloc(10_000), () => {
      taken += 1;
    });
  }
  await flush();
  await flush();
  assert.ok(taken < 30, `${taken} pieces of 10 kB were taken at a cap of 100 kB`);
  source.end();
  let bytes = 0;
  for await (const chunk of body.open()) bytes += (chunk as Buffer).length;
  assert.equal(bytes, pieces * 10_000);
});

test('a slow reader holds the client back instead of filling memory', async () => {
  const { source, body, clock } = rig(10_000_000, 1000);
  const pass = body.open();
  pass.read(0);
  let taken = 0;
  for (let i = 0; i < 100; i += 1) {
    source.write(Buffer.alloc(100_000), () => {
      taken += 1;
    });
  }
  for (let i = 0; i < 20; i += 1) await flush();
  assert.ok(taken <= 4, `${taken} pieces of 100 kB were taken`);
  await clock.advance(600_000);
  assert.equal(body.state, 'receiving', 'a client that is held back is not a silent one');
  body.release();
});

test('a pass that is left early loses nothing of a kept body', async () => {
  const { source, body } = rig(undefined, 1000);
  source.write('hello ');
  const left = body.open();
  await new Promise((resolve) => left.once('data', resolve));
  left.destroy();
  source.write('wor');
  await flush();
  source.end('ld');
  assert.equal(await text(body.open()), 'hello world');
});

test('a client that goes silent while it is read from is stalled, and its pass fails', async () => {
  const { source, body, clock } = rig(10, 1000);
  source.write('12345');
  await flush();
  const pass = text(body.open());
  const failed = assert.rejects(pass, /stopped sending/);
  await clock.advance(29_999);
  assert.equal(body.state, 'receiving');
  await clock.advance(1);
  assert.equal(body.state, 'stalled');
  await failed;
  assert.equal(body.replayable, false);
  assert.equal(clock.pending, 0);
});

test('a client that drips a byte now and then is as silent as one that stops', async () => {
  const { source, body, clock } = rig(1000, 2000);
  for (let i = 0; i < 3; i += 1) {
    await clock.advance(10_000);
    source.write('x');
    await flush();
  }
  assert.equal(body.state, 'stalled');
});

test('a client that waits for 100 Continue is not silent before it was asked to send', async () => {
  const { source, body, clock, wanted } = rig(5, 1000, true);
  await clock.advance(600_000);
  assert.equal(body.state, 'receiving');
  const pass = text(body.open());
  assert.equal(wanted(), 1);
  await clock.advance(29_000);
  source.end('hello');
  assert.equal(await pass, 'hello');
});

test('a client that was asked to send and does not is stalled', async () => {
  const { body, clock, failures } = rig(5, 1000, true);
  const failed = assert.rejects(text(body.open()), /stopped sending/);
  await clock.advance(30_000);
  await failed;
  assert.equal(body.state, 'stalled');
  assert.equal(failures(), 1);
});

test('a client that breaks off fails the pass and says so', async () => {
  const { source, body, failures } = rig(10, 1000);
  source.write('123');
  const pass = text(body.open());
  source.destroy();
  await assert.rejects(pass, /stopped sending/);
  assert.equal(body.state, 'broken');
  assert.equal(failures(), 1);
});

test('`started` settles with the first byte, with the end, and with a failure', async () => {
  const byte = rig(undefined, 10);
  byte.source.write('x');
  await byte.body.started;
  const end = rig(undefined, 10);
  end.source.end();
  await end.body.started;
  const failure = rig(undefined, 10);
  failure.source.destroy();
  await failure.body.started;
});

test('no body is complete at once, asks for nothing and can be sent again', async () => {
  const { source, body, wanted, clock } = rig(0, 10);
  source.end();
  await body.started;
  assert.equal(body.present, false);
  assert.equal(await text(body.open()), '');
  assert.equal(await text(body.open()), '');
  assert.equal(body.replayable, true);
  assert.equal(wanted(), 0);
  assert.equal(clock.pending, 0);
});

test('release ends open passes, stops the clock and lets the bytes go', async () => {
  const { source, body, clock } = rig(undefined, 1000);
  source.write('hello');
  const pass = body.open();
  await flush();
  body.release();
  assert.equal(pass.destroyed, true);
  assert.equal(body.replayable, false);
  assert.equal(clock.pending, 0);
  assert.equal(source.listenerCount('readable'), 0);
});

test('whatever the pieces and the cap, a pass gives every byte in order or is refused', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 12 }),
      fc.integer({ min: 0, max: 200 }),
      fc.integer({ min: 0, max: 3 }),
      async (pieces, capBytes, early) => {
        const whole = Buffer.concat(pieces);
        const { source, body } = rig(undefined, capBytes);
        const passes: Readable[] = [];
        for (const [i, piece] of pieces.entries()) {
          source.write(piece);
          if (i < early && body.replayable) {
            const pass = body.open();
            pass.on('error', () => {});
            pass.resume();
            passes.push(pass);
          }
          await flush();
        }
        source.end();
        await flush();
        if (!body.replayable) {
          assert.ok(whole.length > capBytes && passes.length > 0);
          return;
        }
        const chunks: Buffer[] = [];
        for await (const chunk of body.open()) chunks.push(chunk as Buffer);
        assert.deepEqual(Buffer.concat(chunks), whole);
        if (whole.length <= capBytes) assert.equal(body.replayable, true);
      },
    ),
    { numRuns: 60 },
  );
});

test('bodies that would fill the common memory are streamed, and what they held is counted out', async () => {
  const memory = createHeldMemory(() => 10);
  const kept = rig(undefined, 1000, false, memory);
  kept.source.write('0123456789');
  await flush();
  assert.equal(memory.bytes, 10);
  const streamed = rig(undefined, 1000, false, memory);
  streamed.source.write('abc');
  await flush();
  assert.equal(memory.bytes, 10, 'nothing more is read ahead');
  const once = text(streamed.body.open());
  streamed.source.end('def');
  assert.equal(await once, 'abcdef');
  assert.equal(streamed.body.replayable, false);
  kept.source.end();
  await flush();
  assert.equal(kept.body.replayable, true);
  assert.equal(await text(kept.body.open()), '0123456789');
  kept.body.release();
  streamed.body.release();
  assert.equal(memory.bytes, 0);
});

test('a large body that never begins stalls as a small one does', async () => {
  const { body, clock, failures } = rig(1_000_000, 1000);
  await flush();
  await clock.advance(30_000);
  await body.started;
  assert.equal(body.state, 'stalled');
  assert.equal(failures(), 1);
  assert.equal(clock.pending, 0);
});
