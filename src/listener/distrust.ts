import type { TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { Caller } from './lines.ts';

/** Clients that were seen to refuse our certificate for a host. Forgotten after an hour: they may have been given the CA since. */
export class Distrust {
  readonly #seen = new LRUCache<string, true>({ max: 1000, ttl: 3_600_000 });

  has({ client }: Caller, host: string): boolean {
    return this.#seen.has(`${client.name} ${host}`);
  }

  add({ client }: Caller, host: string): void {
    this.#seen.set(`${client.name} ${host}`, true);
  }
}

/** Why no TLS came about with a client. */
export interface HandshakeFailure {
  readonly detail: string;
  /** The client does not accept the certificate: it said so in an alert, or left on seeing it. */
  readonly isRefusal: boolean;
}

/** Alerts by which TLS libraries refuse a certificate: 42 to 48 but those about revocation and expiry. */
const REFUSALS: ReadonlySet<string> = new Set([
  'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN',
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN',
  'ERR_SSL_SSL/TLS_ALERT_UNSUPPORTED_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE',
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
]);

/**
 * Some clients look at the certificate only when the handshake is done, Node's among them, and those that pin
 * keys: they close at once, without having asked for anything.
 */
export const leftUnused: HandshakeFailure = {
  detail: 'The client closed the connection right behind the handshake.',
  isRefusal: true,
};

/** Waits for the handshake, whose ClientHello is here already as a whole. undefined: it is done. */
export function handshake(
  tls: TLSSocket,
  limitMs: number,
  clock: Pick<Clock, 'after'>,
): Promise<HandshakeFailure | undefined> {
  const { promise, resolve } = Promise.withResolvers<HandshakeFailure | undefined>();
  const late = { detail: 'The handshake took too long.', isRefusal: false };
  const cancel = clock.after(limitMs, () => resolve(late));
  tls.on('error', (error: Error & { code?: string }) => {
    const { code = error.name } = error;
    resolve({ detail: code, isRefusal: REFUSALS.has(code) });
  });
  // What was said last before that is our Certificate.
  const left = { detail: 'The client closed the connection in the handshake.', isRefusal: true };
  tls.once('close', () => resolve(left));
  // The accepted socket may be half open, so an end alone does not close it.
  tls.once('end', () => resolve(left));
  tls.once('secure', () => resolve(undefined));
  return promise.finally(cancel);
}
