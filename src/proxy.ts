import { createHash } from 'node:crypto';
import { createAttempts } from './attempt/attempt.ts';
import type { Resolve } from './attempt/dial.ts';
import { createGuard } from './attempt/guard.ts';
import { type Clock, systemClock, systemRandom } from './clock.ts';
import type { Config } from './config/config.ts';
import { policyFor } from './config/resolve.ts';
import { createHeartbeats } from './exchange/heartbeat.ts';
import type { Exchange } from './exchange/ports.ts';
import { probeCredentials } from './exchange/probe.ts';
import { type Deps, runExchange } from './exchange/run.ts';
import { runTunnel } from './exchange/tunnel.ts';
import { judgeTools } from './judge-tools.ts';
import { createLanes } from './lanes/lanes.ts';
import { openAuthority } from './listener/authority.ts';
import { createListener } from './listener/listener.ts';
import { createRoutes } from './routes/routes.ts';
import { createBus } from './telemetry/bus.ts';
import type { Emit } from './telemetry/events.ts';

export { openAuthority } from './listener/authority.ts';

export interface ProxyOptions {
  readonly config: Config;
  /** Folder of the certificate authority and of what is kept. */
  readonly home: string;
  /** A first subscriber to the events. */
  readonly emit?: Emit;
  /** Looks names up for `direct`; the system's resolver unless given. */
  readonly resolve?: Resolve;
}

/** A running (or not yet started) Forbear. */
export interface Proxy {
  /** Starts to listen. Rejects with the system's error when it cannot. */
  start(): Promise<{ proxy: { host: string; port: number } }>;
  /** New rules for new exchanges; what is under way, and what was learned, stays. */
  reload(config: Config): void;
  /** Stops accepting, turns away who waits, and lets what runs finish within `drain`. */
  drain(): Promise<void>;
  /** Ends everything at once. */
  stop(): Promise<void>;
  /** What is open right now. */
  activity(): { connections: number; exchanges: number; sockets: number };
  subscribe(subscriber: Emit): () => void;
}

/** Puts the parts together. The only file that sees all of them. */
export async function createProxy(options: ProxyOptions): Promise<Proxy> {
  let { config } = options;
  const clock = systemClock;
  const random = systemRandom;
  const wall = Date.now;
  const bus = createBus();
  const { emit } = bus;
  if (options.emit) bus.subscribe(options.emit);

  const authority = await openAuthority(options.home);
  const running = new Map<Exchange, () => void>();
  const heartbeats = createHeartbeats({ clock, emit });
  const attemptsUnder = ({ tls, allowPrivateTargets }: Config) =>
    createAttempts({
      clock,
      tls,
      guard: createGuard({
        allowPrivate: allowPrivateTargets,
        ownAddresses: () => [listener.address() ?? []].flat(),
      }),
      ...(options.resolve ? { resolve: options.resolve } : {}),
    });
  let attempts = attemptsUnder(config);
  // Those of earlier configurations: their sockets end by themselves.
  const retired = new Set<typeof attempts>();
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const routes = createRoutes({
    upstreams: config.upstreams,
    clock,
    random,
    emit,
    hash,
    retire: (routeId) => attempts.retire(routeId),
  });
  const lanes = createLanes({ clock, random, emit, probe: (ask, refused) => probeCredentials(ask, refused, ways) });
  const ways: Deps = {
    laneFor: (exchange) => lanes.laneFor(exchange, exchange.lane),
    routes,
    attempt: (exchange, route) => attempts.attempt(exchange, route),
    tools: judgeTools,
    clock,
    wall,
    random,
    emit,
  };

  bus.subscribe((event) => {
    if (event.type === 'exchange_started') running.set(event.exchange, heartbeats.watch(event.exchange));
    if (event.type !== 'exchange_finished') return;
    running.get(event.exchange)?.();
    running.delete(event.exchange);
  });

  const listener = createListener({
    config: () => config,
    authority,
    clock,
    random,
    emit,
    policyFor: (request) => policyFor(config, request),
    run: (exchange) => runExchange(exchange, ways),
    runTunnel: (exchange) => runTunnel(exchange, ways, (_, route) => attempts.openTunnel(exchange, route)),
    sessionState: routes.sessionState,
  });

  return {
    start: async () => ({ proxy: await listener.listen() }),
    reload(next) {
      const rewire = wiring(next) !== wiring(config);
      config = next;
      if (rewire) {
        retired.add(attempts);
        attempts = attemptsUnder(next);
      }
      routes.update(next.upstreams);
    },
    async drain() {
      listener.stopAccepting();
      lanes.close();
      await until(() => running.size === 0 && listener.openConnections() === 0, config.drainMs, clock);
    },
    async stop() {
      lanes.close();
      await listener.close();
      for (const each of [attempts, ...retired]) each.close();
    },
    activity: () => ({
      connections: listener.openConnections(),
      exchanges: running.size,
      sockets: [attempts, ...retired].reduce((sum, each) => sum + each.openSockets(), 0),
    }),
    subscribe: bus.subscribe,
  };
}

/** The settings that sockets are made under. */
const wiring = ({ tls, allowPrivateTargets }: Config): string =>
  JSON.stringify([tls, allowPrivateTargets]);

const LOOK_EVERY_MS = 50;

/** Waits until something holds, at most `limitMs`. */
async function until(holds: () => boolean, limitMs: number, clock: Clock): Promise<void> {
  const deadline = clock.now() + limitMs;
  while (!holds() && clock.now() < deadline) await clock.sleep(LOOK_EVERY_MS);
}
