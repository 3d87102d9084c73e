import { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { HeldMemory } from '../exchange/held-memory.ts';
import { ChunkQueue } from './chunk-queue.ts';
import type { CodingEnd } from './coding-end.ts';
import { CodedError } from './failure.ts';
import { Silence } from './silence.ts';
import { abortion } from './step.ts';

/** Where a body comes from: the wire, which can be stopped for a while or for good. */
export interface Source {
  pause(): void;
  resume(): void;
  abort(error: Error): void;
}

/** How far a body had come when it was looked at. */
export type HoldEnd = 'complete' | 'pending' | 'cut_short' | 'stalled';

interface IncomingOptions {
  readonly source: Source;
  readonly clock: Clock;
  /** What is held here counts in it. Without room the look is a short one, and nothing is kept. */
  readonly memory: HeldMemory;
  readonly signal: AbortSignal;
  readonly idleMs: number;
  readonly keepBytes: number;
  readonly lingerMs: number;
  /** Content-Length; undefined when the end is not known beforehand. */
  readonly length: number | undefined;
  readonly onFirstRead: () => void;
}

const READ_AHEAD_BYTES = 64 * 1024;
const DRAIN_BYTES = 64 * 1024;
const DRAIN_MS = 1000;

/**
 * A response body on its way: first held for the verdict, then streamed as fast as it is read, or kept, or let
 * go. What has arrived is given to the reader before any error, and nothing ends that was not whole.
 */
export class Incoming {
  readonly readable: Readable;
  readonly #closing = Promise.withResolvers<void>();
  readonly closed = this.#closing.promise;
  readonly rawTrailers: string[] = [];
  readonly #o: IncomingOptions;
  readonly #silence: Silence;
  readonly #onAbort = () => this.#lose(abortion());
  #mode: 'holding' | 'flowing' | 'keeping' | 'draining' | 'lost' = 'holding';
  /** `arrived`: all is here, and it is being looked at whether it is whole. */
  #wire: 'open' | 'arrived' | 'ended' | 'broken' = 'open';
  #codingEnd: CodingEnd | undefined;
  #error: Error | undefined;
  #stalled = false;
  readonly #queue: ChunkQueue;
  #received = 0;
  #drained = 0;
  #paused = false;
  #wanted = false;
  #read = false;
  #cancelMode: () => void = () => {};
  #onProgress: () => void = () => {};

  constructor(o: IncomingOptions) {
    this.#o = o;
    this.#queue = new ChunkQueue(o.memory);
    this.readable = new Readable({
      highWaterMark: READ_AHEAD_BYTES,
      read: () => this.#onRead(),
      destroy: (error, done) => {
        if (this.deliverable && this.#wire === 'open') this.#lose(abortion());
        this.#queue.clear();
        done(error);
      },
    });
    // A body that nobody reads may break off too.
    this.readable.on('error', () => {});
    this.#silence = new Silence(o, {
      isListening: () => !this.#paused,
      onSilent: () => this.#onSilent(),
    });
    o.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (o.signal.aborted) this.#onAbort();
  }

  /** Encoded bytes so far. */
  get receivedBytes(): number {
    return this.#received;
  }

  /** Why the wire broke, if it did. */
  get error(): Error | undefined {
    return this.#error;
  }

  get deliverable(): boolean {
    return this.#mode !== 'lost' && this.#mode !== 'draining';
  }

  /** Takes the next piece off the wire. */
  data(chunk: Buffer): void {
    this.#received += chunk.length;
    this.#silence.broken();
    if (this.#mode === 'lost') return;
    if (this.#mode === 'draining') {
      this.#drained += chunk.length;
      if (this.#drained > DRAIN_BYTES) this.#cutOff();
      return;
    }
    this.#codingEnd?.write(chunk);
    this.#queue.push(chunk);
    if (this.#mode === 'keeping' && !this.#queue.hasRoom(0, this.#o.keepBytes)) this.#loseLong();
    this.#onProgress();
    this.#pump();
  }

  /** The body is whole. */
  end(rawTrailers: readonly string[]): void {
    if (this.#wire !== 'open') return;
    this.rawTrailers.push(...rawTrailers);
    if (this.#codingEnd === undefined) this.#settle('ended');
    else void this.#endCoded(this.#codingEnd);
  }

  /** The wire broke before the body was whole. */
  fail(error: Error): void {
    if (this.#wire === 'ended' || this.#wire === 'broken') return;
    this.#error = error;
    const wasKept = this.#mode === 'keeping';
    this.#settle('broken');
    if (wasKept) this.#lose(error);
  }

  /** Waits for the end, or for so many bytes, or (if given) for so long. */
  held(o: { bytes: number; ms: number | undefined }): Promise<HoldEnd> {
    const { promise, resolve } = Promise.withResolvers<HoldEnd>();
    const finish = () => {
      cancel();
      this.#onProgress = () => {};
      resolve(this.#holdEnd());
    };
    const cancel = o.ms === undefined ? () => {} : this.#o.clock.after(o.ms, finish);
    this.#onProgress = () => {
      // However little room there is, the first piece is looked at.
      const isFull = this.#queue.bytes > 0 && !this.#queue.hasRoom(1, o.bytes);
      if (this.#wire !== 'open' || this.#mode !== 'holding' || isFull) finish();
    };
    this.#onProgress();
    return promise;
  }

  /** A copy of what is held. */
  heldBytes(): Buffer {
    return Buffer.concat([...this.#queue]);
  }

  /** Ends the body only if its coding has come to its end too. */
  follow(codingEnd: CodingEnd): void {
    this.#codingEnd = codingEnd;
    for (const chunk of this.#queue) codingEnd.write(chunk);
    codingEnd.onReady = () => this.#pump();
    if (this.#wire === 'ended') void this.#endCoded(codingEnd);
  }

  /** Lets the reader have it, as fast as it reads. */
  release(): void {
    if (this.#mode !== 'holding') return;
    this.#mode = 'flowing';
    this.#pump();
  }

  /** Frees the wire soon: the rest is read into memory, if it is small and comes within the linger time. */
  keep(): void {
    if (this.#wire !== 'open' || this.#mode === 'draining' || this.#mode === 'lost') return;
    const moreBytes = Math.max((this.#o.length ?? 0) - this.#received, 0);
    if (!this.#queue.hasRoom(moreBytes, this.#o.keepBytes)) return void this.#loseLong();
    this.#mode = 'keeping';
    const tooSlow = new CodedError('FORBEAR_TIMEOUT', 'the rest of the body did not come in time');
    this.#cancelMode = this.#o.clock.after(this.#o.lingerMs, () => this.#lose(tooSlow));
    this.#setPaused(false);
  }

  /** Lets the body go. A short rest is still read, which saves the connection. */
  discard(): void {
    if (!this.deliverable) return;
    this.#cancelMode();
    this.#mode = 'draining';
    this.#queue.clear();
    this.readable.destroy();
    if (this.#wire !== 'open') return;
    const rest = (this.#o.length ?? 0) - this.#received;
    if (rest > DRAIN_BYTES) {
      this.#cutOff();
      return;
    }
    this.#cancelMode = this.#o.clock.after(DRAIN_MS, () => this.#cutOff());
    this.#setPaused(false);
  }

  #holdEnd(): HoldEnd {
    if (this.#stalled) return 'stalled';
    if (this.#wire === 'broken') return 'cut_short';
    return this.#wire === 'ended' ? 'complete' : 'pending';
  }

  async #endCoded(codingEnd: CodingEnd): Promise<void> {
    this.#wire = 'arrived';
    this.#silence.stop();
    if ((await codingEnd.end()) === 'whole') return this.#settle('ended');
    // With the last of the bytes that the framing announced, the client would take it for the whole.
    this.#queue.clear();
    this.fail(new CodedError('FORBEAR_CODING_CUT', 'the content coding ended early'));
  }

  #settle(wire: 'ended' | 'broken'): void {
    this.#wire = wire;
    this.#codingEnd?.stop();
    this.#silence.stop();
    this.#cancelMode();
    this.#o.signal.removeEventListener('abort', this.#onAbort);
    this.#onProgress();
    this.#pump();
    this.#closing.resolve();
  }

  #onRead(): void {
    this.#wanted = true;
    if (this.#mode === 'keeping') {
      this.#cancelMode();
      this.#mode = 'flowing';
    }
    if (!this.#read) {
      this.#read = true;
      this.#o.onFirstRead();
    }
    this.#pump();
  }

  /** Moves what is there to the reader, and tells the wire whether there is room for more. */
  #pump(): void {
    if (this.#mode !== 'flowing' && this.#mode !== 'keeping') return;
    while (this.#wanted) {
      const chunk = this.#isLastInDoubt() ? undefined : this.#queue.shift();
      if (chunk === undefined) break;
      this.#wanted = this.readable.push(chunk);
    }
    if (this.#queue.length === 0 && this.#wanted) this.#finish();
    const isBusy = this.#queue.bytes >= READ_AHEAD_BYTES || this.#codingEnd?.isBusy === true;
    if (this.#mode === 'flowing') this.#setPaused(isBusy);
  }

  #isLastInDoubt(): boolean {
    const isSettled = this.#wire === 'ended' || this.#wire === 'broken';
    const isLast = this.#queue.length === 1 && this.#received === this.#o.length;
    return isLast && !isSettled && this.#codingEnd !== undefined;
  }

  #finish(): void {
    if (this.#wire === 'ended') this.readable.push(null);
    if (this.#wire === 'broken') this.readable.destroy(this.#error);
  }

  #setPaused(paused: boolean): void {
    if (paused === this.#paused || this.#wire !== 'open') return;
    this.#paused = paused;
    this.#silence.broken();
    if (paused) this.#o.source.pause();
    else this.#o.source.resume();
  }

  #onSilent(): void {
    this.#stalled = true;
    const error = new CodedError('FORBEAR_TIMEOUT', `silent for ${this.#o.idleMs} ms`);
    this.fail(error);
    this.#o.source.abort(error);
  }

  #loseLong(): void {
    this.#lose(new CodedError('FORBEAR_CLOSED', 'the body is too long to be kept'));
  }

  #lose(error: Error): void {
    if (this.#mode === 'lost') return;
    this.#mode = 'lost';
    this.#queue.clear();
    this.readable.destroy(error);
    this.#cutOff();
  }

  #cutOff(): void {
    if (this.#wire !== 'open') return;
    const error = new CodedError('FORBEAR_ABORTED', 'the body was let go');
    this.#error ??= error;
    this.#settle('broken');
    this.#o.source.abort(error);
  }
}
