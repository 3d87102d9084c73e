import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createPlain } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect as secure } from 'node:tls';
import { AdminCaller } from './support/admin.ts';
import { good } from './support/certificates.ts';
import { connectTo, dialTo, heard } from './support/client-wire.ts';
import { startExit } from './support/exit-proxy.ts';
import { until } from './support/raw-server.ts';
import { get, startProxy } from './support/whole-proxy.ts';

const PAGE = `<html><title>A page</title>${'<p>Words of a page.</p>'.repeat(2000)}</html>`;

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Stands before an upstream and counts what a provider would bill. */
async function countingBefore(t: TestContext, port: number) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    sockets.add(near);
    const far = connect(port, '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const one of [near, far]) {
      one
        .on('error', () => {})
        .on('close', () => {
          near.destroy();
          far.destroy();
        });
    }
  });
  const counting = await portOf(t, server);
  const total = () =>
    [...sockets].reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { port: counting, total };
}

/** A site in plain and in TLS behind a proxy of a list whose bytes are counted by somebody else. */
async function world(t: TestContext) {
  const answer: Parameters<typeof createPlain>[1] = (request, response) => {
    const status = request.url === '/down' ? 503 : 200;
    response.writeHead(status, { 'Content-Type': 'text/html' }).end(PAGE);
  };
  const plain = await portOf(t, createPlain(answer));
  const opened = await portOf(t, createSecure(good, answer));
  const names = { 'plain.test': plain, 'o.test': opened, 'blind.test': opened };
  const exit = await startExit(t, { exit: '127.9.9.9', names });
  const counter = await countingBefore(t, Number(new URL(exit.url).port));
  const upstream = exit.url.replace(/:\d+$/, `:${counter.port}`);
  const whole = await startProxy(
    t,
    [
      `upstreams: [{ name: dc, routes: ["${upstream}"], price_per_gb: 2 }]`,
      'tls: { insecure_hosts: ["o.test"] }',
      'intercept: { except: ["blind.test"] }',
      'policy: { max_attempts: 2, backoff: { base: 1ms } }',
    ],
    { admin: true },
  );
  return { ...whole, counter, admin: new AdminCaller(whole.adminPort) };
}

/** Fetches pages over TLS inside a CONNECT, on one connection. */
async function fetchInside(port: number, host: string, pages: number): Promise<void> {
  const socket = await dialTo(port);
  socket.write(connectTo(`${host}:443`));
  await heard(socket, (text) => text.includes('\r\n\r\n'));
  const inner = secure({ socket, servername: 'o.test', rejectUnauthorized: false });
  for (let page = 0; page < pages; page++) {
    inner.write(`GET /${page} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await heard(inner, (text) => text.endsWith('</html>') || text.endsWith('0\r\n\r\n'));
  }
  inner.end();
  await once(socket, 'close');
}

test('what is spent is what the upstream bills, within a hundredth, for plain, opened and blind traffic', async (t) => {
  const { port, counter, admin, told } = await world(t);
  for (let n = 0; n < 20; n++)
    assert.equal((await get(port, `http://plain.test/${n}`)).status, 200);
  assert.equal((await get(port, 'http://plain.test/down')).status, 503);
  await fetchInside(port, 'o.test', 10);
  await fetchInside(port, 'blind.test', 10);
  await until(() => told('attempt_closed').some(({ cause }) => cause === 'tunnel'));
  const { upstreams, lanes } = (await admin.get('/spend')).json;
  const [dc] = upstreams;
  const spent = dc.sent_bytes + dc.received_bytes;
  assert.ok(Math.abs(spent / counter.total() - 1) < 0.01, `${spent} of ${counter.total()}`);
  for (const cause of ['first_try', 'retry', 'tunnel']) {
    assert.ok(dc.bytes_by_cause[cause] > PAGE.length, cause);
  }
  assert.equal(dc.bytes_by_cause.rejected_body, 0);
  assert.ok(Math.abs(dc.price - (spent * 2) / 1e9) < 1e-9);
  assert.equal(dc.good_replies, 31);
  const plain = lanes.find(({ name }: { name: string }) => name === 'plain.test');
  assert.equal(plain.good_replies, 20);
  assert.ok(Math.abs(plain.price_per_good_reply - plain.price / 20) < 1e-12);
});

test('a block page behind a 200 is paid for as a rejected body', async (t) => {
  const challenge =
    '<html><head><title>Just a moment...</title></head><body>cf-chl-bypass <script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script></body></html>';
  const port = await portOf(
    t,
    createPlain((_, response) =>
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(challenge),
    ),
  );
  const whole = await startProxy(t, ['policy: { max_attempts: 1 }'], { admin: true });
  assert.equal((await get(whole.port, `http://127.0.0.1:${port}/`)).status, 502);
  await until(() => whole.told('attempt_closed').length > 0);
  const { upstreams } = (await new AdminCaller(whole.adminPort).get('/spend')).json;
  assert.ok(upstreams[0].bytes_by_cause.rejected_body > challenge.length);
  assert.deepEqual([upstreams[0].price, upstreams[0].good_replies], [null, 0]);
});
