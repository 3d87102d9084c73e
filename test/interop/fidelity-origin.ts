import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { good } from '../support/certificates.ts';
import { rawServer, rawTlsServer } from '../support/raw-server.ts';

/** One request, as the bytes were. */
export interface Seen {
  readonly scheme: 'http' | 'https';
  readonly requestLine: string;
  /** The lines of the head behind the request line, latin1. */
  readonly lines: readonly string[];
  /** SHA-256 of the body without its framing, and how many bytes it has. */
  readonly body: string;
  readonly trailers: readonly string[];
}

/** A site on HTTP and HTTPS that writes down what it is sent, and answers it. */
export interface FidelityOrigin {
  readonly bases: readonly [http: string, https: string];
  /** All that was asked since the last time. */
  take(): Seen[];
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok';
const MISSING = 'HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno';

export async function startFidelityOrigin(t: TestContext): Promise<FidelityOrigin> {
  let seen: Seen[] = [];
  const serve = (scheme: Seen['scheme']) => (socket: Socket) => {
    let bytes = Buffer.alloc(0);
    let promised = false;
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (;;) {
        const head = headOf(bytes);
        if (head === undefined) return;
        if (!promised && /^expect: 100-continue$/im.test(head.lines.join('\n'))) {
          promised = true;
          socket.write('HTTP/1.1 100 Continue\r\n\r\n');
        }
        const body = bodyOf(head.lines, bytes.subarray(head.length));
        if (body === undefined) return;
        bytes = bytes.subarray(head.length + body.length);
        promised = false;
        const { requestLine, lines } = head;
        const settled = withoutBoundary(body.bytes, lines);
        seen.push({ scheme, requestLine, lines, body: digest(settled), trailers: body.trailers });
        answer(socket, requestLine);
      }
    });
  };
  const plain = await rawServer(serve('http'));
  const secure = await rawTlsServer(serve('https'), good);
  t.after(() => Promise.all([plain.close(), secure.close()]));
  return {
    bases: [`http://127.0.0.1:${plain.port}`, `https://127.0.0.1:${secure.port}`],
    take() {
      const taken = seen;
      seen = [];
      return taken;
    },
  };
}

function answer(socket: Socket, requestLine: string): void {
  const reply = requestLine.includes('/missing/') ? MISSING : OK;
  socket.write(requestLine.startsWith('HEAD ') ? reply.slice(0, -2) : reply);
  if (requestLine.endsWith('HTTP/1.0')) socket.end();
}

function headOf(bytes: Buffer) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [requestLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  return { requestLine, lines, length: end + 4 };
}

interface Body {
  readonly bytes: Buffer;
  readonly trailers: readonly string[];
  /** On the wire. */
  readonly length: number;
}

function bodyOf(lines: readonly string[], bytes: Buffer): Body | undefined {
  if (lines.some((line) => /^transfer-encoding: *chunked$/i.test(line))) return unchunked(bytes);
  const length = Number(lines.find((line) => /^content-length:/i.test(line))?.slice(15) ?? 0);
  if (bytes.length < length) return undefined;
  return { bytes: bytes.subarray(0, length), trailers: [], length };
}

function unchunked(bytes: Buffer): Body | undefined {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + 2;
    if (size > 0) {
      if (bytes.length < start + size + 2) return undefined;
      pieces.push(bytes.subarray(start, start + size));
      at = start + size + 2;
      continue;
    }
    const end = bytes.indexOf('\r\n\r\n', lineEnd);
    if (end === -1) return undefined;
    const trailers = bytes.toString('latin1', start, Math.max(start, end)).split('\r\n');
    return {
      bytes: Buffer.concat(pieces),
      trailers: trailers.filter((line) => line !== ''),
      length: end + 4,
    };
  }
}

/** A boundary is another one each time. */
function withoutBoundary(bytes: Buffer, lines: readonly string[]): Buffer {
  const boundary = /^content-type: multipart\/.*boundary=(\S+)/im.exec(lines.join('\n'))?.[1];
  if (boundary === undefined) return bytes;
  return Buffer.from(bytes.toString('latin1').replaceAll(boundary, '*'), 'latin1');
}

const digest = (bytes: Buffer): string =>
  `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`;
