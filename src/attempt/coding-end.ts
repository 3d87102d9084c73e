import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { BOMB_RATIO, codingsOf, gzipPayload, hasZlibHeader } from './decode.ts';

/** Follows a coded body that is not held, to tell at its end whether the coding had come to its own. */
export interface CodingEnd {
  write(chunk: Buffer): void;
  /** Whether the decoder has enough to do; `onReady` is called when it has not any more. */
  readonly isBusy: boolean;
  onReady: () => void;
  /** Resolves when everything written was looked at. What cannot be told counts as whole. */
  end(): Promise<'whole' | 'short'>;
  stop(): void;
}

const BUSY_BYTES = 256 * 1024;
/** Below this much output nobody is harmed by a bomb. */
const BOMB_BYTES = 64 * 1024 * 1024;

/** Starts with what has come so far; undefined when the outermost coding is none whose end is known. */
export function followCoding(start: Buffer, contentEncoding: string): CodingEnd | undefined {
  const decoder = decoderFor(codingsOf(contentEncoding).at(-1), start);
  return decoder && new Following(decoder.stream, decoder.payload);
}

/** Framing tells a shortened download from a whole one, except where it was made around the shortened one. */
class Following implements CodingEnd {
  onReady = () => {};
  readonly #decoder: Transform & { readonly bytesWritten: number };
  readonly #found: Promise<'whole' | 'short'>;
  readonly #find: (end: 'whole' | 'short') => void;
  #decoded = 0;
  #pending = 0;
  #isOver = false;

  constructor(decoder: Transform & { readonly bytesWritten: number }, start: Buffer) {
    this.#decoder = decoder;
    const { promise, resolve } = Promise.withResolvers<'whole' | 'short'>();
    this.#found = promise;
    this.#find = resolve;
    decoder.on('data', (chunk: Buffer) => this.#onDecoded(chunk));
    decoder.once('end', () => this.#over('whole'));
    decoder.once('error', (error: NodeJS.ErrnoException) => {
      this.#over(error.code === 'Z_BUF_ERROR' ? 'short' : 'whole');
    });
    this.write(start);
  }

  get isBusy(): boolean {
    return !this.#isOver && this.#pending >= BUSY_BYTES;
  }

  write(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#pending += chunk.length;
    this.#decoder.write(chunk, () => {
      const wasBusy = this.isBusy;
      this.#pending -= chunk.length;
      if (wasBusy && !this.isBusy) this.onReady();
    });
  }

  end(): Promise<'whole' | 'short'> {
    if (!this.#isOver) this.#decoder.end();
    return this.#found;
  }

  stop(): void {
    this.#over('whole');
  }

  #onDecoded(chunk: Buffer): void {
    this.#decoded += chunk.length;
    if (this.#decoded < BOMB_BYTES) return;
    if (this.#decoded / Math.max(1, this.#decoder.bytesWritten) > BOMB_RATIO) this.#over('whole');
  }

  #over(end: 'whole' | 'short'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#find(end);
    this.#decoder.destroy();
    this.onReady();
  }
}

function decoderFor(coding: ReturnType<typeof codingsOf>[number], start: Buffer) {
  switch (coding) {
    case 'gzip': {
      // Its checksum may be missing, and anything may follow, as browsers have it: only the data in it counts.
      const payload = gzipPayload(start);
      return payload && { stream: createInflateRaw(), payload };
    }
    case 'deflate':
      if (start.length < 2) return undefined;
      return { stream: hasZlibHeader(start) ? createInflate() : createInflateRaw(), payload: start };
    case 'br':
      return { stream: createBrotliDecompress(), payload: start };
    case 'zstd':
      return { stream: createZstdDecompress(), payload: start };
    case undefined:
      return undefined;
  }
}
