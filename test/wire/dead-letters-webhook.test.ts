import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import type { FullLetter } from '../../src/dead-letters/full-letter.ts';
import { Webhook } from '../../src/dead-letters/webhook.ts';
import { firstParked } from '../../src/store/letter-changes.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { sampleBody, sampleLetter } from '../store-sample.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { letterOf, site } from '../support/letters.ts';
import { rawServer, until } from '../support/raw-server.ts';
import { get, startProxy } from '../support/whole-proxy.ts';

const secret = 'a shared secret';

function hooked(clock: FakeClock, url: string) {
  const events: ProxyEvent[] = [];
  const response = {
    status: 200,
    reason: 'OK',
    rawHeaders: ['Set-Cookie', 'sid=hush'],
    bytes: 300,
    truncated: false,
    at: 0,
  };
  const letter = {
    ...firstParked(
      sampleLetter({ rawHeaders: ['Authorization', 'hush'], url: 'https://a.test/?token=hush' }),
      'kept',
    ),
    response,
  };
  const full: FullLetter = {
    letter,
    body: undefined,
    response: { ...response, body: sampleBody(300) },
  };
  const pending = createMemoryStore({ maxLetters: 1, maxBytes: 1000 }).state.rows('webhooks');
  const webhookOf = () =>
    new Webhook({
      clock,
      emit: (event) => events.push(event),
      load: async () => full,
      hookFor: () => ({ url, secret }),
      pending,
    });
  return { webhook: webhookOf(), webhookOf, pending, events };
}

/** Winds the clock from timer to timer until something holds; sockets have their time in between. */
async function windUntil(clock: FakeClock, holds: () => boolean): Promise<void> {
  while (!holds()) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1_000);
  }
}

test('a letter that is done is posted once, signed, without credentials', async (t) => {
  const bodies: Buffer[] = [];
  const heads: Record<string, unknown>[] = [];
  const hook = await site(t, (seen, response, request) => {
    bodies.push(seen.body);
    heads.push(request.headers);
    response.writeHead(204).end();
  });
  const world = { status: 503 };
  const faulty = await site(t, (_, response) => response.writeHead(world.status).end('page'));
  const { port, proxy } = await startProxy(t, [
    `policy: { max_attempts: 1, dead_letters: { webhook: { url: "${hook.url}/x", secret: "${secret}" } } }`,
  ]);
  const id = letterOf(await get(port, `${faulty.url}/a`, { headers: { Cookie: 'sid=hush' } }));
  world.status = 200;
  await proxy.deadLetters.redrive({ kind: 'all' });
  await until(() => bodies.length > 0);
  const text = bodies[0]?.toString() ?? '';
  assert.ok(!text.includes('hush'));
  const told = JSON.parse(text);
  assert.deepEqual([told.letter.id, told.letter.state], [id, 'done']);
  assert.equal(Buffer.from(told.body.text, 'base64').toString(), 'page');
  const stamp = heads[0]?.['forbear-timestamp'];
  const mac = createHmac('sha256', secret).update(`${stamp}.${text}`).digest('hex');
  assert.equal(heads[0]?.['forbear-signature'], `sha256=${mac}`);
  assert.equal(bodies.length, 1);
});

test('a webhook that redirects is not followed, and is left alone after four tries', async (t) => {
  const elsewhere = await site(t, (_, response) => response.end());
  const moved = await site(t, (_, response) => {
    response.writeHead(302, { Location: elsewhere.url }).end();
  });
  const clock = new FakeClock();
  const { webhook, events } = hooked(clock, moved.url);
  webhook.tell('x');
  await windUntil(clock, () => events.length > 0);
  assert.equal(moved.seen.length, 4);
  assert.equal(elsewhere.seen.length, 0);
  assert.match(JSON.stringify(events), /it answered 302/);
});

test('a webhook that hangs is given ten seconds each time, and holds up nothing', async (t) => {
  const silent = await rawServer(() => {});
  t.after(() => silent.close());
  const clock = new FakeClock();
  const { webhook, events } = hooked(clock, `http://127.0.0.1:${silent.port}/`);
  const since = clock.now();
  webhook.tell('x');
  await windUntil(clock, () => events.length > 0);
  assert.match(JSON.stringify(events), /no answer within 10 s/);
  assert.ok(clock.now() - since >= 195_000);
  await until(() => silent.open === 0);
});

test('stopping ends a webhook that hangs', async (t) => {
  const silent = await rawServer(() => {});
  t.after(() => silent.close());
  const clock = new FakeClock();
  const { webhook, events } = hooked(clock, `http://127.0.0.1:${silent.port}/`);
  webhook.tell('x');
  await clock.advance(0);
  await until(() => silent.open === 1);
  webhook.stop();
  await until(() => silent.open === 0);
  assert.deepEqual(events, []);
});

test('what was not told of when the proxy stopped is told by the next one, and then no more', async (t) => {
  const state = { hangs: true };
  const told: string[] = [];
  const hook = await site(t, (seen, response) => {
    told.push(JSON.parse(String(seen.body)).letter.id);
    if (!state.hangs) response.writeHead(204).end();
  });
  const clock = new FakeClock();
  const { webhook, webhookOf, pending, events } = hooked(clock, hook.url);
  webhook.tell('x');
  await windUntil(clock, () => told.length === 1);
  webhook.stop();
  state.hangs = false;
  const next = webhookOf();
  await next.start();
  await windUntil(clock, () => told.length === 2);
  for (let left = 1; left > 0; ) {
    left = (await pending.entries()).length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await webhookOf().start();
  assert.equal(told.length, 2);
  assert.deepEqual(events, []);
});
