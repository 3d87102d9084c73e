/** One way in which a server may read what comes to it. */
interface Reading {
  readonly name: string;
  /** Which framing it believes when both are there. */
  readonly prefers: 'chunks' | 'length';
  /** Takes a bare LF for a line's end, and whatever looks like a number or like `chunked` for one. */
  readonly lax: boolean;
}

const READINGS: readonly Reading[] = [
  { name: 'strict, chunks first', prefers: 'chunks', lax: false },
  { name: 'strict, length first', prefers: 'length', lax: false },
  { name: 'lax, chunks first', prefers: 'chunks', lax: true },
  { name: 'lax, length first', prefers: 'length', lax: true },
];

/** How often each kind of server would find a request in these bytes, with the request lines. */
export function allReadings(bytes: string): { name: string; lines: string[] }[] {
  return READINGS.map((reading) => ({ name: reading.name, lines: requestLines(bytes, reading) }));
}

/** The number of bytes of the first whole request, or undefined as long as it is not whole. */
export function firstRequestLength(bytes: string): number | undefined {
  return readOne(bytes, READINGS[0] as Reading)?.length;
}

function requestLines(bytes: string, reading: Reading): string[] {
  const lines: string[] = [];
  for (let rest = bytes; rest.replace(/^[\r\n]+/, '') !== ''; ) {
    const one = readOne(rest, reading);
    lines.push((rest.replace(/^[\r\n]+/, '').split(/[\r\n]/, 1)[0] ?? '').slice(0, 80));
    if (one === undefined) break;
    rest = rest.slice(one.length);
  }
  return lines;
}

function readOne(bytes: string, { prefers, lax }: Reading): { length: number } | undefined {
  const end = (lax ? /\r?\n\r?\n/ : /\r\n\r\n/).exec(bytes);
  if (end === null) return undefined;
  const bodyAt = end.index + end[0].length;
  const lines = bytes.slice(0, end.index).split(lax ? /\r?\n/ : '\r\n');
  const fields = lines.slice(1).map((line) => {
    const [, name = '', value = ''] = /^([^:]*):?([\s\S]*)$/.exec(line) ?? [];
    return { name: lax ? name.trim().toLowerCase() : name.toLowerCase(), value: value.trim() };
  });
  const length = fields.find(({ name }) => name === 'content-length')?.value;
  const isCoded = (value: string) =>
    lax ? /chunked/i.test(value) : value.toLowerCase() === 'chunked';
  const chunked = fields.some(({ name, value }) => name === 'transfer-encoding' && isCoded(value));
  const bytesTold = length === undefined ? 0 : Number.parseInt(length, 10) || 0;
  if (length !== undefined && (prefers === 'length' || !chunked)) {
    return bytes.length < bodyAt + bytesTold ? undefined : { length: bodyAt + bytesTold };
  }
  return chunked ? chunksEnd(bytes, bodyAt, lax) : { length: bodyAt };
}

function chunksEnd(bytes: string, from: number, lax: boolean): { length: number } | undefined {
  const line = lax ? /^([0-9a-f]+)[^\n]*\n/i : /^([0-9a-f]+)\r\n/i;
  for (let at = from; ; ) {
    const found = line.exec(bytes.slice(at));
    if (found === null) return undefined;
    const size = Number.parseInt(found[1] ?? '', 16);
    at += found[0].length;
    if (size === 0) {
      const end = (lax ? /^(?:[^\n]+\n)*?\r?\n/ : /^(?:[^\r\n]+\r\n)*\r\n/).exec(bytes.slice(at));
      return end === null ? undefined : { length: at + end[0].length };
    }
    at += size + 2;
    if (at > bytes.length) return undefined;
  }
}
