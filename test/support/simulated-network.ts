import { createHash } from 'node:crypto';
import type { UpstreamConfig } from '../../src/config/config.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { FailureReply, Reply, Verdict } from '../../src/core/verdict.ts';
import { createEvidence } from '../../src/exchange/evidence.ts';
import { LocalNetwork } from '../../src/exchange/network.ts';
import type { Exchange, Received, Route } from '../../src/exchange/ports.ts';
import { runExchange } from '../../src/exchange/run.ts';
import { createLanes, type Lanes } from '../../src/lanes/lanes.ts';
import { createRoutes, type WaysOut } from '../../src/routes/routes.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { FakeClock, seededRandom } from './fake-clock.ts';
import { exchangeFor } from './playbook.ts';
import { policyWith } from './policy.ts';
import { list } from './ways.ts';

/** Why an answer did not come, as only the simulation knows. */
export type Cause = 'site' | 'route' | 'load' | 'local';

/** What goes wrong between two instants, in ms from the start. */
export interface Trouble {
  readonly cause: Exclude<Cause, 'load'>;
  readonly fromMs: number;
  readonly toMs: number;
  /** Indices of hosts or routes; what `local` hits is everything. */
  readonly which?: readonly number[];
  /** Share of the attempts that it hits; all, unless given. */
  readonly share?: number;
  /** How a lost network shows: dials that hang (default), or a resolver that gives up at once. */
  readonly shows?: 'hanging' | 'no_resolver';
}

/** A world to run the proxy in. */
export interface World {
  readonly hosts: number;
  readonly routes: number | 'direct';
  readonly workersPerHost: number;
  /** Requests of one site that it serves at full speed; beyond it grows slow with the square. */
  readonly capacity?: number;
  readonly rotation?: 'keep' | 'fresh';
  readonly warm?: number;
  readonly lastsMs: number;
  readonly troubles: readonly Trouble[];
}

/** What happened in it. */
export interface Story {
  /** Timeouts that were judged, with their true causes and what was said. */
  readonly judged: readonly { readonly causes: readonly Cause[]; readonly named: Cause }[];
  /** Times a route was ejected without ever being sick. */
  readonly wronged: number;
  readonly answered: number;
  readonly gaveUp: number;
  readonly notices: readonly string[];
  readonly events: readonly ProxyEvent[];
  readonly lanes: Lanes;
  readonly ways: WaysOut;
  /** When attempts started, in ms from the start. */
  readonly startsMs: readonly number[];
}

const QUICK_MS = 300;
const FIRST_BYTE_MS = 5_000;
const CONNECT_MS = 3_000;

/** Runs one world in virtual time, through the real loop, lanes, routes and judgement. */
export async function live(world: World, seed: number): Promise<Story> {
  const clock = new FakeClock();
  const random = seededRandom(seed);
  const events: ProxyEvent[] = [];
  const shared = { clock, random, emit: (event: ProxyEvent) => events.push(event) };
  const upstreams = upstreamsOf(world);
  const ways = createRoutes({
    ...shared,
    upstreams,
    hash: (text) => createHash('sha256').update(text).digest('hex'),
    retire: () => {},
  });
  const network = new LocalNetwork(shared);
  const lanes = createLanes({ ...shared, network });
  const wires = new Wires(world, clock, random, ways);
  const deps = {
    ...shared,
    wall: () => clock.now(),
    tools: { countCss: () => 0, matches: () => false },
    evidence: createEvidence({ clock, network, upstreams: () => upstreams.length }),
    routes: ways,
    laneFor: (exchange: Exchange) => lanes.laneFor(exchange, undefined),
    attempt: (exchange: Exchange, route: Route) => wires.attempt(exchange, route),
  };
  const endAt = clock.now() + world.lastsMs;
  const policy = policyOf(world);
  const tally = { answered: 0, gaveUp: 0 };
  let ids = 0;
  const work = async (host: number): Promise<void> => {
    await clock.sleep(random() * 2_000);
    while (clock.now() < endAt) {
      ids += 1;
      const exchange = requestOf({ host, id: `x${ids}`, policy, now: clock.now() });
      const delivery = await runExchange(exchange, deps);
      if (delivery.stop === undefined) tally.answered += 1;
      else tally.gaveUp += 1;
      await clock.sleep(100 + random() * 400);
    }
  };
  const workers = Array.from({ length: world.hosts * world.workersPerHost }, (_, n) =>
    work(n % world.hosts),
  );
  await clock.advanceTo(endAt + 120_000);
  await Promise.all(workers);
  return {
    ...tally,
    judged: judgedIn(events, wires),
    wronged: events.filter((e) => e.type === 'route_ejected' && !wires.isEverSick(e.route)).length,
    notices: events.flatMap((e) => (e.type === 'notice' ? [e.message] : [])),
    events,
    lanes,
    ways,
    startsMs: wires.startsMs,
  };
}

function upstreamsOf({ routes }: World): readonly UpstreamConfig[] {
  if (routes !== 'direct') return [list('pool', routes)];
  return [{ kind: 'direct', name: 'direct', pricePerGb: null, exitIp: null }];
}

function policyOf({ rotation, warm }: World): Policy {
  const { timeouts, routes } = policyWith();
  return policyWith({
    timeouts: { ...timeouts, connectMs: CONNECT_MS, firstByteMs: FIRST_BYTE_MS },
    // Its pages are all good: what stands in them need not be read.
    softBlocks: { markers: 'off', learned: 'off' },
    routes: { ...routes, rotation: rotation ?? 'fresh', warm: warm ?? 'auto' },
  });
}

function requestOf(o: { host: number; id: string; policy: Policy; now: number }): Exchange {
  const host = `site${o.host}.test`;
  return {
    ...exchangeFor({ policy: o.policy }, o.now),
    id: o.id,
    target: { scheme: 'https', host, port: 443, authority: host, path: `/items/${o.id}` },
  };
}

/** The wires of the world: they know what is wrong. */
class Wires {
  readonly startsMs: number[] = [];
  readonly #world: World;
  readonly #clock: FakeClock;
  readonly #random: () => number;
  readonly #ways: WaysOut;
  readonly #beganAt: number;
  readonly #inFlight = new Map<string, number>();
  readonly #causes = new WeakMap<Reply, readonly Cause[]>();

  constructor(world: World, clock: FakeClock, random: () => number, ways: WaysOut) {
    this.#world = world;
    this.#clock = clock;
    this.#random = random;
    this.#ways = ways;
    this.#beganAt = clock.now();
  }

  causesOf(reply: Reply): readonly Cause[] {
    return this.#causes.get(reply) ?? [];
  }

  isEverSick(route: Route): boolean {
    const n = this.#indexOf(route);
    return this.#world.troubles.some((one) => one.cause === 'route' && one.which?.includes(n));
  }

  async attempt(exchange: Exchange, route: Route): Promise<Received> {
    const startMs = this.#ms();
    this.startsMs.push(startMs);
    const { host } = exchange.target;
    const inFlight = (this.#inFlight.get(host) ?? 0) + 1;
    this.#inFlight.set(host, inFlight);
    const reply = await this.#outcome(exchange, route, { startMs, inFlight });
    this.#inFlight.set(host, (this.#inFlight.get(host) ?? 1) - 1);
    return received(reply);
  }

  async #outcome(
    exchange: Exchange,
    route: Route,
    { startMs, inFlight }: { startMs: number; inFlight: number },
  ): Promise<Reply> {
    const outage = this.#hit('local', startMs);
    if (outage?.shows === 'no_resolver') {
      await this.#clock.sleep(5, exchange.signal);
      return this.#failed(['local'], route, 'resolve');
    }
    if (outage) {
      await this.#clock.sleep(CONNECT_MS, exchange.signal);
      return this.#failed(['local'], route, 'dial');
    }
    const host = Number(exchange.target.host.replace(/\D/g, ''));
    const causes: Cause[] = [];
    if (this.#hit('site', startMs, host) !== undefined) causes.push('site');
    if (this.#hit('route', startMs, this.#indexOf(route)) !== undefined) causes.push('route');
    const { capacity } = this.#world;
    const strain = capacity === undefined ? 1 : Math.max(1, inFlight / capacity) ** 2;
    const tookMs = QUICK_MS * (0.5 + this.#random()) * strain;
    if (tookMs > FIRST_BYTE_MS) causes.push('load');
    const answerMs = causes.length > 0 ? FIRST_BYTE_MS : tookMs;
    // A network that goes away takes what is under way with it.
    const cutAt = this.#world.troubles.find(
      (one) => one.cause === 'local' && one.fromMs > startMs && one.fromMs < startMs + answerMs,
    );
    await this.#clock.sleep(cutAt ? FIRST_BYTE_MS : answerMs, exchange.signal);
    if (cutAt) return this.#failed(['local', ...causes], route, 'first_byte');
    return causes.length > 0 ? this.#failed(causes, route, 'first_byte') : page(answerMs);
  }

  #failed(causes: readonly Cause[], route: Route, phase: FailureReply['phase']): FailureReply {
    const direct = route.way.kind === 'direct';
    const reply: FailureReply = {
      kind: 'failure',
      via: direct ? 'direct' : 'tunnel',
      phase,
      code: phase === 'resolve' ? 'resolver_failed' : 'timeout',
      leg: phase === 'first_byte' || direct ? 'origin' : 'upstream',
      sent: phase === 'first_byte',
      detail: '',
    };
    this.#causes.set(reply, causes);
    return reply;
  }

  #hit(cause: Cause, ms: number, which?: number): Trouble | undefined {
    return this.#world.troubles.find(
      (one) =>
        one.cause === cause &&
        ms >= one.fromMs &&
        ms < one.toMs &&
        (which === undefined || (one.which ?? []).includes(which)) &&
        (one.share === undefined || this.#random() < one.share),
    );
  }

  #indexOf(route: Route): number {
    return this.#ways.list().routes.findIndex(({ id }) => id === route.id);
  }

  #ms(): number {
    return this.#clock.now() - this.#beganAt;
  }
}

function page(headMs: number): Reply {
  const text = '<html>a page</html>';
  return {
    kind: 'response',
    via: 'tunnel',
    status: 200,
    rawHeaders: ['Content-Type', 'text/html'],
    body: { kind: 'seen', text, receivedBytes: text.length, end: 'complete', coding: 'ok' },
    headMs,
  };
}

function received(reply: Reply): Received {
  return {
    reply,
    response: undefined,
    closed: Promise.resolve(),
    keep: () => {},
    discard: () => {},
    deliverable: reply.kind === 'response',
    sentBytes: 0,
    receivedBytes: 0,
  };
}

function judgedIn(events: readonly ProxyEvent[], wires: Wires): Story['judged'] {
  return events.flatMap((event) => {
    if (event.type !== 'attempt_finished' || event.reply.kind !== 'failure') return [];
    return [{ causes: wires.causesOf(event.reply), named: named(event.verdict) }];
  });
}

function named(verdict: Verdict): Cause {
  switch (verdict.fault) {
    case 'route':
      return 'route';
    case 'self':
      return verdict.reason === 'overrun' ? 'load' : 'local';
    case 'host':
    case 'none':
    case 'client':
    case 'account':
      return 'site';
  }
}
