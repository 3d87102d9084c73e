import { Readable } from 'node:stream';
import { fieldValues } from '../core/fields.ts';
import type { ProbePolicy } from '../core/policy.ts';
import type { Exchange, Target } from './ports.ts';
import { type Deps, runExchange } from './run.ts';

/** What a one-time question to the user's probe URL tells about credentials that were refused. */
export type Finding = 'credentials' | 'all_well' | 'unreachable';

/**
 * Asks the probe URL once, with the credentials and the session of the exchange that was refused.
 * `all_well`: they are good, so it was something else; `unreachable`: it could not be found out.
 */
export async function probeCredentials(
  ask: ProbePolicy,
  refused: Exchange,
  deps: Deps,
): Promise<Finding> {
  const now = deps.clock.now();
  const target = targetOf(new URL(ask.url));
  const delivery = await runExchange(
    {
      ...refused,
      id: `${refused.id}-probe`,
      target,
      method: 'GET',
      rawHeaders: credentialsOf(refused),
      body: NO_BODY,
      // The fuse that asks must not stop its own question.
      policy: { ...refused.policy, authFuse: 0, expect: [], replies: [] },
      lane: undefined,
      expectText: ask.expect,
      retry: 'off',
      startedAt: now,
      deadline: now + refused.policy.patienceMs,
      signal: new AbortController().signal,
      stage: { kind: 'queued', sinceAt: now, untilAt: undefined },
    },
    deps,
  );
  delivery.received?.discard();
  const reply = delivery.received?.reply;
  if (delivery.verdict?.fault === 'none') return 'all_well';
  const refusedAgain = reply?.kind === 'response' && [401, 403].includes(reply.status);
  // The page came, but without what only the right account sees.
  return refusedAgain || delivery.verdict?.reason === 'unexpected' ? 'credentials' : 'unreachable';
}

const NO_BODY = {
  length: 0,
  present: false,
  replayable: true,
  open: () => Readable.from([]),
  rawTrailers: [],
} as const;

function credentialsOf({ rawHeaders }: Exchange): string[] {
  return ['Authorization', 'Cookie', 'User-Agent', 'Accept'].flatMap((name) =>
    fieldValues(rawHeaders, name.toLowerCase()).flatMap((value) => [name, value]),
  );
}

function targetOf(url: URL): Target {
  const scheme = url.protocol === 'http:' ? 'http' : 'https';
  return {
    scheme,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (scheme === 'http' ? 80 : 443),
    authority: url.host,
    path: `${url.pathname}${url.search}`,
  };
}
