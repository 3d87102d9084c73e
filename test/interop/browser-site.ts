import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { bodyOf, digestOf, type LoopbackSite, startSite } from './loopback-site.ts';

/** Scripts of the gallery, beside as many pictures. */
export const PARTS = 40;

/** What `/download` gives. */
export const DOWNLOAD = Buffer.alloc(3_000_000, 'what is downloaded ');

/** Starts a site that does what sites do in browsers. */
export function startBrowserSite(t: TestContext, protocol: 'h1' | 'h2'): Promise<LoopbackSite> {
  const streams = new Set<ServerResponse>();
  const answer = (request: IncomingMessage, response: ServerResponse) =>
    serve(request, response, streams);
  return startSite(t, answer, { upgrade: echo, protocol });
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  streams: Set<ServerResponse>,
): Promise<void> {
  const [, kind, name] = (request.url ?? '').split('/');
  const type = (value: string) => response.setHeader('Content-Type', value);
  switch (kind) {
    case 'gallery':
      type('text/html');
      return void response.end(gallery());
    case 'part':
      type('text/javascript');
      return void response.end(`parts.push(${name});`);
    case 'picture':
      type('image/svg+xml');
      return void response.end('<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>');
    case 'events':
      type('text/event-stream');
      streams.add(response);
      return void response.write('data: 1\n\n');
    case 'next':
      // The next event only leaves when the browser says that it has the one before.
      for (const stream of streams) stream.write(`data: ${name}\n\n`);
      return void response.end();
    case 'upload':
      return void response.end(digestOf(await bodyOf(request)));
    case 'download':
      response.setHeader('Content-Disposition', 'attachment; filename="goods.bin"');
      type('application/octet-stream');
      return void response.end(DOWNLOAD);
    default:
      response.writeHead(404).end();
  }
}

function gallery(): string {
  const numbers = Array.from({ length: PARTS }, (_, n) => n);
  return [
    '<!doctype html><title>Gallery</title><script>parts = [];</script>',
    ...numbers.map((n) => `<img src="/picture/${n}">`),
    ...numbers.map((n) => `<script src="/part/${n}"></script>`),
    '</html>',
  ].join('\n');
}

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 0x81;
const CLOSE = 0x8;

/** A WebSocket that says everything back. */
function echo(request: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}${GUID}`)
    .digest('base64');
  const head = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.on('error', () => {});
  let held = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    for (let frame = read(held); frame !== undefined; frame = read(held)) {
      held = held.subarray(frame.size);
      if (frame.opcode === CLOSE) return void socket.end(Buffer.from([0x88, 0]));
      socket.write(write(frame.payload));
    }
  });
}

/** One frame of a client, which are all masked (RFC 6455 section 5.2); undefined while it is not whole. */
function read(bytes: Buffer) {
  if (bytes.length < 6) return undefined;
  const told = (bytes[1] ?? 0) & 0x7f;
  const extra = told === 127 ? 8 : told === 126 ? 2 : 0;
  if (bytes.length < 6 + extra) return undefined;
  const length =
    extra === 8 ? Number(bytes.readBigUInt64BE(2)) : extra === 2 ? bytes.readUInt16BE(2) : told;
  const size = 6 + extra + length;
  if (bytes.length < size) return undefined;
  const mask = bytes.subarray(2 + extra, 6 + extra);
  const payload = Buffer.from(bytes.subarray(6 + extra, size));
  for (let i = 0; i < payload.length; i++) payload[i] = (payload[i] ?? 0) ^ (mask[i % 4] ?? 0);
  return { opcode: (bytes[0] ?? 0) & 0xf, payload, size };
}

/** A text frame, its length written in as few bytes as there may be. */
function write(payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = TEXT;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
