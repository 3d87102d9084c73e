import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.ts';
import { fieldValue } from '../core/fields.ts';
import type { Phase } from '../core/verdict.ts';
import type { HeldMemory } from '../exchange/held-memory.ts';
import type { Exchange } from '../exchange/ports.ts';
import type { Connection } from './connections.ts';
import { CodedError } from './failure.ts';
import type { Head } from './head.ts';
import { Incoming } from './incoming.ts';
import { createInterims } from './interim.ts';
import { abortion } from './step.ts';
import { passableTrailers } from './trailers.ts';
import type { WireWatch } from './wire.ts';

/** What came back on a connection: a head with its body to follow, or nothing. */
export type Sent =
  | {
      readonly kind: 'head';
      readonly status: number;
      readonly reason: string;
      readonly rawHeaders: readonly string[];
      readonly incoming: Incoming;
    }
  | { readonly kind: 'failed'; readonly phase: Phase; readonly error: Error };

/** What replies may take up of this process. */
export interface ReplyTerms {
  /** What all bodies hold together. */
  readonly memory: HeldMemory;
  readonly maxHeadBytes: number;
}

/** Sends one request on a connection, and ends it (socket included) at a deadline or an abort. */
export function send(o: {
  clock: Clock;
  connection: Connection;
  exchange: Exchange;
  options: Dispatcher.DispatchOptions;
  body: Readable | undefined;
  memory: HeldMemory;
  /** The connection can take the next request. */
  onFree: () => void;
}): Promise<Sent> {
  const sending = new Sending(o);
  o.connection.wire.watch(sending);
  o.body?.once('error', (cause) => sending.bodyBroke(cause));
  o.connection.dispatch(o.options, sending);
  return sending.result;
}

class Sending implements Dispatcher.DispatchHandler, WireWatch {
  readonly result: Promise<Sent>;
  readonly #settle: (sent: Sent) => void;
  readonly #o: Parameters<typeof send>[0];
  readonly #onAbort = () => this.#fail(abortion());
  #controller: Dispatcher.DispatchController | undefined;
  #phase: 'send' | 'first_byte' | 'body' | 'over' = 'send';
  #incoming: Incoming | undefined;
  #cancel: () => void;
  #progress = false;
  readonly #interims: ReturnType<typeof createInterims>;

  constructor(o: Parameters<typeof send>[0]) {
    this.#o = o;
    this.#interims = createInterims(o.exchange);
    const { promise, resolve } = Promise.withResolvers<Sent>();
    this.result = promise;
    this.#settle = resolve;
    this.#cancel = o.clock.after(this.#timeouts.idleMs, () => this.#checkSend());
    o.exchange.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get #timeouts() {
    return this.#o.exchange.policy.timeouts;
  }

  /** The client left in the middle of its body; nobody at the far end is to blame. */
  bodyBroke(cause: unknown): void {
    this.#fail(new CodedError('FORBEAR_ABORTED', 'the request body broke off', { cause }));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  /** A sign of life: the time for the first byte begins anew. */
  onInterim(head: Head): Error | undefined {
    const fault = this.#interims(head);
    if (fault === undefined && this.#phase === 'first_byte') this.#awaitFirstByte();
    return fault;
  }

  onFault(error: Error): void {
    this.#fail(error);
  }

  onBodySent(): void {
    this.#progress = true;
  }

  onRequestSent(): void {
    if (this.#phase !== 'send') return;
    this.#phase = 'first_byte';
    this.#awaitFirstByte();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200 || this.#phase === 'over') return;
    this.#leaveWaiting('body');
    const rawHeaders = texts(controller.rawHeaders);
    const incoming = this.#receive(controller, rawHeaders);
    this.#incoming = incoming;
    const reason = this.#o.connection.wire.head?.reason ?? '';
    this.#settle({ kind: 'head', status, reason, rawHeaders, incoming });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#incoming?.data(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    // undici takes a reset for the end of a body that ends with its connection.
    const { errored } = this.#o.connection.wire.socket;
    if (errored) {
      this.onResponseError(controller, errored);
      return;
    }
    // undici closes the socket after this call if it must not be used again.
    queueMicrotask(this.#o.onFree);
    this.#incoming?.end(passableTrailers(texts(controller.rawTrailers)));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#incoming === undefined) {
      this.#fail(error);
      return;
    }
    this.#incoming.fail(error);
    this.#o.connection.destroy();
  }

  #awaitFirstByte(): void {
    const { firstByteMs } = this.#timeouts;
    const late = () =>
      this.#fail(new CodedError('FORBEAR_TIMEOUT', `no reply within ${firstByteMs} ms`));
    this.#cancel();
    this.#cancel = this.#o.clock.after(firstByteMs, late);
  }

  #receive(controller: Dispatcher.DispatchController, rawHeaders: readonly string[]): Incoming {
    const { exchange, clock, connection } = this.#o;
    const length = fieldValue(rawHeaders, 'content-length');
    return new Incoming({
      source: {
        pause: () => controller.pause(),
        resume: () => controller.resume(),
        abort: (error) => connection.destroy(error),
      },
      clock,
      memory: this.#o.memory,
      signal: exchange.signal,
      idleMs: this.#timeouts.idleMs,
      lingerMs: this.#timeouts.lingerMs,
      keepBytes: exchange.policy.inspect.bytes,
      length: length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined,
      onFirstRead: () => {
        exchange.stage = { kind: 'streaming', sinceAt: clock.now(), untilAt: undefined };
      },
    });
  }

  /** An upload stalls when the far end does not take it; when the client is slow, that is its own affair. */
  #checkSend(): void {
    const blocked = this.#o.connection.wire.socket.writableNeedDrain;
    const { idleMs } = this.#timeouts;
    if (blocked && !this.#progress) {
      this.#fail(new CodedError('FORBEAR_TIMEOUT', `the request was not taken for ${idleMs} ms`));
      return;
    }
    this.#progress = false;
    this.#cancel = this.#o.clock.after(idleMs, () => this.#checkSend());
  }

  #fail(error: Error): void {
    if (this.#phase === 'over' || this.#phase === 'body') return;
    const phase = this.#phase;
    this.#leaveWaiting('over');
    this.#settle({ kind: 'failed', phase, error });
    this.#controller?.abort(error);
    this.#o.connection.destroy(error);
  }

  #leaveWaiting(phase: 'body' | 'over'): void {
    this.#phase = phase;
    this.#cancel();
    this.#o.exchange.signal.removeEventListener('abort', this.#onAbort);
  }
}

function texts(raw: Dispatcher.DispatchController['rawHeaders'] | undefined): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((part: unknown) =>
    Buffer.isBuffer(part) ? part.toString('latin1') : String(part),
  );
}
