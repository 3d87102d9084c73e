import { printable } from '../telemetry/log-text.ts';

/**
 * Lays rows out in columns, each as wide as its widest cell; whatever comes from outside is made safe to print.
 * `width`: lines are cut there, so that none wraps.
 */
export function inColumns(rows: readonly (readonly string[])[], width?: number): string {
  const clean = rows.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of clean) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return clean
    .map((row) => row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i] ?? 0) : cell)))
    .map((row) => `${cut(row.join('  ').trimEnd(), width)}\n`)
    .join('');
}

const DAY_S = 86_400;

/** A span as in 42s, 3m07s, 5h02m, 2d04h. */
export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  const two = (n: number): string => String(Math.floor(n)).padStart(2, '0');
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < DAY_S) return `${Math.floor(s / 3600)}h${two((s % 3600) / 60)}m`;
  return `${Math.floor(s / DAY_S)}d${two((s % DAY_S) / 3600)}h`;
}

/** A line that is no longer than the terminal is wide. */
export function cut(line: string, width: number | undefined): string {
  return width === undefined || line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}
