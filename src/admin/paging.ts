import { type Answer, json, problem } from './endpoint.ts';
import type { JsonSchema } from './json-schema.ts';

const MOST_ITEMS = 500;

/** Query keys of every list. */
export const PAGE_QUERY: Readonly<Record<string, JsonSchema>> = {
  limit: { type: 'integer', minimum: 1, maximum: MOST_ITEMS, default: 100 },
  cursor: { type: 'string', maxLength: 2000, description: '`next` of the page before.' },
};

/** Items on a page unless the query says otherwise. */
export const pageSize = (query: Readonly<Record<string, unknown>>): number =>
  typeof query.limit === 'number' ? query.limit : 100;

/**
 * One page of a list in memory, ordered by key. The cursor is the last key, so that what comes and goes meanwhile
 * neither repeats nor hides another item.
 */
export function paged<T>(
  items: readonly T[],
  o: {
    readonly query: Readonly<Record<string, unknown>>;
    readonly keyOf: (item: T) => string;
    readonly order: 'ascending' | 'descending';
    readonly view: (item: T) => unknown;
    readonly besides?: Readonly<Record<string, unknown>>;
  },
): Answer {
  const { query, keyOf, view } = o;
  const after = query.cursor === undefined ? undefined : keyFrom(String(query.cursor));
  if (after === null) return problem(400, 'bad_cursor', 'The cursor is not one of ours.');
  const sign = o.order === 'ascending' ? 1 : -1;
  const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -sign : sign);
  const rest = items
    .map((item) => ({ item, key: keyOf(item) }))
    .filter(({ key }) => after === undefined || compare(key, after) > 0)
    .sort((a, b) => compare(a.key, b.key));
  const page = rest.slice(0, pageSize(query));
  const next = rest.length > page.length ? cursorOf(page.at(-1)?.key ?? '') : null;
  return json({ items: page.map(({ item }) => view(item)), next, ...o.besides });
}

const cursorOf = (key: string): string => Buffer.from(`k${key}`).toString('base64url');

function keyFrom(cursor: string): string | null {
  const text = Buffer.from(cursor, 'base64url').toString();
  return text.startsWith('k') && cursorOf(text.slice(1)) === cursor ? text.slice(1) : null;
}
