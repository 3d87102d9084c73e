import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { good } from '../support/certificates.ts';
import { type ClientWire, fieldOf, heard, startWire } from '../support/client-wire.ts';
import { onHead, rawServer, until } from '../support/raw-server.ts';
import { got } from './h2-client-rig.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const acceptOf = (head: string) =>
  createHash('sha1')
    .update(`${fieldOf(head, 'sec-websocket-key')}${GUID}`)
    .digest('base64');

const switchTo = (accept: string, ...fields: string[]) =>
  [
    'HTTP/1.1 101 X',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...fields,
    '',
    '',
  ].join('\r\n');

interface Chat {
  readonly wire: ClientWire;
  readonly heads: string[];
  /** The site's ends. */
  readonly ends: Socket[];
  /** What is beneath their TLS. */
  readonly raw: Socket[];
  readonly client: ClientHttp2Session;
}

/** A site that answers each handshake as it is told, and an HTTP/2 client before it. */
async function chat(t: TestContext, answer: (head: string, n: number) => string): Promise<Chat> {
  const heads: string[] = [];
  const ends: Socket[] = [];
  const raw: Socket[] = [];
  const site = await rawServer((socket) => {
    const inner = new TLSSocket(socket, { isServer: true, ...good });
    inner.on('error', () => {});
    onHead(inner, (head) => {
      heads.push(head);
      ends.push(inner);
      raw.push(socket);
      inner.write(answer(head, heads.length));
    });
  });
  t.after(() => site.close());
  const wire = await startWire(t, ['policy: { backoff: { base: 10ms } }']);
  const inner = await wire.secure(`o.test:${site.port}`, { ALPNProtocols: ['h2'] });
  const client = connect(`https://o.test:${site.port}`, { createConnection: () => inner });
  client.on('error', () => {});
  await once(client, 'remoteSettings');
  return { wire, heads, ends, raw, client };
}

const WISH = {
  ':method': 'CONNECT',
  ':protocol': 'websocket',
  ':path': '/chat',
  'sec-websocket-version': '13',
  'sec-websocket-protocol': 'a, b',
  origin: 'https://page.test',
};

test('an extended CONNECT becomes an upgrade at the site, and its 101 a 200', async (t) => {
  const { wire, heads, ends, client } = await chat(t, (head) =>
    switchTo(acceptOf(head), 'Sec-WebSocket-Protocol: b', 'X-More: 1'),
  );
  assert.equal(client.remoteSettings.enableConnectProtocol, true);
  const stream = client.request(WISH, { endStream: false });
  stream.setEncoding('latin1');
  const [fields] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(fields[':status'], 200);
  assert.equal(fields['sec-websocket-protocol'], 'b');
  assert.equal(fields['x-more'], '1');
  for (const name of ['sec-websocket-accept', 'upgrade', 'connection']) {
    assert.equal(fields[name], undefined, name);
  }
  const [head = ''] = heads;
  assert.match(head, /^GET \/chat HTTP\/1\.1\r\n/);
  assert.equal(fieldOf(head, 'upgrade'), 'websocket');
  assert.match(fieldOf(head, 'connection') ?? '', /upgrade/i);
  assert.equal(Buffer.from(fieldOf(head, 'sec-websocket-key') ?? '', 'base64').length, 16);
  assert.equal(fieldOf(head, 'origin'), 'https://page.test');
  assert.equal(fieldOf(head, 'sec-websocket-protocol'), 'a, b');
  assert.doesNotMatch(head, /:protocol|forbear/i);

  const far = ends[0] as Socket;
  stream.write('from the client');
  assert.equal(await heard(far, (text) => text.length >= 15), 'from the client');
  far.write('from the site');
  const [text] = (await once(stream, 'data')) as [string];
  assert.equal(text, 'from the site');
  far.end();
  stream.end();
  await once(stream, 'close');
  assert.equal(stream.rstCode, 0);
  await until(() => wire.told('exchange_finished').length === 1);
  assert.equal(wire.told('exchange_finished')[0]?.answered, 200);
  client.close();
});

test('a site that refuses is heard, and one that is overloaded is asked again like for any request', async (t) => {
  const refused = await chat(t, () => 'HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nnope');
  const reply = await got(refused.client.request({ ...WISH }, { endStream: false }));
  assert.deepEqual([reply.status, reply.body, reply.code], [403, 'nope', 0]);
  refused.client.close();

  const busy = await chat(t, (head, n) =>
    n === 1 ? 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n' : switchTo(acceptOf(head)),
  );
  const stream = busy.client.request(WISH, { endStream: false });
  const [fields] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(fields[':status'], 200);
  assert.equal(busy.heads.length, 2);
  stream.close(8);
  busy.client.close();
});

test('a 101 that does not fit the key is no WebSocket: 502, and the site is let go', async (t) => {
  const { ends, client } = await chat(t, () => switchTo('c3RhbGU='));
  const reply = await got(client.request(WISH, { endStream: false }));
  assert.equal(reply.status, 502);
  assert.equal(JSON.parse(reply.body).reason, 'malformed_reply');
  await until(() => ends[0]?.destroyed === true);
  client.close();
});

test('a reset on one side is one on the other, and the connection goes on', async (t) => {
  const { ends, raw, client, wire } = await chat(t, (head) => switchTo(acceptOf(head)));
  const left = client.request(WISH, { endStream: false });
  await once(left, 'response');
  left.close(8);
  await until(() => ends[0]?.destroyed === true);

  const cut = client.request(WISH, { endStream: false });
  cut.on('error', () => {});
  await once(cut, 'response');
  raw[1]?.resetAndDestroy();
  await new Promise<void>((closed) => cut.once('close', () => closed()));
  assert.notEqual(cut.rstCode, 0);
  await until(() => wire.told('exchange_finished').length === 2);
  assert.equal(client.destroyed, false);
  client.close();
  await until(() => wire.proxy.activity().connections === 0);
  assert.deepEqual(wire.proxy.activity(), { connections: 0, exchanges: 0, sockets: 0 });
});

test('another protocol than websocket is not implemented, and nothing is sent', async (t) => {
  const { heads, client } = await chat(t, () => '');
  const reply = await got(
    client.request({ ...WISH, ':protocol': 'connect-udp' }, { endStream: false }),
  );
  assert.equal(reply.status, 501);
  assert.equal(heads.length, 0);
  client.close();
});
