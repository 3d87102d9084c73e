import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { spawnForbear } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { clientsOf, startBehind, WAYS } from './behind.ts';
import { CLIENTS } from './client-list.ts';
import { digestOf, startSite } from './loopback-site.ts';
import { linesOf, PLAIN_HOST, runCommand } from './rig.ts';

const LIMIT = { timeout: 90_000 };
/** HTTP/2 without TLS, and without being asked for it. */
const KNOWING = `${program('curl')} --silent --show-error --max-time 20 --http2-prior-knowledge`;
const TEXT = 'as it is';

/** What each client speaks where it is offered both; the first goes every way. */
const SPOKEN: readonly (readonly [name: string, version: '1.1' | '2.0'])[] = [
  ['curl', '2.0'],
  ["Go's net/http, all at once", '2.0'],
  ["Java's HttpClient, all at once", '2.0'],
  ["Java's HttpURLConnection", '1.1'],
  ["Ruby's Net::HTTP", '1.1'],
  ["Python's requests", '1.1'],
];

for (const way of WAYS) {
  test(`HTTP/2 is spoken with who speaks it, through ${way}`, LIMIT, async (t) => {
    const run = await clientsOf(t, await startBehind(t, way));
    const throttled = '/busy';
    const clients = way === 'direct' ? SPOKEN : SPOKEN.slice(0, 1);
    for (const [name, version] of clients) {
      const { command } = CLIENTS.find((each) => each.name === name)!;
      const answer = (_: unknown, response: { end(text: string): unknown }) => response.end(TEXT);
      const site = await startSite(t, answer, { throttled, protocol: 'h2' });
      const urls = ['/plain', throttled].map((path) => site.https + path);
      const lines = linesOf(await run([...command(), ...urls]));
      const right = urls.map((url) => ({ url, status: 200, sha256: digestOf(TEXT) }));
      assert.deepEqual(new Set(lines), new Set(right), name);
      const versions = site.asked.map((one) => one.version);
      assert.deepEqual(versions, [version, version, version], name);
    }
  });
}

test('curl hears at once that the proxy itself is asked by HTTP/1.1', LIMIT, async (t) => {
  const { config, env } = await startBehind(t, 'direct');
  const script = `${KNOWING} --verbose --noproxy '*' "$http_proxy/"`;
  const args = ['run', '--config', config, '--', 'sh', '-c', script];
  const { closed, printed } = spawnForbear(t, args, env);
  const [status] = await closed;
  assert.notEqual(status, 0);
  // 13 is HTTP_1_1_REQUIRED.
  assert.match(printed.text, /GOAWAY, error=13/);
});

test(
  'curl speaks HTTP/2 without TLS through a tunnel, which stays closed to us',
  LIMIT,
  async (t) => {
    const { config, env } = await startBehind(t, 'direct');
    const server = createServer((request, response) => {
      response.end(`${request.httpVersion} ${request.headers[':authority']}`);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const host = `${PLAIN_HOST}:${(server.address() as AddressInfo).port}`;
    const script = `${KNOWING} --proxytunnel "http://$0/"`;
    assert.equal(await runCommand(t, config, ['sh', '-c', script, host], { env }), `2.0 ${host}`);
  },
);
