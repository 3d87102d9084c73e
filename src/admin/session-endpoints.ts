import { sessionEndsAt } from '../core/session.ts';
import { iso } from '../telemetry/event-view.ts';
import { type Endpoint, json, missing } from './endpoint.ts';
import { PAGE_QUERY, paged } from './paging.ts';
import { listOf } from './schemas.ts';
import type { RouteDesk } from './views.ts';

type Sight = ReturnType<RouteDesk['list']>['sessions'][number];

/** What there is to know of sessions, and to do with them. */
export function sessionEndpoints(routes: RouteDesk): readonly Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/sessions',
      summary: 'Sessions that are active, and those whose ids are refused still.',
      query: { ...PAGE_QUERY, state: { enum: ['active', 'burned', 'expired'] } },
      answers: { 200: { description: 'A page of sessions.', schema: listOf('Session') } },
      handle: ({ query }) => {
        const chosen = routes
          .list()
          .sessions.filter(
            ({ session }) => query.state === undefined || session.state === query.state,
          );
        const view = sessionView;
        return paged(chosen, { query, keyOf: ({ id }) => id, order: 'ascending', view });
      },
    },
    {
      method: 'DELETE',
      path: '/sessions/{id}',
      summary: 'Ends a session, as its client would. The id may begin anew at once.',
      answers: { 200: { description: 'It has ended.', schema: ENDED } },
      handle: ({ params }) => {
        const id = params.id ?? '';
        return routes.endSession(id)
          ? json({ id, state: 'ended' })
          : missing(`There is no active session ${id}.`);
      },
    },
  ];
}

const ENDED = {
  type: 'object',
  properties: { id: { type: 'string' }, state: { enum: ['ended'] } },
  required: ['id', 'state'],
  additionalProperties: false,
} as const;

function sessionView({ id, session, label }: Sight) {
  if (session.state !== 'active') {
    return {
      ...{ id, state: session.state, upstream: null, route: null, country: null },
      ...{ created_at: null, last_used_at: null, ends_at: null },
      refused_until: iso(session.untilAt),
    };
  }
  return {
    id,
    state: session.state,
    upstream: session.upstream,
    route: label ?? null,
    country: session.country ?? null,
    created_at: iso(session.createdAt),
    last_used_at: iso(session.lastUsedAt),
    ends_at: iso(sessionEndsAt(session)),
    refused_until: null,
  };
}
