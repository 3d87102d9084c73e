import { iso } from '../telemetry/event-view.ts';
import type { Recent } from '../telemetry/recent.ts';
import { type Endpoint, json, missing } from './endpoint.ts';
import { PAGE_QUERY, paged } from './paging.ts';
import { listOf, ref } from './schemas.ts';

const STATES = ['waiting', 'running', 'done'] as const;

/** What there is to know of exchanges. */
export function exchangeEndpoints(recent: Recent): readonly Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/exchanges',
      summary: 'Exchanges under way, and those that ended lately; the newest first.',
      query: {
        ...PAGE_QUERY,
        state: { enum: STATES },
        lane: { type: 'string' },
        client: { type: 'string' },
      },
      answers: { 200: { description: 'A page of exchanges.', schema: listOf('Exchange') } },
      handle: ({ query }) => {
        const open = query.state === 'done' ? [] : [...recent.open()];
        const isOpenOnly = query.state === 'waiting' || query.state === 'running';
        const chosen = [...open, ...(isOpenOnly ? [] : recent.finished())]
          .filter(({ state }) => query.state === undefined || state === query.state)
          .filter(({ lane }) => query.lane === undefined || lane === query.lane)
          .filter(({ client }) => query.client === undefined || client === query.client);
        return paged(chosen, {
          query,
          keyOf: ({ startedAt, id }) => `${iso(startedAt)} ${id}`,
          order: 'descending',
          view: (trail) => trail.view(),
        });
      },
    },
    {
      method: 'GET',
      path: '/exchanges/{id}',
      summary:
        'The trail of one exchange: every attempt, verdict and action, with the sentence why.',
      answers: { 200: { description: 'The trail.', schema: ref('Exchange') } },
      handle: ({ params }) => {
        const trail = recent.trail(params.id ?? '');
        return trail
          ? json(trail)
          : missing(`Exchange ${params.id} is unknown, or ended too long ago to be remembered.`);
      },
    },
  ];
}
