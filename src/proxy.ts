import { createHash, createHmac } from 'node:crypto';
import { adminBeside } from './admin-beside.ts';
import type { Resolve } from './attempt/dial.ts';
import { Wires } from './attempt/wires.ts';
import {
  type Clock,
  type Random,
  systemClock,
  systemMoment,
  systemRandom,
  wallTime,
} from './clock.ts';
import type { Address, Config } from './config/config.ts';
import { type PolicyRequest, policyFor } from './config/resolve.ts';
import { createDeadLetters, type DeadLetters } from './dead-letters/dead-letters.ts';
import { Drain } from './exchange/drain.ts';
import { createEvidence } from './exchange/evidence.ts';
import type { Flight } from './exchange/flight.ts';
import { createHeartbeats, type Heartbeats } from './exchange/heartbeat.ts';
import { createHeldMemory } from './exchange/held-memory.ts';
import type { Keep } from './exchange/kept.ts';
import { LocalNetwork } from './exchange/network.ts';
import { createPages } from './exchange/pages.ts';
import type { Delivery, Exchange } from './exchange/ports.ts';
import { probeCredentials } from './exchange/probe.ts';
import { type Deps, runExchange } from './exchange/run.ts';
import { type OpenTunnel, runTunnel } from './exchange/tunnel.ts';
import { type OpenUpgrade, runUpgrade } from './exchange/upgrade.ts';
import { judgeTools } from './judge-tools.ts';
import { createLanes } from './lanes/lanes.ts';
import { type Authority, openAuthority as openKept } from './listener/authority.ts';
import { createListener, type Listener } from './listener/listener.ts';
import { createRoutes } from './routes/routes.ts';
import { createSaving } from './saving/saving.ts';
import { tellingOfStore } from './saving/store-words.ts';
import { openStore } from './store/open.ts';
import type { Store } from './store/store.ts';
import { type Bus, createBus } from './telemetry/bus.ts';
import type { Emit } from './telemetry/events.ts';
import { warningsBeside } from './warnings-beside.ts';

export interface ProxyOptions {
  readonly config: Config;
  /** Folder of the certificate authority and of what is kept. */
  readonly home: string;
  /** Where the admin server listens; there is none without it. */
  readonly admin?: Address;
  /** A first subscriber to the events. */
  readonly emit?: Emit;
  /** Looks names up for `direct`; the system's resolver unless given. */
  readonly resolve?: Resolve;
}

/** A running (or not yet started) Forbear. */
export interface Proxy {
  /** Starts to listen. Rejects with the system's error when it cannot. */
  start(): Promise<{ proxy: Address; admin: Address | undefined }>;
  /** New rules for new exchanges; what is under way, and what was learned, stays. */
  reload(config: Config): void;
  /** Stops accepting, turns away who waits, and lets what runs finish within `drain`. */
  drain(): Promise<void>;
  /** Settles when the admin API is asked to drain: whoever runs the proxy then ends it. */
  readonly drainAsked: Promise<void>;
  /** Ends everything at once. */
  stop(): Promise<void>;
  /** Whether new requests are welcome: it listens, knows again what it knew, and does not stop. */
  readonly ready: boolean;
  /** What is open right now. */
  activity(): { connections: number; exchanges: number; sockets: number };
  subscribe(subscriber: Emit): () => void;
  /** What was given up, to look at, send again and take away. */
  readonly deadLetters: DeadLetters;
}

/** The certificate authority kept in `home`, for commands that need its files only. */
export const openAuthority = (home: string): Promise<Authority> => openKept(home);

/** A Forbear of this configuration, that does not listen yet. The only file that sees all parts. */
export async function createProxy(options: ProxyOptions): Promise<Proxy> {
  const current = { config: options.config };
  const bus = createBus(options.emit);
  const shared = { clock: systemClock, random: systemRandom, emit: bus.emit };
  const foundations = {
    bus,
    shared,
    authority: await openAuthority(options.home),
    store: await openStore({
      ...{ ...shared, ...options.config.store, home: options.home },
      ...tellingOfStore(systemClock, bus.emit),
    }),
  };
  const parts = assemble(options, foundations, () => current.config);
  const { deadLetters, listener, routes, wires } = parts;
  const state: State = { name: 'starting', draining: undefined };
  const activity = () => ({
    connections: listener.openConnections(),
    exchanges: parts.running.size,
    sockets: wires.openSockets(),
  });
  const drain = (): Promise<void> => {
    state.name = 'draining';
    state.draining ??= drainParts(parts, current.config.drainMs);
    return state.draining;
  };
  const asked = Promise.withResolvers<void>();
  const warnings = warningsBeside(bus, () => current.config);
  const admin = adminBeside(options.admin, {
    ...parts,
    warnings,
    config: () => current.config,
    status: () => ({ state: state.name, listen: listener.address(), ...activity() }),
    drain: () => {
      asked.resolve();
      void drain();
    },
  });

  return {
    async start() {
      const proxy = await listener.listen();
      const adminAddress = await admin?.listen();
      // What comes meanwhile waits.
      await parts.saving.restore([...parts.loop.kept, warnings.kept]);
      void deadLetters.start();
      if (state.draining === undefined) state.name = 'ready';
      return { proxy, admin: adminAddress };
    },
    get ready() {
      return state.name === 'ready';
    },
    reload(next) {
      current.config = next;
      wires.reload(next);
      routes.update(next.upstreams);
    },
    drain,
    drainAsked: asked.promise,
    async stop() {
      state.name = 'draining';
      warnings.stop();
      await stopParts(parts);
      await admin?.close();
      await foundations.store.close();
    },
    activity,
    subscribe: bus.subscribe,
    deadLetters,
  };
}

type Parts = ReturnType<typeof assemble>;

interface State {
  name: 'starting' | 'ready' | 'draining';
  draining: Promise<void> | undefined;
}

/** Nobody new, no new attempt; what runs has its time, and then its answer all the same. */
async function drainParts(parts: Parts, drainMs: number): Promise<void> {
  const { deadLetters, drain, lanes, listener, running, saving } = parts;
  drain.hold();
  await listener.stopAccepting();
  drain.begin();
  lanes.close();
  await deadLetters.stop();
  const deadline = systemClock.now() + drainMs;
  do {
    await until(() => running.size === 0, deadline - systemClock.now());
    // The last bytes of the last replies are still on their way, and perhaps a request on a connection that was
    // accepted before; idle clients need not be waited for.
    await until(() => listener.openConnections() === 0, LAST_BYTES_MS);
  } while (running.size > 0 && systemClock.now() < deadline);
  drain.cutOff();
  await until(() => running.size === 0 || listener.openConnections() === 0, LAST_ANSWERS_MS);
  await saving.saveAll();
}

async function stopParts({ deadLetters, drain, lanes, listener, saving, wires }: Parts) {
  drain.begin();
  lanes.close();
  await listener.close();
  await deadLetters.stop();
  wires.close();
  await saving.saveAll();
  saving.stop();
}

interface Foundations {
  readonly bus: Bus;
  readonly shared: { readonly clock: Clock; readonly random: Random; readonly emit: Emit };
  readonly authority: Authority;
  readonly store: Store;
}

/** Makes every part and hands each what it needs of the others. */
function assemble(options: ProxyOptions, foundations: Foundations, config: () => Config) {
  const { bus, authority, store, shared } = foundations;
  const memory = createHeldMemory(() => config().memory.maxHeldBytes);
  const ownAddresses = () => [listener.address() ?? []].flat();
  const wires = new Wires({ ...options, memory, clock: systemClock, ownAddresses });
  const loop = assembleLoop(foundations, wires, config);
  const { deps, lanes, routes, saving, drain } = loop;
  const held = <Rest extends unknown[], Answer extends Delivery>(run: Run<Rest, Answer>) =>
    saving.durably(drain.within(run));
  const policyOf = (request: PolicyRequest) => policyFor(config(), request);
  const run = held((exchange) => runExchange(exchange, deps));
  const { subscribe } = bus;
  const deadLetters = createDeadLetters({
    ...shared,
    ...{ store, subscribe, hash: loop.hash, run },
    policyFor: policyOf,
    laneIdOf: (exchange) => deps.laneFor(exchange).id,
    sessionState: (exchange) => routes.sessionState(exchange),
    endSession: (id) => routes.endSession(id),
  });
  const listener: Listener = createListener({
    ...shared,
    config,
    memory,
    authority,
    policyFor: policyOf,
    run: deadLetters.parking(run),
    runTunnel: held((exchange, flight: Flight) => runTunnel(exchange, flight, deps)),
    runUpgrade: held((exchange) => runUpgrade(exchange, deps)),
    sessionState: (exchange) => routes.sessionState(exchange),
  });
  const running = trackRunning(bus, createHeartbeats(shared));
  return { bus, deadLetters, drain, lanes, listener, loop, routes, running, saving, wires };
}

type Run<Rest extends unknown[], Answer> = (exchange: Exchange, ...rest: Rest) => Promise<Answer>;

/** The loop with its lanes, its ways out, and what they remember. */
function assembleLoop(foundations: Foundations, wires: Wires, config: () => Config) {
  const { authority, bus, shared, store } = foundations;
  const hash = saltedHash(authority.caPem);
  const saving = createSaving({ ...shared, state: store.state, moment: systemMoment });
  const keep: Keep = (...row) => saving.keep(...row);
  const drain = new Drain(bus.subscribe);
  const network = new LocalNetwork(shared);
  const routes = createRoutes({
    ...{ ...shared, keep, hash },
    upstreams: config().upstreams,
    retire: (routeId) => wires.retire(routeId),
  });
  const lanes = createLanes({
    ...{ ...shared, keep, network },
    probe: (ask, refused) => probeCredentials(ask, refused, deps),
  });
  const pages = createPages({ ...shared, tools: judgeTools });
  const deps: Deps & { readonly openTunnel: OpenTunnel; readonly openUpgrade: OpenUpgrade } = {
    ...shared,
    wall: wallTime,
    tools: judgeTools,
    pages,
    stopping: drain.begun,
    evidence: createEvidence({ ...shared, network, upstreams: () => config().upstreams.length }),
    routes,
    laneFor: (exchange) => lanes.laneFor(exchange, exchange.lane),
    ...wires.legs,
  };
  const kept = [lanes.kept, lanes.isolation, ...routes.kept, pages.kept];
  return { deps, drain, hash, kept, lanes, routes, saving };
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
const LAST_ANSWERS_MS = 1_000;

/** Waits until something holds, at most `limitMs`. */
async function until(holds: () => boolean, limitMs: number): Promise<void> {
  const deadline = systemClock.now() + limitMs;
  while (!holds() && systemClock.now() < deadline) await systemClock.sleep(LOOK_EVERY_MS);
}
