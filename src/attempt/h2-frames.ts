/** What can be told of a frame without reading its fields (RFC 9113 section 4.1). */
export interface FrameSight {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  /** On the wire, its header included. */
  readonly bytes: number;
  /** The first eight bytes of its payload, or all of a shorter one. */
  readonly start: Buffer;
}

/** The frame types that matter here (RFC 9113 section 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
} as const;

/** The flags that matter here. END_STREAM and ACK share a bit on different types. */
export const FLAG = { endStream: 1, ack: 1, padded: 8 } as const;

const HEADER_BYTES = 9;
const START_BYTES = 8;

/**
 * Follows the frames of one direction as their bytes pass. Node's own HTTP/2 tells a stream that ended from one
 * that was broken off in no reliable way (a reset with NO_ERROR ends like a whole body), nor who reset it.
 */
export class FrameSights {
  readonly #onFrame: (frame: FrameSight) => void;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #have = 0;
  #start = Buffer.alloc(START_BYTES);
  #started = 0;
  #left = 0;
  #skip: number;

  /** `skip` bytes come before the first frame. */
  constructor(onFrame: (frame: FrameSight) => void, skip = 0) {
    this.#onFrame = onFrame;
    this.#skip = skip;
  }

  /** Takes the next bytes; each frame is told of when its last byte is there. */
  push(chunk: Buffer): void {
    let at = Math.min(this.#skip, chunk.length);
    this.#skip -= at;
    while (at < chunk.length) {
      at += this.#have < HEADER_BYTES ? this.#takeHeader(chunk, at) : this.#takePayload(chunk, at);
      if (this.#have === HEADER_BYTES && this.#left === 0) this.#tell();
    }
  }

  #takeHeader(chunk: Buffer, at: number): number {
    const count = chunk.copy(this.#header, this.#have, at);
    this.#have += count;
    if (this.#have === HEADER_BYTES) this.#left = this.#header.readUIntBE(0, 3);
    return count;
  }

  #takePayload(chunk: Buffer, at: number): number {
    const count = Math.min(this.#left, chunk.length - at);
    if (this.#started < START_BYTES) {
      this.#started += chunk.copy(this.#start, this.#started, at, at + count);
    }
    this.#left -= count;
    return count;
  }

  #tell(): void {
    const start = this.#start.subarray(0, this.#started);
    this.#have = 0;
    this.#started = 0;
    this.#onFrame({
      type: this.#header[3] ?? 0,
      flags: this.#header[4] ?? 0,
      streamId: this.#header.readUInt32BE(5) & 0x7fff_ffff,
      bytes: HEADER_BYTES + this.#header.readUIntBE(0, 3),
      start,
    });
  }
}
