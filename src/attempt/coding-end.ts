import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { BOMB_RATIO, type Coding, codingsOf, gzipPayload, hasZlibHeader } from './decode.ts';

/** Follows a coded body that is not held, to tell at its end whether the coding had come to its own. */
export interface CodingEnd {
  write(chunk: Buffer): void;
  /** Whether the decoder has enough to do; `onReady` is called when that is over. */
  readonly isBusy: boolean;
  onReady: () => void;
  /** Resolves when everything written was looked at. What cannot be told counts as whole. */
  end(): Promise<'whole' | 'short'>;
  stop(): void;
}

const BUSY_BYTES = 256 * 1024;
/** A gzip header may hold a file name and a comment. */
const MOST_HEADER_BYTES = 64 * 1024;
/** Below this much output nobody is harmed by a bomb. */
const BOMB_BYTES = 64 * 1024 * 1024;

/** Follows the outermost coding from the body's first byte on; undefined when it is none whose end is known. */
export function followCoding(contentEncoding: string): CodingEnd | undefined {
  const coding = codingsOf(contentEncoding).at(-1);
  return coding && new Following(coding);
}

type Decoder = Transform & { readonly bytesWritten: number };

/** Framing tells a shortened body from a whole one, except where it was made around the shortened one. */
class Following implements CodingEnd {
  onReady = () => {};
  readonly #coding: Coding;
  readonly #found: Promise<'whole' | 'short'>;
  readonly #find: (end: 'whole' | 'short') => void;
  /** Before there is a decoder: too little to know which. */
  #start: Buffer = Buffer.alloc(0);
  #decoder: Decoder | undefined;
  #decodedBytes = 0;
  #pendingBytes = 0;
  #isOver = false;

  constructor(coding: Coding) {
    this.#coding = coding;
    const { promise, resolve } = Promise.withResolvers<'whole' | 'short'>();
    this.#found = promise;
    this.#find = resolve;
  }

  get isBusy(): boolean {
    return !this.#isOver && this.#pendingBytes >= BUSY_BYTES;
  }

  write(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#decoder) {
      this.#decode(this.#decoder, chunk);
      return;
    }
    this.#start = Buffer.concat([this.#start, chunk]);
    const found = decoderFor(this.#coding, this.#start);
    if (found) this.#begin(found.decoder, found.payload);
    else if (this.#start.length > MOST_HEADER_BYTES) this.#over('whole');
  }

  end(): Promise<'whole' | 'short'> {
    if (this.#start.length === 0) this.#over('whole');
    if (this.#isOver) return this.#found;
    if (!this.#decoder) this.#begin(createGunzip(), this.#start);
    this.#decoder?.end();
    return this.#found;
  }

  stop(): void {
    this.#over('whole');
  }

  #begin(decoder: Decoder, payload: Buffer): void {
    this.#decoder = decoder;
    decoder.on('data', (chunk: Buffer) => this.#onDecoded(decoder, chunk));
    decoder.once('end', () => this.#over('whole'));
    decoder.on('error', (error: NodeJS.ErrnoException) => {
      this.#over(error.code === 'Z_BUF_ERROR' ? 'short' : 'whole');
    });
    this.#decode(decoder, payload);
  }

  #decode(decoder: Decoder, chunk: Buffer): void {
    this.#pendingBytes += chunk.length;
    decoder.write(chunk, () => {
      const wasBusy = this.isBusy;
      this.#pendingBytes -= chunk.length;
      if (wasBusy && !this.isBusy) this.onReady();
    });
  }

  #onDecoded(decoder: Decoder, chunk: Buffer): void {
    this.#decodedBytes += chunk.length;
    if (this.#decodedBytes < BOMB_BYTES) return;
    if (this.#decodedBytes / Math.max(1, decoder.bytesWritten) > BOMB_RATIO) this.#over('whole');
  }

  #over(end: 'whole' | 'short'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#find(end);
    this.#decoder?.destroy();
    this.onReady();
  }
}

/** The decoder for a body that begins so, and what it is to be given; undefined while that cannot be told. */
function decoderFor(
  coding: Coding,
  start: Buffer,
): { decoder: Decoder; payload: Buffer } | undefined {
  switch (coding) {
    case 'gzip': {
      // As browsers have it, the checksum may be missing, and anything may follow: the data alone counts.
      const payload = gzipPayload(start);
      return payload && { decoder: createInflateRaw(), payload };
    }
    case 'deflate': {
      if (start.length < 2) return undefined;
      const decoder = hasZlibHeader(start) ? createInflate() : createInflateRaw();
      return { decoder, payload: start };
    }
    case 'br':
      return { decoder: createBrotliDecompress(), payload: start };
    case 'zstd':
      return { decoder: createZstdDecompress(), payload: start };
  }
}
