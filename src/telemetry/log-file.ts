import {
  close,
  closeSync,
  constants,
  fstat,
  fstatSync,
  open,
  openSync,
  readSync,
  stat,
  write,
} from 'node:fs';
import { promisify } from 'node:util';
import type { Clock } from '../clock.ts';

const fileOpen = promisify(open);
const fileClose = promisify(close);
const fileFstat = promisify(fstat);
const fileStat = promisify(stat);

/** More than this that the disk has not taken is not kept in memory. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024;
/** With less than this waiting again, trouble is over. */
const CALM_BYTES = 1024 * 1024;
const RETRY_MS = 5_000;
/** How often it is looked whether the file was rotated away. */
const LOOK_MS = 1_000;
const CLOSE_MS = 1_000;
const FLAGS = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY;

export interface LogFileOptions {
  readonly file: string;
  readonly clock: Clock;
  /** What a file, and each new one after a rotation, begins with. */
  readonly head: () => string;
  /** The line that stands for lines that are missing. */
  readonly gap: (lines: number) => string;
  /** Hears that lines cannot be written (once), and that they can again. */
  readonly tell: (level: 'info' | 'error', message: string) => void;
}

/**
 * A file of lines for one reader's benefit: it is appended to beside the loop, never in it, and follows rotation by
 * rename (at once on `reopen`, else within a second) as well as by truncation. A disk that takes nothing costs lines,
 * which are counted, and nothing else. Throws where the file cannot be opened in the first place.
 */
export class LogFile {
  readonly #o: LogFileOptions;
  #fd: number;
  #size = 0;
  #lines: string[] = [];
  #waitingBytes = 0;
  /** What is left of the piece that is being written. */
  #rest: Buffer = Buffer.alloc(0);
  #lost = 0;
  #toldLost = 0;
  #trouble: string | undefined;
  #wantsOpen = false;
  #lookedAt: number;
  #writing: Promise<void> | undefined;
  #retry: (() => void) | undefined;
  #closed = false;

  constructor(options: LogFileOptions) {
    this.#o = options;
    this.#fd = openSync(options.file, FLAGS | constants.O_NONBLOCK, 0o600);
    const found = fstatSync(this.#fd);
    if (!found.isFile()) {
      closeSync(this.#fd);
      throw new TypeError('it is not a regular file');
    }
    this.#size = found.size;
    this.#lookedAt = options.clock.now();
    const newLine = found.size > 0 && !endsWhole(options.file, found.size) ? '\n' : '';
    this.#rest = Buffer.from(`${newLine}${options.head()}`);
    this.#start();
  }

  /** Lines that were never written. */
  get lost(): number {
    return this.#lost;
  }

  /** Takes a line, without its end. Never throws, never waits. */
  write(line: string): void {
    if (this.#closed) return;
    if (this.#waitingBytes + line.length > MOST_WAITING_BYTES) {
      this.#lost += 1;
      this.#failed('the disk does not keep up');
      return;
    }
    this.#lines.push(line);
    this.#waitingBytes += line.length;
    if (this.#retry === undefined) this.#start();
  }

  /** The file was moved away: goes on in a new one of the same name. */
  reopen(): void {
    this.#wantsOpen = true;
    this.#start();
  }

  /** Writes what waits, for a second at most, and lets the file go. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#retry?.();
    this.#retry = undefined;
    const late = new AbortController();
    this.#start();
    await Promise.race([this.#writing, this.#o.clock.sleep(CLOSE_MS, late.signal)]);
    late.abort();
    const left = this.#lines.length;
    this.#lines = [];
    this.#lost += left;
    if (left > 0) this.#failed('the disk did not take the last lines');
    await fileClose(this.#fd).catch(() => {});
  }

  #start(): void {
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
    });
  }

  async #drain(): Promise<void> {
    // What comes in the same turn goes in one piece.
    await Promise.resolve();
    try {
      for (;;) {
        await this.#follow();
        if (this.#rest.length === 0) this.#rest = this.#nextPiece();
        if (this.#rest.length === 0) return;
        const taken = await writeSome(this.#fd, this.#rest);
        this.#size += taken;
        this.#rest = this.#rest.subarray(taken);
        if (this.#rest.length === 0) this.#recovered();
      }
    } catch (error) {
      this.#failed(wordsOf(error));
      if (!this.#closed) this.#retry ??= this.#o.clock.after(RETRY_MS, () => this.#again());
    }
  }

  #again(): void {
    this.#retry = undefined;
    this.#start();
  }

  #nextPiece(): Buffer {
    if (this.#lines.length === 0) return Buffer.alloc(0);
    const text = `${this.#lines.join('\n')}\n`;
    this.#lines = [];
    this.#waitingBytes = 0;
    return Buffer.from(text);
  }

  /** A file that was moved away is left, and one that was cut to nothing is begun anew. */
  async #follow(): Promise<void> {
    const now = this.#o.clock.now();
    if (!this.#wantsOpen && now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const mine = await fileFstat(this.#fd);
    if (this.#wantsOpen || !(await this.#isThere(mine))) return this.#openAnew();
    if (mine.size < this.#size) this.#begin(mine.size);
  }

  async #isThere(mine: { readonly ino: number; readonly dev: number }): Promise<boolean> {
    const there = await fileStat(this.#o.file).catch(() => undefined);
    return there !== undefined && there.ino === mine.ino && there.dev === mine.dev;
  }

  async #openAnew(): Promise<void> {
    const fd = await fileOpen(this.#o.file, FLAGS | constants.O_NONBLOCK, 0o600);
    const found = await fileFstat(fd);
    if (!found.isFile()) {
      await fileClose(fd).catch(() => {});
      throw new TypeError('it is not a regular file');
    }
    this.#wantsOpen = false;
    const before = this.#fd;
    this.#fd = fd;
    await fileClose(before).catch(() => {});
    this.#begin(found.size);
  }

  /** The rest of a line whose beginning stands in another file would be no line. */
  #begin(size: number): void {
    this.#size = size;
    const lineEnd = this.#rest.indexOf(NEWLINE);
    const rest = lineEnd === -1 ? this.#rest.subarray(0, 0) : this.#rest.subarray(lineEnd + 1);
    this.#rest = Buffer.concat([Buffer.from(this.#o.head()), rest]);
  }

  #failed(why: string): void {
    if (this.#trouble !== undefined) return;
    this.#trouble = why;
    this.#o.tell(
      'error',
      `the attempt log ${this.#o.file} cannot be written (${why}); the proxy goes on, ` +
        'and lines that do not fit into memory are lost',
    );
  }

  #recovered(): void {
    if (this.#trouble === undefined || this.#waitingBytes > CALM_BYTES) return;
    this.#trouble = undefined;
    const lost = this.#lost - this.#toldLost;
    this.#toldLost = this.#lost;
    // Straight in: the end of the proxy must not hide that lines are missing.
    if (lost > 0) this.#lines.push(this.#o.gap(lost));
    this.#o.tell(
      'info',
      `the attempt log ${this.#o.file} is written again; ${lost} lines are lost`,
    );
  }
}

const NEWLINE = 10;

/** Whether the last line was written to its end: a process that was killed may have left half of one. */
function endsWhole(file: string, size: number): boolean {
  const fd = openSync(file, 'r');
  try {
    const last = Buffer.alloc(1);
    readSync(fd, last, 0, 1, size - 1);
    return last[0] === NEWLINE;
  } finally {
    closeSync(fd);
  }
}

function writeSome(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, null, (error, taken) => {
      if (error) reject(error);
      else resolve(taken);
    });
  });
}

/** The system's own word for it. */
function wordsOf(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code);
  return error instanceof Error ? error.message : String(error);
}
