import { fieldValues, type RawHeaders } from '../core/fields.ts';
import type { Placed, Wording } from './ports.ts';

/**
 * How a client worded the fields that end here, and where: their order, too, is looked at by sites. `kept` is what
 * goes on of the client's fields.
 */
export function wordingOf(raw: RawHeaders, kept: RawHeaders): Wording {
  const names = new Set(kept.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  // A Host that the client did not send stands in front of all others.
  let at = fieldValues(raw, 'host').length === 0 && names.has('host') ? 2 : 0;
  let connection: Placed | undefined;
  let standIn: Placed | undefined;
  let transferEncoding: Placed | undefined;
  let te: Placed | undefined;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = raw.slice(i, i + 2);
    const lower = name.toLowerCase();
    if (names.has(lower)) at += 2;
    else if (lower === 'connection') connection ??= persistence({ at, rank: i, name, value });
    else if (lower === 'proxy-connection')
      standIn ??= inPlaceOfConnection({ at, rank: i, name: 'Connection', value });
    else if (lower === 'transfer-encoding') transferEncoding ??= { at, rank: i, name, value };
    else if (lower === 'te' && takesTrailers(value))
      te ??= { at, rank: i, name, value: 'trailers' };
  }
  return { connection: connection ?? standIn, transferEncoding, te };
}

/**
 * Browsers and Java tell a proxy `Proxy-Connection: keep-alive` in place of their Connection. curl, which writes
 * `Keep-Alive`, has none without a proxy either.
 */
function inPlaceOfConnection(field: Placed): Placed | undefined {
  return field.value.trim() === 'keep-alive' ? { ...field, value: 'keep-alive' } : undefined;
}

const takesTrailers = (value: string): boolean =>
  value.split(',').some((option) => option.trim().toLowerCase() === 'trailers');

/** What a client says of its own connection is not passed on; that it says something, and in which letters, is. */
function persistence(field: Placed): Placed | undefined {
  const options = field.value.split(',').map((option) => option.trim());
  const own = options.find((option) => /^(?:keep-alive|close)$/i.test(option));
  if (own === undefined) return undefined;
  return { ...field, value: own.toLowerCase() === 'close' ? 'keep-alive' : own };
}
