import type { Clock } from '../clock.ts';
import type { OpenTerms } from '../store/open.ts';
import type { Emit } from '../telemetry/events.ts';

/** Tells how the store is: what is not on disk is lost with the process. */
export function tellingOfStore(
  clock: Pick<Clock, 'now'>,
  emit: Emit,
): Pick<OpenTerms, 'onHealth' | 'onMemoryOnly'> {
  return {
    onMemoryOnly({ code, message }) {
      const doing = 'open the store, so all is kept in memory only until the next start';
      emit({ type: 'store_trouble', at: clock.now(), doing, code, message });
    },
    onHealth(health) {
      const at = clock.now();
      if (health.state === 'degraded') {
        const { code, message } = health.error;
        const doing = 'write to disk, so what happens now is kept in memory only';
        emit({ type: 'store_trouble', at, doing, code, message });
        return;
      }
      const waited = health.written;
      const message = `the disk takes writes again; dead letters that had waited: ${waited}`;
      emit({ type: 'notice', at, level: 'info', message });
    },
  };
}
