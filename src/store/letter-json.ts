import { setImmediate as breathe } from 'node:timers/promises';
import type { Letter } from './letter.ts';

// About 2 ms of JSON.parse: a page of long letters must not hold up the proxy.
const TEXT_AT_ONCE = 256 * 1024;

/** A stored letter. JSON leaves undefined members out; here they are again. */
export function letterFrom(detail: string): Letter {
  const stored = JSON.parse(detail) as Letter;
  return {
    ...stored,
    stop: stored.stop,
    fault: stored.fault,
    session: stored.session,
    response: stored.response,
    attempts: stored.attempts.map((attempt) => ({ ...attempt, status: attempt.status })),
  };
}

/** Many letters, read with pauses in which others get their turn. */
export async function lettersFrom(details: readonly string[]): Promise<readonly Letter[]> {
  const letters: Letter[] = [];
  let read = 0;
  for (const detail of details) {
    if (read > TEXT_AT_ONCE) {
      await breathe();
      read = 0;
    }
    read += detail.length;
    letters.push(letterFrom(detail));
  }
  return letters;
}
