import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { good } from '../support/certificates.ts';
import { heardToEnd, startWire, statuses } from '../support/client-wire.ts';
import { type RawServer, rawServer, rawTlsServer } from '../support/raw-server.ts';
import { allReadings, firstRequestLength } from '../support/request-readers.ts';
import { HIDDEN, type SmugglingCase } from '../support/smuggling-case.ts';
import { framingCases } from '../support/smuggling-framing.ts';
import { headCases } from '../support/smuggling-heads.ts';

const CONFIG = [
  'policy: { timeouts: { idle: 500ms, linger: 100ms }, max_attempts: 1 }',
  'limits: { head: 2s, keep_alive: 2s }',
];
const ALL = [...framingCases(), ...headCases()];
const AT_ONCE = 8;

/** An origin that answers the first whole request of a connection, ends it, and keeps all that came. */
async function patientOrigin(t: TestContext, secure: boolean): Promise<RawServer> {
  const serve = (socket: Socket) => {
    let bytes = '';
    const onData = (chunk: Buffer) => {
      bytes += chunk.toString('latin1');
      if (firstRequestLength(bytes) === undefined) return;
      socket.off('data', onData);
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    };
    socket.on('data', onData);
  };
  const origin = secure ? await rawTlsServer(serve, good) : await rawServer(serve);
  t.after(() => origin.close());
  return origin;
}

async function attack(
  t: TestContext,
  cases: readonly SmugglingCase[],
  way: 'plain' | 'plain in a tunnel' | 'intercepted',
) {
  const origin = await patientOrigin(t, way === 'intercepted');
  const wire = await startWire(t, CONFIG);
  const authority = `o.test:${origin.port}`;
  const base = way === 'plain' ? `http://${authority}` : '';
  const open = async () => {
    if (way === 'plain') return wire.dial();
    return way === 'intercepted' ? wire.secure(authority) : wire.tunnel(authority);
  };
  const probe = `GET ${base}/probe HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`;

  const send = async (one: SmugglingCase, n: number) => {
    const bytes = one.bytes.replaceAll('{T}', `${base}/c${n}-`).replaceAll('{H}', authority);
    const socket = await open();
    // A good request behind a carried one shows that the two sides agree on where it ended.
    socket.write(one.outcome === 'carried' ? bytes + probe : bytes, 'latin1');
    const replies = statuses(await heardToEnd(socket));
    socket.destroy();
    judgeReplies(one, replies);
    return replies.length;
  };
  const answered: number[] = [];
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < cases.length; n = next++) {
      answered[n] = await send(cases[n] as SmugglingCase, n);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  judgeOrigin(origin.heard, cases, answered);
}

function judgeReplies({ name, outcome }: SmugglingCase, replies: readonly number[]): void {
  const [first = 0, second, ...more] = replies;
  assert.deepEqual(more, [], name);
  if (outcome === 'refused') {
    assert.equal(second, undefined, `${name}: one reply, then the end`);
    assert.ok(first >= 400 && first < 500, `${name}: ${first}`);
  } else {
    assert.equal(first, 200, name);
    assert.ok(second === 200 || second === undefined, `${name}: ${second}`);
  }
}

function judgeOrigin(
  heard: readonly string[],
  cases: readonly SmugglingCase[],
  answered: readonly number[],
): void {
  for (const bytes of heard) {
    for (const { name, lines } of allReadings(bytes)) {
      assert.ok(lines.length <= 1, `${name}: more than one request in ${JSON.stringify(bytes)}`);
      assert.ok(!lines[0]?.includes('smuggled'), `${name}: ${JSON.stringify(bytes)}`);
    }
  }
  const whole = heard.filter((bytes) => firstRequestLength(bytes) !== undefined);
  const times = (path: string) =>
    whole.filter((bytes) => bytes.split('\r\n')[0]?.includes(path)).length;
  let probes = 0;
  for (const [n, { name, outcome }] of cases.entries()) {
    const carried = outcome === 'carried' ? 1 : 0;
    assert.equal(times(`/c${n}-`), carried, name);
    probes += carried * ((answered[n] ?? 0) - 1);
  }
  assert.equal(times('/probe'), probes);
  assert.equal(whole.length, probes + cases.filter(({ outcome }) => outcome === 'carried').length);
}

test('there are at least 200 cases, all of them different', () => {
  assert.ok(ALL.length >= 200, `${ALL.length}`);
  assert.equal(new Set(ALL.map(({ bytes }) => bytes)).size, ALL.length);
  assert.ok(ALL.filter(({ bytes }) => bytes.includes(HIDDEN)).length >= 200);
});

test('B38 plain: no bytes of a client become two requests at the origin, and what is in doubt is refused', async (t) => {
  await attack(t, ALL, 'plain');
});

test('B38 intercepted: the same holds inside TLS', async (t) => {
  await attack(t, ALL, 'intercepted');
});

test('B38 plain HTTP in a tunnel: the same holds for what begins like a request; the rest is a blind tunnel', async (t) => {
  const requests = ALL.filter(({ bytes }) => METHODS.some((name) => bytes.startsWith(`${name} `)));
  assert.ok(requests.length > 200);
  await attack(t, requests, 'plain in a tunnel');
});
