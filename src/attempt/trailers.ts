/**
 * What must not stand in a trailer, as it would change how the message before it is to be read, where it goes or
 * whose it is (RFC 9110 section 6.5.1). Some readers merge trailers into the head.
 */
const HEAD_ONLY: ReadonlySet<string> = new Set([
  ...[
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'http2-settings',
  ],
  ...['content-length', 'content-type', 'content-encoding', 'content-range', 'host', 'location'],
  ...['authorization', 'www-authenticate', 'authentication-info', 'cookie', 'set-cookie'],
  ...[
    'cache-control',
    'expect',
    'max-forwards',
    'pragma',
    'range',
    'vary',
    'age',
    'date',
    'expires',
  ],
  ...['retry-after', 'idempotency-key', 'origin', 'referer'],
]);

const PER_CONNECTION: ReadonlySet<string> = new Set([
  ...[
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'content-length',
  ],
]);

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The trailer fields that may go on, in either direction; order, case and duplicates kept. */
export function passableTrailers(raw: readonly string[]): string[] {
  return keep(raw, (name) => !HEAD_ONLY.has(name) && !/^(?:if-|proxy-|forbear-)/.test(name));
}

/** The fields of an interim reply that are meant for the client; one that is not well-formed is left out. */
export function withoutConnection(raw: readonly string[]): string[] {
  return keep(raw, (name) => !PER_CONNECTION.has(name) && !/^(?:proxy-|forbear-)/.test(name));
}

function keep(raw: readonly string[], wanted: (name: string) => boolean): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = raw.slice(i, i + 2);
    if (NAME.test(name) && VALUE.test(value) && wanted(name.toLowerCase())) out.push(name, value);
  }
  return out;
}
