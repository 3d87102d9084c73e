import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { onHead, type Serve } from './raw-server.ts';

/** The key of RFC 6455 section 1.3, and the answer to it. */
export const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
export const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

/** A frame from a server: text, not masked. */
export const frame = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);

export const SWITCH = [
  'HTTP/1.1 101 Web Socket Protocol Handshake',
  'upgrade: WebSocket',
  'Connection:Upgrade',
  `sec-websocket-ACCEPT:   ${ACCEPT}`,
  'X-Twice: a',
  'X-Twice: b',
  '',
  '',
].join('\r\n');

/** A handshake as a browser sends it, but for its own order and case. */
export function handshake(target: string, host: string, extra: readonly string[] = []): string {
  return [
    `GET ${target} HTTP/1.1`,
    `Host: ${host}`,
    'connection: keep-alive, Upgrade',
    'pragma: no-cache',
    'UPGRADE: websocket',
    'Sec-WebSocket-Version: 13',
    `sec-websocket-key: ${KEY}`,
    ...extra,
    '',
    '',
  ].join('\r\n');
}

/** A socket with everything it has said, to be waited on. */
export interface Talker {
  readonly socket: Socket;
  readonly said: string;
  /** Waits until it has said something with this in it. */
  hears(text: string): Promise<string>;
  /** Waits until it is closed, in whichever way. */
  readonly closed: Promise<string>;
}

export function talker(socket: Socket): Talker {
  let said = '';
  const looks = new Set<() => void>();
  const lookAll = () => {
    for (const look of looks) look();
  };
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    said += chunk.toString('latin1');
    lookAll();
  });
  socket.resume();
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  socket.once('close', () => {
    resolve(said);
    lookAll();
  });
  return {
    socket,
    closed,
    get said() {
      return said;
    },
    hears(text) {
      const { promise, resolve: found, reject } = Promise.withResolvers<string>();
      const look = () => {
        if (said.includes(text)) found(said);
        else if (socket.destroyed) reject(new Error(`closed after ${JSON.stringify(said)}`));
        else return;
        looks.delete(look);
      };
      looks.add(look);
      look();
      return promise;
    },
  };
}

/** Connects to the proxy and sends these bytes. */
export async function open(port: number, bytes: string | Buffer): Promise<Talker> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  const client = talker(socket);
  socket.write(bytes);
  return client;
}

/** A tunnel through the proxy, with its 200 read. */
export async function tunnelTo(port: number, target: string, login = ''): Promise<Socket> {
  const client = await open(port, `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${login}\r\n`);
  assert.match(await client.hears('\r\n\r\n'), /^HTTP\/1\.1 200 /);
  client.socket.removeAllListeners('data').pause();
  return client.socket;
}

/** TLS inside a tunnel, with no questions about certificates. */
export async function secured(socket: Socket, servername: string): Promise<TLSSocket> {
  const inner = connectTls({ socket, servername, rejectUnauthorized: false });
  inner.on('error', () => {});
  await once(inner, 'secureConnect');
  return inner;
}

/** A site that answers each handshake by the script (the last step again and again), and echoes once it has switched. */
export function switchingSite(
  steps: readonly (string | Buffer | 'reset' | 'close')[],
  heads: string[],
  sockets: Socket[] = [],
  from: (string | undefined)[] = [],
): Serve {
  return (socket) => {
    sockets.push(socket);
    from.push(socket.remoteAddress);
    onHead(socket, (head, rest) => {
      heads.push(head);
      const step = steps[Math.min(heads.length, steps.length) - 1] ?? '';
      if (step === 'reset') return void socket.resetAndDestroy();
      if (step === 'close') return void socket.end();
      socket.write(step);
      if (!step.toString('latin1').startsWith('HTTP/1.1 101')) return;
      socket.removeAllListeners('data');
      socket.on('data', (chunk: Buffer) => socket.write(Buffer.concat([Buffer.from('>'), chunk])));
      if (rest.length > 0) socket.emit('data', rest);
    });
  };
}
