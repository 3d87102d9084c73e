import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  ask,
  connectTo,
  fieldOf,
  heard,
  heardToEnd,
  startWire,
  statuses,
} from '../support/client-wire.ts';
import { onHead, rawServer, replying, until } from '../support/raw-server.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

const getFrom = (port: number, ...headers: string[]) =>
  [`GET http://o.test:${port}/ HTTP/1.1`, `Host: o.test:${port}`, ...headers, '', ''].join('\r\n');

test('B43 the header limit is settable, holds outside and inside TLS, and is told by 431 and the end', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const wire = await startWire(t, ['limits: { header_bytes: 16KiB }']);
  const big = getFrom(origin.port, `Cookie: ${'c'.repeat(20_000)}`);
  const refused = await ask(wire, big);
  assert.deepEqual(statuses(refused), [431]);
  assert.match(refused, /limits\.header_bytes \(16384\)/);
  const longTarget = `GET http://o.test:${origin.port}/${'p'.repeat(20_000)} HTTP/1.1\r\nHost: o.test\r\n\r\n`;
  assert.deepEqual(statuses(await ask(wire, longTarget)), [431]);
  const inner = await wire.secure('o.test:443');
  inner.write(`GET / HTTP/1.1\r\nHost: o.test\r\nCookie: ${'c'.repeat(20_000)}\r\n\r\n`);
  assert.deepEqual(statuses(await heardToEnd(inner)), [431]);
  inner.destroy();
  const fits = getFrom(origin.port, `Cookie: ${'c'.repeat(15_000)}`, 'Connection: close');
  assert.deepEqual(statuses(await ask(wire, fits)), [200]);
  assert.equal(origin.accepted, 1);
  assert.equal(wire.told('attempt_finished').length, 1);
});

test('B43 with a larger limit 40 KB of headers and 1000 lines arrive whole', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const wire = await startWire(t, ['limits: { header_bytes: 128KiB }']);
  const many = Array.from({ length: 1000 }, (_, i) => `X-${i}: ${'v'.repeat(30)}`);
  assert.deepEqual(
    statuses(await ask(wire, getFrom(origin.port, ...many, 'Connection: close'))),
    [200],
  );
  assert.ok(many.every((line) => origin.heard[0]?.includes(`${line}\r\n`)));
});

test('B44 a client that sends nothing, or its head byte by byte, is ended at the head deadline; a waiting one is not', async (t) => {
  const origin = await rawServer((socket, n) => {
    onHead(socket, () => {
      const first = 'HTTP/1.1 429 Slow\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n';
      socket.write(n === 1 && origin.heard[0]?.match(/GET/g)?.length === 1 ? first : OK);
    });
  });
  t.after(() => origin.close());
  const wire = await startWire(t, ['limits: { head: 300ms, keep_alive: 300ms }']);
  const silent = await wire.dial();
  const dripping = await wire.dial();
  dripping.write('GET http://o.te');
  const waiting = await wire.dial();
  waiting.write(getFrom(origin.port));
  const inner = await wire.secure('o.test:443');
  const slow = heardToEnd(inner);
  assert.match(await heardToEnd(silent), /^(HTTP\/1\.1 408 |$)/);
  assert.match(await heardToEnd(dripping), /^HTTP\/1\.1 408 /);
  await slow;
  assert.match(await heard(waiting, (got) => got.endsWith('ok')), /^HTTP\/1\.1 200 /);
  assert.equal(origin.heard[0]?.match(/GET/g)?.length, 2, 'it outlived the deadline of a head');
});

test('B44 a body that never begins, or drips, is 408 at the idle deadline, small or larger than what is kept', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const wire = await startWire(t, [
    'policy: { replay_body: 1KiB, timeouts: { idle: 200ms, linger: 100ms } }',
  ]);
  for (const [length, first] of [
    [10, ''],
    [10, 'abc'],
    [100_000, ''],
    [100_000, 'abc'],
  ] as const) {
    const target = `o.test:${origin.port}`;
    const head = `POST http://${target}/ HTTP/1.1\r\nHost: ${target}\r\nContent-Length: ${length}\r\n\r\n`;
    assert.deepEqual(statuses(await ask(wire, head + first)), [408], `${length} ${first}`);
  }
  await until(() => wire.proxy.activity().exchanges === 0);
  await until(() => origin.open === 0);
});

test('B45 a connection that idles longer than the limit ends in a FIN, never in a reset', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const wire = await startWire(t, ['limits: { keep_alive: 100ms }']);
  const socket = await wire.dial();
  let failure: Error | undefined;
  socket.on('error', (error) => {
    failure = error;
  });
  const ended = once(socket, 'end');
  socket.write(getFrom(origin.port));
  await heard(socket, (got) => got.endsWith('ok'));
  await ended;
  assert.equal(failure, undefined);
});

test('a client has so many connections; one more is 503 with Retry-After, another client is served, and one that leaves makes room', async (t) => {
  const origin = await rawServer(replying(OK));
  t.after(() => origin.close());
  const wire = await startWire(t, ['limits: { client_connections: 2 }']);
  const login = (name: string) =>
    `Proxy-Authorization: Basic ${Buffer.from(`${name}:x`).toString('base64')}`;
  const keep = async (name: string) => {
    const socket = await wire.dial();
    socket.write(getFrom(origin.port, login(name)));
    await heard(socket, (got) => got.endsWith('ok'));
    return socket;
  };
  const first = await keep('job');
  await keep('job-session-a');
  const refused = await ask(wire, getFrom(origin.port, login('job')));
  assert.deepEqual(statuses(refused), [503]);
  assert.equal(fieldOf(refused, 'Retry-After'), '1');
  assert.match(refused, /"reason":"too_many_connections"/);
  assert.match(refused, /error=connection_limit_reached/);
  const tunnel = await ask(wire, connectTo('o.test:443', login('job')));
  assert.deepEqual(statuses(tunnel), [503]);
  await keep('other');
  first.destroy();
  await until(() => wire.proxy.activity().connections === 2);
  await keep('job');
});

test('connections that say nothing are counted for where they come from, and all together have a limit', async (t) => {
  for (const limit of ['client_connections: 3', 'connections: 3']) {
    const wire = await startWire(t, [`limits: { ${limit} }`]);
    const open = await Promise.all([wire.dial(), wire.dial(), wire.dial()]);
    await until(() => wire.proxy.activity().connections === 3);
    const refused = await ask(wire, '');
    assert.deepEqual(statuses(refused), [503], limit);
    open[0]?.destroy();
    await until(() => wire.proxy.activity().connections === 2);
    assert.deepEqual(statuses(await ask(wire, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')), [400]);
  }
});

test('there are so many tunnels; one more is 503 with Retry-After, and one that ends makes room', async (t) => {
  const wire = await startWire(t, ['limits: { tunnels: 2 }']);
  const first = await wire.tunnel('o.test:443');
  await wire.secure('o.test:443');
  const refused = await ask(wire, connectTo('o.test:443'));
  assert.deepEqual(statuses(refused), [503]);
  assert.match(refused, /"reason":"too_many_tunnels"/);
  first.destroy();
  await until(() => wire.proxy.activity().connections === 1);
  await wire.tunnel('o.test:443');
});

test('requests sent ahead wait for each other, a hundred of them; what is beyond is 503 and the end, in its turn', async (t) => {
  let atOnce = 0;
  let most = 0;
  const origin = await rawServer((socket) => {
    onHead(socket, () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      setImmediate(() => {
        atOnce -= 1;
        socket.write(OK);
      });
    });
  });
  t.after(() => origin.close());
  const wire = await startWire(t);
  const replies = statuses(await ask(wire, getFrom(origin.port).repeat(150)));
  assert.deepEqual(replies, [...Array.from({ length: 100 }, () => 200), 503]);
  assert.equal(most, 1);
});

test('a client that sends ahead without end is cut off', async (t) => {
  const origin = await rawServer(() => {});
  t.after(() => origin.close());
  const wire = await startWire(t);
  assert.equal(await ask(wire, getFrom(origin.port).repeat(1500)), '');
  await until(() => wire.proxy.activity().exchanges === 0);
  assert.ok(origin.accepted <= 1);
});

test('a good request in front of bytes that are none gets its own answer first, then 400 and the end', async (t) => {
  const origin = await rawServer((socket) => {
    onHead(socket, () => setImmediate(() => socket.write(OK)));
  });
  t.after(() => origin.close());
  const wire = await startWire(t);
  assert.deepEqual(
    statuses(await ask(wire, `${getFrom(origin.port)}nonsense\r\n\r\n`)),
    [200, 400],
  );
  assert.equal(
    await ask(wire, getFrom(origin.port) + connectTo('o.test:443')),
    '',
    'a CONNECT may not overtake',
  );
});

test('bodies beyond memory.max_held are sent once: not kept, not tried again', async (t) => {
  const origin = await rawServer((socket) => {
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes > 50_000)
        socket.end('HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
  });
  t.after(() => origin.close());
  for (const [held, attempts, stop] of [
    ['1KiB', 1, 'body_not_replayable'],
    ['1MiB', 2, 'attempts_exhausted'],
  ] as const) {
    const wire = await startWire(t, [
      `memory: { max_held: ${held} }`,
      'policy: { max_attempts: 2, backoff: { base: 1ms } }',
    ]);
    const target = `o.test:${origin.port}`;
    const head = `PUT http://${target}/ HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n`;
    const reply = await ask(wire, head + 'b'.repeat(60_000));
    assert.equal(fieldOf(reply, 'Forbear-Attempts'), String(attempts), held);
    assert.equal(fieldOf(reply, 'Forbear-Stop'), stop, held);
  }
});
