/** Something that knows how many bytes have passed over it: a TCP socket, or a stream's part of one. */
export interface Metered {
  readonly bytesWritten: number;
  readonly bytesRead: number;
}

/** Counts the bytes of one attempt on the wire, TLS and handshakes included. */
export class Meter {
  #open: { readonly raw: Metered; readonly sent: number; readonly received: number }[] = [];
  #sent = 0;
  #received = 0;

  /** Counts what passes over a TCP socket from now on. */
  add(raw: Metered): void {
    this.#open.push({ raw, sent: raw.bytesWritten, received: raw.bytesRead });
  }

  /** Ends the count: a socket that is kept alive goes on with somebody else's bytes. */
  stop(): void {
    this.#sent = this.sentBytes;
    this.#received = this.receivedBytes;
    this.#open = [];
  }

  get sentBytes(): number {
    return this.#open.reduce((sum, { raw, sent }) => sum + raw.bytesWritten - sent, this.#sent);
  }

  get receivedBytes(): number {
    return this.#open.reduce(
      (sum, { raw, received }) => sum + raw.bytesRead - received,
      this.#received,
    );
  }
}
