import { LRUCache } from 'lru-cache';
import type { Verdict } from '../core/verdict.ts';
import type { Exchange, Route } from '../exchange/ports.ts';

/** An exchange met a 403 on addresses that had served well: the page, or they? Its next address tells. */
interface Suspicion {
  readonly exchangeId: string;
  readonly sinceAt: number;
  readonly suspects: readonly Route[];
}

/** One question at a time and lane; the answer is at hand as soon as the exchange has rotated. */
const EVERY_MS = 10_000;
const MOST_LANES = 5_000;

/**
 * Puts off the ejection of an address with a good record for a bare 403, until the same request over another
 * address has told whether the address is refused or the page. The exchange's own rotation is that control
 * request: it is sent anyhow, at most one address further, and is charged to the budget like every retry.
 */
export class Controls {
  readonly #suspicions = new LRUCache<string, Suspicion>({ max: MOST_LANES });

  /** Whether the address stays in for now. */
  defers(o: {
    exchange: Exchange;
    laneId: string;
    route: Route;
    verdict: Verdict;
    hasGoodRecord: boolean;
    now: number;
  }): boolean {
    const { exchange, laneId, route, now } = o;
    const open = this.#suspicions.get(laneId);
    if (!isBareForbidden(o.verdict) || !mayAskAgain(exchange)) return false;
    if (open?.exchangeId === exchange.id) {
      // Refused over this address too: each is the other's control.
      this.#suspicions.set(laneId, { ...open, suspects: [...open.suspects, route] });
      return true;
    }
    if (!o.hasGoodRecord || (open && now - open.sinceAt < EVERY_MS)) return false;
    this.#suspicions.set(laneId, { exchangeId: exchange.id, sinceAt: now, suspects: [route] });
    return true;
  }

  /** The request was served over another address: the addresses that are refused after all. */
  convicts(laneId: string, exchange: Exchange): readonly Route[] {
    const open = this.#suspicions.get(laneId);
    if (open?.exchangeId !== exchange.id) return [];
    this.#suspicions.set(laneId, { ...open, suspects: [] });
    return open.suspects;
  }
}

/** A status and nothing else: a block page or a challenge names the address by itself. */
const isBareForbidden = ({ reason, evidence }: Verdict): boolean =>
  reason === 'blocked' && evidence.kind === 'status' && evidence.status === 403;

function mayAskAgain({ policy, method, session, retry }: Exchange): boolean {
  if (!policy.controlRequests || session !== undefined || retry === 'off') return false;
  return ['GET', 'HEAD'].includes(method.toUpperCase());
}
