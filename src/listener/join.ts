import type { Duplex } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { Exchange } from '../exchange/ports.ts';

/** What went through a tunnel, seen from the client. */
export interface Carried {
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** What two joined sockets are watched by. */
export interface Joining {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly exchange: Exchange;
  /**
   * Both ends silent for so long: the peers are gone without a word. It has nothing to do with silence inside
   * a body.
   */
  readonly silentMs: number;
}

/** How often the exchange is told that something passes. */
const TELL_EVERY_MS = 1000;

/** Joins two sockets until both are done. They end together; a half that ends first may linger while the other still speaks. */
export function join(
  near: Duplex,
  far: Duplex,
  { clock, exchange, silentMs }: Joining,
): Promise<Carried> {
  const { promise, resolve } = Promise.withResolvers<Carried>();
  const { lingerMs } = exchange.policy.timeouts;
  if (near.destroyed || far.destroyed) {
    near.destroy();
    far.destroy();
    return Promise.resolve({ sentBytes: 0, receivedBytes: 0 });
  }
  let sentBytes = 0;
  let receivedBytes = 0;
  let open = 2;
  let alone = false;
  let halfDone = near.readableEnded || far.readableEnded;
  let seen = '';
  let cancel = () => {};

  const progress = () => {
    const waiting = `${near.writableLength} ${far.writableLength}`;
    return alone ? waiting : `${waiting} ${sentBytes} ${receivedBytes}`;
  };
  const watch = () => {
    cancel();
    seen = progress();
    cancel = clock.after(halfDone ? lingerMs : silentMs, () => {
      if (seen !== progress()) return watch();
      near.destroy();
      far.destroy();
    });
  };
  const onEnd = () => {
    halfDone = true;
    watch();
  };
  const onClose = (closed: Duplex, other: Duplex) => {
    open -= 1;
    if (open === 0) {
      cancel();
      resolve({ sentBytes, receivedBytes });
    } else if (closed.errored || !closed.readableEnded) {
      other.destroy();
    } else {
      // What has arrived is still handed on; what the other still says is for nobody.
      alone = true;
      other.end();
      other.resume();
      onEnd();
    }
  };
  near.on('data', (chunk: Buffer) => {
    sentBytes += chunk.length;
    tell(exchange, clock.now());
  });
  far.on('data', (chunk: Buffer) => {
    receivedBytes += chunk.length;
    tell(exchange, clock.now());
  });
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.destroy());
    one.once('end', onEnd);
    one.once('close', () => onClose(one, other));
    one.pipe(other);
    if (one.readableEnded) other.end();
  }
  watch();
  return promise;
}

/** A tunnel that is in use is not silent. */
function tell(exchange: Exchange, now: number): void {
  if (exchange.stage.kind === 'streaming' && now - exchange.stage.sinceAt < TELL_EVERY_MS) return;
  exchange.stage = { kind: 'streaming', sinceAt: now, untilAt: undefined };
}
