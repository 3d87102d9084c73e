import type { Clock } from '../clock.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Exchange } from './ports.ts';

const LOOK_EVERY_MS = 1000;
/** Said in one go; thousands of streams may be due at once, and nothing else runs meanwhile. */
const SAID_AT_ONCE = 20;
const BETWEEN_MS = 10;

export interface Heartbeats {
  /** Watches until the returned function is called. */
  watch(exchange: Exchange): () => void;
}

/**
 * Says "still waiting" for every exchange that has been in one stage for `heartbeat`, and again each
 * time as long passes. One timer for all of them, and none while nothing runs; waits stay as they are.
 * Many that are due together are told a few at a time.
 */
export function createHeartbeats({
  clock,
  emit,
}: {
  readonly clock: Clock;
  readonly emit: Emit;
}): Heartbeats {
  const saidAt = new Map<Exchange, number>();
  let cancel: (() => void) | undefined;

  /** Goes on where it stopped: a round may take several turns. */
  function look(round: Iterator<[Exchange, number]>): void {
    const now = clock.now();
    let said = 0;
    while (said < SAID_AT_ONCE) {
      const next = round.next();
      if (next.done) {
        cancel = saidAt.size === 0 ? undefined : clock.after(LOOK_EVERY_MS, begin);
        return;
      }
      const [exchange, last] = next.value;
      if (now - Math.max(last, exchange.stage.sinceAt) < exchange.policy.heartbeatMs) continue;
      saidAt.set(exchange, now);
      emit({ type: 'heartbeat', at: now, exchange, stage: exchange.stage });
      said += 1;
    }
    cancel = clock.after(BETWEEN_MS, () => look(round));
  }

  const begin = () => look(saidAt.entries());

  return {
    watch(exchange) {
      saidAt.set(exchange, exchange.startedAt);
      cancel ??= clock.after(LOOK_EVERY_MS, begin);
      return () => {
        saidAt.delete(exchange);
        if (saidAt.size > 0) return;
        cancel?.();
        cancel = undefined;
      };
    },
  };
}
