import type { Clock, Random } from '../clock.ts';
import type { Policy } from '../core/policy.ts';
import type { Exchange, RequestBody, Target, Wording } from '../exchange/ports.ts';
import type { Caller } from './lines.ts';

/** What an exchange is made from. */
export interface Parts {
  readonly caller: Caller;
  readonly target: Target;
  readonly method: string;
  readonly rawHeaders: readonly string[];
  readonly wording?: Wording | undefined;
  readonly body: RequestBody;
  /** The rules as configured; the client's wishes are applied over them. */
  readonly policy: Policy;
  readonly lane: string | undefined;
  readonly signal: AbortSignal;
  readonly overH2?: boolean;
  readonly inform?: Exchange['inform'];
}

/** Makes an exchange that begins now. Sessions are bound to the client, so that nobody can join another's. */
export function newExchange(
  parts: Parts,
  { clock, random }: { readonly clock: Pick<Clock, 'now'>; readonly random: Random },
): Exchange {
  const { client, directives } = parts.caller;
  const now = clock.now();
  const policy: Policy = {
    ...parts.policy,
    patienceMs: directives.patienceMs ?? parts.policy.patienceMs,
    maxAttempts: directives.maxAttempts ?? parts.policy.maxAttempts,
  };
  const { session } = directives;
  return {
    id: newId(now, random),
    client,
    target: parts.target,
    method: parts.method,
    rawHeaders: parts.rawHeaders,
    wording: parts.wording,
    body: parts.body,
    policy,
    lane: parts.lane,
    session: session === undefined ? undefined : `${client.name}/${session}`,
    country: directives.country,
    profile: directives.profile,
    expectText: directives.expectText,
    retry: directives.retry ?? 'on',
    ...wishesOf(directives),
    overH2: parts.overH2 ?? false,
    ...(parts.inform !== undefined && { inform: parts.inform }),
    startedAt: now,
    deadline: now + policy.patienceMs,
    signal: parts.signal,
    stage: { kind: 'queued', sinceAt: now, untilAt: undefined },
  };
}

/** What the client asked for, told apart from what is configured. */
function wishesOf({ patienceMs, maxAttempts }: Caller['directives']): Pick<Exchange, 'wished'> {
  if (patienceMs === undefined && maxAttempts === undefined) return {};
  return {
    wished: {
      ...(patienceMs === undefined ? {} : { patienceMs }),
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
    },
  };
}

/** Sorts by time, and does not repeat over restarts. */
function newId(now: number, random: Random): string {
  const chance = Math.floor(random() * 36 ** 8)
    .toString(36)
    .padStart(8, '0');
  return `${Math.floor(now).toString(36)}${chance}`;
}
