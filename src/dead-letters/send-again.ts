import type { Clock } from '../clock.ts';
import { newLedger } from '../core/ledger.ts';
import type { Policy } from '../core/policy.ts';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import type { Letter } from '../store/letter.ts';
import { isOutage, type Letters } from '../store/store.ts';
import type { Emit, RedriveOutcome } from '../telemetry/events.ts';
import { isRepeatable } from './new-letter.ts';
import { type PolicyFor, redriveExchange, targetOf } from './redrive-exchange.ts';
import { type Settled, settled } from './settlement.ts';
import { storedReply } from './stored-reply.ts';
import type { Trails } from './trail.ts';

/** What sending a letter needs of the rest. */
export interface SendDeps {
  readonly letters: Letters;
  readonly clock: Clock;
  readonly emit: Emit;
  readonly trails: Trails;
  /** The loop itself: a redrive that fails parks nothing. */
  readonly run: (exchange: Exchange) => Promise<Delivery>;
  readonly policyFor: PolicyFor;
  readonly sessionState: (exchange: Exchange) => 'active' | 'burned' | 'expired' | undefined;
  readonly endSession: (id: string) => void;
  readonly onOver: (letter: Letter, end: End, exchange: Exchange) => void;
}

/** How a letter is over: with a good reply, with another final answer, or after too many tries. */
export type End = 'good' | 'answered' | 'expired';

/** One letter that is to be sent. */
export interface Job {
  readonly id: string;
  /** The client allows what may happen twice. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

/** What became of it. */
export interface Redriven {
  readonly id: string;
  readonly outcome: RedriveOutcome;
  /** One sentence. */
  readonly detail: string;
  /** When its host may be asked again, if the host or the way to it has failed. */
  readonly hostAwayUntil?: number | undefined;
}

/** Sends one letter through the loop and settles it. Never rejects. */
export async function sendAgain(job: Job, deps: SendDeps): Promise<Redriven> {
  try {
    const letter = await deps.letters.get(job.id);
    const refusal = letter ? whyNot(letter, job) : missing(job.id);
    if (!letter || refusal) return refusal ?? missing(job.id);
    const afterCrash = repeatable(letter, deps) ? undefined : 'consent';
    const isOurs =
      !job.signal.aborted && (await deps.letters.claim(job.id, deps.clock.now(), afterCrash));
    if (!isOurs) {
      return { id: job.id, outcome: 'busy', detail: 'It is being sent already, or is over.' };
    }
    return await carry(letter, job, deps);
  } catch (error) {
    const { code = 'internal', message = String(error) } = error as { code?: string } & Error;
    const doing = `redrive dead letter ${job.id}`;
    deps.emit({ type: 'store_trouble', at: deps.clock.now(), doing, code, message });
    // A broken store is no reason to ask a host again and again.
    const hostAwayUntil = isOutage(error) ? undefined : deps.clock.now() + RETRY_MS;
    return { id: job.id, outcome: 'interrupted', detail: message, hostAwayUntil };
  }
}

const RETRY_MS = 60_000;

/** The policy that rules a letter now. */
export function policyOf(
  { url, method, client, wishes: { profile } }: Letter,
  { policyFor }: { readonly policyFor: PolicyFor },
): Policy {
  return policyFor({ ...targetOf(url), method, client, profile }).policy;
}

const repeatable = (letter: Letter, deps: SendDeps): boolean =>
  isRepeatable(letter, policyOf(letter, deps));

const missing = (id: string): Redriven => ({
  id,
  outcome: 'missing',
  detail: 'There is no such letter.',
});

/** Why a letter cannot be sent as it is. */
function whyNot({ id, state, body, secretsBlanked, needs }: Letter, job: Job) {
  if (state !== 'parked' && state !== 'needs_client') {
    const detail = state === 'redriving' ? 'It is being sent already.' : `It is ${state}.`;
    return { id, outcome: 'busy', detail } as const;
  }
  const detail =
    body === 'lost'
      ? 'Its body was not kept: only the client can send it again.'
      : secretsBlanked
        ? 'Its credentials were not kept: only the client can send it again.'
        : needs !== undefined && !job.force
          ? WANTING[needs]
          : undefined;
  return detail === undefined ? undefined : ({ id, outcome: 'unsendable', detail } as const);
}

const WANTING = {
  body: 'Its body was not kept: only the client can send it again.',
  secrets: 'Its credentials were not kept: only the client can send it again.',
  consent: 'It may have been executed already; it is sent again only when that is forced.',
  session: 'Its session has ended; it is sent only when that is forced, and then in a new one.',
  credentials: 'The site refuses its credentials; it is sent only when that is forced.',
} as const;

async function carry(letter: Letter, job: Job, deps: SendDeps): Promise<Redriven> {
  const { letters, clock } = deps;
  const { exchange, lost } = await exchangeOf(letter, job, deps);
  const over = await outcomeOf(letter, exchange, lost && !job.force, deps);
  const { settlement, outcome, detail, hostAwayUntil } = over;
  // Closed by its client, or dropped, while it was under way.
  if (!(await letters.settle(letter.id, settlement))) {
    return { id: letter.id, outcome: 'busy', detail: 'It was closed or dropped meanwhile.' };
  }
  if (outcome === 'done' || outcome === 'expired') {
    const answered = settlement.why === undefined ? 'good' : 'answered';
    const end = outcome === 'expired' ? outcome : answered;
    deps.onOver((await letters.get(letter.id)) ?? letter, end, exchange);
  }
  const told = { id: letter.id, outcome, detail };
  deps.emit({ type: 'dead_letter_redriven', at: clock.now(), lane: letter.lane, ...told });
  return { ...told, hostAwayUntil };
}

async function outcomeOf(
  letter: Letter,
  exchange: Exchange,
  isLost: boolean,
  deps: SendDeps,
): Promise<Settled> {
  const { clock, trails } = deps;
  const delivery = isLost ? sessionLost : await conducted(exchange, deps);
  const { maxResponseBytes } = exchange.policy.deadLetters;
  const response =
    delivery.stop === undefined
      ? await storedReply(delivery.received, maxResponseBytes, clock.now)
      : undefined;
  delivery.received?.discard();
  if (exchange.session !== undefined && exchange.session !== letter.session) {
    deps.endSession(exchange.session);
  }
  if (!isLost) finish(exchange, delivery, deps);
  const trail = trails.of(exchange);
  return settled({ letter, exchange, delivery, trail, response, now: clock.now() });
}

async function exchangeOf(letter: Letter, { signal }: Job, deps: SendDeps) {
  const { clock, policyFor, sessionState } = deps;
  const body = (await deps.letters.body(letter.id)) ?? new Uint8Array();
  const o = { body, policyFor, signal, now: clock.now() };
  const same = redriveExchange(letter, { ...o, session: letter.session });
  if (letter.session === undefined) return { exchange: same, lost: false };
  const state = sessionState(same);
  // One that had not begun when the letter was parked may begin with it.
  const stands =
    state === 'active' || (state === undefined && letter.wishes.session_began !== 'yes');
  if (stands) return { exchange: same, lost: false };
  const fresh = redriveExchange(letter, { ...o, session: `${letter.session}~${letter.id}` });
  return { exchange: fresh, lost: same.policy.deadLetters.redrive === 'same_session' };
}

const sessionLost: Delivery = {
  received: undefined,
  verdict: undefined,
  stop: 'session_expired',
  retryAfterMs: undefined,
  ledger: newLedger,
  route: undefined,
};

/** Runs it as an exchange like any other, so that it is counted and shown like one. */
async function conducted(exchange: Exchange, { run, emit, clock }: SendDeps): Promise<Delivery> {
  emit({ type: 'exchange_started', at: clock.now(), exchange });
  try {
    return await run(exchange);
  } catch (error) {
    const message = `A redrive could not be carried out: ${(error as Error).stack ?? error}`;
    emit({ type: 'notice', at: clock.now(), level: 'error', message });
    return { ...sessionLost, stop: undefined };
  }
}

function finish(exchange: Exchange, delivery: Delivery, { emit, clock }: SendDeps): void {
  const { received } = delivery;
  emit({
    type: 'exchange_finished',
    at: clock.now(),
    exchange,
    delivery,
    answered: received?.response?.status ?? 'broken_off',
    sentBytes: received?.sentBytes ?? 0,
    receivedBytes: received?.receivedBytes ?? 0,
  });
}
