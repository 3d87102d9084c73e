import { fieldValue } from '../core/fields.ts';
import { type FullLetter, utf8 } from './full-letter.ts';

/** Fields that curl makes by itself, from what it is given. */
const CURL_MAKES = new Set(['content-length', 'transfer-encoding']);

/** One command for a POSIX shell with curl, under a comment that says which letter it is. */
export function curlCommand({ letter, body }: FullLetter): string {
  const words = ['curl', '--globoff', '--path-as-is', '--include'];
  // With --request HEAD curl would wait for a body.
  if (letter.method === 'HEAD') words.push('--head');
  else words.push('--request', quoted(letter.method));
  words.push(...fieldWords(letter.rawHeaders), ...silenced(letter.rawHeaders, body));
  const { before, data } = body?.length ? bodyWords(body) : { before: '', data: [] };
  words.push(...data, quoted(letter.url));
  const notes = [
    `# ${letter.id}: ${letter.state}, ${letter.reason}, parked ${new Date(letter.parkedAt).toISOString()}`,
  ];
  if (letter.secretsBlanked) notes.push('# Credentials were taken out: put them in again.');
  if (letter.body === 'lost') notes.push('# The request body was not kept.');
  return `${notes.join('\n')}\n${before}${words.join(' ')}\n`;
}

function fieldWords(rawHeaders: readonly string[]): string[] {
  const words: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    const value = rawHeaders[i + 1] ?? '';
    if (CURL_MAKES.has(name.toLowerCase())) continue;
    words.push('--header', quoted(value === '' ? `${name};` : `${name}: ${value}`));
  }
  return words;
}

/** What curl would add by itself although the client had not sent it. */
function silenced(rawHeaders: readonly string[], body: Uint8Array | undefined): string[] {
  const added = ['User-Agent', 'Accept', ...(body?.length ? ['Content-Type'] : [])];
  return added
    .filter((name) => fieldValue(rawHeaders, name.toLowerCase()) === undefined)
    .flatMap((name) => ['--header', `${name}:`]);
}

function bodyWords(body: Uint8Array): { before: string; data: string[] } {
  const text = utf8(body);
  // A NUL cannot be an argument; a long body would not fit one.
  if (text !== undefined && !text.includes('\0') && body.length <= MAX_ARGUMENT) {
    return { before: '', data: ['--data-raw', quoted(text)] };
  }
  const base64 = Buffer.from(body).toString('base64');
  const lines = base64.match(/.{1,76}/g) ?? [];
  return {
    before: `base64 -d <<'END_OF_BODY' |\n${lines.join('\n')}\nEND_OF_BODY\n`,
    data: ['--data-binary', '@-'],
  };
}

const MAX_ARGUMENT = 32 * 1024;

/** One word for the shell; bytes that are not printable ASCII in ANSI-C quoting, as POSIX has it since 2024. */
function quoted(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (!/[\x00-\x1f\x7f-\xff]/.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = Array.from(text, (char) => {
    if (char === "'" || char === '\\') return `\\${char}`;
    const code = char.codePointAt(0) ?? 0;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
    return /[\x00-\x1f\x7f-\xff]/.test(char) ? `\\${code.toString(8).padStart(3, '0')}` : char;
  });
  return `$'${escaped.join('')}'`;
}
