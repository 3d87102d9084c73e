import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { good } from '../test/support/certificates.ts';
import { chance } from '../test/support/chance.ts';
import { Answer, HINT, type Memory, nth, type OriginOptions } from './chaos-answer.ts';
import { createH2Origin } from './chaos-h2-origin.ts';
import { bytesOf, digest } from './chaos-pages.ts';

/** The ports of a site that misbehaves by the seed, on 127.0.0.1. */
export interface Origin {
  readonly plain: number;
  readonly secure: number;
  /** Speaks a protocol of its own, the client first. */
  readonly raw: number;
  /** The same, but the server says the first word. */
  readonly first: number;
  /** Speaks HTTP/2 and nothing else. */
  readonly h2: number;
  close(): void;
}

/** Starts the site. */
export async function startOrigin(o: OriginOptions): Promise<Origin> {
  const tries = new Map<string, number>();
  const posts = new Map<string, 'sent' | 'refused'>();
  const serve = (req: IncomingMessage, res: ServerResponse) => {
    void new H1Answer(req, res, { ...o, tries, posts }).give();
  };
  const servers = [createServer(serve), createSecureServer(good, serve)];
  for (const server of servers) {
    server.on('upgrade', (req: IncomingMessage, socket: Duplex) => {
      switchOver(req, socket, { ...o, tries, posts });
    });
    server.on('clientError', (_error, socket) => socket.destroy());
    server.keepAliveTimeout = 5000;
  }
  const raw = createPlainServer((socket) => speak(socket, ''));
  const first = createPlainServer((socket) => speak(socket, GREETING));
  const all = [...servers, raw, first, createH2Origin({ ...o, tries, posts })] as Server[];
  for (const server of all) server.listen(0, '127.0.0.1');
  await Promise.all(all.map((server) => once(server, 'listening')));
  const ports = all.map((server) => (server.address() as AddressInfo).port);
  const [plain = 0, secure = 0, rawPort = 0, firstPort = 0, h2 = 0] = ports;
  const close = () => {
    for (const server of all) server.close();
  };
  return { plain, secure, raw: rawPort, first: firstPort, h2, close };
}

/** What the server says that speaks first. */
export const GREETING = 'READY\n';

/** `ASK name size`, answered with four bytes of length and the bytes. */
function speak(socket: Socket, greeting: string): void {
  socket.on('error', () => {});
  socket.write(greeting);
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1');
    const [, name = '', size] = /^ASK (\S+) (\d+)\n/.exec(heard) ?? [];
    if (size === undefined) return;
    heard = '';
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Number(size));
    socket.write(Buffer.concat([length, bytesOf(name, Number(size))]));
  });
}

/** Switches protocols, mostly, and says everything back. */
function switchOver(req: IncomingMessage, socket: Duplex, memory: Memory): void {
  socket.on('error', () => {});
  const id = req.url ?? '';
  const roll = chance(memory.seed, 'switch', id, nth(memory.tries, id));
  if (roll < 0.05) return void socket.destroy();
  if (roll < 0.1) {
    const body = 'busy';
    const fields = `X-Meant: ${digest(Buffer.from(body))}\r\nContent-Length: 4\r\n`;
    return void socket.end(`HTTP/1.1 503 Busy\r\n${fields}\r\n${body}`);
  }
  const key = `${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash('sha1').update(key).digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  socket.pipe(socket);
}

class H1Answer extends Answer {
  readonly #res: ServerResponse;
  readonly #socket: Socket;

  constructor(req: IncomingMessage, res: ServerResponse, memory: Memory) {
    super(req, memory);
    this.#res = res;
    this.#socket = req.socket;
  }

  protected override send(status: number, fields: Record<string, string>, body: Buffer): void {
    if (this.page.framing === 'gzip_close' && status === 200) {
      this.#res.useChunkedEncodingByDefault = false;
      this.#res.shouldKeepAlive = false;
    }
    this.#res.writeHead(status, fields).end(body);
  }

  protected override hint(): void {
    this.#res.writeEarlyHints({ link: HINT });
  }

  protected override reset(): void {
    reset(this.#socket);
  }

  protected override async spoilt(): Promise<void> {
    const { fields, body } = this.whole();
    const { method } = this;
    const socket = this.#socket;
    const kinds = ['cut', 'cut', 'long', 'chunk', 'size', 'extra', 'drip', 'stall', 'head', 'both'];
    const kind = kinds[Math.floor(this.roll('spoilt') * kinds.length)] ?? '';
    const at = Math.floor(this.roll('at') * body.length);
    const part = body.subarray(0, at);
    if (method === 'HEAD' || body.length === 0) return void socket.destroy();
    const length = { ...fields, 'Content-Length': String(body.length) };
    const chunked: Record<string, string> = { ...fields, 'Transfer-Encoding': 'chunked' };
    delete chunked['Content-Length'];
    const hang = () => (this.roll('end') < 0.5 ? socket.destroySoon() : reset(socket));
    switch (kind) {
      case 'cut':
        socket.write(head(length));
        return void socket.write(part, hang);
      case 'long':
        socket.write(head({ ...fields, 'Content-Length': String(body.length + 1 + at) }));
        return void socket.write(body, hang);
      case 'chunk':
        socket.write(`${head(chunked)}${body.length.toString(16)}\r\n`);
        return void socket.write(part, hang);
      case 'size':
        socket.write(`${head(chunked)}${(at + 1).toString(16)}\r\n`);
        return void socket.write(Buffer.concat([body.subarray(0, at + 1), NO_SIZE]), hang);
      case 'extra':
        return void socket.write(Buffer.concat([Buffer.from(head(length)), body, NO_SIZE]), hang);
      case 'both':
        return void socket.write(head({ ...length, 'Transfer-Encoding': 'chunked' }), hang);
      case 'head':
        return void socket.write(head(length).slice(0, 20 + (at % 40)), hang);
      case 'stall':
        return void socket.write(Buffer.concat([Buffer.from(head(length)), part]));
      default:
        socket.write(head(length));
        return drip(socket, body);
    }
  }
}

const NO_SIZE = Buffer.from('\r\nthis is no chunk and no reply\r\n');

function head(fields: Record<string, string>): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`;
}

function reset(socket: Socket): void {
  const { _parent: below } = socket as Socket & { _parent?: Socket };
  (below ?? socket).resetAndDestroy();
}

async function drip(socket: Socket, body: Buffer): Promise<void> {
  const step = Math.ceil(body.length / 30);
  for (let at = 0; at < body.length && !socket.destroyed; at += step) {
    socket.write(body.subarray(at, at + step));
    await pause(25);
  }
  socket.destroySoon();
}
