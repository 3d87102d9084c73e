import { STATUS_CODES } from 'node:http';

/** A reply that this proxy makes itself. */
export interface Refusal {
  readonly status: number;
  /** The stop or verdict, or a word of the listener's own. */
  readonly reason: string;
  /** RFC 9209 section 2.3; undefined where a status says it all. */
  readonly token: string | undefined;
  readonly detail: string;
  readonly retryAfterMs?: number | undefined;
  /** The status of a reply that is not passed on. */
  readonly receivedStatus?: number | undefined;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** The connection's framing is in doubt: nothing more is read from it. */
  readonly closes?: boolean;
}

/** What an exchange adds to its refusal. */
export interface Told {
  readonly attempts: number;
  readonly exchange: string;
  readonly dead_letter?: string;
}

/** Head and body of a refusal: problem details (RFC 9457), `Proxy-Status` and `Retry-After`. */
export function rendered(
  refusal: Refusal,
  told: Told | undefined,
): { readonly headers: string[]; readonly body: Buffer } {
  const { status, reason, token, detail, retryAfterMs, receivedStatus } = refusal;
  const problem = {
    type: `urn:forbear:${reason}`,
    title: STATUS_CODES[status] ?? 'Unknown',
    status,
    reason,
    detail,
    ...told,
  };
  const body = Buffer.from(`${JSON.stringify(problem)}\n`);
  const headers = ['Content-Type', 'application/problem+json'];
  headers.push('Content-Length', String(body.length));
  if (retryAfterMs !== undefined) headers.push('Retry-After', retryAfter(retryAfterMs));
  headers.push(...(refusal.headers ?? []));
  headers.push('Proxy-Status', proxyStatus({ token, receivedStatus, detail }));
  return { headers, body };
}

/** Whole seconds, rounded up: a client that obeys is never early. */
export function retryAfter(ms: number): string {
  return String(Math.max(0, Math.ceil(ms / 1000)));
}

/** One member of a `Proxy-Status` field (RFC 9209), in structured-field syntax. */
export function proxyStatus(said: {
  readonly token: string | undefined;
  readonly receivedStatus?: number | undefined;
  readonly detail?: string | undefined;
}): string {
  const parts = ['forbear'];
  if (said.token !== undefined) parts.push(`error=${said.token}`);
  if (said.receivedStatus !== undefined) parts.push(`received-status=${said.receivedStatus}`);
  if (said.detail !== undefined) parts.push(`details="${quotable(said.detail)}"`);
  return parts.join('; ');
}

/** A request that cannot be served as it stands. */
export function badRequest(detail: string): Refusal {
  return { status: 400, reason: 'bad_request', token: 'http_request_error', detail };
}

/** A request whose end cannot be told for sure: it is answered, and the connection with it. */
export function brokenRequest(detail: string): Refusal {
  return { ...badRequest(detail), closes: true };
}

/** The preface of HTTP/2 where a request to the proxy belongs. */
export const http2Unwrapped: Refusal = brokenRequest(
  'This proxy is asked by HTTP/1.1; HTTP/2 is spoken inside its tunnels only.',
);

/** The head is longer than it may be. */
export function headerOverflow(headerBytes: number): Refusal {
  return {
    status: 431,
    reason: 'header_overflow',
    token: 'http_request_error',
    detail: `The request line and header fields are longer than limits.header_bytes (${headerBytes}).`,
    closes: true,
  };
}

/** A request that came over the connection for another host (RFC 9110 section 15.5.20). */
export const misdirected: Refusal = {
  status: 421,
  reason: 'misdirected',
  token: 'http_request_error',
  detail: 'The tunnel was opened for another host than this request names.',
};

/** A 101 that does not answer the handshake it was sent (RFC 6455 section 4.1). */
export const badHandshake: Refusal = {
  status: 502,
  reason: 'malformed_reply',
  token: 'http_protocol_error',
  detail: 'The site took the WebSocket handshake with a key that does not fit.',
  receivedStatus: 101,
};

/** A protocol over an HTTP/2 stream that is not helped on here (RFC 9220 section 3). */
export const unknownProtocol: Refusal = {
  status: 501,
  reason: 'unknown_protocol',
  token: 'http_request_error',
  detail: 'The only protocol that a CONNECT with :protocol gets here is websocket.',
};

/** No credentials, or wrong ones. */
export function loginNeeded(detail: string): Refusal {
  return {
    status: 407,
    reason: 'proxy_login',
    token: 'http_request_denied',
    detail,
    headers: ['Proxy-Authenticate', 'Basic realm="forbear"'],
  };
}

/** The client went silent in the middle of its request. */
export const requestTimedOut: Refusal = {
  status: 408,
  reason: 'request_timeout',
  token: 'connection_read_timeout',
  detail: 'The request did not arrive in time.',
  closes: true,
};

/** The client has as many connections as it may. */
export const tooManyConnections: Refusal = atLimit(
  'too_many_connections',
  'There are more connections than limits.client_connections or limits.connections allows.',
);

/** There are as many CONNECT tunnels as there may be. */
export const tooManyTunnels: Refusal = atLimit(
  'too_many_tunnels',
  'There are more tunnels than limits.tunnels allows.',
);

/** The client sends ahead without end. */
export const tooManyPipelined: Refusal = atLimit(
  'too_many_pipelined',
  'More than 100 requests wait on this connection.',
);

/** `Expect` with something else than 100-continue (RFC 9110 section 10.1.1). */
export const unknownExpectation: Refusal = {
  status: 417,
  reason: 'expectation_failed',
  token: 'http_request_error',
  detail: 'The only expectation this proxy can meet is 100-continue.',
  closes: true,
};

/** A bug: nothing is known to be at fault but the proxy. */
export const internalError: Refusal = {
  status: 500,
  reason: 'internal',
  token: 'proxy_internal_error',
  detail: 'Something broke inside the proxy.',
};

function atLimit(reason: string, detail: string): Refusal {
  const token = 'connection_limit_reached';
  return { status: 503, reason, token, detail, retryAfterMs: 1000, closes: true };
}

function quotable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&');
}
