import { STATUS_CODES } from 'node:http';

/** Fields of one HTTP/1.1 connection, which HTTP/2 forbids (RFC 9113 section 8.2.2). */
const PER_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'host',
]);

/**
 * A request's fields as HTTP/2 wants them: pseudo-fields first, in the order browsers have them; the others in
 * lower case, in the order and number in which they were. `Host` becomes `:authority`.
 */
export function h2RequestFields(request: {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  readonly fields: readonly string[];
  /** Content-Length of the body; undefined where its end is not known beforehand. */
  readonly length: number | undefined;
}): string[] {
  const { method, path, fields, length } = request;
  let { authority } = request;
  let hasLength = false;
  const kept: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] ?? '').toLowerCase();
    const value = fields[i + 1] ?? '';
    if (name === 'host') authority = value;
    if (!mayGo(name, value)) continue;
    if (name !== 'content-length') kept.push(name, value);
    else if (length !== undefined) {
      hasLength = true;
      kept.push(name, String(length));
    }
  }
  if (!hasLength && length) kept.push('content-length', String(length));
  const pseudo = [':method', method, ':authority', authority, ':scheme', 'https', ':path', path];
  return [...pseudo, ...kept];
}

const mayGo = (name: string, value: string): boolean =>
  name === 'te' ? value.toLowerCase() === 'trailers' : !PER_CONNECTION.has(name);

/** The fields of a head or trailer without the pseudo-fields, names and values in turn. */
export function h2Fields(raw: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (!name.startsWith(':')) out.push(name, raw[i + 1] ?? '');
  }
  return out;
}

/** HTTP/2 has no reason phrases; a client of HTTP/1.1 gets the one that is usual. */
export const reasonOf = (status: number): string => STATUS_CODES[status] ?? '';

/** Trailer fields in the form in which Node takes them: doubles of a name side by side. */
export function h2Trailers(raw: readonly string[]): Record<string, string[]> {
  const out: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    out[name] = [...(out[name] ?? []), raw[i + 1] ?? ''];
  }
  return out;
}
