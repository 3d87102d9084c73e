import type { Socket } from 'node:net';
import { CodedError } from './failure.ts';
import { type Limits, type Outcome, step } from './step.ts';

/**
 * Reads from a socket that we own until `take` makes something of all bytes so far, and leaves the socket
 * paused. A peer that ends, or closes, before that fails with FORBEAR_CLOSED.
 */
export function readUntil<T>(
  socket: Socket,
  limits: Limits,
  take: (bytes: Buffer) => T | undefined,
): Promise<Outcome<T>> {
  return step<T>(limits, ({ done, fail }) => {
    let bytes: Buffer = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      try {
        const taken = take(bytes);
        if (taken !== undefined) done(taken);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = () => fail(new CodedError('FORBEAR_CLOSED', 'closed before an answer'));
    socket.on('data', onData).on('end', onEnd).on('close', onEnd).prependListener('error', fail);
    socket.resume();
    return () => {
      socket.pause();
      socket.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', fail);
    };
  });
}
