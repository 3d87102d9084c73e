import type { InterceptionView } from '../telemetry/interception.ts';
import type { Endpoint } from './endpoint.ts';
import { PAGE_QUERY, paged } from './paging.ts';
import { listOf } from './schemas.ts';

/** Whether sites treat opened TLS worse than sealed tunnels. */
export function interceptionEndpoint(view: () => readonly InterceptionView[]): Endpoint {
  return {
    method: 'GET',
    path: '/interception',
    summary: 'Shares of blocks in opened TLS and in sealed tunnels, by lane, with advice.',
    query: { ...PAGE_QUERY, advised: { type: 'boolean' } },
    answers: { 200: { description: 'Lanes with TLS traffic.', schema: listOf('Interception') } },
    handle: ({ query }) =>
      paged(
        view().filter(
          ({ advice }) => query.advised === undefined || query.advised === (advice !== null),
        ),
        { query, keyOf: ({ lane }) => lane, order: 'ascending', view: interceptionView },
      ),
  };
}

function interceptionView({ advice, ...tally }: InterceptionView) {
  return { ...tally, advice: advice?.kind ?? null, sentence: advice?.sentence ?? null };
}
