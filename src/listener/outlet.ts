import { STATUS_CODES } from 'node:http';

/** Where one reply is written to: an HTTP/1 response, or an HTTP/2 stream. */
export interface Outlet {
  /** The request was a HEAD: no body is written. */
  readonly isHead: boolean;
  readonly headSent: boolean;
  /** All of it has been taken by the client's connection. */
  readonly finished: boolean;
  /** The client cannot be reached here any more. */
  readonly gone: boolean;
  /** Behind another reply on the same connection: it is not this one that the client leaves alone. */
  readonly waits: boolean;
  /** The connection is to end behind this reply, where replies and connections have to do with each other. */
  closeAfter(): void;
  /** Lets a client that waits for it send its body. */
  sendContinue(): void;
  /** An interim reply; undefined where the client cannot take any. */
  readonly inform: ((status: number, rawHeaders: readonly string[]) => void) | undefined;
  /** Whether trailers may follow a reply of known or unknown length. */
  takesTrailers(length: 'known' | 'unknown'): boolean;
  /** The final head. An `undefined` reason is the usual one for the status. */
  head(status: number, reason: string | undefined, headers: readonly string[]): void;
  /** Sends what there is without waiting for more. */
  flush(): void;
  /** False: wait for `drain`. */
  write(chunk: Uint8Array): boolean;
  /** Ends the reply as a whole one. */
  end(rawTrailers: readonly string[]): void;
  /** Gives up on a client that takes nothing. */
  drop(): void;
  /** Ends it so that the client cannot take what it has for the whole. */
  cutOff(): void;
  on(event: 'drain' | 'finish' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'finish' | 'close', listener: () => void): unknown;
}

/** Whether a text can stand in a head: control characters cannot, and Node throws at what is no byte. */
export function isSendable(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}

/** The fields that can be written; the others are left out. */
export function sendable(headers: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2);
    if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && isSendable(value)) out.push(name, value);
  }
  return out;
}

/** An interim reply as HTTP/1.1 writes it. */
export function interimHead(status: number, fields: readonly string[]): string {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`];
  for (let i = 0; i + 1 < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
