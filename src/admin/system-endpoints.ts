import { EVENT_TYPES, iso } from '../telemetry/event-view.ts';
import { type Answer, type Endpoint, json, problem } from './endpoint.ts';
import type { EventHub } from './event-hub.ts';
import { record, ref } from './schemas.ts';
import type { AdminPorts } from './views.ts';

/** Kinds of messages beside the events themselves. */
export const STREAM_TYPES = [...Object.keys(EVENT_TYPES), 'lanes'];

/** What there is to know of the whole process, and to do with it. */
export function systemEndpoints(ports: AdminPorts, hub: EventHub): readonly Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/status',
      summary: 'How the process is doing, in numbers.',
      answers: { 200: { description: 'The numbers.', schema: ref('Status') } },
      handle: async () => json(await status(ports)),
    },
    {
      method: 'GET',
      path: '/spend',
      summary: 'What the traffic cost, by upstream and by lane.',
      answers: { 200: { description: 'Bytes and their price.', schema: ref('Spend') } },
      handle: () => json(ports.spend()),
    },
    {
      method: 'GET',
      path: '/config',
      summary: 'The configuration in effect, with all secrets blanked.',
      answers: { 200: { description: 'The configuration.', schema: { type: 'object' } } },
      handle: () => json(ports.config()),
    },
    {
      method: 'POST',
      path: '/drain',
      summary:
        'Stops accepting, turns away who waits, lets what runs finish, and ends the process, as SIGTERM does.',
      answers: {
        202: { description: 'It has begun.', schema: record({ state: { enum: ['draining'] } }) },
      },
      handle: () => {
        ports.drain();
        return json({ state: 'draining' }, 202);
      },
    },
    {
      method: 'GET',
      path: '/events',
      summary:
        'What happens, as server-sent events; Last-Event-ID resumes. Lanes that have changed come at most once a second.',
      query: {
        types: { type: 'string', description: `Comma-separated: ${STREAM_TYPES.join(', ')}.` },
        last_event_id: { type: 'string', maxLength: 100 },
      },
      answers: { 200: { description: 'The stream.', contentType: 'text/event-stream' } },
      handle: ({ query, headers }) => listen(query, String(headers['last-event-id'] ?? ''), hub),
    },
  ];
}

function listen(
  query: Readonly<Record<string, string | number | boolean>>,
  lastEventId: string,
  hub: EventHub,
): Answer {
  const types = String(query.types ?? '')
    .split(',')
    .filter((type) => type !== '');
  const unknown = types.find((type) => !STREAM_TYPES.includes(type));
  if (unknown !== undefined) {
    const known = STREAM_TYPES.join(', ');
    return problem(400, 'bad_query', `There are no events of type ${unknown}; known: ${known}.`);
  }
  if (!hub.hasRoom) {
    const detail = 'As many listen already as may at once: close another tab or listener.';
    return problem(503, 'too_many_listeners', detail, { 'Retry-After': '5' });
  }
  return { kind: 'events', types, after: lastEventId || String(query.last_event_id ?? '') };
}

async function status(ports: AdminPorts) {
  const { version, startedAt, state, listen, connections, exchanges, sockets } = ports.status();
  const lanes = ports.lanes.list();
  const { routes, sessions } = ports.routes.list();
  const waiting = [...ports.recent.open()].filter((trail) => trail.state === 'waiting').length;
  const states = sessions.map(({ session }) => session.state);
  return {
    version,
    started_at: iso(startedAt),
    state,
    listen: listen ? `${bracketed(listen.host)}:${listen.port}` : null,
    ...{ connections, exchanges, sockets, waiting },
    lanes: {
      all: lanes.length,
      ...tally(
        LANE_STATES,
        lanes.map((lane) => lane.state),
      ),
    },
    routes: tally(
      ['in', 'ejected'],
      routes.map((route) => route.state),
    ),
    sessions: tally(['active', 'burned', 'expired'], states),
    dead_letters: await letters(ports),
  };
}

async function letters({ deadLetters }: AdminPorts) {
  try {
    const sum = { parked: 0, redriving: 0, done: 0, expired: 0, needs_client: 0 };
    for (const { state, letters: count } of await deadLetters.counts()) sum[state] += count;
    return sum;
  } catch {
    return null;
  }
}

const LANE_STATES = [
  ...(['isolated', 'breaker_open', 'breaker_half_open'] as const),
  ...(['paused', 'active', 'idle'] as const),
];

function tally(names: readonly string[], found: readonly string[]): Record<string, number> {
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  for (const name of found) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
