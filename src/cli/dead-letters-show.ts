import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { printable } from '../telemetry/log-text.ts';
import { type AdminClient, adminClient } from './admin-client.ts';
import { inColumns } from './columns.ts';
import { shortTime } from './dead-letters.ts';
import type { ShownLetter } from './dead-letters-filter.ts';
import type { ConfigFlags } from './settings.ts';
import { CommandError, type ExitCode, type Terminal } from './terminal.ts';

export interface ShowFlags extends ConfigFlags {
  readonly json?: boolean;
  /** Nothing but the request's body. */
  readonly body?: boolean;
  /** Nothing but the body of the reply. */
  readonly response?: boolean;
}

const SHOWN_BYTES = 4096;
const MOST_BYTES = 64 * 1024 * 1024;

/** `forbear dead-letters show`: all that is known of one letter. */
export async function showLetter(
  id: string,
  flags: ShowFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const client = adminClient(flags, terminal);
  const path = `/dead-letters/${encodeURIComponent(id)}`;
  if (flags.body || flags.response) {
    const bytes = await bytesOf(client, `${path}/${flags.body ? 'body' : 'response'}`);
    if (terminal.columns === undefined) process.stdout.write(bytes);
    else terminal.out(asText(bytes));
    return 0;
  }
  const letter = await client.json<ShownLetter>({ path });
  if (flags.json) {
    terminal.out(`${JSON.stringify(letter, null, 2)}\n`);
    return 0;
  }
  terminal.out(facts(letter));
  const { body, response } = letter;
  if (body.kept && body.bytes > 0) {
    terminal.out(`\nRequest body (${body.bytes} bytes):\n`);
    terminal.out(beginning(await bytesOf(client, `${path}/body`), '--body'));
  }
  if (response) {
    terminal.out(
      `\nReply of the redrive, ${shortTime(response.at)}: ${response.status} ${printable(response.reason)}\n`,
    );
    terminal.out(inColumns(response.headers.map(([name, value]) => [`  ${name}:`, value])));
    const cut = response.truncated ? ', cut short' : '';
    terminal.out(`\nReply body (${response.bytes} bytes${cut}):\n`);
    terminal.out(beginning(await bytesOf(client, `${path}/response`), '--response'));
  }
  return 0;
}

function facts(letter: ShownLetter): string {
  const { state, needs, count, reason, stop, fault, redrives, body } = letter;
  const rows = [
    ['id', letter.id],
    ['state', needs === null ? state : `${state}: needs ${needs}`],
    ['request', `${letter.method} ${letter.url}`],
    ['lane', letter.lane],
    [
      'client',
      letter.session === null ? letter.client : `${letter.client}, session ${letter.session}`,
    ],
    ['reason', [fault === null ? reason : `${fault}/${reason}`, stop].filter(Boolean).join(', ')],
    ['stands for', `${count} request${count === 1 ? '' : 's'}`],
    ['parked', shortTime(letter.parked_at)],
    ['due', `${shortTime(letter.due_at)}, redriven ${redrives} times`],
    ['kept until', shortTime(letter.keep_until)],
    ['body', body.kept ? `${body.bytes} bytes` : `${body.bytes} bytes, not kept`],
  ];
  const attempts = letter.attempts.map(({ n, at, route, status, verdict, explain }) => [
    `  ${n}`,
    shortTime(at),
    route,
    status === null ? '-' : String(status),
    verdict,
    explain,
  ]);
  const fields = letter.headers.map(([name, value]) => [`  ${name}:`, value]);
  return [
    inColumns(rows),
    attempts.length > 0 ? `\nAttempts:\n${inColumns(attempts)}` : '\nNothing was sent.\n',
    fields.length > 0 ? `\nRequest headers:\n${inColumns(fields)}` : '',
  ].join('');
}

function beginning(bytes: Buffer, flag: string): string {
  if (bytes.length <= SHOWN_BYTES) return asText(bytes);
  const rest = bytes.length - SHOWN_BYTES;
  return `${asText(bytes.subarray(0, SHOWN_BYTES))}… ${rest} more bytes: ${flag} prints all\n`;
}

/** Lines of text without a control character; of anything else, its size. */
function asText(bytes: Buffer): string {
  // A character may be cut in the middle.
  const isText = [0, 1, 2, 3].some((n) => isUtf8(bytes.subarray(0, bytes.length - n)));
  if (!isText || bytes.includes(0)) return `(${bytes.length} bytes that are no text)\n`;
  const text = bytes.toString().split(/\r?\n/).map(printable).join('\n');
  return text.endsWith('\n') || text === '' ? text : `${text}\n`;
}

/** The body, its content coding undone where it is one of the usual ones and whole. */
async function bytesOf(client: AdminClient, path: string): Promise<Buffer> {
  const answer = await client.open({ path });
  const bytes = await allOf(answer);
  const coding = String(answer.headers['content-encoding'] ?? '').toLowerCase();
  const decode = Object.hasOwn(CODINGS, coding) ? CODINGS[coding] : undefined;
  try {
    return decode ? decode(bytes, { maxOutputLength: MOST_BYTES }) : bytes;
  } catch {
    return bytes;
  }
}

const CODINGS: Readonly<Record<string, (bytes: Buffer, o: { maxOutputLength: number }) => Buffer>> =
  {
    gzip: gunzipSync,
    'x-gzip': gunzipSync,
    deflate: inflateSync,
    br: brotliDecompressSync,
    zstd: zstdDecompressSync,
  };

async function allOf(answer: IncomingMessage): Promise<Buffer> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    return Buffer.concat(chunks);
  } catch {
    throw new CommandError('the admin server broke its answer off', 1);
  }
}
