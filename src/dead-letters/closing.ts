import type { Clock } from '../clock.ts';
import type { Exchange } from '../exchange/ports.ts';
import type { Letters, StoreError } from '../store/store.ts';
import type { Emit, ProxyEvent } from '../telemetry/events.ts';
import type { OpenKeys } from './open-keys.ts';
import { type Hash, headKey, requestKey } from './request-key.ts';

/** Closes the letter of a request that its client has brought to a good end by itself. */
export class Closing {
  readonly #deps: {
    readonly letters: Letters;
    readonly openKeys: OpenKeys;
    readonly hash: Hash;
    readonly clock: Pick<Clock, 'now'>;
    readonly emit: Emit;
  };
  readonly #expected = new WeakMap<Exchange, string>();

  constructor(deps: {
    letters: Letters;
    openKeys: OpenKeys;
    hash: Hash;
    clock: Pick<Clock, 'now'>;
    emit: Emit;
  }) {
    this.#deps = deps;
  }

  /** A good reply is about to go out. Cheap where there is no letter, which is nearly always. */
  expect(exchange: Exchange): void {
    const { openKeys, hash } = this.#deps;
    if (openKeys.isEmpty) return;
    const head = headKey(exchange, hash);
    if (!openKeys.mayHave(head)) return;
    const { body } = exchange;
    const kept = body.present ? body.kept?.() : new Uint8Array();
    this.#expected.set(exchange, requestKey(head, exchange, kept));
  }

  /** It has gone out, or broke off: then the letter stays. */
  finished(event: Extract<ProxyEvent, { type: 'exchange_finished' }>): void {
    const key = this.#expected.get(event.exchange);
    if (key === undefined || typeof event.answered !== 'number') return;
    void this.#close(key);
  }

  async #close(key: string): Promise<void> {
    const { letters, openKeys, clock, emit } = this.#deps;
    try {
      const id = await letters.close(key, clock.now());
      if (id === undefined) {
        openKeys.disprove(key);
        return;
      }
      openKeys.remove(key);
      emit({ type: 'dead_letter_closed', at: clock.now(), id });
    } catch (error) {
      const { code = 'internal', message = String(error) } = error as Partial<StoreError>;
      const doing = 'close the dead letter of a request that has succeeded';
      emit({ type: 'store_trouble', at: clock.now(), doing, code, message });
    }
  }
}
