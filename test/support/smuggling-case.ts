/** One thing a client might send, and what may become of it. */
export interface SmugglingCase {
  readonly name: string;
  /** With `{T}` for the request target and `{H}` for the authority. Latin-1. */
  readonly bytes: string;
  /** `refused`: 4xx, one reply, the end, and the origin sees nothing. `carried`: one request, framed anew. */
  readonly outcome: 'refused' | 'carried';
}

/** What an attacker wants to be taken for a request of its own. */
export const HIDDEN = 'GET /smuggled HTTP/1.1\r\nHost: o.test\r\n\r\n';

/** The start of a request with a body. */
export const POST = 'POST {T} HTTP/1.1\r\nHost: {H}\r\n';
/** The same, in chunks. */
export const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;
/** For names: on one line, and short. */
export const visible = (text: string) => JSON.stringify(text).slice(1, -1).slice(0, 60);
