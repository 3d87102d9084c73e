import type { Duplex } from 'node:stream';

/** What the bytes of a reply come to so far. */
export type Reading =
  | { readonly kind: 'more' }
  | { readonly kind: 'bad'; readonly why: string }
  | {
      readonly kind: 'whole';
      readonly status: number;
      readonly fields: ReadonlyMap<string, string>;
      readonly body: Buffer;
      /** Bytes it took, interim replies included. */
      readonly used: number;
    };

/** Reads a final reply; whole only if its framing says so, and the end of the connection never does. */
export function readReply(bytes: Buffer, method: string): Reading {
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end === -1) return { kind: 'more' };
    const lines = bytes.toString('latin1', at, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(lines[0] ?? '')?.[1] ?? 0);
    if (status < 100) return { kind: 'bad', why: `no status line: ${lines[0]?.slice(0, 60)}` };
    at = end + 4;
    if (status < 200 && status !== 101) continue;
    const fields = new Map(
      lines.slice(1).map((line) => {
        const [, name = '', value = ''] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
        return [name.toLowerCase(), value];
      }),
    );
    const isBodiless =
      method === 'HEAD' || status === 101 || (method === 'CONNECT' && status === 200);
    if (isBodiless) return { kind: 'whole', status, fields, body: Buffer.alloc(0), used: at };
    return readBody(bytes, at, { status, fields });
  }
}

function readBody(
  bytes: Buffer,
  at: number,
  head: { readonly status: number; readonly fields: ReadonlyMap<string, string> },
): Reading {
  const { fields } = head;
  if (fields.get('transfer-encoding') === 'chunked') return readChunks(bytes, at, head);
  const length = fields.get('content-length');
  if (length === undefined || !/^\d+$/.test(length)) {
    return { kind: 'bad', why: `a reply without an end: ${[...fields].join('; ')}` };
  }
  const used = at + Number(length);
  if (bytes.length < used) return { kind: 'more' };
  return { kind: 'whole', ...head, body: bytes.subarray(at, used), used };
}

function readChunks(
  bytes: Buffer,
  from: number,
  head: { readonly status: number; readonly fields: ReadonlyMap<string, string> },
): Reading {
  const pieces: Buffer[] = [];
  for (let at = from; ; ) {
    const line = bytes.indexOf('\r\n', at);
    if (line === -1) return { kind: 'more' };
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (Number.isNaN(size)) return { kind: 'bad', why: 'a chunk without a size' };
    const end = line + 2 + size;
    if (bytes.length < end + 2) return { kind: 'more' };
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') {
      return { kind: 'bad', why: 'a chunk without an end' };
    }
    if (size === 0) return { kind: 'whole', ...head, body: Buffer.concat(pieces), used: end + 2 };
    pieces.push(bytes.subarray(line + 2, end));
    at = end + 2;
  }
}

/** How a wait ended that did not get what it was for. */
export type Unheard = 'closed' | 'silent';

const LOOK_EVERY_MS = 250;

/** Everything a socket says, to be waited on; nobody is waited for longer than the limit without a byte. */
export class Ear {
  readonly socket: Duplex;
  bytes: Buffer = Buffer.alloc(0);
  #isClosed = false;
  #lastAt = performance.now();
  #heldBefore = 0;
  #onNews = () => {};
  readonly #heldMs: () => number;

  /** `heldMs`: for how long the network between has held bytes back, in all. */
  constructor(socket: Duplex, heldMs: () => number) {
    this.socket = socket;
    this.#heldMs = heldMs;
    socket.on('data', (chunk: Buffer) => {
      this.bytes = this.bytes.length === 0 ? chunk : Buffer.concat([this.bytes, chunk]);
      this.#news();
    });
    const close = () => {
      this.#isClosed = true;
      this.#onNews();
    };
    socket.on('error', close).on('end', close).on('close', close);
  }

  /** Waits until `read` finds something in what was heard. */
  async until<T>(read: () => T | undefined, limitMs: number): Promise<T | Unheard> {
    this.#news();
    for (;;) {
      const found = read();
      if (found !== undefined) return found;
      if (this.#isClosed) return 'closed';
      const quietMs = performance.now() - this.#lastAt;
      if (quietMs - (this.#heldMs() - this.#heldBefore) > limitMs) return 'silent';
      await this.#newsOrAWhile();
    }
  }

  /** Takes so many bytes away from what was heard. */
  drop(size: number): void {
    this.bytes = this.bytes.subarray(size);
  }

  #news(): void {
    this.#lastAt = performance.now();
    this.#heldBefore = this.#heldMs();
    this.#onNews();
  }

  #newsOrAWhile(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOOK_EVERY_MS);
    this.#onNews = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }
}
