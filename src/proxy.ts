import { createHash, createHmac } from 'node:crypto';
import { type Attempts, createAttempts } from './attempt/attempt.ts';
import type { Resolve } from './attempt/dial.ts';
import { createGuard } from './attempt/guard.ts';
import { type Clock, systemClock, systemRandom, wallTime } from './clock.ts';
import type { Config } from './config/config.ts';
import { policyFor } from './config/resolve.ts';
import { createEvidence } from './exchange/evidence.ts';
import { createHeldMemory } from './exchange/held-memory.ts';
import { createHeartbeats, type Heartbeats } from './exchange/heartbeat.ts';
import { LocalNetwork } from './exchange/network.ts';
import { createPages } from './exchange/pages.ts';
import type { Exchange } from './exchange/ports.ts';
import { probeCredentials } from './exchange/probe.ts';
import { type Deps, runExchange } from './exchange/run.ts';
import { runTunnel } from './exchange/tunnel.ts';
import { runUpgrade } from './exchange/upgrade.ts';
import { judgeTools } from './judge-tools.ts';
import { createLanes } from './lanes/lanes.ts';
import { type Authority, openAuthority as openKept } from './listener/authority.ts';
import { createListener } from './listener/listener.ts';
import { createRoutes } from './routes/routes.ts';
import { type Bus, createBus } from './telemetry/bus.ts';
import type { Emit } from './telemetry/events.ts';

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

/** The certificate authority kept in `home`, for commands that need its files only. */
export const openAuthority = (home: string): Promise<Authority> => openKept(home);

/** Puts the parts together. The only file that sees all of them. */
export async function createProxy(options: ProxyOptions): Promise<Proxy> {
  let { config } = options;
  const authority = await openAuthority(options.home);
  const bus = createBus();
  if (options.emit) bus.subscribe(options.emit);
  const shared = { clock: systemClock, random: systemRandom, emit: bus.emit };
  const wires = new Wires(options, () => [listener.address() ?? []].flat());
  // Salted by the install, so that two of them with one account do not begin on the same addresses.
  const salt = createHash('sha256').update(authority.caPem).digest();
  const hash = (text: string) => createHmac('sha256', salt).update(text).digest('hex');
  const routes = createRoutes({
    ...shared,
    upstreams: config.upstreams,
    hash,
    retire: (routeId) => wires.current.retire(routeId),
  });
  const network = new LocalNetwork(shared);
  const lanes = createLanes({
    ...shared,
    network,
    probe: (ask, refused) => probeCredentials(ask, refused, deps),
  });
  const deps: Deps = {
    ...shared,
    wall: wallTime,
    tools: judgeTools,
    pages: createPages({ ...shared, tools: judgeTools }),
    evidence: createEvidence({ ...shared, network, upstreams: () => config.upstreams.length }),
    routes,
    laneFor: (exchange) => lanes.laneFor(exchange, exchange.lane),
    attempt: (exchange, route, readmit) => wires.current.attempt(exchange, route, readmit),
  };
  const listener = createListener({
    ...shared,
    config: () => config,
    memory: createHeldMemory(() => config.memory.maxHeldBytes),
    authority,
    policyFor: (request) => policyFor(config, request),
    run: (exchange) => runExchange(exchange, deps),
    runTunnel: (exchange, flight) =>
      runTunnel(exchange, flight, {
        ...deps,
        openTunnel: (asked, route) => wires.current.openTunnel(asked, route),
      }),
    runUpgrade: (exchange) =>
      runUpgrade(exchange, {
        ...deps,
        openUpgrade: (asked, route) => wires.current.openUpgrade(asked, route),
      }),
    sessionState: (exchange) => routes.sessionState(exchange),
  });
  const running = trackRunning(bus, createHeartbeats(shared));

  return {
    start: async () => ({ proxy: await listener.listen() }),
    reload(next) {
      config = next;
      wires.reload(next);
      routes.update(next.upstreams);
    },
    async drain() {
      listener.stopAccepting();
      lanes.close();
      await until(() => running.size === 0, config.drainMs, systemClock);
      // The last bytes of the last replies are still on their way; idle clients need not be waited for.
      await until(() => listener.openConnections() === 0, LAST_BYTES_MS, systemClock);
    },
    async stop() {
      lanes.close();
      await listener.close();
      wires.close();
    },
    activity: () => ({
      connections: listener.openConnections(),
      exchanges: running.size,
      sockets: wires.openSockets(),
    }),
    subscribe: bus.subscribe,
  };
}

/** The attempts under the current configuration, and those of earlier ones until their sockets have ended. */
class Wires {
  current: Attempts;
  readonly #make: (config: Config) => Attempts;
  readonly #earlier = new Set<Attempts>();
  #wiring: string;

  constructor(options: ProxyOptions, ownAddresses: () => { host: string; port: number }[]) {
    const { resolve } = options;
    this.#make = ({ tls, allowPrivateTargets }) =>
      createAttempts({
        clock: systemClock,
        tls,
        guard: createGuard({ allowPrivate: allowPrivateTargets, ownAddresses }),
        ...(resolve ? { resolve } : {}),
      });
    this.current = this.#make(options.config);
    this.#wiring = wiringOf(options.config);
  }

  reload(config: Config): void {
    if (wiringOf(config) === this.#wiring) return;
    this.#earlier.add(this.current);
    this.current = this.#make(config);
    this.#wiring = wiringOf(config);
  }

  openSockets(): number {
    return this.#all().reduce((sum, each) => sum + each.openSockets(), 0);
  }

  close(): void {
    for (const each of this.#all()) each.close();
  }

  #all(): Attempts[] {
    for (const each of this.#earlier) if (each.openSockets() === 0) this.#earlier.delete(each);
    return [this.current, ...this.#earlier];
  }
}

/** The settings that sockets are made under. */
const wiringOf = ({ tls, allowPrivateTargets }: Config): string =>
  JSON.stringify([tls, allowPrivateTargets]);

/** Keeps the exchanges that are under way, their replies' bodies included, each with its heartbeat. */
function trackRunning(bus: Bus, heartbeats: Heartbeats): ReadonlyMap<Exchange, () => void> {
  const running = new Map<Exchange, () => void>();
  bus.subscribe((event) => {
    if (event.type === 'exchange_started')
      running.set(event.exchange, heartbeats.watch(event.exchange));
    if (event.type !== 'exchange_finished') return;
    running.get(event.exchange)?.();
    running.delete(event.exchange);
  });
  return running;
}

const LOOK_EVERY_MS = 50;
const LAST_BYTES_MS = 500;

/** Waits until something holds, at most `limitMs`. */
async function until(holds: () => boolean, limitMs: number, clock: Clock): Promise<void> {
  const deadline = clock.now() + limitMs;
  while (!holds() && clock.now() < deadline) await clock.sleep(LOOK_EVERY_MS);
}
