import { isAscii } from 'node:buffer';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { LOG_VERSION, type LogEntry } from '../telemetry/attempt-line.ts';

/** One entry of a log, and where it stands. */
export interface Located {
  readonly entry: LogEntry;
  readonly line: number;
}

/** Why a line could not be used. */
export type Flaw =
  /** The last line has no end: the writer was stopped in the middle of it. */
  | 'cut'
  | 'not_json'
  /** JSON, but no line of an attempt log. */
  | 'foreign'
  | 'other_version'
  | 'too_long'
  /** Of this version, with a part missing or of another kind. */
  | 'malformed';

/** Lines of one file that could not be used for one reason, with where the first of them stand. */
export interface FlawedLines {
  readonly file: string;
  readonly flaw: Flaw;
  count: number;
  readonly lines: number[];
}

/** Lines that could not be used, by file and reason. */
export class Flaws {
  readonly #found = new Map<string, FlawedLines>();

  add(flaw: Flaw, file: string, line: number): void {
    const key = `${flaw} ${file}`;
    const found = this.#found.get(key) ?? { file, flaw, count: 0, lines: [] };
    found.count += 1;
    if (found.lines.length < MOST_SHOWN_LINES) found.lines.push(line);
    this.#found.set(key, found);
  }

  list(): readonly FlawedLines[] {
    return [...this.#found.values()];
  }
}

const MOST_SHOWN_LINES = 5;
/** Far above what is written; a file without line ends must not fill the memory. */
const LONGEST_LINE = 16 * 1024 * 1024;
/** Texts beyond 128 KiB are kept elsewhere by V8, page by page: reading takes half as long again. */
const PIECE_BYTES = 64 * 1024;

/**
 * Reads a log piece by piece; lines that cannot be used are counted and passed over. `-` is standard input, and what is
 * packed with gzip is unpacked. Each piece must be gone through before the next is asked for. Throws the system's error
 * where it cannot be read.
 */
export async function* readLog(
  file: string,
  flaws: Flaws,
  onBytes: (bytes: number) => void = () => {},
): AsyncGenerator<Iterable<Located>, void, void> {
  const place = { file, line: 0 };
  try {
    for await (const lines of linePieces(open(file, onBytes))) yield taken(lines, flaws, place);
  } catch (error) {
    if (!isCutArchive(error)) throw error;
    flaws.add('cut', file, place.line + 1);
  }
}

/** One after the other: an entry that is dealt with before the next is read is cheap to let go. */
function* taken(
  { texts, isLast }: Lines,
  flaws: Flaws,
  place: { readonly file: string; line: number },
): Generator<Located, void, void> {
  for (const text of texts) {
    place.line += 1;
    const read = text === undefined ? 'too_long' : parseLine(text);
    if (read === 'empty') continue;
    if (typeof read !== 'string') yield { entry: read, line: place.line };
    else flaws.add(read === 'not_json' && isLast ? 'cut' : read, place.file, place.line);
  }
}

/** What an archive holds up to where it was cut off is as good as what a file that was cut off holds. */
const isCutArchive = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'Z_BUF_ERROR';

/** Reads one line, or says what is wrong with it. */
export function parseLine(text: string): LogEntry | Flaw | 'empty' {
  if (text.trim() === '') return 'empty';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not_json';
  }
  if (!isRecord(value) || typeof value.v !== 'number' || typeof value.kind !== 'string') {
    return 'foreign';
  }
  if (value.v !== LOG_VERSION) return 'other_version';
  const shape = SHAPES.get(value.kind);
  if (shape === undefined) return 'foreign';
  const isWhole = hasAll(value, shape) && (value.basis === undefined || isBasis(value.basis));
  return isWhole ? (value as unknown as LogEntry) : 'malformed';
}

type Type = 'string' | 'number' | 'object';

const keys = <T extends Type>(type: T, ...names: string[]) =>
  names.map((name) => [name, type] as const);

/** What every entry of a kind has; deeper faults show when it is judged. */
const SHAPES: ReadonlyMap<string, readonly (readonly [string, Type])[]> = new Map([
  ['head', keys('number', 'at')],
  ['gap', keys('number', 'lines')],
  ['policy', [...keys('string', 'id'), ...keys('object', 'policy')]],
  [
    'attempt',
    [
      ...keys('string', 'exchange', 'lane', 'authority', 'policy'),
      ...keys('number', 'at', 'n', 'ms'),
      ...keys('object', 'request', 'route', 'reply', 'verdict', 'action'),
    ],
  ],
  ['end', [...keys('string', 'exchange', 'lane'), ...keys('number', 'at')]],
]);

const PROGRESS = keys('number', 'now', 'deadline', 'roll');

function isBasis(value: unknown): boolean {
  if (!isRecord(value) || typeof value.nowWall !== 'number') return false;
  return isRecord(value.progress) && hasAll(value.progress, PROGRESS);
}

const hasAll = (
  value: Record<string, unknown>,
  shape: readonly (readonly [string, Type])[],
): boolean => shape.every(([key, type]) => hasType(value[key], type));

function hasType(value: unknown, type: Type): boolean {
  return type === 'object' ? isRecord(value) : typeof value === type;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function open(file: string, onBytes: (bytes: number) => void): Readable {
  const raw = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: PIECE_BYTES });
  raw.on('data', (piece: Buffer | string) => onBytes(piece.length));
  if (!file.endsWith('.gz')) return raw;
  const plain = createGunzip();
  raw.on('error', (error: Error) => plain.destroy(error));
  return raw.pipe(plain);
}

interface Lines {
  readonly texts: readonly LineText[];
  /** What comes behind the last line end. */
  readonly isLast: boolean;
}

/** undefined: a line that is too long to be one. */
type LineText = string | undefined;

async function* linePieces(stream: Readable): AsyncGenerator<Lines, void, void> {
  const cutter = new LineCutter();
  for await (const piece of stream as AsyncIterable<Buffer>) {
    yield { texts: cutter.push(piece), isLast: false };
  }
  yield { texts: cutter.end(), isLast: true };
}

/** Cuts bytes that come in pieces into lines; whole lines are decoded together, which is a good deal faster. */
class LineCutter {
  #rest: Buffer[] = [];
  #restBytes = 0;
  #isTooLong = false;

  push(piece: Buffer): LineText[] {
    const end = piece.lastIndexOf(NEWLINE);
    if (end === -1) {
      this.#extend(piece);
      return [];
    }
    const lines = this.#close(piece.subarray(0, end));
    this.#extend(piece.subarray(end + 1));
    return lines;
  }

  end(): LineText[] {
    return this.#restBytes === 0 && !this.#isTooLong ? [] : this.#close(Buffer.alloc(0));
  }

  #extend(piece: Buffer): void {
    if (this.#isTooLong || piece.length === 0) return;
    this.#rest.push(piece);
    this.#restBytes += piece.length;
    if (this.#restBytes <= LONGEST_LINE) return;
    this.#isTooLong = true;
    this.#rest = [];
    this.#restBytes = 0;
  }

  #close(piece: Buffer): LineText[] {
    const first = piece.indexOf(NEWLINE);
    const head = first === -1 ? piece : piece.subarray(0, first);
    // Its beginning was let go: what is left of it is no line.
    const line = this.#isTooLong
      ? undefined
      : Buffer.concat([...this.#rest, head]).toString('utf8');
    this.#rest = [];
    this.#restBytes = 0;
    this.#isTooLong = false;
    if (first === -1) return [line];
    return [line, ...textOf(piece.subarray(first + 1)).split('\n')];
  }
}

/** Most logs are ASCII, which is read several times as fast when nobody looks for anything else. */
const textOf = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');

const NEWLINE = 10;
