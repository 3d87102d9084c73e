import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createPlainServer,
  type Socket,
} from 'node:net';
import { digest, MEANT } from './chaos-pages.ts';

/** An upstream proxy on 127.0.0.1. */
export interface ChaosUpstream {
  readonly port: number;
  close(): void;
}

/** An HTTP proxy that says what it knows: what breaks on its far side breaks on its near one. */
export async function startHttpUpstream(): Promise<ChaosUpstream> {
  const server = createServer(forward);
  server.on('connect', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(req.url ?? '') ?? [];
    socket.on('error', () => {});
    const far = connect({ host, port: Number(port) });
    socket.once('close', () => far.destroy());
    const refuse = () => void socket.end('HTTP/1.1 502 No Way\r\nContent-Length: 0\r\n\r\n');
    far.once('error', refuse);
    far.once('connect', () => {
      far.off('error', refuse);
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) far.write(head);
      join(socket, far);
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, close: () => server.close() };
}

function forward(near: IncomingMessage, answer: ServerResponse): void {
  const { hostname: host, port, pathname: path } = new URL(near.url ?? '');
  const { method } = near;
  const far = request({ host, port, path, method, headers: near.rawHeaders, agent: false });
  far.on('response', (reply) => {
    answer.writeHead(reply.statusCode ?? 502, reply.statusMessage, reply.rawHeaders);
    reply.pipe(answer);
    reply.on('error', () => answer.destroy());
  });
  far.on('error', () => {
    if (answer.headersSent || near.errored) return void answer.destroy();
    const body = 'the way out is closed';
    answer.writeHead(502, { [MEANT]: digest(Buffer.from(body)), 'Content-Length': body.length });
    answer.end(body);
  });
  near.on('error', () => far.destroy());
  near.pipe(far);
  answer.on('close', () => far.destroy());
}

/** A SOCKS5 proxy without a login. */
export async function startSocksUpstream(): Promise<ChaosUpstream> {
  const server = createPlainServer((socket) => {
    socket.on('error', () => {});
    void socksServe(socket).catch(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, close: () => server.close() };
}

async function socksServe(socket: Socket): Promise<void> {
  const mouthful = new Mouthful(socket);
  const [, methods = 0] = await mouthful.take(2);
  await mouthful.take(methods);
  socket.write(Buffer.from([5, 0]));
  const [, , , kind] = await mouthful.take(4);
  const length = kind === 1 ? 4 : ((await mouthful.take(1))[0] ?? 0);
  const name = await mouthful.take(length);
  const port = (await mouthful.take(2)).readUInt16BE();
  mouthful.close();
  const host = kind === 1 ? [...name].join('.') : name.toString('latin1');
  const far = connect({ host, port });
  const refuse = () => void socket.end(socksReply(4));
  far.once('error', refuse);
  far.once('connect', () => {
    far.off('error', refuse);
    socket.write(socksReply(0));
    join(socket, far);
  });
  socket.once('close', () => far.destroy());
}

const socksReply = (code: number): Buffer => Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);

/** Reads so many bytes at a time, however they come. */
class Mouthful {
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #look = () => {};
  readonly #onData = (chunk: Buffer) => {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    this.#look();
  };

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', this.#onData);
  }

  async take(size: number): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#look = () => {
      if (this.#bytes.length >= size) resolve();
    };
    const onClose = () => reject(new Error('cut off'));
    this.#socket.once('close', onClose);
    this.#look();
    await promise;
    this.#socket.off('close', onClose);
    const taken = this.#bytes.subarray(0, size);
    this.#bytes = this.#bytes.subarray(size);
    return taken;
  }

  /** Gives the rest back to the socket. */
  close(): void {
    this.#socket.off('data', this.#onData).pause();
    if (this.#bytes.length > 0) this.#socket.unshift(this.#bytes);
  }
}

/** Joins two sockets; a reset on one is a reset on the other. */
function join(near: Socket, far: Socket): void {
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.resetAndDestroy());
    one.once('close', () => other.destroySoon());
    one.pipe(other);
  }
}
