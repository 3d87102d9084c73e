import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type TestContext, test } from 'node:test';
import { expired } from '../support/certificates.ts';
import { ask, connectTo, heardToEnd, startWire, statuses } from '../support/client-wire.ts';
import { farOrigin, farUpstream, fetchOver, listOf, reply } from '../support/far-side.ts';
import { onHead, rawServer, rawTlsServer, replying, until } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
const BLIND = 'intercept: { mode: none }';

/** A port whose SYNs are no longer answered: its process sleeps, and its queue of connections is full. */
async function blackhole(t: TestContext): Promise<number> {
  const script =
    'const s=require("net").createServer();s.listen({port:0,host:"127.0.0.1",backlog:1},()=>{process.stdout.write(s.address().port+"\\n",()=>Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0))})';
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  const { promise, resolve } = Promise.withResolvers<number>();
  child.stdout.once('data', (text) => resolve(Number(text)));
  const port = await promise;
  const { connect } = await import('node:net');
  const fillers = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  t.after(() => {
    for (const socket of fillers) socket.destroy();
  });
  await until(() => fillers.filter(({ connecting }) => !connecting).length >= 2);
  return port;
}

test('B07 a SYN that is never answered is 504 with connection_timeout at the deadline, blind and opened', async (t) => {
  const port = await blackhole(t);
  const lines = ['policy: { max_attempts: 1, max_addresses: 1, timeouts: { connect: 300ms } }'];
  const blind = await startWire(t, [BLIND, ...lines]);
  const begunAt = performance.now();
  const got = await ask(blind, connectTo(`127.0.0.1:${port}`));
  const tookMs = performance.now() - begunAt;
  assert.ok(tookMs >= 290 && tookMs < 1500, String(tookMs));
  assert.deepEqual(statuses(got), [504]);
  assert.match(got, /error=connection_timeout/);
  const opened = await startWire(t, lines);
  const inner = await opened.tunnel(`127.0.0.1:${port}`);
  inner.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
  const inside = await heardToEnd(inner);
  assert.deepEqual(statuses(inside), [504]);
  assert.match(inside, /error=connection_timeout/);
});

test('B08 behind an upstream, an origin that resets the handshake is the host’s affair, and no address pays for it', async (t) => {
  const origin = await rawServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
  t.after(() => origin.close());
  const ups = await Promise.all(
    [2, 3].map((n) => farUpstream(t, { exit: `127.0.0.${n}`, names: { 'o.test': origin.port } })),
  );
  const wire = await startWire(t, [
    'policy: { max_attempts: 2, backoff: { base: 1ms } }',
    ...listOf(ups),
  ]);
  assert.equal((await fetchOver(wire, 'https://o.test/')).status, 502);
  assert.deepEqual(wire.told('route_ejected'), []);
});

const openFiles = () => readdirSync('/proc/self/fd').length;
const ROUNDS = 300;

const LEFT_OVERS: Readonly<Record<string, (socket: Socket) => void>> = {
  'an upstream that refuses and stays': (socket) =>
    onHead(socket, () => void socket.write('HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n')),
  'an upstream that agrees and ends': (socket) =>
    onHead(socket, () => void socket.end('HTTP/1.1 200 fine\r\n\r\n')),
  'an upstream that agrees and resets': (socket) =>
    onHead(socket, () => {
      socket.write('HTTP/1.1 200 fine\r\n\r\n', () => socket.resetAndDestroy());
    }),
};

for (const [name, serve] of Object.entries(LEFT_OVERS)) {
  test(`B09 hundreds of tunnels over ${name} leave no socket behind`, async (t) => {
    const up = await rawServer(serve);
    t.after(() => up.close());
    const wire = await startWire(t, [
      BLIND,
      'policy: { max_attempts: 1, max_addresses: 1, pace: { concurrency: 50 }, breaker: { consecutive: 100000, min_attempts: 100000 }, timeouts: { sniff: 20ms, linger: 20ms } }',
      ...listOf([up]),
    ]);
    await ask(wire, connectTo('o.test:443'));
    const idle = () => Object.values(wire.proxy.activity()).every((open) => open === 0);
    await until(() => idle() && up.open === 0);
    const before = openFiles();
    let left = ROUNDS;
    const client = async () => {
      while (left-- > 0) await ask(wire, connectTo(`o${left % 20}.test:443`));
    };
    await Promise.all(Array.from({ length: 10 }, client));
    await until(() => idle() && up.open === 0);
    assert.ok(openFiles() <= before + 2, `${before} before, ${openFiles()} after`);
  });
}

test('B24 a hundred handshakes for one host, and two hundred hosts, do not stop the loop', async (t) => {
  const wire = await startWire(t, ['limits: { client_connections: 5000 }']);
  const hosts = [
    ...Array.from({ length: 100 }, () => 'one.test'),
    ...Array.from({ length: 200 }, (_, n) => `h${n}.test`),
  ];
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const shown = [];
  // The handshakes of the clients run on this loop too: a few at a time.
  for (let n = 0; n < hosts.length; n += 4) {
    const secured = await Promise.all(
      hosts.slice(n, n + 4).map((host) => wire.secure(`${host}:443`)),
    );
    shown.push(...secured.map((inner) => inner.getPeerCertificate()));
  }
  delay.disable();
  const ones = shown.slice(0, 100).map(({ serialNumber }) => serialNumber);
  assert.equal(new Set(ones).size, 1);
  // The median: the longest of them are those of a busy machine.
  assert.ok(delay.percentile(50) / 1e6 < 50, `${delay.percentile(50) / 1e6} ms`);
});

const BREAKER =
  'max_attempts: 1, control_requests: false, breaker: { min_attempts: 3, consecutive: 3, when_open: refuse }';

test('B112 what is not the host’s trouble opens nothing: a bad certificate, a challenge, a request that cannot be sent', async (t) => {
  const bad = await rawTlsServer(replying(OK), expired);
  t.after(() => bad.close());
  const challenge = await farOrigin(
    t,
    [
      reply(
        200,
        '<html><head><title>Just a moment...</title></head><body><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script><script>window._cf_chl_opt={}</script></body></html>',
        'Content-Type: text/html',
      ),
    ],
    { name: 'c.test' },
  );
  const wire = await startWire(t, [`policy: { ${BREAKER} }`]);
  for (let n = 0; n < 8; n++) {
    assert.equal((await fetchOver(wire, `https://o.test:${bad.port}/`)).status, 502);
    assert.equal((await fetchOver(wire, challenge.url)).status, 502);
    assert.equal((await fetchOver(wire, 'http://nowhere.test/')).status, 502);
  }
  assert.deepEqual(wire.told('breaker_changed'), []);
});

test('B112 a good reply between failures, a long stream too, counts once and keeps it closed; failures alone open it', async (t) => {
  const origin = await farOrigin(t, (hit) =>
    hit.head.includes('/bad')
      ? reply(503)
      : (socket) => {
          const bytes = 3_000_000;
          socket.write(
            `HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: ${bytes}\r\n\r\n`,
          );
          socket.write(Buffer.alloc(bytes));
        },
  );
  const wire = await startWire(t, [
    'policy: { max_attempts: 1, breaker: { min_attempts: 4, failure_ratio: 0.6, consecutive: 99, when_open: refuse } }',
  ]);
  for (let n = 0; n < 6; n++) {
    await fetchOver(wire, origin.url);
    await fetchOver(wire, `${origin.url}bad`);
  }
  assert.deepEqual(wire.told('breaker_changed'), [], 'half of them failed');
  for (let n = 0; n < 4; n++) await fetchOver(wire, `${origin.url}bad`);
  assert.equal(wire.told('breaker_changed').at(-1)?.state, 'open');
});
