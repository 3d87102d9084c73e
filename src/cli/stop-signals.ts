import type { EventEmitter } from 'node:events';
import { systemClock } from '../clock.ts';

/** npm and terminals deliver one Ctrl-C twice; what comes within this span is the same wish. */
const SAME_WISH_MS = 1000;

export interface StopWishes {
  /** Stop accepting, finish what runs. Called once. */
  drain(): void;
  /** The user insists: end now. */
  atOnce(): void;
}

/** Turns SIGINT and SIGTERM into wishes. Returns the function that gives the signals back. */
export function onStopSignals(
  wishes: StopWishes,
  o: { readonly source: EventEmitter; readonly now: () => number },
): () => void {
  let firstAt: number | undefined;
  const heard = (): void => {
    if (firstAt === undefined) {
      firstAt = o.now();
      wishes.drain();
    } else if (o.now() - firstAt >= SAME_WISH_MS) {
      wishes.atOnce();
    }
  };
  o.source.on('SIGINT', heard);
  o.source.on('SIGTERM', heard);
  return () => {
    o.source.off('SIGINT', heard);
    o.source.off('SIGTERM', heard);
  };
}

/** Lets what still runs finish, and ends: a second signal, or one more after the first, does not wait for it. */
export async function drainAndStop(proxy: {
  drain(): Promise<void>;
  stop(): Promise<void>;
}): Promise<void> {
  const insisted = Promise.withResolvers<void>();
  const release = onStopSignals(
    { drain: () => {}, atOnce: insisted.resolve },
    { source: process, now: systemClock.now },
  );
  await Promise.race([proxy.drain(), insisted.promise]);
  await proxy.stop();
  release();
}
