import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import {
  brokenRequest,
  headerOverflow,
  http2Unwrapped,
  type Refusal,
  rendered,
  requestTimedOut,
} from './problem.ts';

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
  socket.end(refusal === http2Unwrapped ? goAway(refusal.detail) : written(refusal));
  lingerThenDestroy(socket, patience);
}

function written(refusal: Refusal): Buffer {
  const { headers, body } = rendered(refusal, undefined);
  const lines = [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`];
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  lines.push('Connection: close', '', '');
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), body]);
}

const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const GOAWAY = 7;
const HTTP_1_1_REQUIRED = 13;

/** Who begins with HTTP/2 reads frames, and no status line (RFC 9113 sections 3.4 and 6.8). */
function goAway(detail: string): Buffer {
  const debug = Buffer.from(detail);
  const frame = Buffer.alloc(17);
  frame.writeUIntBE(8 + debug.length, 0, 3);
  frame[3] = GOAWAY;
  frame.writeUInt32BE(HTTP_1_1_REQUIRED, 13);
  return Buffer.concat([EMPTY_SETTINGS, frame, debug]);
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
      return headerOverflow(headerBytes);
    case 'HPE_PAUSED_H2_UPGRADE':
      return http2Unwrapped;
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
