import { iso } from '../telemetry/event-view.ts';
import type { RaisedWarning } from '../telemetry/warnings.ts';
import { type Endpoint, json } from './endpoint.ts';
import { listOf } from './schemas.ts';

/** Which early warnings are raised. There are few: they come on one page. */
export function warningEndpoint(raised: () => readonly RaisedWarning[]): Endpoint {
  return {
    method: 'GET',
    path: '/warnings',
    summary: 'Early warnings that are raised: what the attempts of a lane come to has changed.',
    answers: { 200: { description: 'All of them.', schema: listOf('Warning') } },
    handle: () => json({ items: raised().map(warningView), next: null }),
  };
}

function warningView({ since, badRoutes, ...warning }: RaisedWarning) {
  return { ...warning, since: iso(since), bad_routes: badRoutes };
}
