import type { Socket } from 'node:net';
import { type Head, headEnd, parseHead } from './head.ts';

/** The head of a request exactly as it shall be sent, less its end (framing and blank line). */
export interface OutgoingHead {
  readonly requestLine: string;
  /** Names and values in turn, Host included, hop-by-hop fields not. */
  readonly fields: readonly string[];
}

const MAX_HEAD_BYTES = 64 * 1024;

/**
 * Sits between a socket and undici, which speaks HTTP/1.1 well but not exactly: it puts Host and Connection
 * first in lower case, refuses `OPTIONS *`, reads reasons as UTF-8, and takes an unasked 100 for a broken
 * peer. So request heads are put in our words on their way out, and interim heads are taken out on their way in.
 */
export class Wire {
  readonly socket: Socket;
  #outgoing: OutgoingHead | undefined;
  #state: 'head' | 'through' = 'through';
  #held: Buffer = Buffer.alloc(0);
  #lenient = false;
  #head: Head | undefined;
  #replyBytes = 0;
  #written = false;

  constructor(socket: Socket) {
    this.socket = socket;
    const read = socket.read.bind(socket);
    const write = socket.write.bind(socket) as (chunk: unknown, ...rest: unknown[]) => boolean;
    // A size is asked for by Node itself only; undici reads without.
    socket.read = (size?: number) => (size === undefined ? this.#read(read) : read(size));
    socket.write = ((chunk: unknown, ...rest: unknown[]) => {
      this.#written = true;
      return write(this.#worded(chunk), ...rest);
    }) as Socket['write'];
  }

  /** Gets ready for the next request on this socket. */
  begin(outgoing: OutgoingHead, lenient: boolean): void {
    this.#outgoing = outgoing;
    this.#lenient = lenient;
    this.#state = 'head';
    this.#held = Buffer.alloc(0);
    this.#head = undefined;
    this.#replyBytes = 0;
    this.#written = false;
  }

  /** Whether a byte of the request was handed to the socket. */
  get written(): boolean {
    return this.#written;
  }

  /** Bytes of the reply so far, TLS taken off. */
  get replyBytes(): number {
    return this.#replyBytes;
  }

  /** The reply's head as it came, once it is there. */
  get head(): Head | undefined {
    return this.#head;
  }

  #worded(chunk: unknown): unknown {
    const outgoing = this.#outgoing;
    if (outgoing === undefined || typeof chunk !== 'string') return chunk;
    this.#outgoing = undefined;
    return wordedHead(outgoing, chunk);
  }

  #read(read: () => Buffer | null): Buffer | null {
    for (;;) {
      const chunk = read();
      if (chunk === null || this.#state === 'through') return chunk;
      this.#replyBytes += chunk.length;
      const sifted = this.#sift(chunk);
      if (sifted !== undefined) return sifted;
    }
  }

  /** Holds a head back until it is whole; undefined while there is nothing to hand on. */
  #sift(chunk: Buffer): Buffer | undefined {
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = Buffer.alloc(0);
    while (bytes.length > 0) {
      const end = headEnd(bytes);
      if (end === -1 && bytes.length <= MAX_HEAD_BYTES && looksLikeHttp(bytes)) {
        this.#held = bytes;
        return undefined;
      }
      const text = bytes.toString('latin1', 0, Math.max(end, 0));
      const head = parseHead(text);
      if (head === undefined || head.status >= 200 || head.status === 101) {
        this.#state = 'through';
        this.#head = head;
        if (head === undefined || !this.#lenient) return bytes;
        return Buffer.concat([Buffer.from(mended(head), 'latin1'), bytes.subarray(end)]);
      }
      bytes = bytes.subarray(end);
    }
    return undefined;
  }
}

function looksLikeHttp(bytes: Buffer): boolean {
  return 'HTTP/'.startsWith(bytes.toString('latin1', 0, 5));
}

/** Our head with undici's framing: only it knows whether the body's length is known. */
function wordedHead(outgoing: OutgoingHead, text: string): string {
  const length = /\r\ncontent-length: (\d+)\r\n\r\n$/.exec(text)?.[1];
  const chunked = text.endsWith('\r\ntransfer-encoding: chunked\r\n');
  const connection = text.includes('\r\nconnection: close\r\n') ? 'close' : 'keep-alive';
  const fields = [...outgoing.fields];
  const at = fields.findIndex(
    (field, i) => i % 2 === 0 && field.toLowerCase() === 'content-length',
  );
  // A client's `Content-Length: 0` stays, also where undici would leave it out.
  const kept = at !== -1 && fields[at + 1]?.trim() === (length ?? '0') && !chunked;
  if (at !== -1 && !kept) fields.splice(at, 2);
  const host = fields.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === 'host');
  fields.splice(host + 2, 0, 'Connection', connection);
  let head = `${outgoing.requestLine}\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  if (chunked) return `${head}Transfer-Encoding: chunked\r\n`;
  if (length !== undefined && !kept) head += `Content-Length: ${length}\r\n`;
  return `${head}\r\n`;
}

/** A head that a strict parser takes: CRLF, clean names, and one framing (RFC 9112 section 6.3). */
function mended(head: Head): string {
  const names = head.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const chunked = names.includes('transfer-encoding');
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
  let lengths = 0;
  for (let i = 0; i + 1 < head.rawHeaders.length; i += 2) {
    const name = head.rawHeaders[i] ?? '';
    if (name.toLowerCase() === 'content-length' && (chunked || lengths++ > 0)) continue;
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) continue;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
    const value = (head.rawHeaders[i + 1] ?? '').replace(/[\x00-\x08\x0a-\x1f\x7f]/g, '');
    text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}
