import { readFileSync } from 'node:fs';

/** This program's version. */
export function ownVersion(): string {
  // The same two steps up from src/cli and from dist/cli.
  const file = new URL('../../package.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
