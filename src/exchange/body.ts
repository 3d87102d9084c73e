import { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { HeldMemory } from './held-memory.ts';
import type { RequestBody } from './ports.ts';

/** A client's message as far as its body is concerned. */
export interface BodySource extends Readable {
  readonly rawTrailers: readonly string[];
}

export interface BodyTerms {
  /** The Content-Length; undefined when chunked; 0 when there is no body. */
  readonly length: number | undefined;
  /** Up to this many bytes are kept for another pass. */
  readonly capBytes: number;
  /** What all bodies together hold: without room in it this one is streamed, as if it were over its cap. */
  readonly memory: HeldMemory;
  readonly clock: Pick<Clock, 'after'>;
  /** A client that is being read from must send `LEAST_BYTES` within each such span, or end. */
  readonly idleMs: number;
  /** The client sends nothing before a `100 Continue`: until then its silence is ours. */
  readonly awaitsContinue: boolean;
  /** Called once, when the body is wanted for the first time: the moment for a `100 Continue`. */
  readonly onWanted: () => void;
  /** Called once when the client breaks off or goes silent before the end. */
  readonly onFailed: () => void;
}

/** The client's side of a request body: replayable while it is whole, else streamed once. */
export interface ClientBody extends RequestBody {
  /** Settles when the first byte or the end is here, or the body has failed. Never rejects. */
  readonly started: Promise<void>;
  readonly state: 'receiving' | 'complete' | 'broken' | 'stalled';
  /** Lets all that was kept go, and reads no further. Passes that are open are ended. */
  release(): void;
}

const LEAST_BYTES = 1024;

/** Reads ahead up to `capBytes`, so that a client that leaves is noticed, and beyond that on demand only. */
export function createRequestBody(source: BodySource, terms: BodyTerms): ClientBody {
  return new StreamedBody(source, terms);
}

class StreamedBody implements ClientBody {
  readonly length: number | undefined;
  readonly present: boolean;
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
  readonly #start: () => void;
  readonly #end: () => void;
  readonly #source: BodySource;
  readonly #terms: BodyTerms;
  /** `whole`: every byte so far is in `#kept`. `queue`: `#kept` waits for one pass and is not kept after. */
  #mode: 'whole' | 'queue' = 'whole';
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #cursor = 0;
  #lost = false;
  #state: ClientBody['state'] = 'receiving';
  #wanted = false;
  #pass: Readable | undefined;
  #hungry = false;
  #cancelTimer: (() => void) | undefined;
  #windowBytes = 0;
  #began = false;

  constructor(source: BodySource, terms: BodyTerms) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.started = promise;
    this.#start = resolve;
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.#end = ended.resolve;
    this.#source = source;
    this.#terms = terms;
    this.length = terms.length;
    this.present = terms.length !== 0;
    if (!this.present) {
      this.#withoutBody();
      return;
    }
    if (terms.length !== undefined && terms.length > terms.capBytes) this.#mode = 'queue';
    source.on('readable', this.#onReadable);
    source.on('end', this.#onEnd);
    source.on('error', this.#onBroken);
    source.on('close', this.#onBroken);
    this.#feed();
  }

  get state(): ClientBody['state'] {
    return this.#state;
  }

  get replayable(): boolean {
    return !this.#lost && (this.#state === 'receiving' || this.#state === 'complete');
  }

  get rawTrailers(): readonly string[] {
    return this.#state === 'complete' ? this.#source.rawTrailers : [];
  }

  get withheld(): boolean {
    return this.#terms.awaitsContinue && !this.#wanted && !this.#began;
  }

  kept(): Uint8Array | undefined {
    if (this.#lost || this.#state !== 'complete') return undefined;
    return Buffer.concat(this.#kept);
  }

  open(): Readable {
    const earlier = this.#pass;
    this.#pass = undefined;
    earlier?.destroy();
    const pass: Readable = new Readable({
      read: () => {
        if (this.#pass !== pass) return;
        this.#hungry = true;
        this.#feed();
      },
    });
    if (!this.replayable) return pass.destroy(new Error('The request body is no longer whole.'));
    this.#cursor = 0;
    this.#hungry = false;
    this.#pass = pass;
    this.#want();
    return pass;
  }

  release(): void {
    this.#leaveSource();
    if (this.#state === 'receiving') this.#state = 'broken';
    this.#pass?.destroy();
    this.#pass = undefined;
    this.#forget();
    this.#lost = this.present;
    this.#start();
    this.#end();
  }

  #withoutBody(): void {
    this.#state = 'complete';
    this.#source.resume();
    this.#start();
    this.#end();
  }

  readonly #onReadable = () => {
    this.#began = true;
    this.#start();
    this.#feed();
  };

  readonly #onEnd = () => {
    this.#leaveSource();
    this.#state = 'complete';
    this.#start();
    this.#end();
    this.#feed();
  };

  readonly #onBroken = () => this.#fail('broken');

  #fail(state: 'broken' | 'stalled'): void {
    if (this.#state !== 'receiving') return;
    this.#state = state;
    this.#leaveSource();
    this.#forget();
    this.#pass?.destroy(new Error('The client stopped sending the request body.'));
    this.#start();
    this.#end();
    this.#terms.onFailed();
  }

  #leaveSource(): void {
    this.#cancelTimer?.();
    this.#source.off('readable', this.#onReadable);
    this.#source.off('end', this.#onEnd);
    this.#source.off('close', this.#onBroken);
    // The error listener stays: a client may still reset the connection.
  }

  #want(): void {
    if (this.#wanted) return;
    this.#wanted = true;
    if (this.#state === 'receiving') this.#terms.onWanted();
  }

  /** Moves what is here to the pass, and reads on while there is room or the pass has run dry. */
  #feed(): void {
    for (;;) {
      this.#serve();
      if (this.#state !== 'receiving' || !this.#readsOn()) {
        // Whether or not it will be read on demand only: until it begins, it is we who wait.
        if (this.#state === 'receiving' && !this.#began) this.#watch();
        else this.#cancelTimer?.();
        return;
      }
      const chunk: Buffer | null = this.#source.read();
      if (chunk === null) {
        this.#watch();
        return;
      }
      this.#windowBytes += chunk.length;
      this.#take(chunk);
    }
  }

  #serve(): void {
    while (this.#pass !== undefined && this.#hungry && this.#cursor < this.#kept.length) {
      const chunk = this.#kept[this.#cursor] as Buffer;
      if (this.#mode === 'queue') this.#dropTo(1);
      else this.#cursor += 1;
      this.#hungry = this.#pass.push(chunk);
    }
    if (this.#state === 'complete' && this.#cursor === this.#kept.length) this.#endPass();
  }

  #endPass(): void {
    const pass = this.#pass;
    if (pass === undefined || !this.#hungry) return;
    this.#hungry = false;
    pass.push(null);
  }

  #readsOn(): boolean {
    const dry = this.#pass !== undefined && this.#hungry;
    return dry || (this.#mode === 'whole' && this.#mayKeep());
  }

  #take(chunk: Buffer): void {
    const { memory, capBytes } = this.#terms;
    const fits = memory.hasRoom(chunk.length) && this.#keptBytes + chunk.length <= capBytes;
    this.#kept.push(chunk);
    this.#count(chunk.length);
    if (this.#mode === 'queue' || fits) return;
    this.#mode = 'queue';
    if (this.#cursor > 0) this.#dropTo(this.#cursor);
  }

  #dropTo(count: number): void {
    for (const chunk of this.#kept.splice(0, count)) this.#count(-chunk.length);
    this.#cursor = 0;
    this.#lost = true;
  }

  #mayKeep(): boolean {
    return this.#keptBytes < this.#terms.capBytes && this.#terms.memory.hasRoom(1);
  }

  #count(bytes: number): void {
    this.#keptBytes += bytes;
    this.#terms.memory.add(bytes);
  }

  #forget(): void {
    this.#kept = [];
    this.#count(-this.#keptBytes);
  }

  /** Runs only while we wait for the client, never while the client waits for us. */
  #watch(): void {
    if (this.#cancelTimer !== undefined || (this.#terms.awaitsContinue && !this.#wanted)) return;
    this.#windowBytes = 0;
    const cancel = this.#terms.clock.after(this.#terms.idleMs, () => {
      this.#cancelTimer = undefined;
      if (this.#windowBytes < LEAST_BYTES) this.#fail('stalled');
      else this.#watch();
    });
    this.#cancelTimer = () => {
      cancel();
      this.#cancelTimer = undefined;
    };
  }
}
