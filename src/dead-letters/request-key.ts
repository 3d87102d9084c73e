import { hash as digest } from 'node:crypto';
import { fieldValues } from '../core/fields.ts';
import type { Exchange } from '../exchange/ports.ts';

/** Keyed by a secret of the install, so that nothing can be guessed from a key: hex digits. */
export type Hash = (text: string) => string;

/**
 * Fields that make another request of one with the same URL: another document, or another user. Cookies do not
 * (sites set new ones with every reply, failures included), nor does what clients vary by themselves.
 */
const FIELDS = [
  'accept',
  'accept-language',
  'authorization',
  'content-type',
  'idempotency-key',
  'range',
  'x-api-key',
];
const HEAD_DIGITS = 24;
const BODY_DIGITS = 24;

/** The part of a request's key that is known without its body. */
export function headKey(exchange: Exchange, hash: Hash): string {
  const { method, client, session, country, rawHeaders } = exchange;
  const fields = FIELDS.map((name) => fieldValues(rawHeaders, name));
  const head = [method, urlOf(exchange), client.name, session ?? null, country ?? null, fields];
  return hash(JSON.stringify(head)).slice(0, HEAD_DIGITS);
}

/**
 * What makes two requests the same. A body that is not at hand is known by its length, so that an upload that is
 * repeated is the same one; without a length it is like no other.
 */
export function requestKey(head: string, exchange: Exchange, body: Uint8Array | undefined): string {
  return `${head}.${bodyKey(exchange, body)}`;
}

function bodyKey({ id, body: { present, length } }: Exchange, body: Uint8Array | undefined) {
  if (!present || body?.byteLength === 0) return '';
  if (body !== undefined) return digest('sha256', body).slice(0, BODY_DIGITS);
  return length === undefined ? `of ${id}` : `${length} bytes`;
}

/** The head's part of a key. */
export const headOf = (key: string): string => key.slice(0, HEAD_DIGITS);

/** Whether such a key tells all there is: there was no body. */
export const isBodiless = (key: string): boolean => key.length === HEAD_DIGITS + 1;

/** The URL of a request; the path as it was sent. */
export function urlOf({ target: { scheme, authority, path } }: Exchange): string {
  return `${scheme}://${authority}${path}`;
}
