import type { Duplex } from 'node:stream';

/** Frame types of RFC 9113 section 6. */
export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Error codes of RFC 9113 section 7. */
export const CODE = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
  http11Required: 13,
} as const;

export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  enableConnectProtocol: 8,
} as const;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Name and value; pseudo-fields are fields like the others here, so that wrong lists can be written. */
export type Field = readonly [name: string, value: string];

/** Any frame at all, well-formed or not. `length` overrides what the header says. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
  length: number = payload.length,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream >>> 0, 5);
  return Buffer.concat([head, payload]);
}

/** SETTINGS with identifiers and values in turn. */
export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * 6);
  pairs.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, i * 6);
    payload.writeUInt32BE(value >>> 0, i * 6 + 2);
  });
  return frame(TYPE.settings, 0, 0, payload);
}

export const settingsAck = (): Buffer => frame(TYPE.settings, FLAG.ack, 0);

export const ping = (payload: Uint8Array = Buffer.alloc(8)): Buffer =>
  frame(TYPE.ping, 0, 0, payload);

export const rstStream = (stream: number, code: number): Buffer =>
  frame(TYPE.rstStream, 0, stream, uint32(code));

export const windowUpdate = (stream: number, increment: number): Buffer =>
  frame(TYPE.windowUpdate, 0, stream, uint32(increment));

export const goaway = (last: number, code: number): Buffer =>
  frame(TYPE.goaway, 0, 0, Buffer.concat([uint32(last), uint32(code)]));

export const data = (stream: number, bytes: string | Uint8Array, flags = 0): Buffer =>
  frame(TYPE.data, flags, stream, typeof bytes === 'string' ? Buffer.from(bytes) : bytes);

/** HEADERS with END_HEADERS, and END_STREAM unless told otherwise. */
export const headers = (
  stream: number,
  fields: readonly Field[],
  flags: number = FLAG.endHeaders | FLAG.endStream,
): Buffer => frame(TYPE.headers, flags, stream, hpack(fields));

export const continuation = (stream: number, block: Uint8Array, flags = 0): Buffer =>
  frame(TYPE.continuation, flags, stream, block);

/** A field block of literals that are never indexed: no state, no Huffman coding (RFC 7541 section 6.2.2). */
export function hpack(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]),
  );
}

/** The four fields of an ordinary request, and more behind them. */
export function request(path: string, authority: string, ...more: readonly Field[]): Field[] {
  return [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', authority],
    [':path', path],
    ...more,
  ];
}

/** A frame as it came. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Reads frames from a connection, and keeps those that nobody has asked for. */
export class FrameReader {
  /** Every frame so far. */
  readonly frames: Frame[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #ended = false;
  readonly #watchers = new Set<() => void>();

  constructor(socket: Duplex) {
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', () => {});
    socket.once('end', () => this.#end());
    socket.once('close', () => this.#end());
  }

  /** Whether the other side has ended the connection. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The first frame that fits, come already or not. Rejects when the connection ends without one. */
  wait(fits: (frame: Frame) => boolean): Promise<Frame> {
    const { promise, resolve, reject } = Promise.withResolvers<Frame>();
    const look = () => {
      const found = this.frames.find(fits);
      if (found === undefined && !this.#ended) return;
      this.#watchers.delete(look);
      if (found !== undefined) resolve(found);
      else reject(new Error(`The connection ended after ${this.told().join(', ')}`));
    };
    this.#watchers.add(look);
    look();
    return promise;
  }

  /** Settles when the other side has ended the connection. */
  closed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (this.#ended) resolve();
    };
    this.#watchers.add(look);
    look();
    return promise;
  }

  /** What came, in words for a failing test. */
  told(): string[] {
    return this.frames.map(describe);
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= 9) {
      const end = 9 + this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < end) break;
      this.frames.push({
        type: this.#bytes[3] ?? 0,
        flags: this.#bytes[4] ?? 0,
        stream: this.#bytes.readUInt32BE(5) & 0x7fff_ffff,
        payload: this.#bytes.subarray(9, end),
      });
      this.#bytes = this.#bytes.subarray(end);
    }
    for (const look of [...this.#watchers]) look();
  }

  #end(): void {
    this.#ended = true;
    for (const look of [...this.#watchers]) look();
  }
}

/** The error code of a RST_STREAM or GOAWAY. */
export function codeOf({ type, payload }: Frame): number {
  return payload.readUInt32BE(type === TYPE.goaway ? 4 : 0);
}

/** The debug text of a GOAWAY. */
export const debugOf = ({ payload }: Frame): string => payload.toString('utf8', 8);

/** The status at the start of a field block; servers write it first (RFC 9113 section 8.3). */
export function statusOf({ payload, flags }: Frame): number {
  const block = payload.subarray(flags & FLAG.priority ? 5 : 0);
  // A change of the dynamic table's size may stand before the fields (RFC 7541 section 6.3).
  const at = block.findIndex((byte) => (byte & 0xe0) !== 0x20);
  const first = block[at] ?? 0;
  const indexed = [200, 204, 206, 304, 400, 404, 500][(first & 0x7f) - 8];
  if (first & 0x80) return indexed ?? 0;
  const length = (block[at + 1] ?? 0) & 0x7f;
  const value = block.subarray(at + 2, at + 2 + length);
  return Number((block[at + 1] ?? 0) & 0x80 ? digits(value) : value.toString('latin1'));
}

/** One frame in words. */
function describe(one: Frame): string {
  const name = Object.entries(TYPE).find(([, type]) => type === one.type)?.[0] ?? `${one.type}`;
  const hasCode = one.type === TYPE.rstStream || one.type === TYPE.goaway;
  const more = hasCode ? ` code ${codeOf(one)}` : '';
  return `${name}(${one.stream}) flags ${one.flags}, ${one.payload.length} bytes${more}`;
}

/** Digits in the Huffman code of RFC 7541 appendix B: 0, 1 and 2 have five bits, the others six. */
function digits(bytes: Buffer): string {
  let bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let text = '';
  while (text.length < 3) {
    const short = Number.parseInt(bits.slice(0, 5), 2);
    const isShort = short < 3;
    text += isShort ? short : Number.parseInt(bits.slice(0, 6), 2) - 0b011001 + 3;
    bits = bits.slice(isShort ? 5 : 6);
  }
  return text;
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([integer(bytes.length, 7), bytes]);
}

/** An integer behind a prefix of so many bits, which are the low ones of its first byte (RFC 7541 section 5.1). */
function integer(value: number, prefix: number): Buffer {
  const most = 2 ** prefix - 1;
  if (value < most) return Buffer.from([value]);
  const out = [most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) out.push((rest % 128) | 128);
  return Buffer.from([...out, rest]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}
