import { METHODS } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';

/** How a client opens its tunnel. `held` has been read, and is to be sent on first. */
export type Opening =
  | { readonly kind: 'tls' | 'http' }
  | { readonly kind: 'blind'; readonly held: Buffer }
  | { readonly kind: 'gone' };

export interface Patience {
  readonly clock: Pick<Clock, 'after'>;
  /** A client that says nothing for so long waits for the server to speak first. */
  readonly sniffMs: number;
  /** A ClientHello that has begun must be whole within this. */
  readonly helloMs: number;
}

const HANDSHAKE = 0x16;
/** Longer than any real ClientHello; what is beyond is for the TLS library to refuse. */
const LONGEST_HELLO_BYTES = 65_536;
const METHOD_LINES = METHODS.map((method) => `${method} `);

/** Waits for the first bytes of a tunnel. For `tls` and `http` they are back in the socket on return. */
export function awaitOpening(socket: Socket, patience: Patience): Promise<Opening> {
  const { promise, resolve } = Promise.withResolvers<Opening>();
  let held: Buffer = Buffer.alloc(0);
  let cancel = patience.clock.after(patience.sniffMs, () => settle({ kind: 'blind', held }));
  let inHello = false;

  const settle = (opening: Opening) => {
    cancel();
    socket.off('readable', onReadable);
    socket.off('end', onEnd);
    socket.off('close', onClose);
    if (opening.kind === 'tls' || opening.kind === 'http') socket.unshift(held);
    resolve(opening);
  };
  const onReadable = () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
      held = Buffer.concat([held, chunk]);
    }
    const kind = judgeOpening(held);
    if (kind === 'blind') return settle({ kind, held });
    if (kind === 'tls' || kind === 'http') return settle({ kind });
    if (kind !== 'hello' || inHello) return;
    inHello = true;
    cancel();
    cancel = patience.clock.after(patience.helloMs, () => settle({ kind: 'gone' }));
  };
  const onEnd = () => {
    settle(held.length === 0 || inHello ? { kind: 'gone' } : { kind: 'blind', held });
  };
  const onClose = () => settle({ kind: 'gone' });
  socket.on('readable', onReadable);
  socket.on('end', onEnd);
  socket.on('close', onClose);
  return promise;
}

/** What the first bytes are. `hello`: a ClientHello that is not whole yet; `undecided`: too few of them. */
function judgeOpening(bytes: Buffer): 'tls' | 'http' | 'blind' | 'hello' | 'undecided' {
  if (bytes.length === 0) return 'undecided';
  if (bytes[0] === HANDSHAKE) return isWholeHello(bytes) ? 'tls' : 'hello';
  const start = bytes.toString('latin1', 0, 24);
  if (METHOD_LINES.some((line) => start.startsWith(line))) return 'http';
  return METHOD_LINES.some((line) => line.startsWith(start)) ? 'undecided' : 'blind';
}

/** A handshake message may be spread over records (RFC 8446 section 5.1), and a record over segments. */
function isWholeHello(bytes: Buffer): boolean {
  if (bytes.length > LONGEST_HELLO_BYTES) return true;
  const pieces: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    // A record of another kind in between is an error, which the TLS library answers with an alert.
    if (bytes[at] !== HANDSHAKE) return true;
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    pieces.push(bytes.subarray(at + 5, end));
    at = end;
  }
  const message = Buffer.concat(pieces);
  return message.length >= 4 && message.length >= 4 + message.readUIntBE(1, 3);
}
