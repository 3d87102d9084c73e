import type { JsonSchema } from './json-schema.ts';
import type { LetterFilter } from './views.ts';

/** Query keys that choose among dead letters. */
export const LETTER_QUERY: Readonly<Record<string, JsonSchema>> = {
  state: { enum: ['parked', 'redriving', 'done', 'expired', 'needs_client'] },
  lane: { type: 'string' },
  host: { type: 'string' },
  reason: { type: 'string' },
  session: { type: 'string' },
  parked_before: { type: 'string', format: 'date-time' },
  parked_after: { type: 'string', format: 'date-time' },
};

/** The same as a filter. */
export function letterFilter(query: Readonly<Record<string, unknown>>): LetterFilter {
  const text = (key: string): string | undefined =>
    typeof query[key] === 'string' ? query[key] : undefined;
  const at = (key: string): number | undefined => {
    const given = text(key);
    return given === undefined ? undefined : Date.parse(given);
  };
  return defined({
    state: text('state') as LetterFilter['state'],
    lane: text('lane'),
    host: text('host'),
    reason: text('reason'),
    session: text('session'),
    olderThan: at('parked_before'),
    newerThan: at('parked_after'),
  });
}

function defined(given: { readonly [K in keyof LetterFilter]: LetterFilter[K] | undefined }) {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as LetterFilter;
}
