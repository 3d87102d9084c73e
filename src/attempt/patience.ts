import type { Clock } from '../clock.ts';
import type { Exchange, Received } from '../exchange/ports.ts';
import type { Meter } from './meter.ts';
import { failedAttempt } from './received.ts';

/**
 * Runs one try, and breaks it off when the client's patience ends before there is anything to judge.
 * What was cut off says nothing about anybody, whatever it looked like at that moment.
 */
export async function withinPatience<T extends Received>(
  exchange: Exchange,
  { clock, meter }: { readonly clock: Clock; readonly meter: Meter },
  attempt: (bounded: Exchange) => Promise<T>,
): Promise<T | Received> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  let outlasted = false;
  if (exchange.signal.aborted) abort();
  // The client may leave later than this step: the link outlives it, until the wire is done with.
  exchange.signal.addEventListener('abort', abort, { once: true });
  const cancel = clock.after(exchange.deadline - clock.now(), () => {
    outlasted = true;
    abort();
  });
  const received = await attempt(boundTo(exchange, controller.signal));
  cancel();
  void received.closed.then(() => exchange.signal.removeEventListener('abort', abort));
  if (!outlasted) return received;

  received.discard();
  const { reply } = received;
  const phase = reply.kind === 'failure' ? reply.phase : 'body';
  const sent = reply.kind === 'failure' ? reply.sent : true;
  const end = { kind: 'broken', phase, code: 'patience', leg: 'local', detail: '' } as const;
  return failedAttempt(end, { via: reply.via, sent, meter });
}

/** The same exchange under another signal; its stage stays one and the same. */
function boundTo(exchange: Exchange, signal: AbortSignal): Exchange {
  return {
    ...exchange,
    signal,
    get stage() {
      return exchange.stage;
    },
    set stage(stage) {
      exchange.stage = stage;
    },
  };
}
