import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Exchange } from '../../src/exchange/ports.ts';
import {
  attemptsFor,
  exchangeTo,
  failureOf,
  responseOf,
  routeOver,
  textOf,
} from '../support/attempts.ts';
import { expired, good } from '../support/certificates.ts';
import { FakeClock } from '../support/fake-clock.ts';
import {
  onHead,
  type RawServer,
  rawServer,
  rawTlsServer,
  replying,
  type Serve,
  until,
} from '../support/raw-server.ts';
import { httpUpstream, socksUpstream } from '../support/upstream.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('an upstream that breaks off at any point is met once, and is what is blamed', async (t) => {
  const cases: readonly (readonly [string, Serve, string])[] = [
    ['FIN on accept', (socket) => socket.end(), 'closed'],
    ['RST on accept', (socket) => socket.resetAndDestroy(), 'connection_reset'],
    ['FIN after CONNECT', (socket) => onHead(socket, () => socket.end()), 'closed'],
    [
      'RST after CONNECT',
      (socket) => onHead(socket, () => socket.resetAndDestroy()),
      'connection_reset',
    ],
    ['half a status line', (socket) => onHead(socket, () => socket.end('HTTP/1.1 2')), 'closed'],
    [
      'not HTTP',
      (socket) => onHead(socket, () => socket.write('SSH-2.0-x\r\n')),
      'upstream_protocol',
    ],
    [
      'endless head',
      (socket) => onHead(socket, () => socket.write(`HTTP/1.1 200 OK\r\nA: ${'x'.repeat(20_000)}`)),
      'upstream_protocol',
    ],
  ];
  for (const [name, serve, code] of cases) {
    const upstream = await serverFor(t, rawServer(serve));
    const attempts = attemptsFor(t);
    const failure = failureOf(await attempts.attempt(secureExchange(), routeOver(upstream)));
    assert.deepEqual([failure.code, failure.leg, failure.sent], [code, 'upstream', false], name);
    // A reset can overtake the news that the connection stands.
    const early = name === 'RST on accept' && failure.phase === 'dial';
    assert.ok(early || failure.phase === 'upstream_handshake', name);
    await until(() => attempts.openSockets() === 0 && upstream.open === 0);
    assert.equal(upstream.accepted, 1, name);
  }
});

test('an upstream that is not there is refused in the dial', async (t) => {
  const gone = await rawServer(() => {});
  await gone.close();
  const { attempt } = attemptsFor(t);
  const failure = failureOf(await attempt(secureExchange(), routeOver(gone)));
  assert.deepEqual(
    [failure.code, failure.phase, failure.leg],
    ['connection_refused', 'dial', 'upstream'],
  );
});

test('a silent or dripping upstream ends at its own deadline', async (t) => {
  for (const said of ['', 'HTTP/1.1 2']) {
    const upstream = await serverFor(
      t,
      rawServer((socket) => onHead(socket, () => socket.write(said))),
    );
    const clock = new FakeClock();
    const attempts = attemptsFor(t, { clock });
    const pending = attempts.attempt(secureExchange(), routeOver(upstream));
    await until(() => (upstream.heard[0] ?? '').endsWith('\r\n\r\n'));
    await clock.advance(10_000);
    const failure = failureOf(await pending);
    assert.deepEqual([failure.code, failure.phase], ['timeout', 'upstream_handshake']);
    await until(() => attempts.openSockets() === 0);
    assert.equal(clock.pending, 0);
  }
});

test('a refused CONNECT keeps its status, fields and words, and its socket is closed', async (t) => {
  for (const status of [402, 403, 407, 429, 502, 503, 590]) {
    const text = `sorry ${status}`;
    const answer = `HTTP/1.1 ${status} No\r\nX-SOAX-Error: e\r\nRetry-After: 30\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    const upstream = await serverFor(t, rawServer(replying(answer)));
    const attempts = attemptsFor(t);
    const failure = failureOf(await attempts.attempt(secureExchange(), routeOver(upstream)));
    assert.deepEqual(
      [failure.code, failure.via, failure.leg],
      ['upstream_refused', 'tunnel', 'upstream'],
    );
    assert.deepEqual(failure.upstreamReply, {
      status,
      rawHeaders: ['X-SOAX-Error', 'e', 'Retry-After', '30', 'Content-Length', String(text.length)],
      text,
    });
    await until(() => upstream.open === 0);
  }
});

test('the words of a refusal without a length are waited for briefly, and cut at 4 KiB', async (t) => {
  const answer = `HTTP/1.1 502 Bad\n\n${'x'.repeat(9000)}`;
  const upstream = await serverFor(t, rawServer(replying(answer)));
  const short = await serverFor(t, rawServer(replying('HTTP/1.1 502 Bad\r\n\r\nshort')));
  const clock = new FakeClock();
  const attempts = attemptsFor(t, { clock });
  const failure = failureOf(await attempts.attempt(secureExchange(), routeOver(upstream)));
  assert.equal(failure.upstreamReply?.text, 'x'.repeat(4096));
  const pending = attempts.attempt(secureExchange(), routeOver(short));
  await until(() => (short.heard[0] ?? '').endsWith('\r\n\r\n') && clock.pending > 0);
  while (attempts.openSockets() > 0) await clock.advance(50);
  assert.equal(failureOf(await pending).upstreamReply?.status, 502);
});

test('a strange but clear answer to CONNECT is taken', async (t) => {
  const origin = await serverFor(t, rawTlsServer(replying(OK), good));
  const upstream = await serverFor(
    t,
    bridge(origin, 'HTTP/1.1 100 Hm\n\nHTTP/1.0 200 OK\nProxy Connection: keep-alive\n\n'),
  );
  const { attempt } = attemptsFor(t);
  const received = await attempt(secureExchange(), routeOver(upstream));
  assert.equal(await textOf(received), 'ok');
  assert.equal(responseOf(received).via, 'tunnel');
});

test('each login reaches its upstream exactly, and no other', async (t) => {
  const logins: readonly (readonly [string | undefined, string | undefined])[] = [
    ['user@mail', 'p:ss/%#?+'],
    ['customer-x-session-abc_1,country-us', 'é'],
    ['user', ''],
    ['user', undefined],
    [undefined, 'pw'],
    [undefined, undefined],
  ];
  const upstream = await serverFor(
    t,
    rawServer(replying('HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n')),
  );
  const { attempt } = attemptsFor(t);
  for (const [username, password] of logins) {
    await attempt(secureExchange(), routeOver(upstream, { username, password }));
  }
  const seen = upstream.heard.map((head) => {
    const [, code] = /^Proxy-Authorization: Basic (\S*)\r$/m.exec(head) ?? [];
    return code === undefined ? undefined : Buffer.from(code, 'base64').toString('utf8');
  });
  assert.deepEqual(seen, [
    ...['user@mail:p:ss/%#?+', 'customer-x-session-abc_1,country-us:é'],
    ...['user:', 'user:', ':pw', undefined],
  ]);
});

test('a tunnel over an http, an https and a SOCKS upstream reaches the origin from their exit', async (t) => {
  const exits: (string | undefined)[] = [];
  const origin = await serverFor(
    t,
    rawTlsServer((socket) => {
      exits.push(socket.remoteAddress);
      replying(OK)(socket, 0);
    }, good),
  );
  const plan = { exit: '127.0.0.9', names: { 'o.test': origin.port }, login: 'us%er:p:w' };
  const asked: string[] = [];
  const http = await serverFor(t, httpUpstream(plan));
  const https = await serverFor(t, httpUpstream({ ...plan, tls: good }));
  const socks = await serverFor(t, socksUpstream({ ...plan, asked }));
  const login = { username: 'us%er', password: 'p:w' };
  const resolved: string[] = [];
  const { attempt } = attemptsFor(t, {
    resolve: (host) => {
      resolved.push(host);
      return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    },
  });
  for (const route of [
    routeOver(http, { ...login, id: 'a' }),
    routeOver(https, { ...login, id: 'b', kind: 'https', host: 'up.test' }),
    routeOver(socks, { ...login, id: 'c', kind: 'socks5' }),
  ]) {
    const received = await attempt(secureExchange(), route);
    assert.equal(await textOf(received), 'ok', route.id);
    assert.ok(received.sentBytes > 300 && received.receivedBytes > 300, 'handshakes count');
  }
  assert.deepEqual(exits, ['127.0.0.9', '127.0.0.9', '127.0.0.9']);
  assert.deepEqual(asked, ['o.test:443']);
  assert.deepEqual(resolved, ['up.test'], 'the target is resolved by the upstream');
});

test('plain http goes forward by default and through a tunnel where the route says so', async (t) => {
  const origin = await serverFor(t, rawServer(replying(OK)));
  const upstream = await serverFor(t, httpUpstream({ names: { 'o.test': origin.port } }));
  const { attempt } = attemptsFor(t);
  const target = exchangeTo({ host: 'o.test', port: 80 }, { headers: ['Host', 'o.test'] });
  const forward = await attempt(target, routeOver(upstream, { username: 'u', password: 'p' }));
  assert.equal(await textOf(forward), 'ok');
  const tunnel = await attempt(
    target,
    routeOver(upstream, { plain: 'tunnel', headers: ['X-Zone', 'a'] }),
  );
  assert.equal(await textOf(tunnel), 'ok');
  assert.deepEqual([responseOf(forward).via, responseOf(tunnel).via], ['forward', 'tunnel']);
  assert.match(upstream.heard[0] ?? '', /^GET http:\/\/o\.test:80\/ /);
  assert.match(
    upstream.heard[1] ?? '',
    /^CONNECT o\.test:80 HTTP\/1\.1\r\nHost: o\.test:80\r\nX-Zone: a\r\n\r\n$/,
  );
  assert.match(origin.heard[1] ?? '', /^GET \/ HTTP\/1\.1\r\n/);
  assert.doesNotMatch(origin.heard.join(''), /proxy-|X-Zone/i);
});

test("an https upstream with a bad certificate is the upstream's fault", async (t) => {
  const upstream = await serverFor(t, httpUpstream({ names: {}, tls: expired }));
  const { attempt } = attemptsFor(t);
  const failure = failureOf(
    await attempt(secureExchange(), routeOver(upstream, { kind: 'https', host: 'o.test' })),
  );
  assert.deepEqual(
    [failure.code, failure.phase, failure.leg],
    ['certificate', 'upstream_handshake', 'upstream'],
  );
});

function secureExchange(): Exchange {
  return exchangeTo(
    { host: 'o.test', port: 443 },
    { scheme: 'https', headers: ['Host', 'o.test'] },
  );
}

/** Answers any CONNECT in its own words, and leads it to one server. */
function bridge(origin: RawServer, answer: string): Promise<RawServer> {
  return rawServer((socket) => {
    onHead(socket, () => {
      socket.removeAllListeners('data');
      const far = connect(origin.port, '127.0.0.1', () => {
        socket.write(answer);
        socket.pipe(far).pipe(socket);
      });
      far.on('error', () => {});
      socket.on('close', () => far.destroy());
    });
  });
}

async function serverFor(t: TestContext, starting: Promise<RawServer>): Promise<RawServer> {
  const server = await starting;
  t.after(() => server.close());
  return server;
}
