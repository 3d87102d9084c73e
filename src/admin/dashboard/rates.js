const BUCKET_MS = 5_000;
const BUCKETS = 60;
const FIELDS = 4;
const [TRIES, RETRIES, GOOD, BAD] = [0, 1, 2, 3];

/** @typedef {{ retry: number | undefined, success: number | undefined }} Point */

/** What happened in the last five minutes, in pieces of five seconds; its size never changes. */
export class Rates {
  #counts = new Uint16Array(BUCKETS * FIELDS);
  #newest = -1;

  /**
   * Enters one attempt; all but the first of an exchange are retries.
   * @param {number} at
   * @param {number} n
   */
  attempt(at, n) {
    this.#add(at, TRIES);
    if (n > 1) this.#add(at, RETRIES);
  }

  /**
   * Enters the end of an exchange.
   * @param {number} at
   * @param {boolean} isGood
   */
  end(at, isGood) {
    this.#add(at, isGood ? GOOD : BAD);
  }

  /**
   * The points of a chart up to now, oldest first; undefined where nothing happened.
   * @param {number} now
   * @returns {Point[]}
   */
  points(now) {
    const last = Math.floor(now / BUCKET_MS);
    return Array.from({ length: BUCKETS }, (_, i) => this.#shares(last - BUCKETS + 1 + i, 1));
  }

  /**
   * The shares of the last minute, or of the whole five where that minute was silent.
   * @param {number} now
   * @returns {Point}
   */
  recent(now) {
    const last = Math.floor(now / BUCKET_MS);
    const minute = this.#shares(last - 11, 12);
    const whole = this.#shares(last - BUCKETS + 1, BUCKETS);
    return { retry: minute.retry ?? whole.retry, success: minute.success ?? whole.success };
  }

  /**
   * Retries of the last minute.
   * @param {number} now
   */
  retriesPerMinute(now) {
    const last = Math.floor(now / BUCKET_MS);
    return this.#sum(last - 11, 12, RETRIES);
  }

  /**
   * @param {number} from
   * @param {number} length
   */
  #shares(from, length) {
    const sum = (/** @type {number} */ field) => this.#sum(from, length, field);
    const tries = sum(TRIES);
    const ends = sum(GOOD) + sum(BAD);
    return {
      retry: tries === 0 ? undefined : sum(RETRIES) / tries,
      success: ends === 0 ? undefined : sum(GOOD) / ends,
    };
  }

  /**
   * @param {number} from
   * @param {number} length
   * @param {number} field
   */
  #sum(from, length, field) {
    let sum = 0;
    for (let bucket = from; bucket < from + length; bucket += 1) {
      if (bucket < 0 || bucket > this.#newest || bucket <= this.#newest - BUCKETS) continue;
      sum += this.#counts[(bucket % BUCKETS) * FIELDS + field] ?? 0;
    }
    return sum;
  }

  /**
   * @param {number} at
   * @param {number} field
   */
  #add(at, field) {
    const bucket = Math.floor(at / BUCKET_MS);
    if (bucket > this.#newest) this.#forward(bucket);
    if (bucket <= this.#newest - BUCKETS) return;
    const place = (bucket % BUCKETS) * FIELDS + field;
    this.#counts[place] = Math.min(0xffff, (this.#counts[place] ?? 0) + 1);
  }

  /** @param {number} bucket */
  #forward(bucket) {
    const from = Math.max(this.#newest + 1, bucket - BUCKETS + 1);
    for (let stale = from; stale <= bucket; stale += 1) {
      const place = (stale % BUCKETS) * FIELDS;
      this.#counts.fill(0, place, place + FIELDS);
    }
    this.#newest = bucket;
  }
}
