import type { Socket } from 'node:net';
import type { StreamFacts } from './h2-facts.ts';
import type { Metered } from './meter.ts';

interface Share {
  /** Set when the count is closed. */
  total: { readonly sent: number; readonly received: number } | undefined;
}

/**
 * Splits a socket's bytes among the streams on it: each bears its own frames, and whoever ends bears what has
 * passed besides (TLS, settings, pings), so that all shares together are what went over the wire.
 */
export class Shares {
  readonly #raw: Socket;
  readonly #open = new Map<StreamFacts, Share>();
  #sent: number;
  #received: number;

  constructor(raw: Socket) {
    this.#raw = raw;
    // What came before was the handshake, and counts for whoever dialled.
    this.#sent = raw.bytesWritten;
    this.#received = raw.bytesRead;
  }

  /** Begins to count for a stream. */
  of(facts: StreamFacts): Metered {
    const share: Share = { total: undefined };
    this.#open.set(facts, share);
    return {
      get bytesWritten() {
        return share.total?.sent ?? facts.sentBytes;
      },
      get bytesRead() {
        return share.total?.received ?? facts.receivedBytes;
      },
    };
  }

  /** Closes a stream's count. What still passes on it is borne by the next to end. */
  end(facts: StreamFacts): void {
    const share = this.#open.get(facts);
    if (share === undefined) return;
    this.#open.delete(facts);
    let sent = this.#raw.bytesWritten - this.#sent;
    let received = this.#raw.bytesRead - this.#received;
    for (const other of this.#open.keys()) {
      sent -= other.sentBytes;
      received -= other.receivedBytes;
    }
    // TLS holds bytes back on their way, so a count can be ahead of the socket's.
    share.total = { sent: Math.max(sent, 0), received: Math.max(received, 0) };
    this.#sent += share.total.sent;
    this.#received += share.total.received;
  }
}
