/** Header lists as they come off the wire: names and values in turn. */
export type RawHeaders = readonly string[];

/** The first value of a field, trimmed, or undefined. `name` in lower case. */
export function fieldValue(raw: RawHeaders, name: string): string | undefined {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() === name) return raw[i + 1]?.trim();
  }
  return undefined;
}

/** All values of a field in order. `name` in lower case. */
export function fieldValues(raw: RawHeaders, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() === name) values.push((raw[i + 1] ?? '').trim());
  }
  return values;
}

/** The pieces of a structured field, trimmed, empty ones too; quoted strings stay whole (RFC 9651 section 4.2). */
export function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const pieces: string[] = [];
  let quoted = false;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"') quoted = !quoted;
    else if (quoted && char === '\\') i++;
    else if (char === separator && !quoted) {
      pieces.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  return [...pieces, text.slice(from).trim()];
}
