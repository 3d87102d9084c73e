import { LRUCache } from 'lru-cache';
import {
  type InterceptionAdvice,
  interceptionAdvice,
  type TlsTally,
} from '../core/interception.ts';
import type { Reply, Verdict } from '../core/verdict.ts';
import type { Exchange } from '../exchange/ports.ts';
import type { ProxyEvent } from './events.ts';
import { laneOf } from './lane-labels.ts';

/** How the TLS traffic of one lane fares, with advice where there is any. */
export interface InterceptionView extends TlsTally {
  readonly lane: string;
  readonly advice: InterceptionAdvice | null;
}

interface Kept {
  intercepted: number;
  interceptedBlocked: number;
  tunnelled: number;
  tunnelledBlocked: number;
  untrusted: number;
  at: number;
}

const MOST_LANES = 2_000;
/** What is that old counts half: defences change within a day. */
const HALF_LIFE_MS = 6 * 3_600_000;

/** Watches whether sites treat opened TLS worse than sealed tunnels, lane by lane; the least recent lanes are forgotten. */
export class Interception {
  readonly #lanes = new LRUCache<string, Kept>({ max: MOST_LANES });

  /** Takes in one event. */
  readonly record = (event: ProxyEvent): void => {
    if (event.type === 'client_tls_failed') this.#faded(event.host, event.at).untrusted += 1;
    if (event.type !== 'attempt_finished') return;
    const mode = tlsModeOf(event.exchange);
    if (mode === undefined) return;
    const kept = this.#faded(laneOf(event.exchange), event.at);
    const blocked = isBlock(event) ? 1 : 0;
    if (mode === 'tunnelled') {
      kept.tunnelled += 1;
      kept.tunnelledBlocked += blocked;
    } else {
      kept.intercepted += 1;
      kept.interceptedBlocked += blocked;
    }
  };

  /** All lanes with TLS, those with advice first. */
  view(now: number): readonly InterceptionView[] {
    const views = [...this.#lanes.keys()].map((lane) => {
      const kept = this.#faded(lane, now);
      const tally = {
        intercepted: { attempts: kept.intercepted, blocked: kept.interceptedBlocked },
        tunnelled: { attempts: kept.tunnelled, blocked: kept.tunnelledBlocked },
        untrusted: kept.untrusted,
      };
      return { lane, ...tally, advice: interceptionAdvice(lane, tally) ?? null };
    });
    return views.sort((a, b) => Number(a.advice === null) - Number(b.advice === null));
  }

  #faded(lane: string, at: number): Kept {
    const kept = this.#lanes.get(lane) ?? {
      ...{ intercepted: 0, interceptedBlocked: 0, tunnelled: 0, tunnelledBlocked: 0 },
      ...{ untrusted: 0, at },
    };
    const left = 0.5 ** (Math.max(0, at - kept.at) / HALF_LIFE_MS);
    kept.intercepted *= left;
    kept.interceptedBlocked *= left;
    kept.tunnelled *= left;
    kept.tunnelledBlocked *= left;
    kept.untrusted *= left;
    kept.at = Math.max(at, kept.at);
    this.#lanes.set(lane, kept);
    return kept;
  }
}

/** Whether its TLS is opened here or left sealed; undefined for plain requests. */
export function tlsModeOf({ target }: Exchange): 'intercepted' | 'tunnelled' | undefined {
  if (target.path === '') return 'tunnelled';
  return target.scheme === 'https' ? 'intercepted' : undefined;
}

/** Refused for the address or its TLS: by a verdict, or, in a way that both kinds can show, before the first byte. */
export function isBlock({
  reply,
  verdict,
}: {
  readonly reply: Reply;
  readonly verdict: Verdict;
}): boolean {
  if (verdict.fault === 'route') return true;
  if (reply.kind !== 'failure' || reply.leg !== 'origin') return false;
  const isEarly = reply.phase === 'tls' || reply.phase === 'first_byte';
  return isEarly && (reply.code === 'connection_reset' || reply.code === 'closed');
}
