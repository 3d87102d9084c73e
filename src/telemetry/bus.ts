import type { Emit } from './events.ts';

/** Hands every event to all subscribers. */
export interface Bus {
  readonly emit: Emit;
  /** Returns the function that ends the subscription. */
  subscribe(subscriber: Emit): () => void;
  /** Events that a subscriber failed at. */
  readonly failures: number;
}

/**
 * Makes a bus on which a failing subscriber hurts nobody: neither the pipeline that emits nor the other
 * subscribers. The first failure of each subscriber is told to the others as a notice.
 */
export function createBus(first?: Emit): Bus {
  const subscribers = new Map<symbol, Emit>(first ? [[Symbol(), first]] : []);
  const reported = new Set<symbol>();
  let failures = 0;

  const deliver = (id: symbol, subscriber: Emit, event: Parameters<Emit>[0]): void => {
    try {
      subscriber(event);
    } catch (error) {
      failures += 1;
      if (reported.has(id)) return;
      reported.add(id);
      const message = `a telemetry subscriber failed: ${String(error)}`;
      const notice = { type: 'notice', at: event.at, level: 'error', message } as const;
      for (const [other, tell] of [...subscribers]) {
        if (other !== id) deliver(other, tell, notice);
      }
    }
  };

  return {
    emit: (event) => {
      for (const [id, subscriber] of [...subscribers]) deliver(id, subscriber, event);
    },
    get failures() {
      return failures;
    },
    subscribe: (subscriber) => {
      const id = Symbol();
      subscribers.set(id, subscriber);
      return () => {
        subscribers.delete(id);
        reported.delete(id);
      };
    },
  };
}
