import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { CODE, codeOf, type Frame, request, statusOf, TYPE } from '../support/h2-frames.ts';
import {
  ANSWERED,
  BEGINNINGS,
  CONNECTION_ERRORS,
  LEFT_OUT,
  MALFORMED,
  REFUSED,
  SERVED,
} from '../support/h2-musts.ts';
import { HOST, type RawH2, rawH2 } from './h2-client-rig.ts';
import { type Rig, replyWith, startRig } from './listener-rig.ts';

let rig: Rig;

before(async () => {
  rig = await startRig({
    run: async (exchange) => {
      if (exchange.target.path === '/slow') await once(exchange.signal, 'abort');
      for await (const _ of exchange.body.open());
      return replyWith({ body: 'ok' });
    },
  });
});

after(() => rig.stop());

for (const [code, section, what, ...frames] of CONNECTION_ERRORS) {
  scenario(`section ${section}: ${what} ends the connection`, async (wire) => {
    wire.send(...frames);
    await endsWith(wire, code);
  });
}

for (const [code, section, what, ...frames] of BEGINNINGS) {
  test(`section ${section}: ${what} ends the connection`, async () => {
    const wire = await rawH2(rig, []);
    wire.send(...frames);
    await endsWith(wire, code);
    wire.socket.destroy();
  });
}

for (const [section, what, ...frames] of MALFORMED) {
  scenario(`section ${section}: ${what} ends the stream, and no other`, async (wire) => {
    wire.send(...frames);
    const end = await wire.reader.wait(isEndOf(1));
    assert.equal(end.type, TYPE.rstStream, wire.reader.told().join(', '));
    assert.equal(codeOf(end), CODE.protocolError);
    await goesOn(wire);
  });
}

for (const [section, what, ...frames] of SERVED) {
  scenario(`section ${section}: ${what} is served`, async (wire) => {
    wire.send(...frames);
    const end = await wire.reader.wait(isEndOf(1));
    assert.equal(end.type === TYPE.headers && statusOf(end), 200, wire.reader.told().join(', '));
  });
}

for (const [status, section, what, ...frames] of REFUSED) {
  scenario(`section ${section}: ${what} is answered ${status}`, async (wire) => {
    wire.send(...frames);
    const end = await wire.reader.wait(isEndOf(1));
    assert.equal(end.type === TYPE.headers && statusOf(end), status, wire.reader.told().join(', '));
    assert.equal(rig.seen.length, 0);
    await goesOn(wire);
  });
}

for (const [section, what, ...frames] of LEFT_OUT) {
  scenario(`section ${section}: nothing of ${what} gets through`, async (wire) => {
    wire.send(...frames);
    await goesOn(wire);
    assert.equal(wire.reader.frames.filter(({ stream }) => stream === 3).length, 0);
    for (const { rawHeaders } of rig.seen) assert.deepEqual(rawHeaders, ['host', HOST]);
  });
}

for (const [isAnswer, section, what, ...frames] of ANSWERED) {
  scenario(`section ${section}: ${what} is answered`, async (wire) => {
    wire.send(...frames);
    await wire.reader.wait(isAnswer);
    await goesOn(wire);
  });
}

function scenario(name: string, act: (wire: RawH2) => Promise<void>): void {
  test(name, { timeout: 20_000 }, async () => {
    rig.seen.length = 0;
    const wire = await rawH2(rig);
    await act(wire);
    wire.socket.destroy();
  });
}

const isEndOf = (stream: number) => (one: Frame) =>
  one.type === TYPE.goaway ||
  (one.stream === stream && (one.type === TYPE.headers || one.type === TYPE.rstStream));

async function endsWith({ reader }: RawH2, code: number): Promise<void> {
  await reader.closed();
  const last = reader.frames.find(({ type }) => type === TYPE.goaway);
  assert.equal(last && codeOf(last), code, reader.told().join(', '));
}

/** Another stream of the connection is served as if nothing had been. */
async function goesOn(wire: RawH2): Promise<void> {
  wire.ask(9, request('/', HOST));
  const end = await wire.reader.wait(isEndOf(9));
  assert.equal(end.type === TYPE.headers && statusOf(end), 200, wire.reader.told().join(', '));
}
