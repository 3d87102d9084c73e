import { once } from 'node:events';
import { chmodSync, createWriteStream, fstatSync, openSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import { printable } from '../telemetry/log-text.ts';
import { adminClient } from './admin-client.ts';
import { type LetterFlags, letterQuery } from './dead-letters-filter.ts';
import { CommandError, type ExitCode, systemCode, type Terminal } from './terminal.ts';

export interface ExportFlags extends LetterFlags {
  readonly format: 'jsonl' | 'curl' | 'har';
  readonly withSecrets?: boolean;
  readonly output?: string;
}

/** `forbear dead-letters export`: letters with their bodies and replies, to standard output or into a file. */
export async function exportLetters(flags: ExportFlags, terminal: Terminal): Promise<ExitCode> {
  const { format, withSecrets = false, output } = flags;
  const client = adminClient(flags, terminal);
  const query = letterQuery(flags);
  query.set('format', format);
  query.set('with_secrets', String(withSecrets));
  const pieces = await client.open({ path: `/dead-letters/export?${query}` });
  const sink = output === undefined ? standardOutput(terminal) : fileSink(output);
  try {
    await pour(pieces, sink);
    return 0;
  } catch (error) {
    pieces.destroy();
    // Whoever read it has enough.
    if (systemCode(error) === 'EPIPE') return 0;
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot write to ${sink.name}: ${wordsFor(error)}`, 1);
  }
}

interface Sink {
  readonly name: string;
  readonly stream: Writable;
  /** What is written in the place of a piece. */
  readonly shown: (piece: string) => string;
  end(): Promise<void>;
}

async function pour(pieces: IncomingMessage, sink: Sink): Promise<void> {
  const { stream } = sink;
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  stream.on('error', failed.reject);
  const source = pieces.setEncoding('utf8')[Symbol.asyncIterator]();
  for (;;) {
    const next = await Promise.race([source.next().catch(brokenOff), failed.promise]);
    if (next.done) break;
    if (!stream.write(sink.shown(next.value))) {
      await Promise.race([once(stream, 'drain'), failed.promise]);
    }
  }
  if (!pieces.complete) brokenOff();
  await Promise.race([sink.end(), failed.promise]);
}

function brokenOff(): never {
  throw new CommandError('the export was broken off: what was written is not whole', 1);
}

function standardOutput(terminal: Terminal): Sink {
  const stream = process.stdout;
  return {
    ...{ name: 'standard output', stream },
    shown: (piece) =>
      terminal.columns === undefined ? piece : piece.split('\n').map(printable).join('\n'),
    end: () =>
      new Promise((resolve, reject) => {
        stream.write('', (error) => (error ? reject(error) : resolve()));
      }),
  };
}

/** Letters are nobody else's business: a file is readable for its owner alone, also one that was there. */
function fileSink(name: string): Sink {
  try {
    const fd = openSync(name, 'w', 0o600);
    if (fstatSync(fd).isFile()) chmodSync(name, 0o600);
    const stream = createWriteStream(name, { fd });
    const end = () =>
      new Promise<void>((resolve, reject) => {
        stream.end((error?: Error | null) => (error ? reject(error) : resolve()));
      });
    return { name, stream, shown: (piece) => piece, end };
  } catch (error) {
    throw new CommandError(`cannot write to ${name}: ${wordsFor(error)}`, 1);
  }
}

function wordsFor(error: unknown): string {
  const code = systemCode(error);
  const words = code !== undefined && Object.hasOwn(WORDS, code) ? WORDS[code] : undefined;
  return words === undefined ? String((error as Error).message) : `${words} (${code})`;
}

const WORDS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full; what was written is not whole',
  EDQUOT: 'your share of the disk is full; what was written is not whole',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'there is no such folder',
  EISDIR: 'it is a folder',
  EROFS: 'the disk is read-only',
};
