import { Readable } from 'node:stream';
import type { Received, Response } from './ports.ts';

/** Where a download broke off. */
export interface Break {
  /** Bytes that are there. */
  readonly offset: number;
  /** Since when the reader has been waiting for the next. */
  readonly silentSince: number;
  /** The part that broke. */
  readonly part: Received;
  /** Fires when nobody wants the rest any more. */
  readonly signal: AbortSignal;
}

/** What was found to go on with. */
export type Rest =
  | {
      readonly kind: 'part';
      readonly part: Received;
      readonly body: Readable;
      readonly totalBytes: number;
    }
  /** There is nothing more: all had come. */
  | { readonly kind: 'complete' }
  | { readonly kind: 'lost' };

interface DownloadOptions {
  readonly first: Received;
  readonly response: Response;
  readonly totalBytes: number | undefined;
  readonly now: () => number;
  /** Asked each time a part breaks off. Never rejects. */
  readonly findRest: (broke: Break) => Promise<Rest>;
}

const READ_AHEAD_BYTES = 64 * 1024;

/**
 * One body out of as many attempts as it takes. It ends only when every byte was there; when the rest
 * cannot be found, it breaks off with the error of the part that broke.
 */
export class Download implements Received {
  readonly reply: Received['reply'];
  readonly response: Response;
  readonly closed: Promise<void>;
  readonly #o: DownloadOptions;
  readonly #readable: Readable;
  readonly #parts: Received[];
  readonly #leaving = new AbortController();
  #part: Received;
  #source: Readable;
  #offset = 0;
  #totalBytes: number | undefined;
  #wanted = false;
  #begun = false;
  #silentSince = 0;

  constructor(o: DownloadOptions) {
    this.#o = o;
    this.#part = o.first;
    this.#parts = [o.first];
    this.#source = o.response.body;
    this.#totalBytes = o.totalBytes;
    this.reply = o.first.reply;
    this.#readable = new Readable({
      highWaterMark: READ_AHEAD_BYTES,
      read: () => this.#onRead(),
      destroy: (error, done) => {
        this.#leaving.abort();
        this.#source.destroy();
        done(error);
      },
    });
    // A body that nobody reads may break off too.
    this.#readable.on('error', () => {});
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#readable.once('close', () => void this.#part.closed.then(resolve));
    const trailers = () => this.#part.response?.rawTrailers ?? [];
    this.response = {
      status: o.response.status,
      reason: o.response.reason,
      rawHeaders: o.response.rawHeaders,
      body: this.#readable,
      get rawTrailers() {
        return trailers();
      },
    };
  }

  keep(): void {
    this.#part.keep();
  }

  discard(): void {
    this.#part.discard();
    this.#readable.destroy();
  }

  get deliverable(): boolean {
    return !this.#readable.destroyed && this.#part.deliverable;
  }

  get sentBytes(): number {
    return this.#parts.reduce((sum, part) => sum + part.sentBytes, 0);
  }

  get receivedBytes(): number {
    return this.#parts.reduce((sum, part) => sum + part.receivedBytes, 0);
  }

  /** Counts what a question for the rest has cost. */
  count(part: Received): void {
    this.#parts.push(part);
  }

  #onRead(): void {
    this.#wanted = true;
    this.#silentSince = this.#o.now();
    if (this.#begun) {
      this.#source.resume();
      return;
    }
    this.#begun = true;
    this.#follow(this.#source);
  }

  #follow(source: Readable): void {
    this.#source = source;
    source.on('data', (chunk: Buffer) => this.#onData(chunk));
    source.once('end', () => this.#onEnd());
    source.once('error', (error) => void this.#goOn(error));
  }

  #onData(chunk: Buffer): void {
    this.#offset += chunk.length;
    this.#silentSince = this.#o.now();
    if (this.#totalBytes !== undefined && this.#offset > this.#totalBytes) {
      this.#readable.destroy(new Error('more came than there is'));
      return;
    }
    this.#wanted = this.#readable.push(chunk);
    if (!this.#wanted) this.#source.pause();
  }

  /** A site may send less than was asked for, and end that well. */
  #onEnd(): void {
    if (this.#totalBytes === undefined || this.#offset === this.#totalBytes) this.#finish();
    else void this.#goOn(new Error('less came than there is'));
  }

  async #goOn(error: Error & { readonly code?: string }): Promise<void> {
    if (this.#readable.destroyed) return;
    // The site framed a shortened document as if it were all: its rest would be what is there already.
    if (error.code === 'FORBEAR_CODING_CUT' && this.#totalBytes !== undefined) {
      this.#readable.destroy(error);
      return;
    }
    if (this.#offset === this.#totalBytes) {
      this.#finish();
      return;
    }
    const { signal } = this.#leaving;
    const broke = {
      offset: this.#offset,
      silentSince: this.#silentSince,
      part: this.#part,
      signal,
    };
    const rest = await this.#o.findRest(broke);
    if (this.#readable.destroyed) {
      if (rest.kind === 'part') rest.part.discard();
      return;
    }
    switch (rest.kind) {
      case 'part':
        this.#part = rest.part;
        this.#totalBytes = rest.totalBytes;
        this.#follow(rest.body);
        return;
      case 'complete':
        this.#finish();
        return;
      case 'lost':
        this.#readable.destroy(error);
    }
  }

  #finish(): void {
    this.#readable.push(null);
  }
}
