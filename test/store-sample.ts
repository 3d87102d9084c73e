import type { LetterAttempt, NewLetter } from '../src/store/letter.ts';

/** When the sample letters were parked. */
export const NOW = Date.UTC(2026, 0, 1);
export const HOUR = 3_600_000;

let made = 0;

/** A letter like those that exchanges leave; each has an id and a key of its own. */
export function sampleLetter(changes: Partial<NewLetter> = {}): NewLetter {
  made += 1;
  const id = `dl_${String(made).padStart(6, '0')}`;
  return {
    id,
    key: `key of ${id}`,
    state: 'parked',
    count: 1,
    lane: 'shop.test',
    host: 'shop.test',
    reason: 'rate_limited',
    stop: 'wait_too_long',
    fault: 'host',
    client: 'crawler',
    session: undefined,
    method: 'GET',
    url: 'https://shop.test/page?q=1',
    rawHeaders: ['Accept', '*/*', 'X-Nam\xe9', 'caf\xe9 \xff'],
    rawTrailers: [],
    wishes: { country: 'de' },
    bodyBytes: 0,
    secretsBlanked: false,
    parkedAt: NOW,
    dueAt: NOW + HOUR,
    keepUntil: NOW + 7 * 24 * HOUR,
    attempts: [sampleAttempt()],
    ...changes,
  };
}

/** One try of such a letter. */
export function sampleAttempt(changes: Partial<LetterAttempt> = {}): LetterAttempt {
  return {
    n: 1,
    route: 'direct',
    fault: 'host',
    reason: 'rate_limited',
    action: 'fail',
    sentence: 'The site asked for an hour.',
    sentBytes: 100,
    receivedBytes: 2000,
    at: NOW - 1000.25,
    durationMs: 12.5,
    status: 429,
    ...changes,
  };
}

/** Bytes of every value. */
export function sampleBody(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 31) & 0xff);
}
