import { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { fieldValues } from '../core/fields.ts';
import { newLedger } from '../core/ledger.ts';
import type { Delivery, Exchange, Received } from '../exchange/ports.ts';
import type { Letter } from '../store/letter.ts';
import type { Letters, StoredResponse } from '../store/store.ts';
import { type Hash, headKey, headOf, requestKey } from './request-key.ts';

interface Answer {
  readonly id: string;
  readonly key: string;
  readonly cookies: string;
  readonly untilAt: number;
}

/** Beyond this the oldest are forgotten: then the request is sent, as it would be without. */
const MOST_ANSWERS = 10_000;
const BODY_WAIT_MS = 1_000;

/** What redrives have brought lately, for clients that ask the same again. Forgotten at a restart. */
export class Answers {
  readonly #letters: Pick<Letters, 'response'>;
  readonly #hash: Hash;
  readonly #clock: Clock;
  readonly #byHead = new Map<string, Answer>();

  constructor(deps: { letters: Pick<Letters, 'response'>; hash: Hash; clock: Clock }) {
    this.#letters = deps.letters;
    this.#hash = deps.hash;
    this.#clock = deps.clock;
  }

  /** A redrive has brought a good reply, whole. */
  add({ id, key, rawHeaders }: Letter, forMs: number): void {
    const head = headOf(key);
    const untilAt = this.#clock.now() + forMs;
    this.#byHead.delete(head);
    this.#byHead.set(head, { id, key, cookies: cookiesIn(rawHeaders), untilAt });
    if (this.#byHead.size <= MOST_ANSWERS) return;
    for (const oldest of this.#byHead.keys()) {
      this.#byHead.delete(oldest);
      return;
    }
  }

  /** The stored reply, if this is the same request by the same user, in time. Never rejects. */
  async find(exchange: Exchange): Promise<Delivery | undefined> {
    if (this.#byHead.size === 0 || exchange.policy.deadLetters.serveRedrivenMs === null) return;
    const head = headKey(exchange, this.#hash);
    const answer = this.#byHead.get(head);
    if (answer === undefined) return undefined;
    if (answer.untilAt <= this.#clock.now()) {
      this.#byHead.delete(head);
      return undefined;
    }
    if (answer.cookies !== cookiesIn(exchange.rawHeaders)) return undefined;
    if (requestKey(head, exchange, await this.#bodyOf(exchange)) !== answer.key) return undefined;
    const stored = await this.#letters.response(answer.id).catch(() => undefined);
    return stored && deliveryOf(stored, answer.id);
  }

  async #bodyOf({ body }: Exchange): Promise<Uint8Array | undefined> {
    if (!body.present) return new Uint8Array();
    const arrived = new AbortController();
    await Promise.race([body.ended, this.#clock.sleep(BODY_WAIT_MS, arrived.signal)]);
    arrived.abort();
    return body.kept?.();
  }
}

const cookiesIn = (rawHeaders: readonly string[]): string =>
  fieldValues(rawHeaders, 'cookie').join('; ');

function deliveryOf(stored: StoredResponse, id: string): Delivery {
  return {
    received: receivedOf(stored),
    verdict: {
      fault: 'none',
      reason: 'ok',
      evidence: { kind: 'status', status: stored.status },
    },
    stop: undefined,
    retryAfterMs: undefined,
    ledger: newLedger,
    route: undefined,
    deadLetter: id,
    source: 'dead-letter',
  };
}

function receivedOf({ status, reason, rawHeaders, body }: StoredResponse): Received {
  const readable = Readable.from(body.byteLength === 0 ? [] : [body]);
  return {
    reply: {
      kind: 'response',
      via: 'direct',
      status,
      rawHeaders,
      body: { kind: 'unseen' },
      headMs: 0,
    },
    response: { status, reason, rawHeaders, body: readable, rawTrailers: [] },
    closed: Promise.resolve(),
    keep: () => {},
    discard: () => void readable.destroy(),
    deliverable: true,
    sentBytes: 0,
    receivedBytes: 0,
  };
}
