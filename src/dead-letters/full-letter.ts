import type { Letter } from '../store/letter.ts';
import type { StoredResponse } from '../store/store.ts';

/** A letter with what belongs to it. */
export interface FullLetter {
  readonly letter: Letter;
  /** undefined where it was not kept. */
  readonly body: Uint8Array | undefined;
  readonly response: StoredResponse | undefined;
}

/** UTF-8 as it is, anything else as base64. */
export function bodyText(body: Uint8Array): { encoding: 'utf8' | 'base64'; text: string } {
  const text = utf8(body);
  return text === undefined
    ? { encoding: 'base64', text: Buffer.from(body).toString('base64') }
    : { encoding: 'utf8', text };
}

/** The text of a body that is UTF-8; else undefined. */
function utf8(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}
