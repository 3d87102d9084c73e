import type { Socket } from 'node:net';
import { fieldValues } from '../core/fields.ts';
import { CodedError } from './failure.ts';
import { type Head, headEnd, parseHead } from './head.ts';
import { mended } from './mend.ts';
import { type OutgoingHead, rewording } from './outgoing.ts';

/** Whom a wire tells what undici is not to see. */
export interface WireWatch {
  /** An interim head has come. An error is what is wrong with it, and ends the attempt. */
  readonly onInterim: (head: Head) => Error | undefined;
  /** The reply's head cannot be taken. */
  readonly onFault: (error: Error) => void;
}

const deaf: WireWatch = { onInterim: () => undefined, onFault: () => {} };

/** More fields than any site sends; each costs far more memory here than its bytes on the wire. */
const MAX_FIELDS = 1000;

/**
 * Sits between a socket and undici, which speaks HTTP/1.1 well but not exactly: it puts Host and Connection
 * first in lower case, refuses `OPTIONS *`, knows no trailers of requests, reads reasons as UTF-8, and takes an
 * unasked 100 for a broken peer. So requests are put in our words on their way out, and interim heads are taken
 * out on their way in.
 */
export class Wire {
  readonly socket: Socket;
  readonly #maxHeadBytes: number;
  #reworded: (chunk: unknown) => unknown = (chunk) => chunk;
  #state: 'head' | 'through' | 'faulty' = 'through';
  #held: Buffer = Buffer.alloc(0);
  #lenient = false;
  #isHead = false;
  #watch = deaf;
  #head: Head | undefined;
  #wasMended = false;
  #replyBytes = 0;
  #written = false;

  constructor(socket: Socket, maxHeadBytes: number) {
    this.socket = socket;
    this.#maxHeadBytes = maxHeadBytes;
    const read = socket.read.bind(socket);
    const write = socket.write.bind(socket) as (chunk: unknown, ...rest: unknown[]) => boolean;
    // A size is asked for by Node itself only; undici reads without.
    socket.read = (size?: number) => (size === undefined ? this.#read(read) : read(size));
    socket.write = ((chunk: unknown, ...rest: unknown[]) => {
      this.#written = true;
      return write(this.#reworded(chunk), ...rest);
    }) as Socket['write'];
  }

  /** Gets ready for the next request on this socket. */
  begin(outgoing: OutgoingHead, lenient: boolean): void {
    this.#reworded = rewording(outgoing);
    this.#lenient = lenient;
    this.#isHead = outgoing.requestLine.startsWith('HEAD ');
    this.#watch = deaf;
    this.#state = 'head';
    this.#held = Buffer.alloc(0);
    this.#head = undefined;
    this.#wasMended = false;
    this.#replyBytes = 0;
    this.#written = false;
  }

  /** Says who wants to know of interim heads and faults of this request. */
  watch(watch: WireWatch): void {
    this.#watch = watch;
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

  /** Whether the reply's head had to be mended: what comes behind such a reply is not to be trusted. */
  get wasMended(): boolean {
    return this.#wasMended;
  }

  #read(read: () => Buffer | null): Buffer | null {
    for (;;) {
      const chunk = read();
      if (chunk === null || this.#state === 'through') return chunk;
      if (this.#state === 'faulty') continue;
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
      // undici says best what is wrong with something that is not HTTP.
      if (!looksLikeHttp(bytes)) return this.#passOn(bytes);
      const end = headEnd(bytes);
      if ((end === -1 ? bytes.length : end) > this.#maxHeadBytes) {
        return this.#fault('FORBEAR_LONG_HEAD', `a head above ${this.#maxHeadBytes} bytes`);
      }
      if (end === -1) {
        this.#held = bytes;
        return undefined;
      }
      const head = parseHead(bytes.toString('latin1', 0, end));
      if (!isInterim(head)) return this.#final(head, bytes, end);
      const fault = this.#watch.onInterim(head);
      if (fault !== undefined) return this.#end(fault);
      bytes = bytes.subarray(end);
    }
    return undefined;
  }

  #final(head: Head | undefined, bytes: Buffer, end: number): Buffer | undefined {
    this.#head = head;
    if (head !== undefined && head.rawHeaders.length > 2 * MAX_FIELDS) {
      return this.#fault('FORBEAR_LONG_HEAD', `a head of more than ${MAX_FIELDS} fields`);
    }
    if (head !== undefined && !this.#lenient && !this.#isHead && isCoded(head)) {
      return this.#fault('FORBEAR_BAD_REPLY', 'a transfer coding that nobody asked for');
    }
    if (head === undefined || !this.#lenient) return this.#passOn(bytes);
    const text = mended(head);
    if (text === undefined) return this.#fault('FORBEAR_BAD_REPLY', 'lengths that differ');
    this.#wasMended = text !== bytes.toString('latin1', 0, end);
    return this.#passOn(Buffer.concat([Buffer.from(text, 'latin1'), bytes.subarray(end)]));
  }

  #passOn(bytes: Buffer): Buffer {
    this.#state = 'through';
    return bytes;
  }

  #fault(code: 'FORBEAR_LONG_HEAD' | 'FORBEAR_BAD_REPLY', what: string): undefined {
    return this.#end(new CodedError(code, `the reply has ${what}`));
  }

  #end(error: Error): undefined {
    this.#state = 'faulty';
    this.#watch.onFault(error);
    return undefined;
  }
}

function isInterim(head: Head | undefined): head is Head {
  return head !== undefined && head.status < 200 && head.status !== 101;
}

/**
 * Whether the body is in a transfer coding besides chunks (RFC 9112 section 7): the coding is no part of the content
 * and ends with this connection, so its bytes would pass for the content itself.
 */
function isCoded({ status, rawHeaders }: Head): boolean {
  if (status === 204 || status === 304) return false;
  return fieldValues(rawHeaders, 'transfer-encoding')
    .flatMap((value) => value.split(','))
    .some((coding) => !/^(?:chunked|identity)?$/i.test(coding.trim()));
}

function looksLikeHttp(bytes: Buffer): boolean {
  return 'HTTP/'.startsWith(bytes.toString('latin1', 0, 5));
}
