import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { get, startProxy, type WholeProxy } from '../support/whole-proxy.ts';

async function site(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Resolves with the next event of a type. */
function heard(whole: WholeProxy, type: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  whole.proxy.subscribe((event) => event.type === type && resolve());
  return promise;
}

test('who waits for a slot is turned away with 503 and Retry-After, what runs is finished', async (t) => {
  const held = Promise.withResolvers<() => void>();
  const url = await site(t, (_, reply) => held.resolve(() => reply.end('done')));
  const whole = await startProxy(t, ['policy: { pace: { concurrency: 1 } }']);
  const runs = get(whole.port, `${url}/runs`);
  const finish = await held.promise;
  const began = heard(whole, 'exchange_started');
  const waits = get(whole.port, `${url}/waits`);
  await began;
  assert.equal(whole.proxy.ready, true);
  const drained = whole.proxy.drain();
  assert.equal(whole.proxy.ready, false);
  const { status, headers, body } = await waits;
  assert.equal(status, 503);
  assert.ok(Number(headers['retry-after']) >= 1);
  assert.equal(headers['forbear-stop'], 'draining');
  assert.equal(headers.connection, 'close');
  assert.equal(JSON.parse(String(body)).reason, 'draining');
  finish();
  assert.equal(String((await runs).body), 'done');
  await drained;
});

test('a backoff is not sat out: its client is told when to come back', async (t) => {
  const url = await site(t, (_, reply) => {
    reply.statusCode = 500;
    reply.end('broken');
  });
  const whole = await startProxy(t, ['policy: { backoff: { base: 50s, jitter: 0 } }']);
  const tried = heard(whole, 'attempt_finished');
  const asked = get(whole.port, `${url}/`);
  await tried;
  await whole.proxy.drain();
  const { status, headers } = await asked;
  assert.equal(status, 503);
  assert.ok(Number(headers['retry-after']) > 0);
  assert.equal(headers['forbear-stop'], 'draining');
  assert.equal(headers['forbear-attempts'], '1');
});

test('an attempt that does not end within the time is answered all the same', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const url = await site(t, () => arrived.resolve());
  const whole = await startProxy(t, ['drain: 200ms']);
  const asked = get(whole.port, `${url}/`);
  await arrived.promise;
  await whole.proxy.drain();
  const { status, headers } = await asked;
  assert.equal(status, 503);
  assert.equal(headers['forbear-stop'], 'draining');
  // It was sent, and nobody knows what became of it.
  assert.equal(headers['forbear-attempts'], '1');
});

test('a request on a connection that stands is answered 503, and the connection ends', async (t) => {
  const finishes: (() => void)[] = [];
  const second = Promise.withResolvers<void>();
  const url = await site(t, (request, reply) => {
    if (request.url === '/first') return void reply.end('first');
    finishes.push(() => reply.end('held'));
    second.resolve();
  });
  const whole = await startProxy(t, []);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  // Holds the drain, so that the other connection is still there.
  const holds = get(whole.port, `${url}/holds`);
  await second.promise;
  // Not yet heard to its end when the drain begins: such a connection is not idle.
  const first = get(whole.port, `${url}/first`, { agent });
  await first;
  const sent = get(whole.port, `${url}/second`, { agent });
  const drained = whole.proxy.drain();
  const { status, headers } = await sent;
  assert.equal(status, 503);
  assert.equal(headers.connection, 'close');
  for (const finish of finishes) finish();
  await holds;
  await drained;
});
