import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { brokenRequest, type Refusal, rendered, requestTimedOut } from './problem.ts';

/** Answers on a bare socket and closes it; what the client still sends is read and dropped, so that it gets the answer. */
export function rejectSocket(
  socket: Socket,
  refusal: Refusal,
  patience: { readonly clock: Pick<Clock, 'after'>; readonly lingerMs: number },
): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const { headers, body } = rendered(refusal, undefined);
  const lines = [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`];
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  lines.push('Connection: close', '', '');
  socket.end(Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), body]));
  lingerThenDestroy(socket, patience);
}

/** Closing a socket with unread bytes resets it, and a reset takes the answer away from the client. */
export function lingerThenDestroy(
  socket: Socket,
  patience: { readonly clock: Pick<Clock, 'after'>; readonly lingerMs: number },
): void {
  const cancel = patience.clock.after(patience.lingerMs, () => socket.destroy());
  socket.once('close', cancel);
  socket.resume();
}

/** What the HTTP parser's complaint is worth; undefined when there is nobody left to tell. */
export function refusalOf(
  error: Error & { code?: string },
  headerBytes: number,
): Refusal | undefined {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: 431,
        reason: 'header_overflow',
        token: 'http_request_error',
        detail: `The request line and header fields are longer than limits.header_bytes (${headerBytes}).`,
        closes: true,
      };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTimedOut;
    case 'HPE_INVALID_EOF_STATE':
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined;
    default:
      return brokenRequest('The request is not valid HTTP.');
  }
}
