import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Answer, ask } from '../bench/requests.ts';
import { exitAddress, startGateway } from './support/gateway.ts';
import { type SiteOptions, startSite } from './support/site.ts';
import { CHALLENGE_PAGE } from './support/site-pages.ts';

type Page = Extract<Answer, { kind: 'page' }>;

/** A site behind a gateway, and a way to ask for its pages by the gateway's token. */
async function world(t: TestContext, options: Partial<SiteOptions> = {}, exits = 200) {
  const site = await startSite({ seed: 1, latencyMs: 0, ...options });
  const gateway = await startGateway({
    exits,
    portOf: (host) => (host === 'shop.test' ? site.port : undefined),
  });
  const agent = new Agent();
  t.after(async () => {
    agent.destroy();
    await gateway.close();
    await site.close();
  });
  const get = (path: string, token: string, cookie?: string): Promise<Answer> => {
    const { name, password } = gateway.account;
    const login = Buffer.from(`${name}-sid-${token}:${password}`).toString('base64');
    return ask({
      url: `http://shop.test${path}`,
      proxyPort: gateway.port,
      agent,
      headers: { 'Proxy-Authorization': `Basic ${login}`, ...(cookie ? { Cookie: cookie } : {}) },
      signal: t.signal,
    });
  };
  return { site, gateway, agent, get };
}

function pageOf(answer: Answer): Page {
  assert.equal(answer.kind, 'page');
  return answer as Page;
}

function partsOf(page: string) {
  const [, id = '', hash = '', text = ''] =
    /data-id="(.*?)" data-hash="(.*?)">(.*?)<\/article>/.exec(page) ?? [];
  return { id, hash, text };
}

/** Two tokens whose exits differ. */
function strangers(exitOf: (token: string) => string): [string, string] {
  const other = Array.from({ length: 50 }, (_, n) => `t${n}`).find(
    (t) => exitOf(t) !== exitOf('a'),
  );
  assert.ok(other);
  return ['a', other];
}

test('an item carries its id and the hash of its text', async (t) => {
  const { site, get } = await world(t);
  const page = pageOf(await get('/items/7', 'a'));
  const { id, hash, text } = partsOf(page.body);
  assert.equal(id, '/items/7');
  assert.equal(hash, createHash('sha256').update(text).digest('hex'));
  assert.equal(page.body, site.page('/items/7'));
  assert.notEqual(text, partsOf(site.page('/items/8')).text);
});

test('a token always leaves by the same exit, and the site sees that address', async (t) => {
  const seen = new Set<string>();
  const { gateway, get } = await world(t, {
    burned: (address) => {
      seen.add(address);
      return false;
    },
  });
  for (let n = 0; n < 3; n++) await get(`/items/${n}`, 'a');
  assert.deepEqual([...seen], [gateway.exitOf('a')]);
  assert.match(gateway.exitOf('a'), /^127\.10\.0\.\d+$/);
});

test('tokens spread over all exits, and exits are addresses of their own', async (t) => {
  const { gateway } = await world(t, {}, 300);
  const used = new Set(Array.from({ length: 5000 }, (_, n) => gateway.exitOf(`token${n}`)));
  assert.equal(used.size, 300);
  assert.deepEqual(used, new Set(Array.from({ length: 300 }, (_, n) => exitAddress(n))));
});

test('the gateway wants a login, and knows only its names', async (t) => {
  const { gateway, agent } = await world(t);
  const bare = { proxyPort: gateway.port, agent, signal: t.signal };
  const anonymous = await ask({ ...bare, url: 'http://shop.test/', headers: {} });
  assert.equal(pageOf(anonymous).status, 407);
  const { name, password } = gateway.account;
  const login = Buffer.from(`${name}-sid-a:${password}`).toString('base64');
  const headers = { 'Proxy-Authorization': `Basic ${login}` };
  const nowhere = await ask({ ...bare, url: 'http://other.test/', headers });
  assert.equal(pageOf(nowhere).status, 502);
});

test('a tunnel through the gateway leaves by the same exit', async (t) => {
  const seen: string[] = [];
  const { gateway } = await world(t, {
    burned: (address) => {
      seen.push(address);
      return false;
    },
  });
  const { name, password } = gateway.account;
  const login = Buffer.from(`${name}-sid-b:${password}`).toString('base64');
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write(`CONNECT shop.test:80 HTTP/1.1\r\nProxy-Authorization: Basic ${login}\r\n\r\n`);
  let text = '';
  for await (const chunk of socket.setEncoding('latin1')) {
    if (text === '') {
      socket.write('GET /items/1 HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n');
    }
    text += chunk;
  }
  assert.match(text, /^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200 OK/);
  assert.deepEqual(seen, [gateway.exitOf('b')]);
});

test('a throttle names its time in whole seconds', async (t) => {
  const perAddress = { ratePerSecond: 1, burst: 1, retryAfterMs: 2000 };
  const { get } = await world(t, { perAddress, now: () => 0 });
  assert.equal(pageOf(await get('/items/1', 'a')).status, 200);
  const told = pageOf(await get('/items/2', 'a'));
  assert.deepEqual([told.status, told.retryAfterMs], [429, 2000]);
});

test('a ban is a 403 or a challenge behind a 200', async (t) => {
  const { get } = await world(t, { burned: () => true });
  const pages = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => pageOf(await get(`/items/${n}`, 'a'))),
  );
  assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([200, 403]));
  assert.ok(pages.every((page) => page.status === 403 || page.body === CHALLENGE_PAGE));
});

test('half a body, a 500 and a reset reach the client as what they are', async (t) => {
  const { site, get } = await world(t, { faultRatio: 1 });
  const found = new Set<string>();
  for (let n = 0; n < 30; n++) {
    const answer = await get(`/items/${n}`, 'a');
    if (answer.kind === 'failed') found.add('reset');
    else if (answer.status === 500) found.add('500');
    else {
      assert.ok(!answer.complete);
      assert.ok(site.page(`/items/${n}`).startsWith(answer.body));
      found.add('half a body');
    }
  }
  assert.deepEqual([...found].sort(), ['500', 'half a body', 'reset']);
});

test('a flow goes on in order, from its address, with its cookie', async (t) => {
  const { site, gateway, get } = await world(t);
  const [token, other] = strangers(gateway.exitOf);
  const first = pageOf(await get('/flows/x/1', token));
  assert.match(first.cookie ?? '', /^flow=x\./);
  assert.equal(pageOf(await get('/flows/x/2', token, first.cookie)).status, 200);
  assert.equal(pageOf(await get('/flows/x/2', token, first.cookie)).status, 200, 'asked again');
  assert.equal(pageOf(await get('/flows/x/4', token, first.cookie)).status, 403, 'left one out');
  assert.equal(pageOf(await get('/flows/x/3', token)).status, 403, 'no cookie');
  assert.equal(site.brokenFlows, 0);
  assert.equal(pageOf(await get('/flows/x/3', other, first.cookie)).status, 403, 'other address');
  assert.equal(site.brokenFlows, 1);
  assert.equal(pageOf(await get('/flows/x/3', token, first.cookie)).status, 403, 'too late');
  assert.equal(site.brokenFlows, 1);
});
