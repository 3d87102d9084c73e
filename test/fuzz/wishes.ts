import { isDeepStrictEqual } from 'node:util';
import { type Directives, readHeaders, readUsername } from '../../src/exchange/directives.ts';
import { requestHeaders } from '../../src/exchange/headers.ts';
import { identify } from '../../src/listener/access.ts';
import type { Dice } from './dice.ts';
import { type Complaint, firstOf, type Kind, pureBench, unless } from './kind.ts';
import { mutated } from './mutate.ts';

/** What a client says to the proxy itself. */
interface WishCase {
  readonly username: string;
  readonly password: string;
  /** Names of the configured clients. */
  readonly clients: readonly string[];
  /** Names and values in turn. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const KEYS = ['session', 'country', 'patience', 'attempts', 'profile'];
const HEADERS = ['Session', 'Country', 'Patience', 'Max-Attempts', 'Profile', 'Expect', 'Retry'];
const VALUES = [
  'a1',
  'us',
  'DE',
  '20s',
  '250ms',
  '1.5h',
  '3',
  '100',
  '0',
  '101',
  'on',
  'OFF',
  'x_y',
];
const ODD = [
  '',
  '-',
  ' ',
  '%',
  '\xff',
  '\u00e9',
  '1e3',
  '-1',
  '99999999999h',
  '__proto__',
  'a b',
  '\t',
];
const NAMES = [
  'crawler',
  'team-a',
  'x',
  '',
  'session',
  'a-session',
  'constructor',
  'team-a-session-x',
];
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** User names and control headers, against a second reading of their grammar. */
export const wishes: Kind<WishCase> = { name: 'wishes', make, open: () => pureBench(play) };

function make(dice: Dice): WishCase {
  const value = () => (dice.oneIn(6) ? dice.pick(ODD) : dice.pick(VALUES));
  const wish = () => `-${dice.pick(KEYS)}-${value()}`;
  const username = `${dice.pick(NAMES)}${dice.some(4, wish).join('')}`;
  const header = (): readonly [string, string] => {
    const name = `Forbear-${dice.pick(HEADERS)}`;
    const said = dice.oneIn(6) ? mutated(name, dice, ['-', 'a', ' ', '_']) : name;
    return [dice.oneIn(5) ? said.toUpperCase() : said, value()];
  };
  return {
    username: dice.oneIn(4) ? mutated(username, dice, ['-', '--', 'session', '_', ':']) : username,
    password: dice.pick(['x', '', 'a:b', '\xff']),
    clients: dice.some(2, () => dice.pick(NAMES)).filter((name) => name !== ''),
    headers: dice.some(4, header),
  };
}

function play(one: WishCase): Complaint | undefined {
  return firstOf(checkUsername(one), checkHeaders(one), checkLogin(one), checkForwarded(one));
}

function checkUsername({ username, clients }: WishCase): Complaint | undefined {
  const read = readUsername(username, (name) => clients.includes(name));
  const expected = secondReading(username, clients);
  const got = read.kind === 'ok' ? read.value : undefined;
  return firstOf(
    unless(
      isDeepStrictEqual(got, expected),
      'username',
      () => `${text(got)} not ${text(expected)}`,
    ),
    unless(read.kind === 'ok' || read.detail.length > 10, 'no_word', () => text(read)),
  );
}

/** The grammar of the documents, read from the left: every place where the name could end is tried, the shortest name first. */
function secondReading(
  username: string,
  clients: readonly string[],
): { name: string; directives: Directives } | undefined {
  const words = username.split('-');
  const keyAt = (i: number) => KEYS.includes(words[i] ?? '') && i + 1 < words.length;
  const isKnown = (end: number) => clients.includes(words.slice(0, end).join('-'));
  let nameEnd = words.length;
  while (nameEnd >= 3 && keyAt(nameEnd - 2) && !isKnown(nameEnd)) nameEnd -= 2;
  const directives: Record<string, unknown> = {};
  for (let i = nameEnd; i < words.length; i += 2) {
    const value = words[i + 1] ?? '';
    const wish = /^\w+$/.test(value) ? wishOf(words[i] ?? '', value) : undefined;
    if (wish === undefined || wish[0] in directives) return undefined;
    directives[wish[0]] = wish[1];
  }
  return { name: words.slice(0, nameEnd).join('-'), directives };
}

function wishOf(key: string, value: string): readonly [string, unknown] | undefined {
  switch (key) {
    case 'session':
    case 'profile':
      return value.length <= 64 && /^[!-~]+$/.test(value) ? [key, value] : undefined;
    case 'country':
      return /^[a-zA-Z][a-zA-Z]$/.test(value) ? [key, value.toLowerCase()] : undefined;
    case 'attempts': {
      const isNumber = /^[0-9]{1,3}$/.test(value) && Number(value) > 0 && Number(value) <= 100;
      return isNumber ? ['maxAttempts', Number(value)] : undefined;
    }
    case 'patience': {
      const [, number, unit = ''] = /^([0-9]+(?:\.[0-9]+)?)([a-z]+)$/.exec(value) ?? [];
      const unitMs = Object.hasOwn(UNITS_MS, unit) ? UNITS_MS[unit] : undefined;
      const isLong = (number ?? '').split('.').some((part, i) => part.length > (i === 0 ? 9 : 3));
      if (number === undefined || unitMs === undefined || isLong) return undefined;
      return ['patienceMs', Math.round(Number(number) * unitMs)];
    }
    case 'expect':
      return value === '' ? undefined : ['expectText', value];
    case 'retry':
      return /^(?:on|off)$/i.test(value) ? ['retry', value.toLowerCase()] : undefined;
    default:
      return undefined;
  }
}

function checkHeaders({ headers }: WishCase): Complaint | undefined {
  const read = readHeaders(headers.flat());
  const got = read.kind === 'ok' ? read.value : undefined;
  const expected: Record<string, unknown> = {};
  let isGood = true;
  for (const [name, value] of headers) {
    const [, key] = /^forbear-(.*)$/is.exec(name) ?? [];
    if (key === undefined) continue;
    const known = HEADERS.find((one) => one.toLowerCase() === key.toLowerCase())?.toLowerCase();
    const wish = known && wishOf(known === 'max-attempts' ? 'attempts' : known, value.trim());
    if (!wish || wish[0] in expected) isGood = false;
    else expected[wish[0]] = wish[1];
  }
  // How text beyond ASCII is read is the business of a test of its own.
  if (/[\x80-\uffff]/.test(`${expected.expectText}`)) return undefined;
  const right = isGood ? expected : undefined;
  return unless(isDeepStrictEqual(got, right), 'headers', () => `${text(got)} not ${text(right)}`);
}

/** Whoever comes in has one of the configured names, or there are none. */
function checkLogin({ username, password, clients }: WishCase): Complaint | undefined {
  const login = Buffer.from(`${username}:${password}`, 'utf8').toString('base64');
  const configured = clients.map((name) => ({ name, password: 'x' }));
  const raw = ['Proxy-Authorization', `Basic ${login}`];
  const identity = identify(raw, '127.0.0.1', { clients: configured, auth: 'optional' });
  if (identity.kind !== 'known' || clients.length === 0) return undefined;
  const whole = `${username}:${password}`;
  const fits = whole.slice(whole.indexOf(':') + 1) === 'x';
  const isRight = clients.includes(identity.client.name) && fits;
  return unless(isRight, 'let_in', () => text(identity));
}

function checkForwarded({ headers }: WishCase): Complaint | undefined {
  const out = requestHeaders([...headers.flat(), 'Proxy-Authorization', 'Basic eA=='], 'o.test');
  const leak = out.find((name, i) => i % 2 === 0 && /^(?:forbear-|proxy-)/i.test(name));
  return unless(leak === undefined, 'leaked', () => text(out));
}

const text = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
