import { createHash, createHmac } from 'node:crypto';
import type { Resolve } from './attempt/dial.ts';
import { Wires } from './attempt/wires.ts';
import { systemClock, systemRandom, wallTime } from './clock.ts';
import type { Config } from './config/config.ts';
import { policyFor } from './config/resolve.ts';
import { createEvidence } from './exchange/evidence.ts';
import { createHeartbeats, type Heartbeats } from './exchange/heartbeat.ts';
import { createHeldMemory } from './exchange/held-memory.ts';
import { LocalNetwork } from './exchange/network.ts';
import { createPages } from './exchange/pages.ts';
import type { Exchange } from './exchange/ports.ts';
import { probeCredentials } from './exchange/probe.ts';
import { type Deps, runExchange } from './exchange/run.ts';
import { type OpenTunnel, runTunnel } from './exchange/tunnel.ts';
import { type OpenUpgrade, runUpgrade } from './exchange/upgrade.ts';
import { judgeTools } from './judge-tools.ts';
import { createLanes } from './lanes/lanes.ts';
import { type Authority, openAuthority as openKept } from './listener/authority.ts';
import { createListener, type Listener } from './listener/listener.ts';
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

/** A Forbear of this configuration, that does not listen yet. The only file that sees all parts. */
export async function createProxy(options: ProxyOptions): Promise<Proxy> {
  const current = { config: options.config };
  const parts = assemble(options, await openAuthority(options.home), () => current.config);
  const { bus, lanes, listener, routes, running, wires } = parts;

  return {
    start: async () => ({ proxy: await listener.listen() }),
    reload(next) {
      current.config = next;
      wires.reload(next);
      routes.update(next.upstreams);
    },
    async drain() {
      listener.stopAccepting();
      lanes.close();
      await until(() => running.size === 0, current.config.drainMs);
      // The last bytes of the last replies are still on their way; idle clients need not be waited for.
      await until(() => listener.openConnections() === 0, LAST_BYTES_MS);
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

/** Makes every part and hands each what it needs of the others. */
function assemble(options: ProxyOptions, authority: Authority, config: () => Config) {
  const bus = createBus(options.emit);
  const shared = { clock: systemClock, random: systemRandom, emit: bus.emit };
  const memory = createHeldMemory(() => config().memory.maxHeldBytes);
  const ownAddresses = () => [listener.address() ?? []].flat();
  const wires = new Wires({ ...options, memory, clock: systemClock, ownAddresses });
  const network = new LocalNetwork(shared);
  const routes = createRoutes({
    ...shared,
    upstreams: config().upstreams,
    hash: saltedHash(authority.caPem),
    retire: (routeId) => wires.retire(routeId),
  });
  const lanes = createLanes({
    ...shared,
    network,
    probe: (ask, refused) => probeCredentials(ask, refused, deps),
  });
  const deps: Deps & { readonly openTunnel: OpenTunnel; readonly openUpgrade: OpenUpgrade } = {
    ...shared,
    wall: wallTime,
    tools: judgeTools,
    pages: createPages({ ...shared, tools: judgeTools }),
    evidence: createEvidence({ ...shared, network, upstreams: () => config().upstreams.length }),
    routes,
    laneFor: (exchange) => lanes.laneFor(exchange, exchange.lane),
    ...wires.legs,
  };
  const listener: Listener = createListener({
    ...shared,
    config,
    memory,
    authority,
    policyFor: (request) => policyFor(config(), request),
    run: (exchange) => runExchange(exchange, deps),
    runTunnel: (exchange, flight) => runTunnel(exchange, flight, deps),
    runUpgrade: (exchange) => runUpgrade(exchange, deps),
    sessionState: (exchange) => routes.sessionState(exchange),
  });
  const running = trackRunning(bus, createHeartbeats(shared));
  return { bus, lanes, listener, routes, running, wires };
}

/** Salted by the install, so that two of them with one account do not begin on the same addresses. */
function saltedHash(caPem: string): (text: string) => string {
  const salt = createHash('sha256').update(caPem).digest();
  return (text) => createHmac('sha256', salt).update(text).digest('hex');
}

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
async function until(holds: () => boolean, limitMs: number): Promise<void> {
  const deadline = systemClock.now() + limitMs;
  while (!holds() && systemClock.now() < deadline) await systemClock.sleep(LOOK_EVERY_MS);
}
