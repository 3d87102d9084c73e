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
