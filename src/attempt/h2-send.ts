import { constants, type IncomingHttpHeaders } from 'node:http2';
import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { fieldValue } from '../core/fields.ts';
import type { Exchange } from '../exchange/ports.ts';
import { CodedError } from './failure.ts';
import { faultOf } from './h2-faults.ts';
import { h2Fields, h2Trailers, reasonOf } from './h2-fields.ts';
import type { H2Session, Slot } from './h2-session.ts';
import { Incoming } from './incoming.ts';
import { createInterims } from './interim.ts';
import type { ReplyTerms, Sent } from './send.ts';
import { abortion } from './step.ts';
import { passableTrailers } from './trailers.ts';

/** One request for a session that has room for it. */
export interface H2Job {
  readonly clock: Clock;
  readonly session: H2Session;
  readonly slot: Slot;
  readonly exchange: Exchange;
  readonly body: Readable | undefined;
  readonly replyTerms: ReplyTerms;
}

/** Sends one request on a stream of its own, and resets that (the session lives on) at a deadline or an abort. */
export function sendOnStream(job: H2Job): Promise<Sent> {
  return new StreamSending(job).result;
}

class StreamSending {
  readonly result: Promise<Sent>;
  readonly #o: H2Job;
  readonly #settle: (sent: Sent) => void;
  readonly #onAbort = () => this.#fail(abortion());
  readonly #interims: ReturnType<typeof createInterims>;
  #phase: 'send' | 'first_byte' | 'body' | 'over' = 'send';
  #bodyIsOut: boolean;
  #progress = false;
  #incoming: Incoming | undefined;
  #received = 0;
  #length: number | undefined;
  #rawTrailers: string[] = [];
  #cancel: () => void;

  constructor(o: H2Job) {
    this.#o = o;
    this.#interims = createInterims(o.exchange);
    const { promise, resolve } = Promise.withResolvers<Sent>();
    this.result = promise;
    this.#settle = resolve;
    this.#bodyIsOut = o.body === undefined;
    this.#cancel = o.clock.after(this.#timeouts.idleMs, () => this.#checkSend());
    o.exchange.signal.addEventListener('abort', this.#onAbort, { once: true });
    o.slot.facts.onChange = () => this.#onChange();
    this.#listen();
    this.#onChange();
    if (o.body !== undefined) this.#upload(o.body);
    if (o.exchange.signal.aborted) this.#onAbort();
  }

  get #timeouts() {
    return this.#o.exchange.policy.timeouts;
  }

  get #stream() {
    return this.#o.slot.stream;
  }

  #listen(): void {
    type OnFields = (fields: IncomingHttpHeaders, flags: number, raw: string[]) => void;
    const onInterim: OnFields = ({ ':status': status }, _flags, raw) =>
      this.#onInterim(Number(status), raw);
    const onResponse: OnFields = ({ ':status': status }, _flags, raw) =>
      this.#onResponse(Number(status), raw);
    const onTrailers: OnFields = (_fields, _flags, raw) => {
      this.#rawTrailers = h2Fields(raw);
    };
    // Node passes the raw fields on to all of these; its types know them for none.
    this.#stream
      .on('headers', onInterim as () => void)
      .on('response', onResponse as () => void)
      .on('trailers', onTrailers as () => void)
      .on('error', () => {})
      .once('end', () => this.#onEnd())
      .once('close', () => this.#onClose());
  }

  #onInterim(status: number, raw: readonly string[]): void {
    const fault = this.#interims({ status, rawHeaders: h2Fields(raw) });
    if (fault !== undefined) this.#fail(fault);
    else if (this.#phase === 'first_byte') this.#awaitFirstByte();
  }

  #onResponse(status: number, raw: readonly string[]): void {
    if (this.#phase === 'over' || this.#incoming !== undefined) return;
    const rawHeaders = h2Fields(raw);
    const bytes = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
    if (bytes > this.#o.replyTerms.maxHeadBytes) {
      this.#fail(new CodedError('FORBEAR_LONG_HEAD', `a head of ${bytes} bytes`));
      return;
    }
    this.#leaveWaiting('body');
    const incoming = this.#receive(status, rawHeaders);
    this.#incoming = incoming;
    this.#settle({ kind: 'head', status, reason: reasonOf(status), rawHeaders, incoming });
    this.#stream.on('data', (chunk: Buffer) => {
      this.#received += chunk.length;
      incoming.data(chunk);
    });
  }

  /** The head went out, or the reply has come to its end. */
  #onChange(): void {
    const { asked, resetBy } = this.#o.slot.facts;
    if (asked && this.#bodyIsOut && this.#phase === 'send') {
      this.#phase = 'first_byte';
      this.#awaitFirstByte();
    }
    // All of it is here: a connection that dies now must not take with it what nobody has read yet.
    if (this.#isOver()) this.#stream.resume();
    // A head that came just before is told by Node only after this.
    else if (resetBy !== undefined) {
      setImmediate(() => {
        if (this.#incoming === undefined) this.#endReset();
      });
    }
  }

  /** Node would wait for the rest of an upload that nobody takes any more. */
  #endReset(): void {
    if (this.#stream.closed) this.#stream.destroy();
  }

  #onEnd(): void {
    if (!this.#isWhole()) {
      this.#endReset();
      return;
    }
    this.#o.session.settle(this.#o.slot);
    this.#incoming?.end(passableTrailers(this.#rawTrailers));
    // An answer to half a request: the other half is not wanted any more (RFC 9113 section 8.1).
    if (!this.#bodyIsOut) this.#drop();
  }

  #onClose(): void {
    const { session, slot } = this.#o;
    const { facts } = slot;
    this.#o.body?.destroy();
    session.settle(slot);
    // Node forgets the end of a stream when its session breaks in the same moment.
    if (this.#isWhole()) {
      this.#incoming?.end(passableTrailers(this.#rawTrailers));
      return;
    }
    const fault = faultOf(facts, session);
    this.#fail(fault);
    this.#incoming?.fail(fault);
  }

  /**
   * A reset with NO_ERROR is no error: for large bodies Node's own servers say so in place of END_STREAM. It ends a
   * body of unknown length as a FIN does in HTTP/1.1; a length that is known has to hold.
   */
  #isWhole(): boolean {
    const { dataBytes } = this.#o.slot.facts;
    if (!this.#isOver() || this.#received !== dataBytes) return false;
    return this.#length === undefined || this.#length === dataBytes;
  }

  /** No more will come, and nothing was said to be wrong. */
  #isOver(): boolean {
    const { ended, resetBy } = this.#o.slot.facts;
    return this.#incoming !== undefined && (ended || resetBy === constants.NGHTTP2_NO_ERROR);
  }

  #upload(body: Readable): void {
    const stream = this.#stream;
    body.on('data', (chunk: Buffer) => {
      const isRoom = stream.write(chunk, () => {
        this.#progress = true;
      });
      if (!isRoom) body.pause();
    });
    stream.on('drain', () => body.resume());
    stream.once('finish', () => {
      this.#bodyIsOut = true;
      this.#onChange();
    });
    stream.once('wantTrailers', () => {
      stream.sendTrailers(h2Trailers(passableTrailers(this.#o.exchange.body.rawTrailers)));
    });
    body.once('end', () => stream.end());
    body.once('error', (cause) => {
      this.#fail(new CodedError('FORBEAR_ABORTED', 'the request body broke off', { cause }));
      this.#drop();
    });
  }

  #receive(status: number, rawHeaders: readonly string[]): Incoming {
    const { exchange, clock, replyTerms } = this.#o;
    const stream = this.#stream;
    const length = fieldValue(rawHeaders, 'content-length');
    // What these say of a length is said of a body that does not come.
    const bodiless = exchange.method === 'HEAD' || status === 204 || status === 304;
    const isKnown = !bodiless && length !== undefined && /^\d+$/.test(length);
    this.#length = isKnown ? Number(length) : undefined;
    return new Incoming({
      source: {
        pause: () => {
          if (!this.#isOver()) stream.pause();
        },
        resume: () => {
          stream.resume();
        },
        abort: () => this.#drop(),
      },
      clock,
      memory: replyTerms.memory,
      signal: exchange.signal,
      idleMs: this.#timeouts.idleMs,
      lingerMs: this.#timeouts.lingerMs,
      keepBytes: exchange.policy.inspect.bytes,
      length: this.#length,
      onFirstRead: () => {
        exchange.stage = { kind: 'streaming', sinceAt: clock.now(), untilAt: undefined };
      },
    });
  }

  #awaitFirstByte(): void {
    const { firstByteMs } = this.#timeouts;
    const late = () =>
      this.#fail(new CodedError('FORBEAR_TIMEOUT', `no reply within ${firstByteMs} ms`));
    this.#cancel();
    this.#cancel = this.#o.clock.after(firstByteMs, late);
  }

  /** The far end takes neither the head nor more of the body; a slow client is its own affair. */
  #checkSend(): void {
    const { facts } = this.#o.slot;
    const blocked = !facts.asked || this.#stream.writableLength > 0;
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
    this.#o.session.settle(this.#o.slot);
    this.#settle({ kind: 'failed', phase, error });
    this.#drop();
  }

  /** Lets the stream go; its session lives on. */
  #drop(): void {
    this.#o.body?.destroy();
    // What the other side has reset with NO_ERROR is closed already, and would wait for its upload for ever.
    if (this.#stream.closed) this.#stream.destroy();
    else this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  #leaveWaiting(phase: 'body' | 'over'): void {
    this.#phase = phase;
    this.#cancel();
    this.#o.exchange.signal.removeEventListener('abort', this.#onAbort);
  }
}
