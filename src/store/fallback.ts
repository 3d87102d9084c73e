import type { Clock } from '../clock.ts';
import { type FallbackBounds, FallbackLetters } from './fallback-letters.ts';
import { FallbackState } from './fallback-state.ts';
import { Outage, type StoreHealth } from './outage.ts';
import type { Store } from './store.ts';

export interface FallbackTerms {
  readonly inner: Store;
  readonly clock: Pick<Clock, 'after'>;
  readonly bounds: FallbackBounds;
  /** Between two tries to write what waits. */
  readonly retryMs: number;
  /** Called once per change: the moment to be loud, and to redrive again. */
  readonly onHealth: (health: StoreHealth) => void;
}

export interface FallbackStore extends Store {
  readonly health: StoreHealth;
}

/**
 * A store that goes on while the one below fails. Writes wait in memory, within bounds, and are written as soon as it
 * works again; nothing is redriven until then. A session row that waits does not survive a crash, which `onHealth` has
 * told. Beyond the bounds writes reject with `no_room`.
 */
export function withFallback(terms: FallbackTerms): FallbackStore {
  const { inner, clock, bounds, retryMs } = terms;
  const retries = { stop: () => {}, running: undefined as Promise<void> | undefined, ended: false };
  const outage = new Outage((health) => {
    if (health.state === 'degraded') retryLater();
    terms.onHealth(health);
  });
  const letters = new FallbackLetters(inner.letters, outage, bounds);
  const state = new FallbackState(inner.state, outage, bounds.maxLetters);

  const retryLater = () => {
    if (!retries.ended) retries.stop = clock.after(retryMs, retry);
  };
  const retry = () => {
    retries.running ??= recover().finally(() => {
      retries.running = undefined;
    });
  };
  // Writes go to memory until nothing waits there: what is newer never gets below before what is older.
  const recover = async () => {
    try {
      // Where nothing waits, this alone tells.
      await inner.state.save('health', 'ok');
      let written = 0;
      while (letters.waiting + state.waiting > 0) {
        await state.flush();
        written += await letters.flush();
      }
      outage.end(written);
    } catch {
      retryLater();
    }
  };

  return {
    letters,
    state,
    recovered: inner.recovered,
    get health() {
      return outage.health;
    },
    async close() {
      retries.ended = true;
      retries.stop();
      if (outage.health.state === 'degraded') retry();
      await retries.running;
      await inner.close();
    },
  };
}
