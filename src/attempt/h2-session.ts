import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { ConnectionKey } from './connections.ts';
import type { Dialled } from './dial.ts';
import { CodedError } from './failure.ts';
import { ConnectionFacts, type StreamFacts } from './h2-facts.ts';
import { FLAG, FRAME, type FrameSight, FrameSights } from './h2-frames.ts';
import { Shares } from './h2-shares.ts';
import { tapped } from './h2-tap.ts';
import type { Metered } from './meter.ts';

/** One request on a session. */
export interface Slot {
  readonly stream: ClientHttp2Stream;
  readonly facts: StreamFacts;
}

const IDLE_MS = 4000;
const LEAVE_MS = 1000;
const PREFACE_BYTES = 24;
/** How much of a body comes before somebody has read the beginning of it. */
const STREAM_WINDOW_BYTES = 512 * 1024;
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;
/** Fields of one reply; a reply with more is refused by Node itself. */
const MAX_FIELDS = 1000;
/** Node counts in megabytes, and refuses new streams beyond; what is held is bounded elsewhere. */
const SESSION_MEMORY_MB = 1024;
/** PING and SETTINGS, each of which we have to answer: as many at once, and as many a second after. */
const CHATTER_BURST = 200;
const CHATTER_PER_SECOND = 20;

/** One dialled socket with HTTP/2 on it: many requests at a time, for as long as it lives. */
export class H2Session {
  readonly key: ConnectionKey;
  readonly raw: Socket;
  readonly bornAt: number;
  /** Settles once the other side has said how many streams it takes, or will never say it. */
  readonly settled: Promise<void>;
  /** Settles when the socket is gone. */
  readonly closed: Promise<void>;
  readonly #facts = new ConnectionFacts();
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #shares: Shares;
  #active = 0;
  #uses = 0;
  #heardBytes = 0;
  #retired = false;
  #fault: Error | undefined;
  #idleSince: number;
  #cancelIdle: () => void = () => {};
  #chatter = CHATTER_BURST;
  #chatterAt: number;

  constructor(key: ConnectionKey, dialled: Dialled, o: { clock: Clock; maxHeadBytes: number }) {
    this.key = key;
    this.raw = dialled.raw;
    this.#socket = dialled.socket;
    this.#clock = o.clock;
    this.bornAt = o.clock.now();
    this.#idleSince = this.bornAt;
    this.#chatterAt = this.bornAt;
    this.#shares = new Shares(dialled.raw);
    const settled = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    this.settled = settled.promise;
    this.closed = closed.promise;
    const out = new FrameSights((frame) => this.#facts.sent(frame), PREFACE_BYTES);
    const back = new FrameSights((frame) => this.#onFrame(frame));
    const tap = tapped(dialled.socket, {
      sent: (chunk) => out.push(chunk),
      received: (chunk) => {
        this.#heardBytes += chunk.length;
        back.push(chunk);
      },
    });
    // The name is not used: each request says for which host it is.
    const terms = termsOf(o.maxHeadBytes);
    this.#session = connect('https://origin.invalid', { ...terms, createConnection: () => tap });
    this.#session.once('connect', () => {
      if (!this.#session.destroyed) this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
    this.#session.once('remoteSettings', () => settled.resolve());
    this.#session.on('error', (error: Error) => {
      this.#fault ??= error;
    });
    this.#session.once('close', () => {
      this.#cancelIdle();
      settled.resolve();
      closed.resolve();
      dialled.socket.destroy();
      dialled.raw.destroy();
    });
    this.#armIdle();
  }

  /** How many more requests it takes now. Until the other side has spoken, one is safe. */
  get room(): number {
    if (!this.alive || this.#retired) return 0;
    const most = this.#facts.settled
      ? (this.#session.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY)
      : 1;
    return most - this.#active;
  }

  get alive(): boolean {
    const { closed, destroyed } = this.#session;
    return !closed && !destroyed && this.#facts.goaway === undefined && !this.#socket.destroyed;
  }

  get isIdle(): boolean {
    return this.#active === 0;
  }

  /** How long nothing has been asked on it. */
  idleMs(now: number): number {
    return this.#active > 0 ? 0 : now - this.#idleSince;
  }

  /** Requests so far. */
  get uses(): number {
    return this.#uses;
  }

  /** Bytes that came so far, TLS taken off. */
  get heardBytes(): number {
    return this.#heardBytes;
  }

  get goaway() {
    return this.#facts.goaway;
  }

  /** The code with which Node complained of the other side, and ended the connection. */
  get complaint(): number | undefined {
    return this.#facts.complaint;
  }

  /** What ended it, if anything did. The socket's own error says more than what Node makes of it. */
  get fault(): Error | undefined {
    return this.#socket.errored ?? this.#fault;
  }

  /** Takes a place, which `open` or `giveBack` must follow. */
  reserve(): void {
    this.#active += 1;
    this.#uses += 1;
    this.#cancelIdle();
  }

  /** Gives an unused place back. */
  giveBack(): void {
    this.#active -= 1;
    if (this.#active > 0) return;
    this.#idleSince = this.#clock.now();
    if (this.#retired || !this.alive) this.#leave();
    else this.#armIdle();
  }

  /** Asks, from a place that was taken: names and values in turn, pseudo-fields included. */
  open(fields: readonly string[], body: 'none' | 'sized' | 'trailed'): Slot {
    const stream = this.#session.request(fields, {
      endStream: body === 'none',
      waitForTrailers: body === 'trailed',
    });
    // A session that has just died gives a stream without a number, which fails at once.
    const facts = this.#facts.follow(stream.id ?? 0);
    stream.once('close', () => this.#release(facts));
    return { stream, facts };
  }

  /** Counts one stream's part of the bytes on the wire. */
  share({ facts }: Slot): Metered {
    return this.#shares.of(facts);
  }

  /** Closes the count of a stream, whose end is near. */
  settle({ facts }: Slot): void {
    this.#shares.end(facts);
  }

  /** Takes no more requests, and closes when those that run have ended. */
  retire(): void {
    this.#retired = true;
    if (this.isIdle) this.#leave();
  }

  /** Ends the socket and whatever runs on it, at once. */
  destroy(fault?: Error): void {
    this.#fault ??= fault;
    this.#session.destroy();
    this.#socket.destroy();
    this.raw.destroy();
  }

  #release(facts: StreamFacts): void {
    this.#shares.end(facts);
    this.#facts.forget(facts);
    this.giveBack();
  }

  /** In good order: the other side is told, and has a moment to close. */
  #leave(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#clock.after(LEAVE_MS, () => this.destroy());
    this.#session.close();
  }

  #armIdle(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#clock.after(IDLE_MS, () => this.retire());
  }

  #onFrame(frame: FrameSight): void {
    const isQuestion = frame.type === FRAME.ping || frame.type === FRAME.settings;
    if (isQuestion && (frame.flags & FLAG.ack) === 0 && this.#isFlooded()) {
      const flood = new CodedError('FORBEAR_BAD_REPLY', 'a flood of PING or SETTINGS frames');
      this.#fault ??= flood;
      setImmediate(() => this.#session.destroy(flood, constants.NGHTTP2_ENHANCE_YOUR_CALM));
    }
    this.#facts.received(frame);
  }

  #isFlooded(): boolean {
    const now = this.#clock.now();
    const earned = ((now - this.#chatterAt) / 1000) * CHATTER_PER_SECOND;
    this.#chatterAt = now;
    this.#chatter = Math.min(CHATTER_BURST, this.#chatter + earned) - 1;
    return this.#chatter < 0;
  }
}

/** Nothing is refused or dropped that a client of HTTP/1.1 would be given: doubled fields, spaces in values. */
const termsOf = (maxHeadBytes: number) => ({
  maxHeaderListPairs: MAX_FIELDS,
  maxSessionMemory: SESSION_MEMORY_MB,
  strictSingleValueFields: false,
  strictFieldWhitespaceValidation: false,
  settings: {
    enablePush: false,
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxHeaderListSize: maxHeadBytes,
  },
});
