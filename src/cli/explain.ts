import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { policyFor } from '../config/resolve.ts';
import type { Action } from '../core/action.ts';
import { askedFor, classify, wasUnprocessed } from '../core/classify.ts';
import { decide } from '../core/decide.ts';
import { explainStop, seconds, explain as sentence, sight } from '../core/explain.ts';
import { fieldValue } from '../core/fields.ts';
import { weighMarkers } from '../core/find-marker.ts';
import { begin, newLedger } from '../core/ledger.ts';
import type { Policy } from '../core/policy.ts';
import type { ResponseReply, Verdict, Via } from '../core/verdict.ts';
import { judgeTools } from '../judge-tools.ts';
import { replyFromFlags } from './reply-from-flags.ts';
import { type ConfigFlags, settings } from './settings.ts';
import { CommandError, type ExitCode, type Terminal } from './terminal.ts';

/** Flags of `forbear explain`. */
export interface ExplainFlags extends ConfigFlags {
  readonly url: string;
  readonly status: number;
  readonly header: readonly string[];
  readonly body?: string | undefined;
  readonly method: string;
  readonly profile?: string | undefined;
  readonly inSession?: boolean | undefined;
  readonly viaUpstream?: boolean | undefined;
  readonly json?: boolean | undefined;
}

interface Explained {
  readonly verdict: Verdict;
  readonly action: Action;
  readonly explain: string;
  /** Block pages of which the reply shows something, the likeliest first. */
  readonly weighed: readonly {
    readonly marker: string;
    readonly kind: string;
    /** Signs shown, as a share of those needed. */
    readonly score: number;
    readonly holds: boolean;
    readonly for: readonly string[];
    readonly against: readonly string[];
  }[];
}

/** `forbear explain`: judges a reply offline as the first attempt of a request, and says what would follow. */
export function explain(flags: ExplainFlags, terminal: Terminal): ExitCode {
  const config = settings(flags, terminal.env);
  const url = targetUrl(flags.url);
  const request = {
    method: flags.method.toUpperCase(),
    scheme: url.protocol === 'https:' ? ('https' as const) : ('http' as const),
    host: url.hostname.replace(/^\[|\]$/g, ''),
    path: `${url.pathname}${url.search}`,
  };
  const { policy, lane } = policyFor(config, {
    ...request,
    authority: url.host,
    client: '',
    profile: flags.profile,
  });
  const reply = replyFromFlags(
    {
      method: request.method,
      status: flags.status,
      headers: flags.header,
      body: flags.body,
      via: viaOf(flags, config, policy, request.scheme),
    },
    policy.inspect,
  );
  const made = judged(reply, { flags, config, policy, request });
  const facts = {
    lane: lane === undefined ? url.host : `${url.host} ${lane}`,
    via: reply.via,
    ...made,
  };
  terminal.out(flags.json === true ? `${JSON.stringify(facts, undefined, 2)}\n` : readable(facts));
  if (reply.body.kind === 'unseen' && flags.body === undefined) {
    terminal.err(
      'note: nothing is known of the body, so it was not judged; give it with --body FILE\n',
    );
  }
  return 0;
}

function judged(
  reply: ResponseReply,
  o: {
    readonly flags: ExplainFlags;
    readonly config: Config;
    readonly policy: Policy;
    readonly request: { method: string; scheme: 'http' | 'https'; host: string; path: string };
  },
): Explained {
  const { flags, config, policy, request } = o;
  const now = systemClock.now();
  const verdict = classify(reply, {
    request,
    policy,
    expectText: undefined,
    nowWall: now,
    routeId: reply.via === 'direct' ? 'direct' : 'upstream',
    blockedAddresses: [],
    tools: judgeTools,
  });
  const left = waysLeft(config, policy);
  const action = decide(
    verdict,
    {
      ledger: begin(newLedger, 'first', 0),
      now,
      deadline: now + policy.patienceMs,
      roll: 0.5,
      replay: {
        bodyKept: true,
        repeatable:
          policy.replayMethods.includes(request.method) ||
          fieldValue(reply.rawHeaders, 'idempotency-key') !== undefined,
        sent: true,
        unprocessed: wasUnprocessed(reply),
      },
      retry: 'on',
      inSession: flags.inSession === true,
      budgetLeft: policy.budget.floorPerMinute > 0,
      bytesLeft: true,
      laneFailures: 1,
      pausedUntil: now,
      ...left,
    },
    policy,
  );
  const weighed = weighMarkers(reply, askedFor({ request, policy })).map(
    ({ marker, score, holds, seen, against }) => {
      return { marker: marker.id, kind: marker.kind, score, holds, for: seen, against };
    },
  );
  return { verdict, action, explain: sentence(verdict, action), weighed };
}

/** Which ways out the configuration leaves to a first attempt. */
function waysLeft(config: Config, policy: Policy) {
  const usable = config.upstreams.filter(
    ({ name }) => policy.upstreams === null || policy.upstreams.includes(name),
  );
  const first = usable[0];
  return {
    routesLeft: first?.kind === 'gateway' || (first?.kind === 'list' && first.routes.length > 1),
    upstreamsLeft: usable.length > 1,
  };
}

/** By default as the configuration would send it. */
function viaOf(flags: ExplainFlags, config: Config, policy: Policy, scheme: 'http' | 'https'): Via {
  const name = policy.upstreams?.[0] ?? config.upstreams[0]?.name;
  const upstream = config.upstreams.find((candidate) => candidate.name === name);
  const direct = (upstream?.kind ?? 'direct') === 'direct' && flags.viaUpstream !== true;
  if (direct) return 'direct';
  return scheme === 'https' ? 'tunnel' : 'forward';
}

function targetUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new CommandError(`--url takes an http or https URL, not "${text}"`, 2);
}

function readable(facts: Explained & { readonly lane: string; readonly via: Via }): string {
  const { verdict, action, lane, via } = facts;
  const rows: readonly (readonly [string, string])[] = [
    ['verdict', `${verdict.fault}/${verdict.reason}`],
    ['evidence', sight(verdict.evidence)],
    ['action', actionWords(action)],
    ['lane', `${lane}, reached ${VIA[via]}`],
    ['because', facts.explain],
    ...facts.weighed.map((one) => ['weighed', weighedWords(one)] as const),
  ];
  return rows.map(([name, value]) => `${name.padEnd(10)}${value}\n`).join('');
}

function weighedWords(one: Explained['weighed'][number]): string {
  const against = one.against.length === 0 ? '' : `; against: ${one.against.join(', ')}`;
  const holds = one.holds ? 'holds' : 'does not hold';
  return `${one.marker} (${one.kind}), score ${one.score.toFixed(2)} of 1, ${holds}; for: ${one.for.join(', ')}${against}`;
}

const VIA: Record<Via, string> = {
  direct: 'directly',
  tunnel: 'through a tunnel of the upstream',
  forward: 'by the upstream in plain HTTP',
};

function actionWords(action: Action): string {
  switch (action.kind) {
    case 'deliver':
      return 'deliver';
    case 'wait':
      return `wait ${seconds(action.delayMs)}, then ${action.elsewhere ? 'another' : 'the same'} route`;
    case 'rotate':
      return action.because.fault === 'account'
        ? 'rotate to the next upstream'
        : 'rotate to a fresh route';
    case 'burn':
      return 'burn the session and deliver the reply, marked';
    case 'fail':
      return `fail (${action.stop}): ${explainStop(action.stop)}`;
  }
}
