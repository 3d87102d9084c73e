import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { good } from '../support/certificates.ts';
import { type ClientWire, connectTo, heard, startWire } from '../support/client-wire.ts';
import { rawServer, rawTlsServer, replying, until } from '../support/raw-server.ts';

const ROUNDS = 1000;
const AT_ONCE = 20;
const SLACK = 5;

/** A reply that begins and does not end. */
const ENDLESS = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(2000)}`;
const POLICY =
  'policy: { pace: { concurrency: 1000, queue: 10000 }, breaker: { min_attempts: 1000000, consecutive: 1000000 }, inspect: { types: [] } }';

const openFiles = () => readdirSync('/proc/self/fd').length;

function watchWarnings(t: TestContext): Error[] {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  return warnings;
}

/** Runs the round so often, in turns of leaving by FIN and by RST. */
async function inRounds(
  rounds: number,
  round: (how: 'destroy' | 'resetAndDestroy') => Promise<void>,
): Promise<void> {
  let left = rounds;
  const worker = async () => {
    while (left-- > 0) await round(left % 2 === 0 ? 'destroy' : 'resetAndDestroy');
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function nothingIsLeft(wire: ClientWire, origin: { readonly open: number }): Promise<void> {
  await until(() => {
    const { connections, exchanges, sockets } = wire.proxy.activity();
    return connections === 0 && exchanges === 0 && sockets === 0 && origin.open === 0;
  });
}

async function aborts(
  t: TestContext,
  o: { secure: boolean; lines: readonly string[]; rounds: number },
  begin: (wire: ClientWire, authority: string) => Promise<Socket>,
): Promise<void> {
  const origin = o.secure
    ? await rawTlsServer(replying(ENDLESS), good)
    : await rawServer(replying(ENDLESS));
  t.after(() => origin.close());
  const wire = await startWire(t, [POLICY, 'tls: { insecure_hosts: ["*.test"] }', ...o.lines]);
  const warnings = watchWarnings(t);
  let rounds = 0;
  const round = async (how: 'destroy' | 'resetAndDestroy') => {
    // A host that nobody has a whole reply of yet is asked one at a time.
    const host = `o${rounds++ % AT_ONCE}.test`;
    (await begin(wire, `${host}:${origin.port}`))[how]();
  };
  await round('destroy');
  await nothingIsLeft(wire, origin);
  const before = openFiles();
  await inRounds(o.rounds, round);
  await nothingIsLeft(wire, origin);
  assert.ok(openFiles() <= before + SLACK, `${before} open files before, ${openFiles()} after`);
  assert.deepEqual(warnings, []);
  assert.ok(origin.accepted >= o.rounds / 2);
}

const inner = (authority: string) => `GET / HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
const begun = (text: string) => text.includes('xxx');

test('B88 a thousand clients that leave in the middle of a plain reply leave nothing behind', async (t) => {
  await aborts(t, { secure: false, lines: [], rounds: ROUNDS }, async (wire, authority) => {
    const socket = await wire.dial();
    socket.write(`GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await heard(socket, begun);
    return socket;
  });
});

test('B88 five hundred clients that leave an intercepted tunnel in the middle of a reply leave nothing behind', async (t) => {
  await aborts(t, { secure: true, lines: [], rounds: ROUNDS / 2 }, async (wire, authority) => {
    const socket = await wire.tunnel(authority);
    const secured = await wire.secureOver(socket, { servername: 'o.test' });
    secured.write(inner(authority));
    await heard(secured, begun);
    return socket;
  });
});

test('B88 a thousand clients that leave a blind tunnel leave nothing behind', async (t) => {
  await aborts(
    t,
    { secure: false, lines: ['intercept: { mode: none }'], rounds: ROUNDS },
    async (wire, authority) => {
      const socket = await wire.tunnel(authority);
      socket.write(inner(authority));
      await heard(socket, begun);
      return socket;
    },
  );
});

test('B88 a thousand clients that leave before there is an answer leave nothing behind, and blame nobody', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const wire = await startWire(t, [POLICY]);
  const warnings = watchWarnings(t);
  const before = openFiles();
  await inRounds(ROUNDS, async (how) => {
    const socket = await wire.dial();
    const bytes =
      wire.told('exchange_started').length % 3 === 0
        ? connectTo('o.test:443')
        : `POST http://o.test:${origin.port}/ HTTP/1.1\r\nHost: o.test:${origin.port}\r\nContent-Length: 9\r\n\r\nhalf`;
    await new Promise((resolve) => socket.write(bytes, resolve));
    socket[how]();
  });
  await nothingIsLeft(wire, origin);
  assert.ok(openFiles() <= before + SLACK);
  assert.deepEqual(warnings, []);
  const blamed = wire
    .told('attempt_finished')
    .filter(({ verdict }) => verdict.fault !== 'client' && verdict.fault !== 'none');
  assert.deepEqual(
    blamed.map(({ verdict }) => verdict.fault),
    [],
  );
});

test('B88 a thousand requests on one connection leave its listeners as they were, plain and intercepted', async (t) => {
  const reply = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  const warnings = watchWarnings(t);
  for (const way of ['plain', 'intercepted'] as const) {
    const origin =
      way === 'plain'
        ? await rawServer(replying(reply))
        : await rawTlsServer(replying(reply), good);
    t.after(() => origin.close());
    const wire = await startWire(t, [POLICY]);
    const authority = `o.test:${origin.port}`;
    const socket = way === 'plain' ? await wire.dial() : await wire.secure(authority);
    const target = way === 'plain' ? `http://${authority}/` : '/';
    for (let i = 0; i < ROUNDS; i += 1) {
      socket.write(`GET ${target} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
      await heard(socket, (got) => got.endsWith('ok'));
    }
    assert.equal(wire.proxy.activity().connections, 1);
    assert.equal(
      wire.told('exchange_finished').filter(({ answered }) => answered === 200).length,
      ROUNDS,
    );
    assert.ok(origin.accepted < 5, 'the origin connection is used again');
    socket.destroy();
  }
  assert.deepEqual(warnings, []);
});
