import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import tls from 'node:tls';
import { newLedger } from '../../src/core/ledger.ts';
import { FakeClock, flush } from '../support/fake-clock.ts';
import {
  dial,
  failedWith,
  neverSent,
  parse,
  type Rig,
  replyWith,
  startRig,
  talk,
  until,
  untilClosed,
} from './listener-rig.ts';

const CONNECT = (target: string, ...headers: string[]) =>
  [`CONNECT ${target} HTTP/1.1`, `Host: ${target}`, ...headers, '', ''].join('\r\n');
const INNER = 'GET /x?y=1 HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n';

/** A connected tunnel, with the 200 read. */
async function tunnel(rig: Rig, target: string, ...headers: string[]): Promise<Socket> {
  const socket = await dial(rig.port);
  socket.write(CONNECT(target, ...headers));
  assert.match(await until(socket, (got) => got.includes('\r\n\r\n')), /^HTTP\/1\.1 200 /);
  return socket;
}

async function secure(
  rig: Rig,
  socket: Socket,
  options: tls.ConnectionOptions,
): Promise<tls.TLSSocket> {
  const inner = tls.connect({ socket, ca: rig.authority.caPem, ...options });
  await once(inner, 'secureConnect');
  return inner;
}

test('a CONNECT target without a usable port is 400 before anything else, opened or not', async () => {
  for (const mode of ['all', 'none'] as const) {
    const rig = await startRig({
      config: { intercept: { mode, except: [], only: [], onUntrusted: 'fail' } },
    });
    const made = rig.authority.leavesMade();
    for (const target of [
      'o.test',
      'o.test:',
      'o.test:0',
      'o.test:99999',
      'user:pw@o.test:443',
      '::1:443',
      ':443',
    ]) {
      const reply = await talk(rig.port, CONNECT(target));
      assert.equal(parse(reply).status, 400, target);
      assert.doesNotMatch(reply, /pw/);
    }
    assert.equal(rig.seen.length, 0);
    assert.equal(rig.authority.leavesMade(), made);
    await rig.stop();
  }
});

test('TLS inside a tunnel is opened: requests go to the host of the CONNECT, Host as the client gave it', async () => {
  const rig = await startRig();
  const socket = await tunnel(rig, 'O.test.:8443', 'Forbear-Session: s9', 'Forbear-Country: de');
  const inner = await secure(rig, socket, {
    servername: 'o.test',
    ALPNProtocols: ['http/1.1'],
  });
  assert.equal(inner.alpnProtocol, 'http/1.1');
  assert.equal(inner.getPeerCertificate().subjectaltname, 'DNS:o.test');
  inner.write(
    INNER.replace(
      'Connection',
      'Proxy-Authorization: Basic eDp5\r\nForbear-Country: us\r\nConnection',
    ),
  );
  const reply = parse(await text(inner));
  assert.equal(reply.status, 200);
  const { target, rawHeaders, session, country } = rig.seen[0]!;
  assert.deepEqual(target, {
    scheme: 'https',
    host: 'o.test',
    port: 8443,
    authority: 'o.test:8443',
    path: '/x?y=1',
  });
  assert.deepEqual(rawHeaders, ['Host', 'b.test']);
  assert.equal(session, '127.0.0.1/s9');
  assert.equal(country, 'us');
  await rig.stop();
  assert.equal(rig.listener.openConnections(), 0);
});

test('credentials on the CONNECT hold for all requests inside', async () => {
  const rig = await startRig({
    config: { auth: 'required', clients: [{ name: 'job', password: 'pw' }] },
  });
  const refused = await talk(rig.port, CONNECT('o.test:443'));
  assert.equal(parse(refused).status, 407);
  assert.match(refused, /Proxy-Authenticate: Basic realm="forbear"/);
  const login = `Proxy-Authorization: Basic ${Buffer.from('job-session-a-patience-5s:pw').toString('base64')}`;
  const socket = await tunnel(rig, 'o.test:443', login);
  const inner = await secure(rig, socket, { servername: 'o.test' });
  inner.write(INNER);
  await text(inner);
  assert.equal(rig.seen[0]!.client.name, 'job');
  assert.equal(rig.seen[0]!.session, 'job/a');
  assert.equal(rig.seen[0]!.policy.patienceMs, 5000);
  await rig.stop();
});

test('the leaf is for the name that the client asks for, else for the host of the CONNECT, and valid for exactly that', async () => {
  const rig = await startRig();
  const cases: [string, string | undefined, string][] = [
    ['127.0.0.1:8443', undefined, 'IP Address:127.0.0.1'],
    ['[0:0:0:0:0:0:0:1]:8443', undefined, 'IP Address:0:0:0:0:0:0:0:1'],
    ['o.test:443', undefined, 'DNS:o.test'],
    ['127.0.0.9:443', 'o.test', 'DNS:o.test'],
    ['a.test:443', 'b.test', 'DNS:b.test'],
    ['a.b.example.test:443', 'a.b.example.test', 'DNS:a.b.example.test'],
    ['a_b.example.test:443', 'a_b.example.test', 'DNS:a_b.example.test'],
    ['localhost:443', 'localhost', 'DNS:localhost'],
  ];
  for (const [target, servername, expected] of cases) {
    const socket = await tunnel(rig, target);
    const host = target.replace(/:\d+$/, '').replace(/[[\]]/g, '');
    const options = servername === undefined ? { host, servername: '' } : { servername };
    const inner = await secure(rig, socket, options);
    assert.equal(inner.getPeerCertificate().subjectaltname, expected, target);
    inner.destroy();
  }
  await rig.stop();
});

test('a client that offers no protocol of HTTP is told so by TLS, and nothing is run', async () => {
  const rig = await startRig();
  const socket = await tunnel(rig, 'o.test:443');
  const inner = tls.connect({
    socket,
    ca: rig.authority.caPem,
    servername: 'o.test',
    ALPNProtocols: ['acme-tls/1'],
  });
  const [error] = (await once(inner, 'error')) as [NodeJS.ErrnoException];
  assert.match(error.code ?? '', /NO_APPLICATION_PROTOCOL/);
  await rig.event('client_tls_failed');
  assert.equal(rig.seen.length, 0);
  await rig.stop();
});

test('plain HTTP inside a tunnel is served like any request, on whichever port', async () => {
  const rig = await startRig();
  for (const port of [8080, 443]) {
    const socket = await tunnel(rig, `o.test:${port}`);
    const reply = untilClosed(socket);
    socket.write(INNER);
    assert.equal(parse(await reply).status, 200);
    assert.equal(rig.seen.at(-1)!.target.scheme, 'http');
    assert.equal(rig.seen.at(-1)!.target.authority, `o.test:${port}`);
    socket.destroy();
  }
  const glued = await talk(rig.port, CONNECT('o.test:80') + INNER);
  assert.equal(glued.match(/HTTP\/1\.1 200/g)?.length, 2);
  const socket = await dial(rig.port);
  const cut = untilClosed(socket);
  socket.write(`${CONNECT('o.test:80')}GE`);
  await until(socket, (got) => got.includes('200'));
  socket.write(INNER.slice(2));
  assert.match(await cut, /hello/);
  socket.destroy();
  await rig.stop();
});

test('requests inside a tunnel are judged as strictly as outside, and there is no tunnel in a tunnel', async () => {
  const rig = await startRig();
  const inner = async (bytes: string) => {
    const socket = await tunnel(rig, 'o.test:443');
    const secured = await secure(rig, socket, { servername: 'o.test' });
    secured.write(bytes);
    return parse(await text(secured));
  };
  assert.equal((await inner('GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')).status, 400);
  assert.equal(
    (
      await inner(
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      )
    ).status,
    400,
  );
  assert.equal(
    (await inner(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`)).status,
    431,
  );
  assert.equal((await inner(CONNECT('c.test:443'))).status, 400);
  assert.equal(
    (await inner('GET / HTTP/1.1\r\nHost: a\r\nForbear-Typo: 1\r\nConnection: close\r\n\r\n'))
      .status,
    400,
  );
  assert.equal(rig.seen.length, 0);
  await rig.stop();
});

test('a ClientHello may come in any pieces, glued to the CONNECT or not', async () => {
  const rig = await startRig();
  for (const cut of [1, 3, 5, 60, 200]) {
    const socket = await dial(rig.port);
    // The hello is caught on its way and cut in two.
    const relay = createServer();
    relay.listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const { port } = relay.address() as { port: number };
    const client = tls.connect({
      host: '127.0.0.1',
      port,
      servername: 'o.test',
      ca: rig.authority.caPem,
    });
    const [near] = (await once(relay, 'connection')) as [Socket];
    const [hello] = (await once(near, 'data')) as [Buffer];
    near.pause();
    socket.write(Buffer.concat([Buffer.from(CONNECT('o.test:443')), hello.subarray(0, cut)]));
    await until(socket, (got) => got.includes('\r\n\r\n'));
    socket.write(hello.subarray(cut));
    socket.pipe(near);
    near.pipe(socket);
    await once(client, 'secureConnect');
    assert.equal(client.getPeerCertificate().subjectaltname, 'DNS:o.test');
    client.destroy();
    near.destroy();
    relay.close();
  }
  await rig.stop();
});

test('a ClientHello that is never whole ends at its deadline, without a leaf', async () => {
  const clock = new FakeClock();
  const rig = await startRig({ clock });
  const made = rig.authority.leavesMade();
  const partial = Buffer.from([0x16, 0x03, 0x01, 0x40, 0x00, 0x01, 0x00, 0x3f, 0xfc, 0x03, 0x03]);
  for (const end of ['silence', 'fin'] as const) {
    const socket = await tunnel(rig, 'fresh.test:443');
    const closed = untilClosed(socket);
    socket.write(partial);
    while (clock.nextAt !== undefined && clock.nextAt - clock.now() < 10_000) await flush();
    if (end === 'fin') socket.end();
    else await clock.advance(10_000);
    assert.equal(await closed, '');
    socket.destroy();
    while (rig.listener.openConnections() > 0) await flush();
    assert.equal(clock.pending, 0);
  }
  assert.equal(rig.authority.leavesMade(), made);
  assert.equal(rig.seen.length, 0);
  await rig.stop();
});

/** A far end that records what it gets and says what it is told to. */
async function farEnd(): Promise<{
  server: Server;
  peer: Promise<Socket>;
  reach: () => Promise<Socket>;
}> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const peer = once(server, 'connection').then(([socket]) => {
    socket.on('error', () => {});
    return socket as Socket;
  });
  const reach = async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  return { server, peer, reach };
}

const BLIND = {
  intercept: { mode: 'all', except: ['*.blind.test'], only: [], onUntrusted: 'fail' },
} as const;

test('a blind tunnel gets its 200 when the far leg stands, and glued bytes arrive first, in order', async () => {
  const far = await farEnd();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const rig = await startRig({
    config: BLIND,
    runTunnel: async () => {
      await gate;
      return { ...replyWith({}), socket: await far.reach() };
    },
  });
  const socket = await dial(rig.port);
  let answered = '';
  socket.on('data', (chunk) => {
    answered += chunk;
  });
  const bytes = Buffer.from(Array.from({ length: 517 }, (_, i) => (i * 7) % 256));
  socket.write(Buffer.concat([Buffer.from(CONNECT('a.blind.test:443')), bytes]));
  const started = await rig.event('exchange_started');
  assert.equal(started.exchange.method, 'CONNECT');
  assert.equal(started.exchange.target.authority, 'a.blind.test');
  assert.equal(answered, '');
  open();
  const peer = await far.peer;
  const got: Buffer[] = [];
  peer.on('data', (chunk) => got.push(chunk));
  peer.write('server says');
  await until(socket, (all) => all.includes('server says'));
  socket.end('and more');
  await once(peer, 'end');
  assert.deepEqual(Buffer.concat(got), Buffer.concat([bytes, Buffer.from('and more')]));
  assert.match(answered, /^HTTP\/1\.1 200 /);
  peer.end('bye');
  const finished = await rig.event('exchange_finished');
  assert.equal(finished.answered, 200);
  assert.equal(finished.sentBytes, 525);
  assert.equal(finished.receivedBytes, 14);
  far.server.close();
  socket.destroy();
  await rig.stop();
});

test('a blind tunnel whose far leg fails is a real error, and what was glued to it is never a request', async () => {
  const rig = await startRig({
    config: BLIND,
    runTunnel: async (exchange) =>
      exchange.target.host.startsWith('slow')
        ? failedWith('timeout', 'dial', 'attempts_exhausted')
        : failedWith('connection_refused', 'dial', 'attempts_exhausted'),
  });
  const refused = await talk(rig.port, CONNECT('a.blind.test:443') + INNER);
  assert.equal(parse(refused).status, 502);
  assert.match(refused, /Proxy-Status: forbear; error=connection_refused/);
  assert.equal(refused.match(/HTTP\/1\.1 \d{3}/g)?.length, 1);
  const slow = await talk(rig.port, CONNECT('slow.blind.test:443'));
  assert.equal(parse(slow).status, 504);
  assert.match(slow, /error=connection_timeout/);
  assert.equal(rig.seen.length, 2);
  await rig.stop();
});

test('a client of a server that speaks first, and one of another protocol, get a blind tunnel with every byte', async () => {
  const clock = new FakeClock();
  for (const first of ['', 'SSH-2.0-x\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\0\x01binary']) {
    const far = await farEnd();
    const rig = await startRig({
      clock,
      runTunnel: async () => ({ ...replyWith({}), socket: await far.reach() }),
    });
    const socket = await tunnel(rig, 'o.test:22');
    if (first === '') {
      while (clock.pending === 0) await flush();
      await clock.advance(1000);
    } else socket.write(first, 'latin1');
    const peer = await far.peer;
    peer.write('220 hello\r\n');
    await until(socket, (got) => got === '220 hello\r\n');
    socket.end('EHLO\r\n');
    assert.equal(await untilClosed(peer), `${first}EHLO\r\n`);
    peer.end();
    await rig.event('exchange_finished');
    far.server.close();
    socket.destroy();
    await rig.stop();
    assert.equal(clock.pending, 0);
  }
});

test('the half of a tunnel that is left may speak on, and is ended when it stays silent', async () => {
  const clock = new FakeClock();
  const far = await farEnd();
  const rig = await startRig({
    config: BLIND,
    clock,
    runTunnel: async () => ({ ...replyWith({}), socket: await far.reach() }),
  });
  const socket = await tunnel(rig, 'a.blind.test:443');
  const peer = await far.peer;
  const peerEnded = once(peer, 'end');
  peer.resume();
  socket.end();
  await peerEnded;
  peer.write('late');
  await until(socket, (got) => got === 'late');
  const closed = once(peer, 'close');
  await clock.advance(5000);
  assert.equal(rig.listener.openConnections(), 1, 'it has just spoken');
  await clock.advance(5000);
  socket.destroy();
  peer.destroy();
  await closed;
  await rig.event('exchange_finished');
  far.server.close();
  await rig.stop();
  assert.equal(clock.pending, 0);
});

test('the two ends of a tunnel end together, whoever goes first and however', async () => {
  for (const who of ['client', 'server'] as const) {
    for (const how of ['destroy', 'resetAndDestroy'] as const) {
      const far = await farEnd();
      let leg: Socket | undefined;
      const rig = await startRig({
        config: BLIND,
        runTunnel: async () => {
          leg = await far.reach();
          return { ...replyWith({}), socket: leg };
        },
      });
      const socket = await tunnel(rig, 'a.blind.test:443');
      const peer = await far.peer;
      const other = who === 'client' ? peer : socket;
      const gone = untilClosed(other);
      (who === 'client' ? socket : peer)[how]();
      await gone;
      other.destroy();
      await rig.event('exchange_finished');
      assert.equal(leg?.destroyed, true);
      far.server.close();
      await rig.stop();
    }
  }
});

test('a client that leaves while its tunnel is dialled aborts it, and a late leg is destroyed', async () => {
  for (const how of ['end', 'resetAndDestroy'] as const) {
    const far = await farEnd();
    let leg: Socket | undefined;
    const rig = await startRig({
      config: BLIND,
      runTunnel: async (exchange) => {
        await new Promise<void>((resolve) => {
          exchange.signal.addEventListener('abort', () => resolve());
        });
        leg = await far.reach();
        return { ...replyWith({}), socket: leg };
      },
    });
    const socket = await dial(rig.port);
    socket.write(CONNECT('a.blind.test:443'));
    await rig.event('exchange_started');
    socket[how]();
    const finished = await rig.event('exchange_finished');
    assert.equal(finished.answered, 'client_gone');
    assert.equal(leg?.destroyed, true);
    socket.destroy();
    far.server.close();
    await rig.stop();
  }
});

test('a reset at any moment of an opened tunnel leaves the process and nothing else', async () => {
  const rig = await startRig({
    run: (exchange) =>
      new Promise((resolve) => {
        exchange.signal.addEventListener('abort', () => resolve(neverSent('client_gone')));
      }),
  });
  for (let round = 0; round < 10; round += 1) {
    const early = await dial(rig.port);
    early.write(CONNECT('o.test:443'));
    early.resetAndDestroy();
    const silent = await tunnel(rig, 'o.test:443');
    silent.resetAndDestroy();
    const inHandshake = await tunnel(rig, 'o.test:443');
    tls.connect({ socket: inHandshake, servername: 'o.test' }).on('error', () => {});
    setImmediate(() => inHandshake.resetAndDestroy());
    const inRequest = await tunnel(rig, 'o.test:443');
    const inner = await secure(rig, inRequest, { servername: 'o.test' });
    inner.on('error', () => {});
    inner.write('POST / HTTP/1.1\r\nHost: o.test\r\nContent-Length: 100\r\n\r\nhalf');
    inRequest.resetAndDestroy();
  }
  while (rig.listener.openConnections() > 0) await flush();
  await rig.stop();
});

test('with on_untrusted: tunnel a client that refuses our certificate is passed through the next time', async () => {
  const far = await farEnd();
  const rig = await startRig({
    config: { intercept: { mode: 'all', except: [], only: [], onUntrusted: 'tunnel' } },
    runTunnel: async () => ({ ...replyWith({}), socket: await far.reach() }),
  });
  const socket = await tunnel(rig, 'o.test:443');
  // OpenSSL says in an alert why it leaves; Node's client just leaves.
  const relay = createServer((near) => near.pipe(socket).pipe(near));
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const { port } = relay.address() as { port: number };
  const client = spawn(
    'openssl',
    [
      's_client',
      '-connect',
      `127.0.0.1:${port}`,
      '-servername',
      'o.test',
      '-verify_return_error',
      '-no-CAfile',
      '-no-CApath',
      '-no-CAstore',
    ],
    { stdio: 'ignore' },
  );
  await once(client, 'exit');
  relay.close();
  const failed = await rig.event('client_tls_failed');
  assert.equal(failed.host, 'o.test');
  const again = await tunnel(rig, 'o.test:443');
  again.write('\x16\x03\x01');
  const peer = await far.peer;
  const [bytes] = (await once(peer, 'data')) as [Buffer];
  assert.deepEqual([...bytes], [0x16, 3, 1]);
  again.destroy();
  far.server.close();
  await rig.stop();
});

test('a hundred handshakes at once for one host make one leaf', async () => {
  const rig = await startRig();
  const made = rig.authority.leavesMade();
  const inners = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const socket = await tunnel(rig, 'crowd.test:443');
      return secure(rig, socket, { servername: 'crowd.test' });
    }),
  );
  assert.equal(rig.authority.leavesMade(), made + 1);
  for (const inner of inners) inner.destroy();
  await rig.stop();
});

test('closing ends idle tunnels and answers nobody any more', async () => {
  const far = await farEnd();
  const rig = await startRig({
    config: BLIND,
    runTunnel: async () => ({ ...replyWith({}), ledger: newLedger, socket: await far.reach() }),
  });
  const blind = await tunnel(rig, 'a.blind.test:443');
  const opened = await secure(rig, await tunnel(rig, 'o.test:443'), { servername: 'o.test' });
  opened.on('error', () => {});
  const peer = await far.peer;
  const gone = Promise.all([untilClosed(blind), untilClosed(peer)]);
  await rig.stop();
  await gone;
  assert.equal(rig.listener.openConnections(), 0);
  await assert.rejects(dial(rig.port));
  blind.destroy();
  peer.destroy();
  far.server.close();
});
