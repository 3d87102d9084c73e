import { type Duplex, Readable } from 'node:stream';
import type { RequestBody } from './ports.ts';

export interface FlightOptions {
  /** The client's socket. */
  readonly near: Duplex;
  /** What it has said already. */
  readonly held: Buffer;
  /** Methods that may be sent again, upper case. */
  readonly replayMethods: readonly string[];
  /** Called once, when a far leg stands for the first time. */
  readonly onStands: () => void;
}

/** Longer than any real ClientHello. */
const MAX_KEPT_BYTES = 65_536;
const HANDSHAKE = 0x16;
const CHANGE_CIPHER_SPEC = 0x14;

/**
 * What the client of a blind tunnel says before the far side has said anything. It is kept and can be said
 * again to another leg, if it is such that saying it twice does no harm: a TLS ClientHello without early
 * data, or one HTTP request without a body and with a repeatable method. Everything else is said once.
 */
export class Flight implements RequestBody {
  readonly length = undefined;
  readonly rawTrailers: readonly string[] = [];
  readonly #o: FlightOptions;
  #bytes: Buffer;
  #sentTo: Duplex | undefined;
  #forgotten = 0;
  #stands = false;
  #ended = false;
  #onMore = () => {};
  readonly #onData = (chunk: Buffer) => this.#add(chunk);
  readonly #onEnd = () => {
    this.#ended = true;
    this.#onMore();
  };

  constructor(o: FlightOptions) {
    this.#o = o;
    this.#bytes = o.held;
  }

  get present(): boolean {
    return this.#bytes.length > 0;
  }

  get replayable(): boolean {
    return this.#sentTo === undefined || this.state !== 'over';
  }

  /** Bytes said to the leg that it ended up with. */
  get sentBytes(): number {
    return this.#sentTo === undefined ? 0 : this.#forgotten + this.#bytes.length;
  }

  /** `over`: it will not be said again, or there is more of it than is kept, or the client has said all. */
  get state(): 'silent' | 'kept' | 'over' {
    if (this.#ended || this.#bytes.length > MAX_KEPT_BYTES) return 'over';
    if (this.#bytes.length === 0) return 'silent';
    return isRepeatable(this.#bytes, this.#o.replayMethods) ? 'kept' : 'over';
  }

  open(): Readable {
    return Readable.from([this.#bytes]);
  }

  /** Says everything again, from its start, to a leg that stands; `onMore` is told whenever there was more to say. */
  begin(far: Duplex, onMore: () => void): void {
    const { near } = this.#o;
    this.sendTo(far);
    this.#onMore = onMore;
    near.on('data', this.#onData).once('end', this.#onEnd);
    near.resume();
    if (this.#bytes.length > 0 || this.#ended) onMore();
  }

  /** Stops reading the client; what it says from here on stays in its socket. */
  pause(): void {
    this.#onMore = () => {};
    this.#o.near.off('data', this.#onData).off('end', this.#onEnd);
    this.#o.near.pause();
  }

  /** Says to a leg what it has not heard yet. Any number of calls. */
  sendTo(far: Duplex): void {
    if (!this.#stands) this.#o.onStands();
    this.#stands = true;
    if (this.#sentTo === far) return;
    this.#sentTo = far;
    if (this.#bytes.length > 0) far.write(this.#bytes);
  }

  /** Lets go of what was kept: the tunnel is joined, and nothing will be said again. */
  forget(): void {
    this.#forgotten += this.#bytes.length;
    this.#bytes = Buffer.alloc(0);
  }

  #add(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    this.#sentTo?.write(chunk);
    this.#onMore();
  }
}

function isRepeatable(bytes: Buffer, methods: readonly string[]): boolean {
  return bytes[0] === HANDSHAKE ? isHello(bytes) : isRequest(bytes, methods);
}

/** Records of a first flight only: early data (RFC 8446 section 2.3) is a request, and nobody knows which. */
function isHello(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE && bytes[at] !== CHANGE_CIPHER_SPEC) return false;
    if (at + 5 > bytes.length) return true;
    at += 5 + bytes.readUInt16BE(at + 3);
  }
  return true;
}

/** One head, whole or not yet, with nothing behind it. */
function isRequest(bytes: Buffer, methods: readonly string[]): boolean {
  const text = bytes.toString('latin1');
  const method = /^[A-Za-z]+(?= |$)/.exec(text)?.[0];
  if (method === undefined) return false;
  if (method.length === text.length) return methods.some((name) => name.startsWith(text));
  const end = text.indexOf('\r\n\r\n');
  return methods.includes(method) && (end === -1 || end + 4 === text.length);
}
