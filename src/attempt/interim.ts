import type { Exchange } from '../exchange/ports.ts';
import { CodedError } from './failure.ts';
import { withoutConnection } from './trailers.ts';

/** Interim replies that one attempt may bring: enough for a 102 every 20 s within any patience, too few to flood. */
const MAX_INTERIM = 32;

/** Takes the interim replies of one attempt, in turn; an error once there are too many. */
export function createInterims(
  exchange: Pick<Exchange, 'inform' | 'signal'>,
): (head: { status: number; rawHeaders: readonly string[] }) => Error | undefined {
  let count = 0;
  return ({ status, rawHeaders }) => {
    count += 1;
    if (count > MAX_INTERIM) {
      return new CodedError('FORBEAR_BAD_REPLY', `more than ${MAX_INTERIM} interim replies`);
    }
    // The 100 was ours to give; a 101 is none of these. Who has left needs nothing any more.
    if (status > 101 && !exchange.signal.aborted) {
      exchange.inform?.(status, withoutConnection(rawHeaders));
    }
    return undefined;
  };
}
