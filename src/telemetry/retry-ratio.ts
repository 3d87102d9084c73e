interface Mean {
  attempts: number;
  retries: number;
  at: number;
}

const HALF_LIFE_MS = 300_000;

/** Which share of a lane's attempts are retries, of late: what is five minutes old counts half. */
export class RetryRatio {
  readonly #lanes = new Map<string, Mean>();

  note(lane: string, isRetry: boolean, at: number): void {
    const mean = this.#lanes.get(lane) ?? { attempts: 0, retries: 0, at };
    const left = 0.5 ** (Math.max(0, at - mean.at) / HALF_LIFE_MS);
    this.#lanes.set(lane, {
      attempts: mean.attempts * left + 1,
      retries: mean.retries * left + (isRetry ? 1 : 0),
      at,
    });
  }

  /** 0 to 1; undefined where there was no attempt. */
  of(lane: string): number | undefined {
    const mean = this.#lanes.get(lane);
    return mean && mean.retries / mean.attempts;
  }

  forget(lane: string): void {
    this.#lanes.delete(lane);
  }
}
