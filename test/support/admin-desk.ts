import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { type AdminOptions, createAdminServer } from '../../src/admin/server.ts';
import type { AdminPorts } from '../../src/admin/views.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { createRecent } from '../../src/telemetry/recent.ts';
import { AdminCaller } from './admin.ts';
import { FakeClock } from './fake-clock.ts';

type Lane = ReturnType<AdminPorts['lanes']['list']>[number];
type Route = ReturnType<AdminPorts['routes']['list']>['routes'][number];

/** A lane as the proxy shows it. */
export const laneSight = (id: string, patch: Partial<Lane> = {}): Lane => ({
  ...{ id, host: id.split('#')[0] ?? id, state: 'idle', pausedUntil: undefined, rate: null },
  ...{ budget: 6, breaker: 'closed', breakerUntil: undefined, waiting: 0, inFlight: 0 },
  ...{ concurrency: 32, failuresInRow: 0 },
  ...patch,
});

/** A route as the proxy shows it. */
export const routeSight = (id: string, patch: Partial<Route> = {}): Route => ({
  ...{ id, label: `dc/${id}`, upstream: 'dc', state: 'in', outUntil: undefined, sessions: 0 },
  ...patch,
});

/** An admin server over a proxy that is made up, on a clock wound by hand. */
export async function adminDesk(
  t: TestContext,
  o: {
    readonly ports?: Partial<AdminPorts>;
    readonly token?: string;
    readonly limits?: AdminOptions['limits'];
  } = {},
) {
  const clock = new FakeClock();
  const recent = createRecent();
  const lanes: Lane[] = [];
  const routes: Route[] = [];
  const facts = (): ReturnType<AdminPorts['status']> => ({
    ...{ version: '1.2.3', startedAt: clock.now(), state: 'ready', listen: undefined },
    ...{ connections: 0, exchanges: 0, sockets: 0 },
  });
  const ports: AdminPorts = {
    status: facts,
    lanes: { list: () => lanes, isolate: () => 'now', resume: () => true },
    routes: {
      list: () => ({ upstreams: [], routes, sessions: [] }),
      ...{ eject: () => false, restore: () => false, endSession: () => false },
      reputation: () => undefined,
    },
    recent,
    deadLetters: noLetters,
    config: () => ({}),
    spend: () => ({ since: new Date(0).toISOString(), upstreams: [], lanes: [] }),
    warnings: () => [],
    interception: () => [],
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
    kept: async () => {},
    drain: () => {},
    ...o.ports,
  };
  const server = createAdminServer(ports, {
    listen: { host: '127.0.0.1', port: 0 },
    token: () => o.token ?? null,
    clock,
    ...(o.limits && { limits: o.limits }),
  });
  const { port } = await server.listen();
  t.after(() => server.close());
  const emit = (event: ProxyEvent) => recent.record(event);
  return { server, port, clock, lanes, routes, emit, facts, admin: new AdminCaller(port) };
}

/** A desk without letters. */
export const noLetters: AdminPorts['deadLetters'] = {
  list: async () => ({ items: [], next: undefined }),
  get: async () => undefined,
  body: async () => undefined,
  response: async () => undefined,
  counts: async () => [],
  drop: async () => 0,
  redrive: async () => ({}),
  export: async function* nothing() {},
};

/** A notice, the smallest event there is. */
export const noticed = (message: string): ProxyEvent => ({
  ...{ type: 'notice', at: 0, level: 'info', message },
});

/** Something that was said to a server as it stands, and all that came back until it hung up. */
export async function raw(port: number, said: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  socket.write(said, 'latin1');
  return heard(socket);
}

/** All that comes until the other side hangs up. */
export async function heard(socket: Socket): Promise<string> {
  let all = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    all += piece;
  });
  socket.on('error', () => {});
  // Not `once`: it rejects with an error, and a reset is an end like any other.
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('close', () => resolve());
  await promise;
  return all;
}
