/** What becomes of a chunked body, read strictly by RFC 9112 section 7.1. */
export interface ChunksRead {
  readonly end: 'whole' | 'partial' | 'bad';
  readonly body: string;
  /** Where the bytes behind the body begin, when it is whole. */
  readonly next: number;
  /** Whether an extension has blanks in it (allowed, but refused by many) or is none, or a trailer tells a framing; which says nothing about where the body ends. */
  readonly isOdd: boolean;
}

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const QUOTED =
  '"(?:[\\t \\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t \\x21-\\x7e\\x80-\\xff])*"';
const PROPER_EXTENSIONS = new RegExp(`^(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)*$`);
// What an extension says is nobody's business, as long as it ends with its line.
const SIZE_LINE = /^([0-9A-Fa-f]+)((?:[\t ]*;[\t \x21-\x7e\x80-\xff]*)?)$/;
const TRAILER = new RegExp(`^${TOKEN}:[\\t \\x21-\\x7e\\x80-\\xff]*$`);
/** More digits than any size that fits a length. */
const MOST_DIGITS = 16;

/** A plain reader, written to be compared with: one line after the other, no state, no speed. */
export function readChunks(bytes: string, from: number): ChunksRead {
  let body = '';
  let isOdd = false;
  for (let at = from; ; ) {
    const line = lineAt(bytes, at);
    if (line === undefined)
      return unfinished(bytes.slice(at), body, /^[0-9A-Fa-f]*(?:[\t ;].*)?\r?$/s);
    const [, digits = '', extensions = ''] = SIZE_LINE.exec(line.text) ?? [];
    if (digits === '' || digits.replace(/^0+/, '').length > MOST_DIGITS) return bad(body);
    isOdd ||= !PROPER_EXTENSIONS.test(extensions);
    const size = Number.parseInt(digits, 16);
    at = line.next;
    if (size === 0) {
      const end = readTrailers(bytes, at, body);
      return { ...end, isOdd: isOdd || end.isOdd };
    }
    const piece = bytes.slice(at, at + size);
    body += piece;
    if (piece.length < size) return { end: 'partial', body, next: bytes.length, isOdd };
    const stop = bytes.slice(at + size, at + size + 2);
    if (!'\r\n'.startsWith(stop)) return bad(body);
    if (stop.length < 2) return { end: 'partial', body, next: bytes.length, isOdd };
    at += size + 2;
  }
}

function readTrailers(bytes: string, from: number, body: string): ChunksRead {
  let isOdd = false;
  for (let at = from; ; ) {
    const line = lineAt(bytes, at);
    if (line === undefined) return unfinished(bytes.slice(at), body, /^[^\n\0]*$/);
    if (line.text === '') return { end: 'whole', body, next: line.next, isOdd };
    if (!TRAILER.test(line.text)) return bad(body);
    // Framing has no place here (RFC 9110 section 6.5.1).
    isOdd ||= /^(?:content-length|transfer-encoding):/i.test(line.text);
    at = line.next;
  }
}

/** The bytes of a line that has no end yet may be beyond repair already. */
function unfinished(rest: string, body: string, repairable: RegExp): ChunksRead {
  return repairable.test(rest) ? { end: 'partial', body, next: -1, isOdd: false } : bad(body);
}

function bad(body: string): ChunksRead {
  return { end: 'bad', body, next: -1, isOdd: false };
}

function lineAt(bytes: string, from: number): { text: string; next: number } | undefined {
  const end = bytes.indexOf('\n', from);
  if (end === -1) return undefined;
  // A bare LF ends no line: with it inside, the text fits no pattern.
  const isProper = bytes[end - 1] === '\r' && end > from;
  return {
    text: isProper ? bytes.slice(from, end - 1) : bytes.slice(from, end + 1),
    next: end + 1,
  };
}
