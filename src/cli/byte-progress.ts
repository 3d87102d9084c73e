import { systemClock } from '../clock.ts';
import { cut } from './columns.ts';
import type { Terminal } from './terminal.ts';

const EVERY_MS = 200;
const BAR = 30;

/** A bar on standard error that says how much of a file is read; nothing where that is no terminal. */
export class ByteProgress {
  readonly #terminal: Terminal;
  readonly #doing: string;
  readonly #total: number | undefined;
  #done = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;

  /** Without a total (a pipe) it says how much was read. */
  constructor(terminal: Terminal, doing: string, total: number | undefined) {
    this.#terminal = terminal;
    this.#doing = doing;
    this.#total = total;
  }

  add(bytes: number): void {
    this.#done += bytes;
    const now = systemClock.now();
    if (!this.#terminal.errIsTerminal || now - this.#drawnAt < EVERY_MS) return;
    this.#drawnAt = now;
    const line = `${this.#doing} ${this.#far()}`;
    this.#terminal.err(`\r\x1b[K${cut(line, (this.#terminal.columns ?? 80) - 1)}`);
  }

  /** Takes the bar away. */
  clear(): void {
    if (this.#terminal.errIsTerminal) this.#terminal.err('\r\x1b[K');
  }

  #far(): string {
    const read = `${(this.#done / 1e6).toFixed(1)} MB`;
    if (this.#total === undefined || this.#total === 0) return read;
    const share = Math.min(1, this.#done / this.#total);
    const full = Math.round(share * BAR);
    const percent = `${Math.floor(share * 100)} %`;
    return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${percent} of ${(this.#total / 1e6).toFixed(1)} MB`;
  }
}
