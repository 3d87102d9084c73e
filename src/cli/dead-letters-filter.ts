import { systemClock } from '../clock.ts';
import { duration } from '../config/scalars.ts';
import type { AdminClient } from './admin-client.ts';
import type { ConfigFlags } from './settings.ts';
import { CommandError } from './terminal.ts';

/** Flags that choose among dead letters. */
export interface LetterFlags extends ConfigFlags {
  readonly lane?: string;
  readonly host?: string;
  readonly reason?: string;
  readonly state?: string;
  readonly session?: string;
  readonly olderThan?: string;
  readonly json?: boolean;
}

/** A letter as far as the commands look at it; the API's promise. */
export interface ShownLetter {
  readonly id: string;
  readonly state: string;
  readonly lane: string;
  readonly reason: string;
  readonly stop: string | null;
  readonly fault: string | null;
  readonly count: number;
  readonly client: string;
  readonly session: string | null;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: { readonly kept: boolean; readonly bytes: number };
  readonly needs: string | null;
  readonly parked_at: string;
  readonly due_at: string;
  readonly keep_until: string;
  readonly redrives: number;
  readonly attempts: readonly {
    readonly n: number;
    readonly at: string;
    readonly route: string;
    readonly status: number | null;
    readonly verdict: string;
    readonly action: string;
    readonly explain: string;
  }[];
  readonly response: {
    readonly status: number;
    readonly reason: string;
    readonly headers: readonly (readonly [string, string])[];
    readonly bytes: number;
    readonly truncated: boolean;
    readonly at: string;
  } | null;
}

const PAGE = 500;

/** The flags as the API's query. */
export function letterQuery(flags: LetterFlags): URLSearchParams {
  const { lane, host, reason, state, session, olderThan } = flags;
  const query = new URLSearchParams();
  const named = { lane, host, reason, state, session, parked_before: before(olderThan) };
  for (const [key, value] of Object.entries(named)) if (value !== undefined) query.set(key, value);
  return query;
}

/** Whether any flag chooses among the letters. */
export const isFiltered = (flags: LetterFlags): boolean => letterQuery(flags).size > 0;

/** The letters that the flags choose, the newest first, page by page. */
export async function* lettersOf(
  client: AdminClient,
  flags: LetterFlags,
): AsyncGenerator<ShownLetter> {
  const query = letterQuery(flags);
  query.set('limit', String(PAGE));
  for (;;) {
    const page = await client.json<{ items: ShownLetter[]; next: string | null }>({
      path: `/dead-letters?${query}`,
    });
    yield* page.items;
    if (page.next === null) return;
    query.set('cursor', page.next);
  }
}

function before(olderThan: string | undefined): string | undefined {
  if (olderThan === undefined) return undefined;
  const read = duration.safeParse(olderThan);
  if (!read.success) {
    throw new CommandError('--older-than takes a duration, such as 30m, 2h or 7d', 2);
  }
  return new Date(systemClock.now() - read.data).toISOString();
}
