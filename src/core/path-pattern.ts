const MAX_SEGMENTS = 8;
const MAX_KEYS = 8;
const MAX_SEGMENT_CHARS = 24;

/**
 * The shape of a path, under which alike pages are counted together: numbers, ids, hashes and titles
 * become placeholders, query values go, depth and length are bounded. Applying it twice changes nothing.
 */
export function pathPattern(path: string): string {
  const query = path.indexOf('?');
  const shape = segments(query === -1 ? path : path.slice(0, query));
  return query === -1 ? shape : shape + keys(path.slice(query + 1));
}

function segments(path: string): string {
  const parts = path.split('/', MAX_SEGMENTS + 2);
  const kept = parts.slice(0, MAX_SEGMENTS + 1).map(generalised);
  return parts.length > kept.length ? [...kept, '**'].join('/') : kept.join('/');
}

/** Keys say which kind of page it is, values say which one of them. Their order says nothing. */
function keys(query: string): string {
  const names = query.split('&', 64).map((pair) => generalised(pair.split('=', 1)[0] ?? ''));
  const distinct = [...new Set(names)].filter((name) => name !== '').sort();
  return distinct.length === 0 ? '' : `?${distinct.slice(0, MAX_KEYS).join('&')}`;
}

function generalised(segment: string): string {
  const name = segment.split(';', 1)[0] ?? '';
  if (PLAIN.test(name)) return name;
  const extension = EXTENSION.exec(name)?.[0] ?? '';
  return shapeOf(name.slice(0, name.length - extension.length)) + extension;
}

function shapeOf(name: string): string {
  if (NUMBER.test(name)) return '{n}';
  if (name.length > MAX_NAME_CHARS || UUID.test(name) || HASH.test(name)) return idOrSlug(name);
  if (FOREIGN.test(name) || name.split(SEPARATORS, 4).length >= 3) return '{slug}';
  if (mixed(name)) return '{id}';
  const numbered = name.replace(DIGITS, '{n}');
  return numbered.length > MAX_SEGMENT_CHARS ? '{slug}' : numbered;
}

function idOrSlug(name: string): string {
  return UUID.test(name) || HASH.test(name) ? '{id}' : '{slug}';
}

/** Letters and digits in turn, as in `B08N5WRWNW`: an id, unlike `page2`. */
function mixed(name: string): boolean {
  return name.length >= 6 && !SEPARATORS.test(name) && (name.match(TURNS)?.length ?? 0) >= 2;
}

const MAX_NAME_CHARS = 64;
/** Words, versions and placeholders stay as they are: `products`, `v2`, `{id}`. */
const PLAIN = /^(?:[A-Za-z]{0,24}|v\d{1,2}|\*{1,2}|\{(?:n|id|slug)\}(?:\.[A-Za-z]{1,5})?)$/;
const EXTENSION = /\.[A-Za-z]{1,5}$/;
const NUMBER = /^[-+]?\d+(?:[.,]\d+)*$/;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const HASH = /^(?=.*\d)[0-9a-f]{8,}$/i;
const FOREIGN = /[^\w.~!$'()*,:@{}+-]/;
const SEPARATORS = /[-_+.,~:]/;
const TURNS = /[A-Za-z]\d/g;
const DIGITS = /\d+/g;
