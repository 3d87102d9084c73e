import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../src/clock.ts';
import type { ProxyEvent } from '../src/telemetry/events.ts';
import { createWarningWebhook } from '../src/telemetry/warning-webhook.ts';

const warning: ProxyEvent = {
  ...{ type: 'early_warning', at: Date.UTC(2026, 0, 1), lane: 'shop.test', raised: true },
  ...{ signal: 'challenged', before: 0, now: 0.14, since: 0, badRoutes: 3, routes: 5 },
  sentence: 'challenged: 0 % → 14 % on 3 of 5 routes since 10:42',
};

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A listener of the user's; `heard` resolves with the next post. */
async function listener(t: TestContext, answer: Answer) {
  const posts: { method: string; url: string; body: string }[] = [];
  let tell = () => {};
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    posts.push({ method: request.method ?? '', url: request.url ?? '', body });
    answer(request, response);
    tell();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const heard = async (count: number) => {
    while (posts.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      tell = resolve;
      await promise;
    }
    return posts;
  };
  return { url: `http://127.0.0.1:${port}/hook`, posts, heard };
}

/** A webhook whose waits between tries take no time. */
function hook(t: TestContext, url: () => string | null) {
  const notices: string[] = [];
  let tell = () => {};
  const clock = { ...systemClock, sleep: async () => 'elapsed' as const };
  const webhook = createWarningWebhook({
    ...{ clock, url },
    emit: (event) => {
      if (event.type === 'notice') notices.push(event.message);
      tell();
    },
  });
  t.after(webhook.stop);
  const complained = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    tell = resolve;
    return promise;
  };
  return { webhook, notices, complained };
}

test('a warning is posted as the JSON that the events have', async (t) => {
  const { url, heard } = await listener(t, (_, response) => response.writeHead(204).end());
  const { webhook } = hook(t, () => url);
  webhook.record(warning);
  const [post] = await heard(1);
  assert.deepEqual([post?.method, post?.url], ['POST', '/hook']);
  const told = JSON.parse(post?.body ?? '');
  assert.equal(told.type, 'early_warning');
  assert.equal(told.lane, 'shop.test');
  assert.equal(told.sentence, 'challenged: 0 % → 14 % on 3 of 5 routes since 10:42');
});

test('other events are not posted, and nothing is where there is no address', async (t) => {
  const { url, posts, heard } = await listener(t, (_, response) => response.writeHead(204).end());
  let to: string | null = null;
  const { webhook } = hook(t, () => to);
  webhook.record(warning);
  to = url;
  webhook.record({ type: 'lane_paused', at: 1, lane: 'shop.test', untilAt: 2 });
  webhook.record({ ...warning, lane: 'other.test' });
  await heard(1);
  assert.match(posts[0]?.body ?? '', /other\.test/);
  assert.equal(posts.length, 1);
});

test('a post that fails is tried three times, then told of, and the next goes on', async (t) => {
  let isUp = false;
  const { url, heard } = await listener(t, (_, response) =>
    response.writeHead(isUp ? 200 : 500).end(),
  );
  const { webhook, notices, complained } = hook(t, () => url);
  const failed = complained();
  webhook.record(warning);
  await failed;
  assert.deepEqual(notices, ['the webhook was not told of a warning: it answered 500']);
  assert.equal((await heard(3)).length, 3);
  isUp = true;
  webhook.record({ ...warning, lane: 'next.test' });
  assert.match((await heard(4))[3]?.body ?? '', /next\.test/);
  assert.equal(notices.length, 1);
});

test('redirects are not followed: the warning is for the address that was given', async (t) => {
  const elsewhere = await listener(t, (_, response) => response.writeHead(200).end());
  const { url } = await listener(t, (_, response) =>
    response.writeHead(307, { Location: elsewhere.url }).end(),
  );
  const { webhook, notices, complained } = hook(t, () => url);
  const failed = complained();
  webhook.record(warning);
  await failed;
  assert.match(notices[0] ?? '', /answered 307/);
  assert.equal(elsewhere.posts.length, 0);
});

test('an address that hangs holds no more than a hundred warnings, and nobody up', async (t) => {
  const { url, heard } = await listener(t, () => {});
  const { webhook, notices } = hook(t, () => url);
  for (let n = 0; n < 201; n += 1) webhook.record({ ...warning, lane: `l${n}.test` });
  assert.equal(notices.length, 100);
  assert.match(notices[0] ?? '', /too slow: a warning was dropped/);
  await heard(1);
  webhook.stop();
});

test('nothing is posted once it was stopped', async (t) => {
  const { url, posts, heard } = await listener(t, (_, response) => response.writeHead(200).end());
  const { webhook } = hook(t, () => url);
  webhook.record(warning);
  await heard(1);
  webhook.stop();
  webhook.record(warning);
  assert.equal(posts.length, 1);
});
