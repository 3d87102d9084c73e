// Whatever a site or client sends may end up in a terminal: C0 and C1 controls (escape sequences, newlines
// that fake a line), line separators, and the characters that turn the direction of writing.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are exactly what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const USER_INFO = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#]{0,400}@/gi;
const QUERY = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s?#]{0,2000})[?#][^\s"']*/gi;
const LONGEST_TEXT = 1000;

// Lines are made from named facts only, so these never occur; the list is the second fence. It stands here, where
// every field is looked at anyway: pino's own redaction takes four times as long as the rest of a line.
const SECRETS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'password',
  'proxy-authorization',
  'proxyauthorization',
  'rawheaders',
  'set-cookie',
  'username',
  'way',
]);

/** Makes text safe to log: no user info or query in URLs, no control characters, bounded length. */
export function cleanText(text: string): string {
  const bounded = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
  return bounded.replace(UNSAFE, escaped).replace(USER_INFO, '$1***@').replace(QUERY, '$1?…');
}

/** Makes text safe to print: control characters, and those that turn the direction of writing, are spelled out. */
export const printable = (text: string): string => text.replace(UNSAFE, escaped);

/** `cleanText` for every text inside a value; keys without a value, and those of secrets, are left out. */
export function cleanFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || SECRETS.has(key.toLowerCase())) continue;
    if (typeof value === 'string') clean[key] = cleanText(value);
    else if (isRecord(value)) clean[key] = cleanFields(value);
    else clean[key] = value;
  }
  return clean;
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
