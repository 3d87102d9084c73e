import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** A server that can send any bytes, count its connections, and be waited for. */
export interface RawServer {
  readonly host: string;
  readonly port: number;
  /** Connections so far. */
  readonly accepted: number;
  /** Connections that are open now. */
  readonly open: number;
  /** What each connection has said so far, latin1. */
  readonly heard: readonly string[];
  close(): Promise<void>;
}

/** What a connection is to a test: its socket, and its number from 1 on. */
export type Serve = (socket: Socket, n: number) => void;

/** Starts a plain TCP server on a loopback address. */
export function rawServer(serve: Serve, host = '127.0.0.1'): Promise<RawServer> {
  return start(createServer(), 'connection', serve, host);
}

/** Starts a TLS server on a loopback address. */
export function rawTlsServer(serve: Serve, o: TlsOptions, host = '127.0.0.1'): Promise<RawServer> {
  return start(createTlsServer(o), 'secureConnection', serve, host);
}

/** Calls back with each whole request head (the bytes behind it are left to the caller), latin1. */
export function onHead(socket: Socket, answer: (head: string, rest: Buffer) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    const end = bytes.indexOf('\r\n\r\n');
    if (end === -1) return;
    const head = bytes.toString('latin1', 0, end + 4);
    const rest = bytes.subarray(end + 4);
    bytes = Buffer.alloc(0);
    answer(head, rest);
  });
}

/** Serves every request of a connection with the same bytes. */
export function replying(bytes: string | Buffer): Serve {
  return (socket) => onHead(socket, () => socket.write(bytes));
}

/** Resolves when `fact` holds; looks again at each turn of the event loop. */
export async function until(fact: () => boolean): Promise<void> {
  while (!fact()) await new Promise((resolve) => setImmediate(resolve));
}

async function start(
  server: Server,
  event: 'connection' | 'secureConnection',
  serve: Serve,
  host: string,
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const heard: string[] = [];
  let accepted = 0;
  server.on('connection', (socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  server.on(event, (socket: Socket) => {
    const n = heard.push('') - 1;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heard[n] += chunk.toString('latin1');
    });
    serve(socket, n + 1);
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    host,
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    heard,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await until(() => sockets.size === 0);
    },
  };
}
