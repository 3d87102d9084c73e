import type { Clock } from '../clock.ts';

/** Watches for silence with one timer, looked at when it fires: moments while we do not listen do not count. */
export class Silence {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #on: { readonly isListening: () => boolean; readonly onSilent: () => void };
  #heardAt: number;
  #cancel: () => void;

  constructor(
    { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number },
    on: { readonly isListening: () => boolean; readonly onSilent: () => void },
  ) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#on = on;
    this.#heardAt = clock.now();
    this.#cancel = clock.after(idleMs, () => this.#look());
  }

  /** Something came, or we begin to listen again. */
  broken(): void {
    this.#heardAt = this.#clock.now();
  }

  stop(): void {
    this.#cancel();
  }

  #look(): void {
    const now = this.#clock.now();
    if (!this.#on.isListening()) this.#heardAt = now;
    const leftMs = this.#heardAt + this.#idleMs - now;
    if (leftMs > 0) this.#cancel = this.#clock.after(leftMs, () => this.#look());
    else this.#on.onSilent();
  }
}
