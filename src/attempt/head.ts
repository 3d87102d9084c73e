/** A response head as it came, read with more tolerance than a strict parser has. */
export interface Head {
  readonly status: number;
  /** latin1 text. */
  readonly reason: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

const LF = 10;
const CR = 13;

/** The index just behind the blank line that ends a head, or -1. Lines may end in CRLF or in LF alone. */
export function headEnd(bytes: Buffer): number {
  let from = 0;
  for (;;) {
    const lf = bytes.indexOf(LF, from);
    if (lf === -1) return -1;
    if (bytes[lf + 1] === LF) return lf + 2;
    if (bytes[lf + 1] === CR && bytes[lf + 2] === LF) return lf + 3;
    from = lf + 1;
  }
}

/**
 * Reads a whole head. Header names may hold spaces (some providers' gateways send `Proxy Connection`),
 * lines without a colon are skipped, folded lines are joined. Undefined when the status line is none.
 */
export function parseHead(text: string): Head | undefined {
  const lines = text.split(/\r?\n/);
  const status = /^HTTP\/\d(?:\.\d)?[ \t]+(\d{3})(?:[ \t]+(.*))?$/i.exec(
    (lines[0] ?? '').trimEnd(),
  );
  if (status === null) return undefined;
  const rawHeaders: string[] = [];
  for (const line of lines.slice(1)) {
    if (/^[ \t]+\S/.test(line) && rawHeaders.length > 0) {
      rawHeaders.push(`${rawHeaders.pop()} ${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    if (colon > 0) rawHeaders.push(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  return { status: Number(status[1]), reason: status[2] ?? '', rawHeaders };
}
