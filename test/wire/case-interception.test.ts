import assert from 'node:assert/strict';
import { test } from 'node:test';
import tls from 'node:tls';
import { expired, good, root } from '../support/certificates.ts';
import { heard, heardToEnd, startWire, statuses } from '../support/client-wire.ts';
import { rawServer, rawTlsServer, replying, until } from '../support/raw-server.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const inner = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

test('B19 the leaf is for the SNI, else for the host of the CONNECT, which alone is dialled', async (t) => {
  const origin = await rawTlsServer(replying(OK), good);
  t.after(() => origin.close());
  const wire = await startWire(t);
  const cases = [
    ['127.0.0.1', undefined, 'IP Address:127.0.0.1'],
    ['o.test', undefined, 'DNS:o.test'],
    ['127.0.0.1', 'o.test', 'DNS:o.test'],
    ['o.test', 'b.test', 'DNS:b.test'],
  ] as const;
  for (const [host, servername, name] of cases) {
    const socket = await wire.tunnel(`${host}:${origin.port}`);
    // Without a name to ask for, the client checks the certificate for the host that it connects to.
    const secured = await wire.secureOver(
      socket,
      servername === undefined ? { host, servername: '' } : { servername },
    );
    assert.equal(secured.getPeerCertificate().subjectaltname, name);
    secured.write(inner(host));
    assert.deepEqual(statuses(await heardToEnd(secured)), [200], `${host} ${servername}`);
  }
  assert.deepEqual(new Set(wire.lookups), new Set(['o.test']));
});

test('B21 B29 a leaf has exactly one name, no wildcard, whatever the name is like', async (t) => {
  const wire = await startWire(t);
  for (const name of [
    'a.b.example.test',
    'example.test',
    'co.test',
    'test',
    'a_b.example.test',
    'localhost',
  ]) {
    const secured = await wire.secure(`${name}:443`, { servername: name });
    assert.equal(secured.getPeerCertificate().subjectaltname, `DNS:${name}`);
    secured.destroy();
  }
  const dotted = await wire.secure('o.test.:443', { servername: 'o.test' });
  assert.equal(dotted.getPeerCertificate().subjectaltname, 'DNS:o.test', 'B28');
});

test('B26 a certificate that does not hold is 502 inside TLS after one handshake, for that host alone', async (t) => {
  const selfSigned = await rawTlsServer(replying(OK), expired);
  t.after(() => selfSigned.close());
  const sound = await rawTlsServer(replying(OK), good);
  t.after(() => sound.close());
  const wire = await startWire(t);
  const ask = async (host: string, port: number) => {
    const secured = await wire.secure(`${host}:${port}`);
    secured.write(inner(host));
    return heardToEnd(secured);
  };
  const bad = [await ask('o.test', selfSigned.port), await ask('wrong.test', sound.port)];
  for (const reply of bad) {
    assert.deepEqual(statuses(reply), [502]);
    assert.match(reply, /error=tls_certificate_error/);
    assert.match(reply, /Forbear-Verdict: client\/untrusted_certificate/);
    assert.match(reply, /Forbear-Attempts: 1\r\n/);
  }
  assert.equal(selfSigned.accepted, 1);
  assert.deepEqual(statuses(await ask('up.test', sound.port)), [200]);
});

test('B26 a host that is excused by name is served, others are still checked', async (t) => {
  const origin = await rawTlsServer(replying(OK), expired);
  t.after(() => origin.close());
  const wire = await startWire(t, ['tls: { insecure_hosts: [o.test] }']);
  for (const [host, status] of [
    ['o.test', 200],
    ['b.test', 502],
  ] as const) {
    const secured = await wire.secure(`${host}:${origin.port}`);
    secured.write(inner(host));
    assert.deepEqual(statuses(await heardToEnd(secured)), [status], host);
  }
});

test('B26 in a blind tunnel the client sees the certificate of the origin itself', async (t) => {
  const origin = await rawTlsServer(replying(OK), good);
  t.after(() => origin.close());
  const wire = await startWire(t, ['intercept: { except: [o.test] }']);
  const socket = await wire.tunnel(`o.test:${origin.port}`);
  const secured = await wire.secureOver(socket, { ca: root, servername: 'o.test' });
  assert.match(secured.getPeerCertificate().subjectaltname ?? '', /DNS:up\.test/);
  secured.write(inner('o.test'));
  assert.deepEqual(statuses(await heard(secured, (got) => got.endsWith('ok'))), [200]);
});

test('B24 handshakes for many names at once, and many for one, are all served', async (t) => {
  const wire = await startWire(t);
  const names = Array.from({ length: 60 }, (_, i) => `h${i % 20}.test`);
  const secured = await Promise.all(names.map((name) => wire.secure(`${name}:443`)));
  const shown = secured.map((socket) => socket.getPeerCertificate());
  assert.deepEqual(
    shown.map(({ subjectaltname }) => subjectaltname),
    names.map((name) => `DNS:${name}`),
  );
  assert.equal(new Set(shown.map(({ serialNumber }) => serialNumber)).size, 20, 'one leaf a name');
});

test('B13 a ClientHello is waited for in any pieces, and a handshake that is given up leaves nothing', async (t) => {
  const wire = await startWire(t, ['policy: { timeouts: { connect: 300ms } }']);
  const hello = await clientHello();
  for (const cut of [1, 5, 60, hello.length - 1]) {
    const socket = await wire.tunnel('o.test:443');
    socket.write(hello.subarray(0, cut));
    // The rest goes in a segment of its own.
    await new Promise((resolve) => setImmediate(resolve));
    socket.write(hello.subarray(cut));
    const [first] = await heard(socket, (got) => got.length > 0);
    assert.equal(first, '\x16', 'a ServerHello');
    socket.destroy();
  }
  const silent = await wire.tunnel('o.test:443');
  silent.write(hello.subarray(0, 1));
  assert.equal(await heardToEnd(silent), '');
  await until(() => wire.proxy.activity().connections <= 1);
});

/** What a client says first, as bytes. */
async function clientHello(): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = await rawServer((socket) => socket.once('data', resolve));
  const client = tls.connect({ host: '127.0.0.1', port: server.port, servername: 'o.test' });
  client.on('error', () => {});
  const bytes = await promise;
  client.destroy();
  await server.close();
  return bytes;
}
