import { fieldValue } from '../core/fields.ts';
import type { FullLetter } from './full-letter.ts';

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
  const bytes = Buffer.from(body);
  // Only plain text can stand in a command as it is: of all else shells and copying make something of their own.
  if (bytes.length <= MAX_ARGUMENT && /^[\t\n\x20-\x7e]+$/.test(bytes.toString('latin1'))) {
    return { before: '', data: ['--data-raw', quoted(bytes.toString('latin1'))] };
  }
  const lines = bytes.toString('base64').match(/.{1,76}/g) ?? [];
  return {
    before: `base64 -d <<'END_OF_BODY' |\n${lines.join('\n')}\nEND_OF_BODY\n`,
    data: ['--data-binary', '@-'],
  };
}

const MAX_ARGUMENT = 32 * 1024;

/** One word for any POSIX shell; bytes that are not printable ASCII are made by printf. */
function quoted(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (/^[\t\n\x20-\x7e]*$/.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = Array.from(text, (char) => {
    if (/[\x20-\x7e]/.test(char) && !"'\\%".includes(char)) return char;
    return char === '%' ? '%%' : `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`;
  });
  return `"$(printf '${escaped.join('')}')"`;
}
