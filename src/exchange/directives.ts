import { closest, distance } from 'fastest-levenshtein';
import type { RawHeaders } from '../core/fields.ts';

/** What a client asks for, for one request or for all those inside one tunnel. */
export interface Directives {
  /** As the client wrote it; not yet bound to the client. */
  readonly session?: string;
  /** Two letters, lower case. */
  readonly country?: string;
  readonly patienceMs?: number;
  readonly maxAttempts?: number;
  readonly profile?: string;
  readonly expectText?: string;
  readonly retry?: 'on' | 'off';
}

/** Either what was asked for, or one sentence saying what is wrong with it. */
export type Parsed<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'bad'; readonly detail: string };

export interface Username {
  readonly name: string;
  readonly directives: Directives;
}

interface Wish {
  readonly expected: string;
  /** The directive, or undefined when the text is not one. */
  readonly read: (text: string) => Directives | undefined;
}

const PATIENCE: Wish = { expected: 'a duration such as 250ms, 20s, 5m or 1h', read: readPatience };
const ATTEMPTS: Wish = { expected: 'a whole number from 1 to 100', read: readAttempts };
const COUNTRY: Wish = {
  expected: 'a two-letter country code such as us',
  read: (text) => (/^[a-z]{2}$/i.test(text) ? { country: text.toLowerCase() } : undefined),
};
const PROFILE: Wish = {
  expected: 'the name of a profile',
  read: (text) => (/^[\x21-\x7e]{1,64}$/.test(text) ? { profile: text } : undefined),
};
const SESSION: Wish = {
  expected: '1 to 64 visible ASCII characters',
  read: (text) => (/^[\x21-\x7e]{1,64}$/.test(text) ? { session: text } : undefined),
};
const EXPECT: Wish = {
  expected: 'the text a good body contains',
  read: (text) => (text === '' ? undefined : { expectText: fromWire(text) }),
};
const RETRY: Wish = {
  expected: 'on or off',
  read: (text) => {
    const word = text.toLowerCase();
    return word === 'on' || word === 'off' ? { retry: word } : undefined;
  },
};

const IN_USERNAME: Readonly<Record<string, Wish>> = {
  session: SESSION,
  country: COUNTRY,
  patience: PATIENCE,
  attempts: ATTEMPTS,
  profile: PROFILE,
};

const IN_HEADERS: Readonly<Record<string, Wish>> = {
  'Forbear-Session': SESSION,
  'Forbear-Country': COUNTRY,
  'Forbear-Patience': PATIENCE,
  'Forbear-Max-Attempts': ATTEMPTS,
  'Forbear-Profile': PROFILE,
  'Forbear-Expect': EXPECT,
  'Forbear-Retry': RETRY,
};

/**
 * Reads `NAME[-session-ID][-country-CC][-patience-20s][-attempts-3][-profile-NAME]`, in any order.
 * Keys are found from the right, so that NAME may hold dashes; a configured client's name is never cut.
 */
export function readUsername(
  username: string,
  isClient: (name: string) => boolean,
): Parsed<Username> {
  const parts = username.split('-');
  let directives: Directives = {};
  while (parts.length >= 3 && !isClient(parts.join('-'))) {
    const [key, value] = parts.slice(-2) as [string, string];
    const wish = Object.hasOwn(IN_USERNAME, key) ? IN_USERNAME[key] : undefined;
    if (wish === undefined) break;
    const read = /^[A-Za-z0-9_]+$/.test(value) ? wish.read(value) : undefined;
    if (read === undefined) return wrong(`The proxy username's ${key}`, value, wish.expected);
    if (Object.keys(read).some((name) => name in directives)) {
      return { kind: 'bad', detail: `The proxy username says ${key} twice.` };
    }
    directives = { ...directives, ...read };
    parts.length -= 2;
  }
  return { kind: 'ok', value: { name: parts.join('-'), directives } };
}

/** Reads the `Forbear-*` request headers. An unknown one is an error, so that a typo never goes unnoticed. */
export function readHeaders(raw: RawHeaders): Parsed<Directives> {
  let directives: Directives = {};
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (!/^forbear-/i.test(name)) continue;
    const known = Object.keys(IN_HEADERS).find((key) => key.toLowerCase() === name.toLowerCase());
    const wish = known === undefined ? undefined : IN_HEADERS[known];
    if (known === undefined || wish === undefined) return unknownHeader(name);
    const value = (raw[i + 1] ?? '').trim();
    const read = wish.read(value);
    if (read === undefined) return wrong(known, value, wish.expected);
    if (Object.keys(read).some((key) => key in directives)) {
      return { kind: 'bad', detail: `${known} is given twice.` };
    }
    directives = { ...directives, ...read };
  }
  return { kind: 'ok', value: directives };
}

/** The sentence for a profile that is not configured; undefined when there is nothing to say. */
export function unknownProfile(
  directives: Directives,
  profiles: readonly string[],
): string | undefined {
  const { profile } = directives;
  if (profile === undefined || profiles.includes(profile)) return undefined;
  return `There is no profile "${profile}".${suggestion(profile, profiles)}`;
}

function unknownHeader(name: string): Parsed<never> {
  const hint = suggestion(name, Object.keys(IN_HEADERS));
  return { kind: 'bad', detail: `${name} is not a header this proxy knows.${hint}` };
}

function suggestion(given: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const near = closest(
    given.toLowerCase(),
    known.map((name) => name.toLowerCase()),
  );
  const name = known.find((candidate) => candidate.toLowerCase() === near);
  const isNear = distance(given.toLowerCase(), near) <= Math.max(2, given.length / 3);
  return isNear ? ` Did you mean ${name}?` : ` Known: ${known.join(', ')}.`;
}

function wrong(what: string, value: string, expected: string): Parsed<never> {
  return { kind: 'bad', detail: `${what} is "${value.slice(0, 80)}"; expected ${expected}.` };
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function readPatience(text: string): Directives | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text);
  const unitMs = UNIT_MS[match?.[2] ?? ''];
  if (match === null || unitMs === undefined) return undefined;
  return { patienceMs: Math.round(Number(match[1]) * unitMs) };
}

function readAttempts(text: string): Directives | undefined {
  const maxAttempts = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return maxAttempts >= 1 && maxAttempts <= 100 ? { maxAttempts } : undefined;
}

/** Header text is one character per byte, while bodies are compared as decoded text. */
function fromWire(text: string): string {
  const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return text;
  }
}
