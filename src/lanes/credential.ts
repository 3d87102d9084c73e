import { hash } from 'node:crypto';
import { fieldValues } from '../core/fields.ts';

/** A name for the credentials a request carries that does not tell them; undefined when it carries none. */
export function credentialOf(rawHeaders: readonly string[]): string | undefined {
  const authorization = fieldValues(rawHeaders, 'authorization');
  const cookies = fieldValues(rawHeaders, 'cookie');
  if (authorization.length === 0 && cookies.length === 0) return undefined;
  return hash('sha256', JSON.stringify([authorization, cookies])).slice(0, 32);
}
