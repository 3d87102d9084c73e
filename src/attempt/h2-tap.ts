import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * Puts a stream between a socket and Node's HTTP/2, through which every byte passes where it can be looked at.
 * (Node would else read the socket's handle beneath JavaScript.)
 */
export function tapped(
  socket: Socket,
  on: {
    readonly sent: (chunk: Buffer) => void;
    readonly received: (chunk: Buffer) => void;
  },
): Duplex {
  const tap = new Duplex({
    read: () => socket.resume(),
    writev(chunks, done) {
      const bytes = chunks.map(({ chunk }) => chunk as Buffer);
      for (const chunk of bytes) on.sent(chunk);
      socket.write(bytes.length === 1 ? (bytes[0] as Buffer) : Buffer.concat(bytes), done);
    },
    final: (done) => {
      socket.end(done);
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  // Whoever reads the error finds it on the session, which has it from here.
  tap.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    on.received(chunk);
    if (!tap.push(chunk)) socket.pause();
  });
  // One turn later, so that streams that ended with the last bytes end before their connection does.
  socket.once('end', () => setImmediate(() => tap.push(null)));
  socket.once('close', () => setImmediate(() => tap.destroy(socket.errored ?? undefined)));
  return tap;
}
