import { Readable } from 'node:stream';
import { fieldValue } from '../core/fields.ts';
import type { Policy } from '../core/policy.ts';
import type { Exchange, RequestBody, Target } from '../exchange/ports.ts';
import type { Letter } from '../store/letter.ts';

/** The rules in force now, for a request as it was. */
export type PolicyFor = (request: {
  readonly host: string;
  readonly authority: string;
  readonly path: string;
  readonly method: string;
  readonly client: string;
  readonly profile: string | undefined;
}) => { readonly policy: Policy; readonly lane?: string | undefined };

/** Nobody hangs on a redrive: it has time for the lane's pace, and for all who go before it. */
const PATIENCE_MS = 600_000;

/** Makes a letter into a request of its own, under today's rules. */
export function redriveExchange(
  letter: Letter,
  o: {
    readonly body: Uint8Array;
    readonly session: string | undefined;
    readonly policyFor: PolicyFor;
    readonly signal: AbortSignal;
    readonly now: number;
  },
): Exchange {
  const { method, rawHeaders, client, wishes } = letter;
  const target = targetOf(letter.url);
  const { profile } = wishes;
  const { policy, lane } = o.policyFor({ ...target, method, client, profile });
  const patienceMs = Math.max(policy.patienceMs, PATIENCE_MS);
  return {
    id: `${letter.id}-${letter.redrives + 1}`,
    client: { name: client, address: wishes.address ?? '127.0.0.1' },
    target,
    method,
    rawHeaders,
    body: bodyOf(letter, o.body),
    policy: { ...policy, patienceMs },
    lane,
    session: o.session,
    country: wishes.country,
    profile,
    priority: 'redrive',
    expectText: wishes.expect,
    retry: 'on',
    overH2: wishes.h2 !== undefined,
    startedAt: o.now,
    deadline: o.now + patienceMs,
    signal: o.signal,
    stage: { kind: 'queued', sinceAt: o.now, untilAt: undefined },
  };
}

/** Reads a letter's URL: it was written from a target, so nothing in it is foreign. The path stays as it was sent. */
export function targetOf(url: string): Target {
  const [, scheme = '', authority = '', path = ''] =
    /^(https?):\/\/(\[[^\]]*\](?::\d+)?|[^/?*]*)(.*)$/s.exec(url) ?? [];
  const [, name = '', port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(authority) ?? [];
  const secure = scheme === 'https';
  return {
    scheme: secure ? 'https' : 'http',
    host: name.replace(/^\[|\]$/g, ''),
    port: port === undefined ? (secure ? 443 : 80) : Number(port),
    authority,
    path,
  };
}

function bodyOf({ rawHeaders, rawTrailers }: Letter, bytes: Uint8Array): RequestBody {
  const announced = fieldValue(rawHeaders, 'content-length') !== undefined;
  const isEmpty = bytes.byteLength === 0;
  return {
    // One that came in chunks goes out in chunks.
    length: announced || isEmpty ? bytes.byteLength : undefined,
    present: !isEmpty,
    replayable: true,
    kept: () => bytes,
    open: () => Readable.from(isEmpty ? [] : [Buffer.from(bytes)]),
    rawTrailers,
  };
}
