import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { good } from '../support/certificates.ts';
import {
  ask,
  connectTo,
  fieldOf,
  heard,
  heardToEnd,
  startWire,
  statuses,
} from '../support/client-wire.ts';
import { onHead, rawServer, rawTlsServer, replying, until } from '../support/raw-server.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const BLIND = 'intercept: { mode: none }';
const ONCE =
  'policy: { max_attempts: 1, timeouts: { connect: 300ms, linger: 200ms, sniff: 100ms } }';
const INNER = (authority: string) =>
  `GET /x HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`;

/** A port of 127.0.0.1 on which nobody listens. */
async function deadPort(): Promise<number> {
  const server = await rawServer(() => {});
  await server.close();
  return server.port;
}

test('B01 CONNECT without a port, or with an empty one, is 400 before any lookup or dial, opened or blind', async (t) => {
  for (const lines of [[], [BLIND]]) {
    const wire = await startWire(t, lines);
    for (const target of ['o.test', 'o.test:']) {
      assert.deepEqual(statuses(await ask(wire, connectTo(target))), [400], target);
    }
    assert.deepEqual(wire.lookups, []);
    assert.equal(wire.told('exchange_started').length, 0);
  }
});

test('B03 an IPv6 literal is dialled without brackets, and keeps them in Host and towards an upstream', async (t) => {
  const origin = await rawServer(replying(OK), '::1');
  t.after(() => origin.close());
  const upstream = await rawServer((socket) => {
    onHead(socket, () => {
      socket.removeAllListeners('data');
      socket.write('HTTP/1.1 200 fine\r\n\r\n');
      const far = connect({ host: '::1', port: origin.port }).on('error', () => {});
      socket.pipe(far).pipe(socket);
    });
  });
  t.after(() => upstream.close());
  const target = `[::1]:${origin.port}`;
  const direct = await startWire(t, [BLIND]);
  const socket = await direct.tunnel(target);
  socket.write(INNER(target));
  assert.deepEqual(statuses(await heard(socket, (got) => got.endsWith('ok'))), [200]);
  const plain = await ask(
    direct,
    `GET http://[0:0:0:0:0:0:0:1]:${origin.port}/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  );
  assert.deepEqual(statuses(plain), [200]);
  assert.match(origin.heard[1] ?? '', new RegExp(`Host: \\[::1\\]:${origin.port}\r\n`));
  assert.deepEqual(direct.lookups, []);
  assert.deepEqual(
    new Set(direct.told('exchange_started').map(({ exchange }) => exchange.target.authority)),
    new Set([target]),
    'one name whatever the spelling',
  );
  const over = await startWire(t, [
    BLIND,
    `upstreams: [{ name: u, routes: ["http://127.0.0.1:${upstream.port}"] }]`,
  ]);
  const through = await over.tunnel(target);
  through.write(INNER(target));
  assert.deepEqual(statuses(await heard(through, (got) => got.endsWith('ok'))), [200]);
  assert.match(
    upstream.heard[0] ?? '',
    new RegExp(
      `^CONNECT \\[::1\\]:${origin.port} HTTP/1\\.1\r\nHost: \\[::1\\]:${origin.port}\r\n`,
    ),
  );
});

test('B03 the leaf for an IPv6 literal names the address, and no DNS name with brackets', async (t) => {
  const wire = await startWire(t);
  const socket = await wire.tunnel('[::1]:443');
  const inner = await wire.secureOver(socket, { host: '::1' });
  assert.equal(inner.getPeerCertificate().subjectaltname, 'IP Address:0:0:0:0:0:0:0:1');
});

test('B05 bytes glued to a CONNECT reach the origin first, unharmed and in order, whole or in pieces', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const wire = await startWire(t, [BLIND]);
  const hello = Buffer.from(Array.from({ length: 517 }, (_, i) => (i * 7 + 0x16) % 256));
  for (const [n, cut] of [517, 3].entries()) {
    const head = Buffer.from(connectTo(`o${n}.test:${origin.port}`));
    const socket = await wire.dial();
    socket.write(Buffer.concat([head, hello.subarray(0, cut)]));
    await heard(socket, (got) => got.includes('\r\n\r\n'));
    socket.write(hello.subarray(cut));
    await until(() => (origin.heard[n] ?? '').length === hello.length);
    assert.equal(origin.heard[n], hello.toString('latin1'));
  }
});

test('B05 a request glued to a CONNECT that is refused is not executed', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const wire = await startWire(t, [BLIND, ONCE]);
  const glued = `GET http://o.test:${origin.port}/ HTTP/1.1\r\nHost: o.test:${origin.port}\r\n\r\n`;
  const reply = await ask(wire, connectTo(`o.test:${await deadPort()}`) + glued);
  assert.deepEqual(statuses(reply), [502]);
  assert.equal(origin.accepted, 0);
  const body = connectTo(`o.test:${origin.port}`, 'Content-Length: 5');
  const socket = await wire.dial();
  socket.write(`${body}hello`);
  await heard(socket, (got) => got.includes(' 200 '));
  await until(() => origin.heard[0] === 'hello');
});

test('B07 a blind CONNECT that leads nowhere is a real 502 or 504 with its token, never a 200', async (t) => {
  const silent = await rawServer(() => {});
  t.after(() => silent.close());
  const lines = [
    BLIND,
    'policy: { max_attempts: 1, max_addresses: 1, timeouts: { connect: 200ms } }',
  ];
  const direct = await startWire(t, lines);
  const refused = await ask(direct, connectTo(`o.test:${await deadPort()}`));
  assert.deepEqual(statuses(refused), [502]);
  assert.match(refused, /error=connection_refused/);
  const unknown = await ask(direct, connectTo('nowhere.test:443'));
  assert.deepEqual(statuses(unknown), [502]);
  assert.match(unknown, /error=dns_error/);
  const over = await startWire(t, [
    ...lines,
    `upstreams: [{ name: u, routes: ["http://127.0.0.1:${silent.port}"] }]`,
  ]);
  const late = await ask(over, connectTo('o.test:443'));
  assert.deepEqual(statuses(late), [504]);
  assert.match(late, /error=connection_timeout/);
});

test('B07 opened, the 200 comes first, and the 502 with its token inside TLS', async (t) => {
  const wire = await startWire(t, [ONCE]);
  const port = await deadPort();
  const inner = await wire.secure(`o.test:${port}`);
  inner.write(INNER(`o.test:${port}`));
  const reply = await heardToEnd(inner);
  assert.deepEqual(statuses(reply), [502]);
  assert.match(reply, /error=connection_refused/);
});

test("B08 an upstream that resets after CONNECT is to blame alone, an origin that resets in the handshake is the host's affair", async (t) => {
  const upstream = await rawServer((socket) => onHead(socket, () => socket.resetAndDestroy()));
  t.after(() => upstream.close());
  const origin = await rawServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
  t.after(() => origin.close());
  const faults = async (lines: readonly string[]) => {
    const wire = await startWire(t, [ONCE, ...lines]);
    const inner = await wire.secure(`o.test:${origin.port}`);
    inner.write(INNER(`o.test:${origin.port}`));
    assert.deepEqual(statuses(await heardToEnd(inner)), [502]);
    return wire.told('attempt_finished').map(({ verdict }) => verdict.fault);
  };
  assert.deepEqual(
    await faults([`upstreams: [{ name: u, routes: ["http://127.0.0.1:${upstream.port}"] }]`]),
    ['route'],
  );
  assert.deepEqual(await faults([]), ['host']);
});

test('B08 a client that resets at any moment leaves the process, blames nobody, and takes the far leg along', async (t) => {
  const origin = await rawTlsServer((socket) => {
    onHead(socket, () =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 100\r\n\r\nhalf'),
    );
  }, good);
  t.after(() => origin.close());
  const wire = await startWire(t);
  const target = `o.test:${origin.port}`;
  for (let round = 0; round < 10; round += 1) {
    const early = await wire.dial();
    early.write(connectTo(target));
    early.resetAndDestroy();
    (await wire.tunnel(target)).resetAndDestroy();
    const inHandshake = await wire.tunnel(target);
    tls.connect({ socket: inHandshake, servername: 'o.test' }).on('error', () => {});
    setImmediate(() => inHandshake.resetAndDestroy());
    const inBody = await wire.tunnel(target);
    const first = await wire.secureOver(inBody, { servername: 'o.test' });
    first.write(`POST / HTTP/1.1\r\nHost: ${target}\r\nContent-Length: 100\r\n\r\nhalf`);
    inBody.resetAndDestroy();
    const inReply = await wire.tunnel(target);
    const second = await wire.secureOver(inReply, { servername: 'o.test' });
    second.write(INNER(target));
    await heard(second, (got) => got.includes('half'));
    inReply.resetAndDestroy();
  }
  await until(
    () => wire.proxy.activity().connections === 0 && wire.proxy.activity().exchanges === 0,
  );
  await until(() => origin.open === 0);
  const faults = wire.told('attempt_finished').map(({ verdict }) => verdict.fault);
  assert.deepEqual(
    faults.filter((fault) => fault !== 'none' && fault !== 'client'),
    [],
  );
});

test('B09 a leg that stands only after its client has left is destroyed at once', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const upstream = await rawServer((socket) => {
    onHead(socket, () => void gate.then(() => socket.write('HTTP/1.1 200 late\r\n\r\n')));
  });
  t.after(() => upstream.close());
  const wire = await startWire(t, [
    BLIND,
    `upstreams: [{ name: u, routes: ["http://127.0.0.1:${upstream.port}"] }]`,
  ]);
  const socket = await wire.dial();
  socket.write(connectTo(`o.test:${origin.port}`));
  await until(() => upstream.heard[0]?.includes('CONNECT') === true);
  socket.destroy();
  await until(() => wire.proxy.activity().connections === 0);
  open();
  await until(() => upstream.open === 0 && wire.proxy.activity().sockets === 0);
});

test('B09 an upstream that refuses a CONNECT and stays is hung up on; a clean end of the origin ends an idle client', async (t) => {
  const upstream = await rawServer(replying('HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n'));
  t.after(() => upstream.close());
  const over = await startWire(t, [
    BLIND,
    ONCE,
    `upstreams: [{ name: u, routes: ["http://127.0.0.1:${upstream.port}"] }]`,
  ]);
  assert.deepEqual(statuses(await ask(over, connectTo('o.test:443'))), [502]);
  await until(() => upstream.open === 0);
  const far: Socket[] = [];
  const origin = await rawServer((socket) => far.push(socket));
  t.after(() => origin.close());
  const direct = await startWire(t, [BLIND, ONCE]);
  const idle = await direct.tunnel(`o.test:${origin.port}`);
  const ended = heardToEnd(idle);
  await until(() => far.length === 1);
  far[0]?.end();
  assert.equal(await ended, '');
  await until(() => direct.proxy.activity().connections === 0);
});

test('B11 plain HTTP inside a CONNECT is served like any request, retries included; another protocol goes through untouched', async (t) => {
  const origin = await rawServer((socket, n) => {
    if (n === 3) return void socket.write('SSH-2.0-server\r\n');
    onHead(socket, () => {
      const busy = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
      if (n === 1) socket.end(busy);
      else socket.write(OK);
    });
  });
  t.after(() => origin.close());
  const wire = await startWire(t, ['policy: { backoff: { base: 1ms } }']);
  const target = `o.test:${origin.port}`;
  const plain = await wire.tunnel(target);
  plain.write(INNER(target));
  const reply = await heardToEnd(plain);
  assert.deepEqual(statuses(reply), [200]);
  assert.equal(fieldOf(reply, 'Forbear-Attempts'), '2');
  const other = await wire.tunnel(target);
  other.write('SSH-2.0-x\r\n');
  assert.equal(await heard(other, (got) => got.endsWith('\n')), 'SSH-2.0-server\r\n');
  await until(() => origin.heard[2] === 'SSH-2.0-x\r\n');
});

test('B14 a side that is not read stops the other side: tunnel, reply and upload', async (t) => {
  const MOST = 24 * 1024 * 1024;
  let accepted = 0;
  const flood = (socket: Socket, head: string) => {
    socket.write(head);
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const more = () => {
      while (accepted < 2 * MOST && socket.write(chunk)) accepted += chunk.length;
    };
    socket.on('drain', more);
    more();
  };
  const origin = await rawServer((socket) => {
    onHead(socket, () =>
      flood(
        socket,
        `HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: ${10 * MOST}\r\n\r\n`,
      ),
    );
  });
  t.after(() => origin.close());
  const wire = await startWire(t, ['intercept: { except: ["blind.test"] }']);
  const target = `o.test:${origin.port}`;
  for (const way of ['reply', 'tunnel'] as const) {
    accepted = 0;
    const socket =
      way === 'reply' ? await wire.dial() : await wire.tunnel(`blind.test:${origin.port}`);
    socket.write(
      way === 'reply' ? `GET http://${target}/ HTTP/1.1\r\nHost: ${target}\r\n\r\n` : INNER(target),
    );
    socket.once('data', () => socket.pause());
    await untilStill(() => accepted);
    assert.ok(accepted > 0 && accepted < MOST, `${way}: ${accepted}`);
    socket.destroy();
  }
  const deaf = await rawServer((socket) => socket.once('data', () => socket.pause()));
  t.after(() => deaf.close());
  accepted = 0;
  const upload = await wire.dial();
  const to = `o.test:${deaf.port}`;
  flood(
    upload,
    `PUT http://${to}/ HTTP/1.1\r\nHost: ${to}\r\nContent-Length: ${10 * MOST}\r\n\r\n`,
  );
  await untilStill(() => accepted);
  assert.ok(accepted > 0 && accepted < MOST, `upload: ${accepted}`);
});

/** Resolves when a number above 0 has stayed the same over many turns of the event loop. */
async function untilStill(value: () => number): Promise<void> {
  let last = 0;
  let same = 0;
  await until(() => {
    same = value() === last && last > 0 ? same + 1 : 0;
    last = value();
    return same > 3000;
  });
}

test('B15 draining answers who waits with 503 and Retry-After at once, and stopping ends idle tunnels', async (t) => {
  const far = await rawServer(() => {});
  t.after(() => far.close());
  const origin = await rawServer(
    replying('HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n'),
  );
  t.after(() => origin.close());
  const wire = await startWire(t, [
    'intercept: { except: ["blind.test"] }',
    'policy: { patience: 2h, retry_after: { max: 2h } }',
    'drain: 200ms',
  ]);
  const tunnels = await Promise.all([1, 2, 3].map(() => wire.tunnel(`blind.test:${far.port}`)));
  const gone = Promise.all(tunnels.map((socket) => once(socket.resume(), 'end')));
  const target = `o.test:${origin.port}`;
  const waiting = ask(wire, `GET http://${target}/ HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const throttled = () =>
    wire.told('attempt_finished').some(({ verdict }) => verdict.reason === 'rate_limited');
  await until(throttled);
  await wire.proxy.drain();
  const reply = await waiting;
  assert.match(reply, /^HTTP\/1\.1 (503|429) /);
  assert.notEqual(fieldOf(reply, 'Retry-After'), undefined);
  assert.equal(fieldOf(reply, 'Forbear-Stop'), 'draining');
  await wire.proxy.stop();
  await gone;
  await until(() => Object.values(wire.proxy.activity()).every((open) => open === 0));
});

test('B16 the proxy does not go round in itself, by address, name or CONNECT; origin-form is 400', async (t) => {
  const wire = await startWire(t, [BLIND]);
  const self = `127.0.0.1:${wire.port}`;
  for (const bytes of [
    `GET http://${self}/ HTTP/1.1\r\nHost: ${self}\r\nConnection: close\r\n\r\n`,
    `GET http://me.test:${wire.port}/ HTTP/1.1\r\nHost: me.test\r\nConnection: close\r\n\r\n`,
    connectTo(self),
    connectTo(`me.test:${wire.port}`),
  ]) {
    const reply = await ask(wire, bytes);
    assert.match(reply, /^HTTP\/1\.1 (502|400|403) /, bytes);
    assert.match(reply, /error=proxy_loop_detected/, bytes);
  }
  assert.deepEqual(statuses(await ask(wire, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')), [400]);
  assert.equal(wire.told('attempt_finished').length, 4, 'none of them is tried again');
});
