import { isoOrNull } from '../telemetry/event-view.ts';
import { type Answer, type Endpoint, json, missing, problem } from './endpoint.ts';
import { PAGE_QUERY, paged } from './paging.ts';
import { listOf, ref } from './schemas.ts';
import type { LaneDesk, RouteDesk } from './views.ts';

type Sight = ReturnType<LaneDesk['list']>[number];
type RouteSight = ReturnType<RouteDesk['list']>['routes'][number];

/** A lane as it is shown. */
export function laneView(lane: Sight) {
  return {
    id: lane.id,
    host: lane.host,
    state: lane.state,
    paused_until: isoOrNull(lane.pausedUntil),
    rate: lane.rate,
    budget: lane.budget,
    breaker: lane.breaker,
    breaker_until: isoOrNull(lane.breakerUntil),
    waiting: lane.waiting,
    in_flight: lane.inFlight,
    concurrency: lane.concurrency,
    failures_in_row: lane.failuresInRow,
  };
}

/** What there is to know of lanes, and to do with them. */
export function laneEndpoints(lanes: LaneDesk): readonly Endpoint[] {
  const find = (name: string): Sight | undefined => {
    const all = lanes.list();
    const id = name.toLowerCase();
    return all.find((lane) => lane.id.toLowerCase() === id) ?? all.find(({ host }) => host === id);
  };
  const command = (name: string, act: (host: string) => boolean | string): Answer => {
    const host = find(name)?.host ?? hostOf(name);
    if (host === undefined) {
      return problem(400, 'bad_host', 'A host is a name or an address, with its port if unusual.');
    }
    const before = find(host);
    if (act(host) === 'full') {
      return problem(503, 'too_many_isolated', 'As many hosts are isolated already as may be.');
    }
    // Resumed, a host that was never asked has no lane any more.
    const lane = find(host) ?? (before && { ...before, state: 'idle' });
    return lane ? json(laneView(lane)) : missing(`There is no lane ${name}.`);
  };
  return [
    {
      method: 'GET',
      path: '/lanes',
      summary: 'All lanes, by id.',
      query: {
        ...PAGE_QUERY,
        state: LANE_STATE,
        host: { type: 'string', description: 'Lanes of this host only.' },
      },
      answers: { 200: { description: 'A page of lanes.', schema: listOf('Lane') } },
      handle: ({ query }) => {
        const chosen = lanes
          .list()
          .filter(({ state }) => query.state === undefined || state === query.state)
          .filter(({ host }) => query.host === undefined || host === query.host);
        return paged(chosen, { query, keyOf: ({ id }) => id, order: 'ascending', view: laneView });
      },
    },
    {
      method: 'GET',
      path: '/lanes/{host}',
      summary: 'One lane, by its id or its host.',
      answers: { 200: { description: 'The lane.', schema: ref('Lane') } },
      handle: ({ params }) => {
        const lane = find(params.host ?? '');
        return lane ? json(laneView(lane)) : missing(`There is no lane ${params.host}.`);
      },
    },
    {
      method: 'POST',
      path: '/lanes/{host}/isolate',
      summary:
        'Sends nothing to the host any more: requests are refused with stop isolated, and parked.',
      answers: { 200: { description: 'The lane, isolated.', schema: ref('Lane') } },
      handle: ({ params }) => command(params.host ?? '', (host) => lanes.isolate(host)),
    },
    {
      method: 'POST',
      path: '/lanes/{host}/resume',
      summary: 'Ends the isolation of a host.',
      answers: { 200: { description: 'The lane.', schema: ref('Lane') } },
      handle: ({ params }) => command(params.host ?? '', (host) => lanes.resume(host)),
    },
  ];
}

const LONGEST_HOST = 260;

/** A host that was never asked may be isolated, too: as its lane would be called. undefined: no host is called so. */
function hostOf(name: string): string | undefined {
  if (name.length > LONGEST_HOST || /[/?#@\\]/.test(name)) return undefined;
  // That is how somebody writes it who means https.
  const url = URL.parse(`http://${name.replace(/:443$/, '')}`);
  return url?.host || undefined;
}

const LANE_STATE = {
  enum: ['isolated', 'breaker_open', 'paused', 'breaker_half_open', 'active', 'idle'],
} as const;
const EJECTED_MS = 24 * 3_600_000;
const LONGEST_EJECTION_MS = 365 * 24 * 3_600_000;

/** What there is to know of the ways out, and to do with them. */
export function routeEndpoints(routes: RouteDesk, now: () => number): readonly Endpoint[] {
  const shown = (id: string): Answer => {
    const route = routes.list().routes.find((one) => one.id === id);
    return json(route ? routeView(route) : { id, state: 'gone' });
  };
  return [
    {
      method: 'GET',
      path: '/routes',
      summary: 'All routes by id, and their upstreams.',
      query: { ...PAGE_QUERY, upstream: { type: 'string' }, state: { enum: ['in', 'ejected'] } },
      answers: {
        200: {
          description: 'A page of routes.',
          schema: listOf('Route', { upstreams: { type: 'array', items: ref('Upstream') } }),
        },
      },
      handle: ({ query }) => {
        const all = routes.list();
        const chosen = all.routes
          .filter(({ state }) => query.state === undefined || state === query.state)
          .filter(({ upstream }) => query.upstream === undefined || upstream === query.upstream);
        const upstreams = all.upstreams.map(({ name, kind, outUntil }) => ({
          ...{ name, kind, out_until: isoOrNull(outUntil) },
        }));
        return paged(chosen, {
          ...{ query, keyOf: ({ id }) => id, order: 'ascending', view: routeView },
          besides: { upstreams },
        });
      },
    },
    {
      method: 'GET',
      path: '/routes/{id}/reputation',
      summary: 'What is known of a route: everywhere (lane null), and by lane.',
      answers: { 200: { description: 'All of it.', schema: listOf('Reputation') } },
      handle: ({ params }) => {
        const found = routes.reputation(params.id ?? '');
        if (!found) return missing(`There is no route ${params.id}.`);
        return json({ items: found.map(reputationView), next: null });
      },
    },
    {
      method: 'POST',
      path: '/routes/{id}/eject',
      summary:
        "Takes a route out everywhere for a time. A gateway's address is replaced by a new one; the last routes of a list go on being used.",
      body: {
        type: 'object',
        properties: {
          for_ms: {
            type: 'integer',
            minimum: 1,
            maximum: LONGEST_EJECTION_MS,
            default: EJECTED_MS,
          },
        },
        additionalProperties: false,
      },
      answers: { 200: { description: 'The route.', schema: ref('RouteAfter') } },
      handle: ({ params, body }) => {
        const id = params.id ?? '';
        const forMs = typeof body.for_ms === 'number' ? body.for_ms : EJECTED_MS;
        return routes.eject(id, now() + forMs) ? shown(id) : missing(`There is no route ${id}.`);
      },
    },
    {
      method: 'POST',
      path: '/routes/{id}/restore',
      summary:
        "Takes a route back in, for every lane. A gateway's address that was taken out is gone for good: 404.",
      answers: { 200: { description: 'The route.', schema: ref('RouteAfter') } },
      handle: ({ params }) => {
        const id = params.id ?? '';
        const detail = `There is no route ${id}; a gateway's address that was taken out does not come back.`;
        return routes.restore(id) ? shown(id) : missing(detail);
      },
    },
  ];
}

function routeView(route: RouteSight) {
  return {
    id: route.id,
    label: route.label,
    upstream: route.upstream,
    state: route.state,
    ejected_until: isoOrNull(route.outUntil),
    sessions: route.sessions,
  };
}

type Repute = NonNullable<ReturnType<RouteDesk['reputation']>>[number];

function reputationView({ lane, good, bad, score, headMs, ejection }: Repute) {
  return {
    ...{ lane: lane ?? null, good, bad, score, head_ms: headMs },
    ejected_until: isoOrNull(ejection?.untilAt),
    reason: ejection?.reason ?? null,
  };
}
