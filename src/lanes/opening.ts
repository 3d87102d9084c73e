import type { Slot } from './slot.ts';

/**
 * After this long without an answer an attempt no longer holds the slow opening back: a site that
 * throttles says so at once, and one hanging page must not keep all others of its host waiting.
 */
const LONGEST_HOLD_MS = 5_000;

/** The attempts whose answers the slow opening of a host still waits for, oldest first. */
export class Opening {
  readonly #unanswered = new Set<Slot>();

  sent(slot: Slot): void {
    this.#unanswered.add(slot);
  }

  answered(slot: Slot): void {
    this.#unanswered.delete(slot);
  }

  /** A pause began: what had been sent before it is no part of the next opening. */
  reset(): void {
    this.#unanswered.clear();
  }

  count(now: number): number {
    for (const slot of this.#unanswered) {
      if (slot.startedAt + LONGEST_HOLD_MS > now) break;
      this.#unanswered.delete(slot);
    }
    return this.#unanswered.size;
  }

  /** When the oldest of them stops counting. */
  get nextAt(): number | undefined {
    const oldest = this.#unanswered.values().next().value;
    return oldest && oldest.startedAt + LONGEST_HOLD_MS;
  }
}
