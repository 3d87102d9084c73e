import type { Cause } from '../exchange/account.ts';
import type { ProxyEvent } from './events.ts';
import { laneOf } from './lane-labels.ts';
import { outcomeOf } from './outcome.ts';

/** Bytes on the wire and what they cost, of one upstream or one lane. */
export interface SpendRow {
  readonly name: string;
  readonly sent_bytes: number;
  readonly received_bytes: number;
  /** Bytes both ways by what they were spent on. */
  readonly bytes_by_cause: Readonly<Record<Cause, number>>;
  /** By `price_per_gb`; null where no upstream that was used has a price. */
  readonly price: number | null;
  readonly price_by_cause: Readonly<Record<Cause, number>>;
  readonly good_replies: number;
  readonly price_per_good_reply: number | null;
}

/** What the traffic has cost since an instant (ISO 8601). */
export interface SpendView {
  readonly since: string;
  readonly upstreams: readonly SpendRow[];
  readonly lanes: readonly SpendRow[];
}

/** Bytes in a gigabyte, as providers bill them. */
const GB = 1e9;
const MOST_LANES = 1_000;
const OTHER = 'other';

/** Counts what upstreams bill: every byte of every attempt, TLS, headers and what the upstream itself was asked included. */
export class Spend {
  readonly #since: number;
  readonly #priceOf: (upstream: string) => number | null;
  readonly #upstreams = new Map<string, Account>();
  readonly #lanes = new Map<string, Account>();

  /** `priceOf`: the price of a GB over an upstream as it is configured now, or null. */
  constructor(since: number, priceOf: (upstream: string) => number | null) {
    this.#since = since;
    this.#priceOf = priceOf;
  }

  /** Takes in one event. */
  readonly record = (event: ProxyEvent): void => {
    if (event.type === 'attempt_closed') this.#closed(event);
    if (event.type === 'exchange_finished') this.#finished(event);
  };

  view(): SpendView {
    return {
      since: new Date(this.#since).toISOString(),
      upstreams: rows(this.#upstreams),
      lanes: rows(this.#lanes),
    };
  }

  #closed(event: Extract<ProxyEvent, { type: 'attempt_closed' }>): void {
    const { cause, sentBytes, receivedBytes, route, lane } = event;
    const perGb = this.#priceOf(route.upstream);
    const price = perGb === null ? null : ((sentBytes + receivedBytes) * perGb) / GB;
    for (const account of [accountIn(this.#upstreams, route.upstream), this.#lane(lane)]) {
      account.sent += sentBytes;
      account.received += receivedBytes;
      account.bytes[cause] += sentBytes + receivedBytes;
      if (price === null) continue;
      account.hasPrice = true;
      account.prices[cause] += price;
    }
  }

  #finished(event: Extract<ProxyEvent, { type: 'exchange_finished' }>): void {
    const outcome = outcomeOf(event);
    const { route } = event.delivery;
    if (route === undefined || (outcome !== 'ok_first' && outcome !== 'ok_retried')) return;
    accountIn(this.#upstreams, route.upstream).good += 1;
    this.#lane(laneOf(event.exchange)).good += 1;
  }

  #lane(lane: string): Account {
    const isNew = !this.#lanes.has(lane);
    return accountIn(this.#lanes, isNew && this.#lanes.size >= MOST_LANES ? OTHER : lane);
  }
}

interface Account {
  sent: number;
  received: number;
  good: number;
  hasPrice: boolean;
  readonly bytes: Record<Cause, number>;
  readonly prices: Record<Cause, number>;
}

function accountIn(accounts: Map<string, Account>, name: string): Account {
  const known = accounts.get(name);
  if (known) return known;
  const none = () => ({ first_try: 0, retry: 0, rejected_body: 0, tunnel: 0 });
  const made = { sent: 0, received: 0, good: 0, hasPrice: false, bytes: none(), prices: none() };
  accounts.set(name, made);
  return made;
}

function rows(accounts: ReadonlyMap<string, Account>): SpendRow[] {
  return [...accounts].map(([name, { sent, received, good, hasPrice, bytes, prices }]) => {
    const price = hasPrice ? Object.values(prices).reduce((sum, one) => sum + one, 0) : null;
    return {
      name,
      sent_bytes: sent,
      received_bytes: received,
      bytes_by_cause: { ...bytes },
      price,
      price_by_cause: { ...prices },
      good_replies: good,
      price_per_good_reply: price === null || good === 0 ? null : price / good,
    };
  });
}
