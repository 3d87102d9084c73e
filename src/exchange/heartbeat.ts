import type { Clock } from '../clock.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Exchange } from './ports.ts';

const LOOK_EVERY_MS = 1000;

export interface Heartbeats {
  /** Watches until the returned function is called. */
  watch(exchange: Exchange): () => void;
}

/**
 * Says "still waiting" for every exchange that has been in one stage for `heartbeat`, and again each
 * time as long passes. One timer for all of them, and none while nothing runs; waits stay as they are.
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

  function look(): void {
    const now = clock.now();
    for (const [exchange, last] of saidAt) {
      if (now - Math.max(last, exchange.stage.sinceAt) < exchange.policy.heartbeatMs) continue;
      saidAt.set(exchange, now);
      emit({ type: 'heartbeat', at: now, exchange, stage: exchange.stage });
    }
    cancel = saidAt.size === 0 ? undefined : clock.after(LOOK_EVERY_MS, look);
  }

  return {
    watch(exchange) {
      saidAt.set(exchange, exchange.startedAt);
      cancel ??= clock.after(LOOK_EVERY_MS, look);
      return () => {
        saidAt.delete(exchange);
        if (saidAt.size > 0) return;
        cancel?.();
        cancel = undefined;
      };
    },
  };
}
