import type { Reply, Via } from '../core/verdict.ts';
import type { Received, Response } from '../exchange/ports.ts';
import type { Broken } from './failure.ts';
import type { Incoming } from './incoming.ts';
import type { Meter } from './meter.ts';

/** The result of an attempt that got no reply; nothing of it is open any more. */
export function failedAttempt(end: Broken, o: { via: Via; sent: boolean; meter: Meter }): Received {
  o.meter.stop();
  const { phase, code, leg, detail, unprocessed, upstreamReply } = end;
  return {
    reply: {
      kind: 'failure',
      via: o.via,
      phase,
      code,
      leg,
      sent: o.sent,
      detail,
      ...(unprocessed === undefined ? {} : { unprocessed }),
      ...(upstreamReply === undefined ? {} : { upstreamReply }),
    },
    response: undefined,
    closed: Promise.resolve(),
    keep: () => {},
    discard: () => {},
    deliverable: false,
    sentBytes: o.meter.sentBytes,
    receivedBytes: o.meter.receivedBytes,
  };
}

/** The result of an attempt that got a reply, with its body still to be read. */
export class LiveReceived implements Received {
  readonly reply: Reply;
  readonly response: Response;
  readonly closed: Promise<void>;
  readonly #incoming: Incoming;
  readonly #meter: Meter;

  constructor(o: { reply: Reply; response: Response; incoming: Incoming; meter: Meter }) {
    this.reply = o.reply;
    this.response = o.response;
    this.#incoming = o.incoming;
    this.#meter = o.meter;
    this.closed = o.incoming.closed;
  }

  keep(): void {
    this.#incoming.keep();
  }

  discard(): void {
    this.#incoming.discard();
  }

  get deliverable(): boolean {
    return this.#incoming.deliverable;
  }

  get sentBytes(): number {
    return this.#meter.sentBytes;
  }

  get receivedBytes(): number {
    return this.#meter.receivedBytes;
  }
}
