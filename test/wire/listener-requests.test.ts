import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { FakeClock, flush } from '../support/fake-clock.ts';
import { dial, field, parse, replyWith, startRig, talk, until } from './listener-rig.ts';

const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, 'Host: o.test', 'Connection: close', ...headers, '', ''].join('\r\n');

test('an absolute-form request reaches the loop with its target cut from the text as it came', async () => {
  const rig = await startRig();
  const cases: [string, string, string][] = [
    ['http://o.test/a%2Fb', 'o.test', '/a%2Fb'],
    ['http://o.test/a//b', 'o.test', '/a//b'],
    ['http://o.test/a/../b', 'o.test', '/a/../b'],
    ['http://o.test/a/%2e%2e/b', 'o.test', '/a/%2e%2e/b'],
    ['http://o.test/?q=a+b%20c', 'o.test', '/?q=a+b%20c'],
    ['http://o.test/?q=%zz', 'o.test', '/?q=%zz'],
    ['http://o.test/x?', 'o.test', '/x?'],
    ['http://o.test/a;b=c', 'o.test', '/a;b=c'],
    ['http://o.test/|"<>', 'o.test', '/|"<>'],
    ['http://o.test/%e9', 'o.test', '/%e9'],
    ['http://o.test/a\\b', 'o.test', '/a\\b'],
    [`http://o.test/?${'q'.repeat(8000)}`, 'o.test', `/?${'q'.repeat(8000)}`],
    ['http://o.test?x=1', 'o.test', '/?x=1'],
    ['http://o.test', 'o.test', '/'],
    ['http://o.test/a#f', 'o.test', '/a'],
    ['http://O.TEST.:80/', 'o.test', '/'],
    ['http://o.test:8080/', 'o.test:8080', '/'],
    ['https://o.test:443/', 'o.test', '/'],
    ['HTTPS://o.test/', 'o.test', '/'],
    ['http://b%C3%BCcher.test/', 'xn--bcher-kva.test', '/'],
    ['http://[0:0:0:0:0:0:0:1]:8080/a', '[::1]:8080', '/a'],
    ['http://user:p%40ss@o.test/a', 'o.test', '/a'],
  ];
  for (const [target, authority, path] of cases) {
    assert.equal(parse(await talk(rig.port, get(target))).status, 200, target);
    const exchange = rig.seen.at(-1)!;
    assert.equal(exchange.target.authority, authority, target);
    assert.equal(exchange.target.path, path, target);
    assert.equal(
      exchange.target.scheme,
      target.toLowerCase().startsWith('https') ? 'https' : 'http',
    );
  }
  assert.equal(rig.seen.length, cases.length);
  await talk(
    rig.port,
    'OPTIONS http://o.test HTTP/1.1\r\nHost: o.test\r\nConnection: close\r\n\r\n',
  );
  assert.equal(rig.seen.at(-1)!.target.path, '*');
  await rig.stop();
});

test('a target that cannot be served is 400 with problem details, and nothing is run', async () => {
  const rig = await startRig();
  for (const target of [
    'ftp://o.test/',
    'http:///x',
    'http://o.test:0/',
    'http://o.test:70000/',
    'http://o.test:x/',
    'http://a b/',
    'http://a_b^c/',
    'http://[::1/',
    'http://[fe80::1%25eth0]/',
    `http://${'a'.repeat(64)}.test/`,
    '/',
    '/index.html',
  ]) {
    const { status, lines } = parse(await talk(rig.port, get(target)));
    assert.equal(status, 400, target);
    assert.match(
      field(lines, 'proxy-status') ?? 'forbear; error=http_request_error',
      /http_request_error/,
    );
  }
  const { body, lines } = parse(await talk(rig.port, get('/')));
  assert.equal(field(lines, 'content-type'), 'application/problem+json');
  const problem = JSON.parse(body);
  assert.equal(problem.reason, 'bad_request');
  assert.match(problem.detail, /http_proxy/);
  assert.equal(rig.seen.length, 0);
  await rig.stop();
});

test('user info becomes Authorization where there is none, and is otherwise dropped', async () => {
  const rig = await startRig();
  await talk(rig.port, get('http://user:p%40ss@o.test/a?b=1'));
  const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
  assert.deepEqual(rig.seen[0]!.rawHeaders, ['Host', 'o.test', 'Authorization', basic]);
  await talk(rig.port, get('http://user:pw@o.test/', 'Authorization: Bearer mine'));
  assert.deepEqual(rig.seen[1]!.rawHeaders, ['Host', 'o.test', 'Authorization', 'Bearer mine']);
  await rig.stop();
});

test('the target wins over a Host that differs, and a Host that agrees stays as it was written', async () => {
  const rig = await startRig();
  const send = (target: string, host: string) =>
    talk(rig.port, `GET ${target} HTTP/1.1\r\nHost:${host}\r\nConnection: close\r\n\r\n`);
  await send('http://a.test/', ' b.test');
  await send('http://a.test/', '');
  await send('http://a.test/', ' A.Test:80');
  await send('http://[::1]:8080/a', ' [::1]:8080');
  const hosts = rig.seen.map((exchange) => exchange.rawHeaders[1]);
  assert.deepEqual(hosts, ['a.test', 'a.test', 'A.Test:80', '[::1]:8080']);
  await rig.stop();
});

test('order, case and doubles of the client fields are kept, bytes above 0x7F too, and nothing is added', async () => {
  const rig = await startRig();
  await talk(
    rig.port,
    get(
      'http://o.test/',
      'X-B: 2',
      'x-a: 1',
      'COOKIE: n=\xe5\x90\x8d',
      'X-Multi: 1',
      'X-Multi: 2',
      'Accept-Encoding: gzip',
      'X-Empty:',
    ),
  );
  assert.deepEqual(rig.seen[0]!.rawHeaders, [
    ...['Host', 'o.test', 'X-B', '2', 'x-a', '1', 'COOKIE', 'n=\xe5\x90\x8d'],
    ...['X-Multi', '1', 'X-Multi', '2', 'Accept-Encoding', 'gzip', 'X-Empty', ''],
  ]);
  await rig.stop();
});

test('a request that two readers could read differently is 400, the connection closes and nothing is run', async () => {
  const rig = await startRig();
  const tail = '\r\nGET http://o.test/smuggled HTTP/1.1\r\nHost: o.test\r\n\r\n';
  const post = 'POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\n';
  const cases: Record<string, string> = {
    'length and chunked': `${post}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${tail}`,
    'two lengths': `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello${tail}`,
    'a list of lengths': `${post}Content-Length: 5, 6\r\n\r\nhello${tail}`,
    'unknown coding': `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${tail}`,
    'coding before chunked': `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${tail}`,
    'space before the colon': `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${tail}`,
    'signed length': `${post}Content-Length: +6\r\n\r\nhello!${tail}`,
    'hex chunk size': `${post}Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n${tail}`,
    'bare LF in an extension': `${post}Transfer-Encoding: chunked\r\n\r\n5;ext=\nhello\r\n0\r\n\r\n${tail}`,
    'bare LF after a field': `${post}X-A: 1\nContent-Length: 0\r\n\r\n${tail}`,
    'folded field': `${post}X-A: 1\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${tail}`,
    'chunked in HTTP/1.0': `POST http://o.test/ HTTP/1.0\r\nHost: o.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${tail}`,
    'NUL in a value': `${post}X-A: a\0b\r\n\r\n${tail}`,
    'two different hosts': `GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n${tail}`,
    'two equal hosts': `GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n${tail}`,
    'no host': `GET http://a.test/ HTTP/1.1\r\n\r\n${tail}`,
    'space in the target': `GET http://o.test/a b HTTP/1.1\r\nHost: o.test\r\n\r\n${tail}`,
    'raw byte in the target': `GET http://o.test/\xe9 HTTP/1.1\r\nHost: o.test\r\n\r\n${tail}`,
    'another version': `GET http://o.test/ HTTP/2.0\r\nHost: o.test\r\n\r\n${tail}`,
    nonsense: `\x16\x03\x01 what is this\r\n\r\n${tail}`,
  };
  for (const [name, bytes] of Object.entries(cases)) {
    const reply = await talk(rig.port, bytes);
    assert.equal(parse(reply).status, 400, name);
    assert.match(reply, /\r\nConnection: close\r\n/i, name);
    assert.equal(reply.match(/HTTP\/1\.1 \d{3}/g)?.length, 1, `${name}: one answer`);
    assert.equal(JSON.parse(parse(reply).body).reason, 'bad_request', name);
    assert.equal(rig.seen.length, 0, name);
  }
  await rig.stop();
});

test('a broken chunk late in an upload is 400, and ends the exchange that had begun', async () => {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const rig = await startRig({
    run: (exchange) => {
      exchange.body
        .open()
        .on('error', () => {})
        .resume();
      return new Promise((done) => {
        exchange.signal.addEventListener('abort', () => {
          resolve();
          done(replyWith({}));
        });
      });
    },
  });
  const socket = await dial(rig.port);
  socket.write(
    'POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
  );
  await rig.event('exchange_started');
  socket.write('zz\r\n');
  assert.match(await until(socket, (text) => text.includes('}')), /^HTTP\/1\.1 400 /);
  await aborted;
  assert.equal((await rig.event('exchange_finished')).answered, 'client_gone');
  socket.destroy();
  await rig.stop();
});

test('chunk extensions are accepted and dropped', async () => {
  const bodies: string[] = [];
  const rig = await startRig({
    run: async (exchange) => {
      bodies.push(await text(exchange.body.open()));
      return replyWith({});
    },
  });
  await talk(
    rig.port,
    'POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n',
  );
  assert.deepEqual(bodies, ['hello']);
  assert.equal(rig.seen[0]!.body.length, undefined);
  await rig.stop();
});

test('headers up to 64 KiB pass whole, a thousand lines too; beyond that it is 431 and the end', async () => {
  const rig = await startRig();
  const cookies = `Cookie: ${'c'.repeat(60_000)}`;
  assert.equal(parse(await talk(rig.port, get('http://o.test/', cookies))).status, 200);
  const many = Array.from({ length: 3000 }, (_, i) => `X-${i}: ${i}`);
  assert.equal(parse(await talk(rig.port, get('http://o.test/', ...many))).status, 200);
  assert.equal(rig.seen.at(-1)!.rawHeaders.length, 2 * (many.length + 1));
  const { status, body } = parse(
    await talk(rig.port, get('http://o.test/', `Cookie: ${'c'.repeat(70_000)}`)),
  );
  assert.equal(status, 431);
  assert.equal(JSON.parse(body).reason, 'header_overflow');
  assert.equal(rig.seen.length, 2);
  await rig.stop();
});

test('wishes come from headers and are removed; a typo is 400 and says what was meant', async () => {
  const rig = await startRig({ config: { profiles: { fast: {} } } });
  await talk(
    rig.port,
    get(
      'http://o.test/',
      'Forbear-Session: a.b',
      'forbear-country: US',
      'Forbear-Patience: 5s',
      'Forbear-Max-Attempts: 2',
      'Forbear-Profile: fast',
      'Forbear-Expect: f\xc3\xbcr',
      'Forbear-Retry: off',
      'X-Mine: 1',
    ),
  );
  const exchange = rig.seen[0]!;
  assert.deepEqual(exchange.rawHeaders, ['Host', 'o.test', 'X-Mine', '1']);
  assert.equal(exchange.session, '127.0.0.1/a.b');
  assert.equal(exchange.country, 'us');
  assert.equal(exchange.policy.patienceMs, 5000);
  assert.equal(exchange.deadline - exchange.startedAt, 5000);
  assert.equal(exchange.policy.maxAttempts, 2);
  assert.equal(exchange.expectText, 'für');
  assert.equal(exchange.retry, 'off');

  const wrong: [string, RegExp][] = [
    ['Forbear-Sesion: a', /Did you mean Forbear-Session/],
    ['Forbear-Patience: soon', /Forbear-Patience is "soon"; expected a duration/],
    ['Forbear-Max-Attempts: 0', /Forbear-Max-Attempts.*whole number/],
    ['Forbear-Profile: fats', /Did you mean fast/],
    ['Forbear-Retry: never', /expected on or off/],
  ];
  for (const [header, expected] of wrong) {
    const { status, body } = parse(await talk(rig.port, get('http://o.test/', header)));
    assert.equal(status, 400, header);
    assert.match(JSON.parse(body).detail, expected);
  }
  assert.equal(rig.seen.length, 1);
  await rig.stop();
});

const login = (credentials: string) =>
  `Proxy-Authorization: Basic ${Buffer.from(credentials).toString('base64')}`;

test('the proxy username names the client and its wishes, headers win over it, and it goes no further', async () => {
  const rig = await startRig();
  const wishes = 'my-job-session-s1-country-de-patience-20s-attempts-3:x';
  await talk(rig.port, get('http://o.test/', login(wishes), 'Forbear-Max-Attempts: 4'));
  const exchange = rig.seen[0]!;
  assert.equal(exchange.client.name, 'my-job');
  assert.equal(exchange.client.address, '127.0.0.1');
  assert.equal(exchange.session, 'my-job/s1');
  assert.equal(exchange.country, 'de');
  assert.equal(exchange.policy.patienceMs, 20_000);
  assert.equal(exchange.policy.maxAttempts, 4);
  assert.deepEqual(exchange.rawHeaders, ['Host', 'o.test']);
  await rig.stop();
});

test('configured clients are let in by password only, the others are asked for one', async () => {
  const rig = await startRig({
    config: { clients: [{ name: 'job-session-x', password: 'pw:1' }] },
  });
  assert.equal(parse(await talk(rig.port, get('http://o.test/'))).status, 407);
  const wrong = await talk(rig.port, get('http://o.test/', login('job-session-x:nope')));
  assert.equal(field(parse(wrong).lines, 'proxy-authenticate'), 'Basic realm="forbear"');
  assert.equal(parse(wrong).status, 407);
  assert.doesNotMatch(wrong, /nope/);
  assert.equal(rig.seen.length, 0);
  await talk(rig.port, get('http://o.test/', login('job-session-x:pw:1')));
  assert.equal(rig.seen[0]!.client.name, 'job-session-x');
  assert.equal(rig.seen[0]!.session, undefined);
  await talk(rig.port, get('http://o.test/', login('job-session-x-session-s2:pw:1')));
  assert.equal(rig.seen[1]!.session, 'job-session-x/s2');
  await rig.stop();
});

test('with auth required a client without credentials is challenged, and any will do', async () => {
  const rig = await startRig({ config: { auth: 'required' } });
  assert.equal(parse(await talk(rig.port, get('http://o.test/'))).status, 407);
  assert.equal(parse(await talk(rig.port, get('http://o.test/', login('a:b')))).status, 200);
  await rig.stop();
});

test('100 Continue is sent once the body is wanted, and a client that does not wait gets one final reply', async () => {
  const bodies: string[] = [];
  const rig = await startRig({
    run: async (exchange) => {
      bodies.push(await text(exchange.body.open()));
      return replyWith({ rawHeaders: ['Content-Length', '2'], body: 'ok' });
    },
  });
  const head =
    'POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n';
  const socket = await dial(rig.port);
  socket.write(head);
  assert.equal(
    await until(socket, (got) => got.includes('\r\n\r\n')),
    'HTTP/1.1 100 Continue\r\n\r\n',
  );
  socket.write('hello');
  assert.equal(parse(await until(socket, (got) => got.endsWith('ok'))).status, 200);
  socket.destroy();
  const eager = await talk(rig.port, `${head}hello`);
  assert.equal(eager.match(/HTTP\/1\.1 200/g)?.length, 1);
  assert.deepEqual(bodies, ['hello', 'hello']);
  assert.ok(!rig.seen[0]!.rawHeaders.includes('Expect'));
  await rig.stop();
});

test('a reply that does not need the body comes instead of 100 Continue, and closes', async () => {
  const rig = await startRig();
  const reply = await talk(
    rig.port,
    'POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n',
  );
  assert.equal(parse(reply).status, 200);
  assert.match(reply, /\r\nConnection: close\r\n/);
  const unknown = await talk(
    rig.port,
    'POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\nContent-Length: 0\r\nExpect: banana\r\n\r\n',
  );
  assert.equal(parse(unknown).status, 417);
  await rig.stop();
});

test('a client that goes silent in its body gets 408, whether or not the exchange has begun', async () => {
  const clock = new FakeClock();
  const rig = await startRig({
    clock,
    run: async (exchange) => {
      await text(exchange.body.open()).catch(() => {});
      return replyWith({});
    },
  });
  const head = 'POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\nContent-Length: 10\r\n\r\n';
  for (const start of ['', '12345']) {
    const socket = await dial(rig.port);
    const seen = rig.seen.length;
    socket.write(head + start);
    if (start === '') while (clock.pending === 0) await flush();
    else while (rig.seen.length === seen) await flush();
    const reply = until(socket, (got) => got.includes('}'));
    await clock.advance(30_000);
    assert.equal(parse(await reply).status, 408);
    assert.equal(rig.seen.length, start === '' ? seen : seen + 1);
    socket.destroy();
    await once(socket, 'close');
    while (rig.listener.openConnections() > 0) await flush();
  }
  await flush();
  assert.equal(clock.pending, 0);
  await rig.stop();
});

test('an HTTP/1.0 client gets no chunks and no keep-alive, with or without Host', async () => {
  const rig = await startRig({
    run: async () => replyWith({ rawHeaders: ['Transfer-Encoding', 'chunked'], body: 'hello' }),
  });
  for (const headers of ['Host: o.test\r\n', '', 'Connection: keep-alive\r\n']) {
    const reply = parse(await talk(rig.port, `GET http://o.test/ HTTP/1.0\r\n${headers}\r\n`));
    assert.equal(reply.status, 200);
    assert.equal(field(reply.lines, 'transfer-encoding'), undefined);
    assert.equal(field(reply.lines, 'connection'), 'close');
    assert.equal(reply.body, 'hello');
  }
  assert.deepEqual(rig.seen[1]!.rawHeaders, ['Host', 'o.test']);
  await rig.stop();
});

test('an upgrade that is not performed is served as an ordinary request without it', async () => {
  const rig = await startRig();
  const reply = await talk(
    rig.port,
    'GET http://o.test/ HTTP/1.1\r\nHost: o.test\r\nConnection: X-Secret-Hop, upgrade, close, host\r\nX-Secret-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n',
  );
  assert.equal(parse(reply).status, 200);
  assert.deepEqual(rig.seen[0]!.rawHeaders, ['Host', 'o.test']);
  await rig.stop();
});

test('one connection serves many requests, pipelined ones in order, and keeps no listeners behind', async () => {
  const rig = await startRig({
    run: async (exchange) =>
      replyWith({ rawHeaders: ['Content-Length', '2'], body: exchange.target.path }),
  });
  const socket = await dial(rig.port);
  const count = 30;
  for (let i = 10; i < 10 + count; i += 1) {
    socket.write(`GET http://o.test/${i % 10} HTTP/1.1\r\nHost: o.test\r\n\r\n`);
  }
  const got = await until(socket, (all) => all.split('\r\n\r\n/').length > count);
  const paths = [...got.matchAll(/\r\n\r\n\/(\d)/g)].map((match) => Number(match[1]));
  assert.deepEqual(
    paths,
    Array.from({ length: count }, (_, i) => i % 10),
  );
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < 30; i += 1) {
    const request = http.get({ host: '127.0.0.1', port: rig.port, path: 'http://o.test/1', agent });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    await text(response);
  }
  assert.equal(rig.listener.openConnections(), 2);
  agent.destroy();
  socket.destroy();
  await rig.stop();
  assert.equal(rig.listener.openConnections(), 0);
});
