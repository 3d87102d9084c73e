import { systemClock } from '../clock.ts';
import { cut } from './columns.ts';
import type { Terminal } from './terminal.ts';

const EVERY_MS = 100;
const BAR = 20;

/** A line on standard error that says how far it is, redrawn in place; nothing where that is no terminal. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #doing: string;
  readonly #total: number | undefined;
  readonly #outcomes = new Map<string, number>();
  #done = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor(terminal: Terminal, doing: string, total: number | undefined) {
    this.#terminal = terminal;
    this.#doing = doing;
    this.#total = total;
    this.#draw();
  }

  /** One more is over, with this outcome. */
  step(outcome: string): void {
    this.#done += 1;
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
    const now = systemClock.now();
    if (now - this.#drawnAt >= EVERY_MS || this.#done === this.#total) this.#draw();
  }

  /** Takes the line away; the next step draws it anew. */
  clear(): void {
    if (this.#terminal.errIsTerminal) this.#terminal.err('\r\x1b[K');
    this.#drawnAt = Number.NEGATIVE_INFINITY;
  }

  #draw(): void {
    if (!this.#terminal.errIsTerminal) return;
    this.#drawnAt = systemClock.now();
    const counts = [...this.#outcomes].map(([outcome, n]) => `${n} ${outcome}`).join(', ');
    const line = `${this.#doing} ${this.#far()}${counts === '' ? '' : `  ${counts}`}`;
    this.#terminal.err(`\r\x1b[K${cut(line, (this.#terminal.columns ?? 80) - 1)}`);
  }

  #far(): string {
    const total = this.#total;
    if (total === undefined || total === 0) return String(this.#done);
    const share = Math.min(1, this.#done / total);
    const full = Math.round(share * BAR);
    return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${this.#done}/${total}`;
  }
}
