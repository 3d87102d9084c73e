import { METHODS } from 'node:http';
import { readChunks } from './chunk-reader.ts';

/** A message as the strictest reading of RFC 9112 has it; everything latin1. */
export interface Message {
  /** The request line, or the status line. */
  readonly start: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** How the end of the body is told. */
  readonly framing: 'none' | 'length' | 'chunks' | 'close';
  /** Whether something in it breaks the grammar, though it cannot be misread. */
  readonly isOdd: boolean;
}

/** All messages in a row, and what is behind them: nothing, the start of another one, or bytes that are none. */
export interface Conversation {
  readonly messages: readonly Message[];
  readonly end: 'clean' | 'partial' | 'bad';
  /** The message that is not whole, as far as it came; undefined where its head is not whole. */
  readonly last: Message | undefined;
  /** How many of the bytes the messages take up. */
  readonly taken: number;
}

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const FIELD = new RegExp(`^(${TOKEN}):[\\t ]*([\\t \\x21-\\x7e\\x80-\\xff]*?)[\\t ]*$`);
const REQUEST_LINE =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) +((?:\/|\*(?= )|[a-z][a-z0-9+.-]*:\/\/|(?<=^CONNECT +))[\x21-\x7e\x80-\xff]*) +HTTP\/1\.[01]$/i;
// A version that does not fit the framing is told by many an old server, and taken as it is meant.
const STATUS_LINE = /^HTTP\/(?:1\.[01]|0\.9|2\.0) [1-9]\d\d(?: [^\r\n]*)?$/;

type Framing =
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'none'; readonly isOdd?: boolean }
  | { readonly kind: 'chunks' | 'close' | 'bad' };

/** The first value of a field; names are compared in lower case. */
export function fieldOf(message: Message, name: string): string | undefined {
  return message.fields.find(([own]) => own.toLowerCase() === name)?.[1];
}

/** Reads requests. HTTP/2 may have carried a method that no parser of HTTP/1 knows. */
export function readRequests(bytes: string, methods: 'known' | 'any' = 'known'): Conversation {
  return readAll(bytes, {
    after: 'stays',
    mayBegin: () => true,
    framing: (start, fields) => {
      const [, method = ''] = REQUEST_LINE.exec(start) ?? [];
      const isFine = methods === 'known' ? METHODS.includes(method) : method !== '';
      if (!isFine) return { kind: 'bad' };
      const told = framingOf(fields);
      if (told.kind === 'chunks' && start.endsWith('1.0')) return { kind: 'bad' };
      return told;
    },
  });
}

/** Reads replies to requests with these methods; `after` says whether the connection ended behind the bytes. */
export function readReplies(
  bytes: string,
  methods: readonly string[],
  after: 'stays' | 'ended',
): Conversation {
  let n = 0;
  const mayBegin = (rest: string) => 'HTTP/'.startsWith(rest.slice(0, 5));
  return readAll(bytes, {
    after,
    mayBegin,
    framing: (start, fields) => {
      if (!STATUS_LINE.test(start)) return { kind: 'bad' };
      const status = Number(start.slice(9, 12));
      const told = framingOf(fields);
      if (status < 200) return { kind: 'none' };
      const method = methods[n];
      n += 1;
      // These end at the blank line, whatever their fields say.
      if (method === 'HEAD' || status === 204 || status === 304) {
        return { kind: 'none', isOdd: told.kind === 'bad' };
      }
      return told.kind === 'none' ? { kind: 'close' } : told;
    },
  });
}

/** The status in a status line. */
export const statusOf = ({ start }: Message): number => Number(start.slice(9, 12));

/** Replies that answer; the interim ones among them are left out. */
export const finals = (messages: readonly Message[]): Message[] =>
  messages.filter((one) => statusOf(one) >= 200);

function framingOf(fields: Message['fields']): Framing {
  const of = (name: string) => fields.filter(([own]) => own.toLowerCase() === name);
  const lengths = of('content-length');
  const codings = of('transfer-encoding');
  if (lengths.length > 1) return { kind: 'bad' };
  const [length] = lengths;
  if (length !== undefined && codings.length > 0) return { kind: 'bad' };
  if (codings.length > 0) {
    // Several fields are one list, and empty members of it are none (RFC 9110 section 5.6.1).
    const list = codings.flatMap(([, value]) => value.toLowerCase().split(','));
    const named = list
      .map((name) => name.trim())
      .filter((name) => !['', 'identity'].includes(name));
    if (named.length === 0) return { kind: 'none', isOdd: true };
    return { kind: named.join() === 'chunked' ? 'chunks' : 'bad' };
  }
  if (length === undefined) return { kind: 'none' };
  const isNumber = /^\d{1,19}$/.test(length[1]);
  return isNumber ? { kind: 'length', length: Number(length[1]) } : { kind: 'bad' };
}

function readAll(
  bytes: string,
  {
    after,
    mayBegin,
    framing,
  }: {
    readonly after: 'stays' | 'ended';
    /** Whether a message may begin so. */
    readonly mayBegin: (rest: string) => boolean;
    readonly framing: (start: string, fields: Message['fields']) => Framing;
  },
): Conversation {
  const messages: Message[] = [];
  let taken = 0;
  const over = (end: Conversation['end'], last?: Message) => ({ messages, end, last, taken });
  for (let rest = bytes; ; ) {
    // Empty lines before a message are to be overlooked (RFC 9112 section 2.2), and say nothing of its framing.
    rest = rest.replace(/^[\r\n]+/, '');
    if (rest === '') return over('clean');
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return over(isHopeless(rest) || !mayBegin(rest) ? 'bad' : 'partial');
    const [start = '', ...lines] = rest.slice(0, end).split('\r\n');
    const fields = lines.map((line) => FIELD.exec(line));
    if (fields.includes(null)) return over('bad');
    const named = fields.map((found) => [found?.[1] ?? '', found?.[2] ?? ''] as const);
    const read = bodyAt(rest, end + 4, framing(start, named), after);
    const kind = read.framing;
    if (kind === 'bad') return over('bad');
    const message = { start, fields: named, body: read.body, framing: kind, isOdd: read.isOdd };
    if (read.end !== 'whole') return over(read.end, message);
    messages.push(message);
    rest = rest.slice(read.next);
    taken = bytes.length - rest.length;
  }
}

interface BodyRead {
  readonly end: 'whole' | 'partial' | 'bad';
  readonly body: string;
  readonly next: number;
  readonly framing: Framing['kind'];
  readonly isOdd: boolean;
}

function bodyAt(text: string, at: number, framing: Framing, after: 'stays' | 'ended'): BodyRead {
  switch (framing.kind) {
    case 'none':
      return { end: 'whole', body: '', next: at, framing: 'none', isOdd: framing.isOdd ?? false };
    case 'bad':
      return { end: 'bad', body: '', next: at, framing: 'bad', isOdd: true };
    case 'chunks':
      return { ...readChunks(text, at), framing: 'chunks' };
    case 'close': {
      const end = after === 'ended' ? 'whole' : 'partial';
      return { end, body: text.slice(at), next: text.length, framing: 'close', isOdd: false };
    }
    case 'length': {
      const body = text.slice(at, at + framing.length);
      const end = body.length === framing.length ? 'whole' : 'partial';
      return { end, body, next: at + framing.length, framing: 'length', isOdd: false };
    }
  }
}

/** Whether no more bytes could make a head of these. */
function isHopeless(rest: string): boolean {
  return /[\0]/.test(rest) || /[^\r]\n/.test(rest) || /\r[^\n]/.test(rest);
}
