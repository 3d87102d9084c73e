import type { Clock } from '../clock.ts';
import { isCutOff, type Sighting } from '../core/diagnose.ts';
import type { Reply, Verdict } from '../core/verdict.ts';
import type { LocalNetwork } from './network.ts';
import type { Exchange, Route } from './ports.ts';
import { Sightings, type Watched } from './sightings.ts';

/** Sees every attempt come and go, and tells what was seen around one that failed. */
export interface Evidence {
  /** An attempt goes out. */
  begin(exchange: Exchange, laneId: string, route: Route): Watch;
}

/** One attempt under observation. */
export interface Watch {
  /** It came to an end. */
  end(reply: Reply): void;
  /** What was seen of others meanwhile. */
  sighting(): Sighting;
  /** What was made of it, so that it counts for others. */
  judged(reply: Reply, verdict: Verdict): void;
}

export interface EvidenceDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly network: LocalNetwork;
  /** How many upstreams there are. */
  readonly upstreams: () => number;
}

/** Keeps the evidence of one proxy: the last minute, bounded, in memory only. */
export function createEvidence({ clock, network, upstreams }: EvidenceDeps): Evidence {
  const sightings = new Sightings(upstreams);
  /** Exchanges whose name was not found once. */
  const unresolved = new WeakSet<Exchange>();

  return {
    begin(exchange, laneId, route) {
      const attempt = sightings.begin(exchange, { laneId, route }, clock.now());
      return {
        end: (reply) => {
          sightings.end(attempt);
          if (wasHeard(reply)) {
            network.answered();
            sightings.answered(clock.now());
          }
          const kind = connectionSign(reply, sightings.isKnown(attempt));
          if (kind === undefined) return;
          sightings.couldNotConnect(attempt, clock.now());
          if (network.wasCutOff(attempt.startedAt)) return;
          network.failedToConnect(signOf(attempt, kind), upstreams());
          // Those that still hang testify too: the first to fail must not be blamed for the rest.
          if (isCutOff(sightings.silence(attempt, clock.now()))) network.cutOff();
        },
        sighting: () => ({
          ...sightings.around(attempt, clock.now()),
          network: network.wasCutOff(attempt.startedAt) ? 'out' : 'up',
          look: maySecondLook(exchange) && !unresolved.has(exchange) ? 'first' : 'last',
        }),
        judged(reply, verdict) {
          if (reply.kind === 'failure' && reply.code === 'unresolvable') unresolved.add(exchange);
          const now = clock.now();
          const isOurs = verdict.reason === 'local_network';
          if (isOurs && isCutOff(sightings.silence(attempt, now))) network.cutOff();
          sightings.judged(attempt, reply, verdict, now);
        },
      };
    },
  };
}

/** A look that costs nobody anything: the request has not left, and can go out again. */
const maySecondLook = ({ retry, body }: Exchange): boolean => retry === 'on' && body.replayable;

function signOf({ exchange, route, door }: Watched, kind: 'sure' | 'unsure') {
  return { host: exchange.target.authority, door, upstream: route.upstream, kind };
}

/**
 * Whether the attempt failed as it would without a network. A name that does not exist, or a machine that is away, is
 * a sign only where the host has answered before: a list of dead sites is no outage.
 */
function connectionSign(reply: Reply, isKnown: boolean): 'sure' | 'unsure' | undefined {
  if (reply.kind !== 'failure' || (reply.phase !== 'resolve' && reply.phase !== 'dial')) return;
  switch (reply.code) {
    case 'resolver_failed':
    case 'unreachable':
      return 'sure';
    case 'timeout':
    case 'unresolvable':
      return isKnown ? 'unsure' : undefined;
    default:
      return undefined;
  }
}

/** Whether something came back over the network, good or bad. */
function wasHeard(reply: Reply): boolean {
  if (reply.kind === 'response' || reply.upstreamReply !== undefined) return true;
  return HEARD.has(reply.code);
}

const HEARD: ReadonlySet<string> = new Set([
  ...['certificate', 'tls', 'no_common_protocol'],
  ...['http_protocol', 'header_overflow', 'stream_refused', 'calm'],
]);
