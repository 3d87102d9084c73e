import { FLAG, FRAME, type FrameSight } from './h2-frames.ts';

/** What passed on one stream, as the frames tell it. */
export interface StreamFacts {
  readonly id: number;
  /** Its head is on the wire. */
  asked: boolean;
  /** The other side has ended it in good order: what came is whole. */
  ended: boolean;
  /** Body bytes that came, padding taken off. */
  dataBytes: number;
  /** The code of the other side's reset. */
  resetBy: number | undefined;
  /** The code of our own, which Node may have sent by itself. */
  resetByUs: number | undefined;
  sentBytes: number;
  receivedBytes: number;
  /** Told of `asked`, `ended` and `resetBy`. */
  onChange: () => void;
}

/** A GOAWAY of the other side: streams above `lastId` were not acted upon, and never will be. */
export interface Goaway {
  readonly code: number;
  readonly lastId: number;
}

/** What passed on one connection. */
export class ConnectionFacts {
  readonly #streams = new Map<number, StreamFacts>();
  #goaway: Goaway | undefined;
  #complaint: number | undefined;
  #settled = false;

  get goaway(): Goaway | undefined {
    return this.#goaway;
  }

  /** The code of our own GOAWAY, if Node ended the connection because its rules were broken. */
  get complaint(): number | undefined {
    return this.#complaint;
  }

  /** Whether the other side has said what it takes. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Begins to follow a stream. */
  follow(id: number): StreamFacts {
    const facts: StreamFacts = {
      id,
      asked: false,
      ended: false,
      dataBytes: 0,
      resetBy: undefined,
      resetByUs: undefined,
      sentBytes: 0,
      receivedBytes: 0,
      onChange: () => {},
    };
    this.#streams.set(id, facts);
    return facts;
  }

  forget({ id }: StreamFacts): void {
    this.#streams.delete(id);
  }

  sent(frame: FrameSight): void {
    if (frame.type === FRAME.goaway) this.#complaint ||= codeAt(frame.start, 4);
    const facts = this.#streams.get(frame.streamId);
    if (facts === undefined) return;
    facts.sentBytes += frame.bytes;
    if (frame.type === FRAME.rstStream) facts.resetByUs ??= codeAt(frame.start, 0);
    if (frame.type !== FRAME.headers || facts.asked) return;
    facts.asked = true;
    facts.onChange();
  }

  received(frame: FrameSight): void {
    if (frame.type === FRAME.settings) this.#settled = true;
    if (frame.type === FRAME.goaway) this.#left(frame.start);
    const facts = this.#streams.get(frame.streamId);
    if (facts === undefined) return;
    facts.receivedBytes += frame.bytes;
    if (frame.type === FRAME.rstStream) {
      facts.resetBy ??= codeAt(frame.start, 0);
      facts.onChange();
    }
    if (frame.type === FRAME.data) facts.dataBytes += payloadOf(frame);
    const mayEnd = frame.type === FRAME.data || frame.type === FRAME.headers;
    if (!mayEnd || (frame.flags & FLAG.endStream) === 0) return;
    facts.ended = true;
    facts.onChange();
  }

  /** A second GOAWAY may lower the last stream, and tell the reason (RFC 9113 section 6.8). */
  #left(start: Buffer): void {
    const lastId = codeAt(start, 0) & 0x7fff_ffff;
    const code = codeAt(start, 4);
    const earlier = this.#goaway;
    this.#goaway = {
      code: code === 0 ? (earlier?.code ?? 0) : code,
      lastId: Math.min(lastId, earlier?.lastId ?? lastId),
    };
  }
}

function payloadOf({ bytes, flags, start }: FrameSight): number {
  const length = bytes - 9;
  return (flags & FLAG.padded) === 0 ? length : length - 1 - (start[0] ?? 0);
}

const codeAt = (start: Buffer, at: number): number =>
  start.length >= at + 4 ? start.readUInt32BE(at) : 0;
