import { LRUCache } from 'lru-cache';
import type { Exchange } from '../exchange/ports.ts';

/** Protocols as they are named in ALPN (RFC 7301). */
export type Protocol = 'h2' | 'http/1.1';

const KEPT_ORIGINS = 2048;
/** Origins change their minds. */
const KEPT_MS = 60 * 60 * 1000;

/** Knows which protocol an origin is to be offered, and learns from those that would not have it. */
export class Offers {
  readonly #learned = new LRUCache<string, { readonly only: Protocol; readonly at: number }>({
    max: KEPT_ORIGINS,
  });

  /** The best protocol an exchange may be sent over; an offer of h2 always has http/1.1 beside it. */
  best({ target, policy, overH2 }: Exchange, now: number): Protocol {
    if (target.scheme !== 'https' || policy.http2 === 'never') return 'http/1.1';
    const learned = this.#learned.get(originOf(target));
    if (learned !== undefined && now - learned.at < KEPT_MS) return learned.only;
    return policy.http2 === 'always' || overH2 === true ? 'h2' : 'http/1.1';
  }

  /** An origin refused the other protocol. */
  learn({ target }: Exchange, only: Protocol, now: number): void {
    this.#learned.set(originOf(target), { only, at: now });
  }
}

const originOf = ({ host, port }: Exchange['target']): string => JSON.stringify([host, port]);
