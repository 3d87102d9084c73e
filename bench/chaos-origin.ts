import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { good } from '../test/support/certificates.ts';
import { chance } from '../test/support/chance.ts';
import { bytesOf, digest, MEANT, type Page, pageAt } from './chaos-pages.ts';

export interface OriginOptions {
  readonly seed: string;
  /** Told of what must never reach a site. */
  readonly onWrong: (what: string, id: string) => void;
}

/** The ports of a site that misbehaves by the seed, on 127.0.0.1. */
export interface Origin {
  readonly plain: number;
  readonly secure: number;
  /** Speaks a protocol of its own, the client first. */
  readonly raw: number;
  /** The same, but the server says the first word. */
  readonly first: number;
  close(): void;
}

/** Starts the site. */
export async function startOrigin(o: OriginOptions): Promise<Origin> {
  const tries = new Map<string, number>();
  const posts = new Map<string, 'sent' | 'refused'>();
  const serve = (req: IncomingMessage, res: ServerResponse) => {
    void new Answer(req, res, { ...o, tries, posts }).give();
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
  const all = [...servers, raw, first] as Server[];
  for (const server of all) server.listen(0, '127.0.0.1');
  await Promise.all(all.map((server) => once(server, 'listening')));
  const ports = all.map((server) => (server.address() as AddressInfo).port);
  const [plain = 0, secure = 0, rawPort = 0, firstPort = 0] = ports;
  const close = () => {
    for (const server of all) server.close();
  };
  return { plain, secure, raw: rawPort, first: firstPort, close };
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

type Memory = OriginOptions & {
  readonly tries: Map<string, number>;
  readonly posts: Map<string, 'sent' | 'refused'>;
};

/** Which request for it this is, from 1 on. */
function nth(tries: Map<string, number>, id: string): number {
  const n = (tries.get(id) ?? 0) + 1;
  tries.set(id, n);
  if (tries.size > REMEMBERED) tries.delete([...tries.keys()][0] ?? '');
  return n;
}

const REMEMBERED = 5000;

/** One reply of the site: a page, or a fault. */
class Answer {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #memory: Memory;
  readonly #page: Page;
  readonly #roll: (what: string) => number;

  constructor(req: IncomingMessage, res: ServerResponse, memory: Memory) {
    this.#req = req;
    this.#res = res;
    this.#memory = memory;
    this.#page = pageAt(req.url ?? '');
    const { id } = this.#page;
    const n = nth(memory.tries, id);
    this.#roll = (what) => chance(memory.seed, id, n, what);
  }

  async give(): Promise<void> {
    this.#req.on('error', () => {});
    this.#countPost();
    if (!(await this.#took())) return;
    const fault = this.#page.isCalm ? 1 : this.#roll('fault');
    if (fault < 0.02) return reset(this.#req.socket);
    if (fault < 0.05) return this.#status(503, 'busy');
    if (fault < 0.06) return this.#status(503, 'busy', { 'Retry-After': '1' });
    if (fault < 0.065) return this.#status(429, 'slow down', { 'Retry-After': '1' });
    if (fault < 0.075) return this.#status(500, 'broken');
    if (fault < 0.08) return this.#status(404, 'not here');
    if (fault < 0.09) return; // Silent until it is hung up on.
    if (fault < 0.11) await pause(400 * this.#roll('wait'));
    if (fault < 0.26) return this.#spoilt();
    this.#good();
  }

  /** A POST that may have been executed must not come again. */
  #countPost(): void {
    if (this.#req.method !== 'POST') return;
    const { posts, onWrong } = this.#memory;
    const { id } = this.#page;
    if (posts.get(id) === 'sent') onWrong('a POST came twice', id);
    posts.set(id, 'sent');
    if (posts.size > REMEMBERED) posts.delete([...posts.keys()][0] ?? '');
  }

  /** Reads the upload; one that ends well is whole, or somebody cut it. */
  async #took(): Promise<boolean> {
    const { id, upload } = this.#page;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of this.#req) chunks.push(chunk as Buffer);
    } catch {
      return false;
    }
    const got = Buffer.concat(chunks);
    if (upload > 0 && !got.equals(bytesOf(`up${id}`, upload))) {
      this.#memory.onWrong(`an upload of ${upload} bytes arrived as ${got.length}`, id);
    }
    return true;
  }

  #status(status: number, body: string, fields: Record<string, string> = {}): void {
    if (fields['Retry-After'] !== undefined && this.#req.method === 'POST') {
      this.#memory.posts.set(this.#page.id, 'refused');
    }
    const meant = digest(Buffer.from(body));
    this.#res.writeHead(status, { [MEANT]: meant, 'Content-Length': body.length, ...fields });
    this.#res.end(body);
  }

  #whole(): { fields: Record<string, string>; body: Buffer } {
    const { id, size, framing, type } = this.#page;
    const plain = bytesOf(id, size);
    const body = framing.startsWith('gzip') ? gzipSync(plain) : plain;
    const fields: Record<string, string> = {
      [MEANT]: digest(body),
      'Content-Type': type === 'html' ? 'text/html' : 'application/octet-stream',
    };
    if (framing.startsWith('gzip')) fields['Content-Encoding'] = 'gzip';
    if (framing === 'length' || framing === 'gzip') fields['Content-Length'] = String(body.length);
    if (type === 'tagged') fields.ETag = `"${id}"`;
    return { fields, body };
  }

  #good(): void {
    const { fields, body } = this.#whole();
    const { headers, method } = this.#req;
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1]);
    if (headers['if-range'] === fields.ETag && from < body.length && fields.ETag !== undefined) {
      const rest = body.subarray(from);
      const range = `bytes ${from}-${body.length - 1}/${body.length}`;
      const told = { ...fields, 'Content-Range': range, 'Content-Length': String(rest.length) };
      this.#res.writeHead(206, told).end(rest);
      return;
    }
    if (this.#page.framing === 'gzip_close') {
      this.#res.useChunkedEncodingByDefault = false;
      this.#res.shouldKeepAlive = false;
    }
    if (this.#roll('hint') < 0.03 && method !== 'HEAD') {
      this.#res.writeEarlyHints({ link: '</style.css>; rel=preload' });
    }
    this.#res.writeHead(200, fields).end(method === 'HEAD' ? '' : body);
  }

  /** A reply that is not what its head says, or not all of it. */
  async #spoilt(): Promise<void> {
    const { fields, body } = this.#whole();
    const { socket, method } = this.#req;
    const kinds = ['cut', 'cut', 'long', 'chunk', 'size', 'extra', 'drip', 'stall', 'head', 'both'];
    const kind = kinds[Math.floor(this.#roll('spoilt') * kinds.length)] ?? '';
    const at = Math.floor(this.#roll('at') * body.length);
    const part = body.subarray(0, at);
    if (method === 'HEAD' || body.length === 0) return void socket.destroy();
    const length = { ...fields, 'Content-Length': String(body.length) };
    const chunked: Record<string, string> = { ...fields, 'Transfer-Encoding': 'chunked' };
    delete chunked['Content-Length'];
    const hang = () => (this.#roll('end') < 0.5 ? socket.destroySoon() : reset(socket));
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
