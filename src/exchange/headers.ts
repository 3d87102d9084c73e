import { fieldValue, fieldValues, type RawHeaders } from '../core/fields.ts';

/** Spoken between neighbours only (RFC 9110 section 7.6.1), and never passed on in either direction. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'proxy-authentication-info',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** A `Connection` that lists one of these is wrong or hostile: the message would change its meaning. */
const END_TO_END: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'content-range',
  'content-location',
  'content-disposition',
  'authorization',
  'www-authenticate',
  'cookie',
  'set-cookie',
  'cache-control',
  'accept',
  'accept-encoding',
  'accept-language',
  'user-agent',
  'origin',
  'referer',
  'range',
  'location',
  'retry-after',
  'date',
  'etag',
  'last-modified',
  'expires',
  'vary',
  'idempotency-key',
  'proxy-status',
]);

/** The fields meant for the other end, with order, case and duplicates kept. */
export function endToEnd(raw: RawHeaders): string[] {
  const nominated = nominatedBy(raw);
  return keep(raw, (name) => !HOP_BY_HOP.has(name) && !nominated.has(name));
}

/** What goes on to the origin: no word of it is for this proxy. `host` replaces a `Host` that differs. */
export function requestHeaders(raw: RawHeaders, host: string | undefined): string[] {
  const kept = endToEnd(raw);
  const out = keep(kept, (name) => !/^(?:expect$|forbear-|proxy-)/.test(name));
  return host === undefined ? out : withHost(out, host);
}

/** What goes back to the client. The framing is ours, except for a length that is known to hold. */
export function replyHeaders(raw: RawHeaders, status: number): string[] {
  // RFC 9112 section 6.3: Transfer-Encoding overrides Content-Length. RFC 9110 section 8.6: none on a 204.
  const unframed = status === 204 || fieldValue(raw, 'transfer-encoding') !== undefined;
  return keep(endToEnd(raw), (name) => !(unframed && name === 'content-length'));
}

/** Drops every field of which `wanted` (asked with the name in lower case) says no. */
export function keep(raw: RawHeaders, wanted: (name: string) => boolean): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (wanted(name.toLowerCase())) out.push(name, raw[i + 1] ?? '');
  }
  return out;
}

function nominatedBy(raw: RawHeaders): ReadonlySet<string> {
  const names = fieldValues(raw, 'connection')
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => !END_TO_END.has(name)));
}

function withHost(headers: readonly string[], host: string): string[] {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === 'host');
  if (at === -1) return ['Host', host, ...headers];
  return headers.with(at + 1, host);
}
