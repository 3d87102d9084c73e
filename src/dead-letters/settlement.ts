import { explainStop, explainVerdict } from '../core/explain.ts';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import type { Letter, LetterNeed, NewResponse, Settlement } from '../store/letter.ts';
import type { RedriveOutcome } from '../telemetry/events.ts';
import { mayHaveRun, namedWaitMs, whyOf } from './new-letter.ts';
import type { Trail } from './trail.ts';

/** What a redrive brought. */
export interface Brought {
  /** As it was before it was claimed. */
  readonly letter: Letter;
  readonly exchange: Exchange;
  readonly delivery: Delivery;
  readonly trail: Trail;
  /** The reply with its body; undefined where there is none, or it broke off. */
  readonly response: NewResponse | undefined;
  readonly now: number;
}

/** How the letter goes on, and what that says about its host. */
export interface Settled {
  readonly settlement: Settlement;
  readonly outcome: RedriveOutcome;
  /** One sentence. */
  readonly detail: string;
  /** When the host may be asked again, if it or the way to it has failed. */
  readonly hostAwayUntil: number | undefined;
}

/** Decides what becomes of a letter after its redrive. */
export function settled(brought: Brought): Settled {
  const { delivery, response, exchange } = brought;
  const { verdict, stop } = delivery;
  if (exchange.signal.aborted || stop === 'draining' || stop === 'client_gone') {
    if (mayHaveRun(exchange, delivery, brought.trail)) return needing('consent', brought);
    return back(brought, 'interrupted', 'The proxy is stopping.', brought.letter.dueAt);
  }
  const isAnswer = stop === undefined && (verdict?.fault === 'none' || verdict?.fault === 'client');
  if (verdict?.reason === 'unauthorized' || stop === 'auth_fuse') {
    return needing('credentials', brought);
  }
  if (isAnswer && response) return done(brought, response);
  if (stop === 'session_burned' || stop === 'session_expired' || stop === 'session_unsupported') {
    return needing('session', brought);
  }
  return failed(brought);
}

function done(brought: Brought, response: NewResponse): Settled {
  const { policy } = brought.exchange;
  const settlement: Settlement = {
    ...basis(brought),
    to: 'done',
    response,
    // Long enough to be fetched, whenever it was parked.
    keepUntil: Math.max(brought.letter.keepUntil, brought.now + policy.deadLetters.keepMs),
  };
  const detail = sentenceOf(brought.delivery);
  return { settlement, outcome: 'done', detail, hostAwayUntil: undefined };
}

function failed(brought: Brought): Settled {
  const { letter, exchange, delivery, trail, now } = brought;
  const { cooldownMs, maxRedrives } = exchange.policy.deadLetters;
  const awayUntil = now + (namedWaitMs(delivery) ?? cooldownMs);
  const detail = sentenceOf(delivery);
  if (mayHaveRun(exchange, delivery, trail)) {
    return { ...needing('consent', brought), hostAwayUntil: awayUntil };
  }
  if (delivery.ledger.attempts === 0) return back(brought, 'parked', detail, awayUntil);
  if (maxRedrives > 0 && letter.redrives + 1 >= maxRedrives) {
    const settlement: Settlement = { ...basis(brought), to: 'expired' };
    return { settlement, outcome: 'expired', detail, hostAwayUntil: awayUntil };
  }
  // Behind the others of its host: next time another one is the first to be tried.
  const dueAt = maxRedrives === 0 ? letter.keepUntil : awayUntil + 1;
  const settlement: Settlement = { ...basis(brought), to: 'parked', dueAt };
  return { settlement, outcome: 'parked', detail, hostAwayUntil: awayUntil };
}

/** As if it had not been tried. */
function back(
  brought: Brought,
  outcome: 'parked' | 'interrupted',
  detail: string,
  dueAt: number,
): Settled {
  const { letter } = brought;
  const settlement: Settlement =
    letter.state === 'needs_client'
      ? { ...basis(brought), to: 'needs_client', ...(letter.needs && { needs: letter.needs }) }
      : { ...basis(brought), to: 'parked', dueAt, unsent: true };
  const hostAwayUntil = outcome === 'parked' ? dueAt : undefined;
  return { settlement, outcome, detail, hostAwayUntil };
}

function needing(needs: LetterNeed, brought: Brought): Settled {
  const settlement: Settlement = { ...basis(brought), to: 'needs_client', needs };
  const detail = sentenceOf(brought.delivery);
  return { settlement, outcome: 'needs_client', detail, hostAwayUntil: undefined };
}

function basis({ delivery, trail, now }: Brought) {
  const good = delivery.verdict?.fault === 'none' && delivery.stop === undefined;
  return {
    at: now,
    attempts: trail.attempts,
    why: good ? undefined : whyOf(delivery),
    keepUntil: undefined,
  };
}

function sentenceOf({ verdict, stop }: Delivery): string {
  const sentences = [
    verdict && explainVerdict(verdict),
    stop && `Not tried again: ${explainStop(stop)}.`,
  ];
  return sentences.filter(Boolean).join(' ') || 'The reply broke off.';
}
