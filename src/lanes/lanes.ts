import type { Clock, Random } from '../clock.ts';
import { type BytesLeft, untilNextDay } from '../core/byte-budget.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Keep, KeptTable } from '../exchange/kept.ts';
import type { Admission, Exchange, Lane, Route, Wire } from '../exchange/ports.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Probe } from './auth-fuse.ts';
import { credentialOf } from './credential.ts';
import type { NetworkGate } from './health.ts';
import type { Host } from './host.ts';
import { HostTable } from './host-table.ts';
import { type Isolated, Isolation } from './isolation.ts';
import { KeptLanes, LANES, savedHost } from './kept-lanes.ts';
import { isolatedSight, type LaneSight, sightOf } from './lane-sight.ts';
import { type Refused, refused } from './refusal.ts';
import { movedHost, readSavedLanes, type SavedLanes } from './saved-state.ts';
import { Slot } from './slot.ts';

export interface LanesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  /** Hosts remembered at most; 10 000 unless given. */
  readonly maxHosts?: number;
  /** Asks the user's probe URL when an auth fuse blows. */
  readonly probe?: Probe;
  /** Holds all lanes back while this machine is cut off. */
  readonly network?: NetworkGate;
  /** Keeps what must not be forgotten. */
  readonly keep?: Keep;
}

/** All lanes: who may go now, for every host. */
export interface Lanes {
  /** The host's main lane, or with a key the lane of a target that has a pace of its own. */
  laneFor(exchange: Exchange, laneKey: string | undefined): Lane;
  /** What can be shown of every lane. */
  list(): LaneSight[];
  /** What to keep over a restart: pauses, rates, breakers, budgets, fuses. JSON. */
  snapshot(): SavedLanes;
  /** Takes back what `snapshot` gave, as it came out of the store. */
  restore(saved: unknown): void;
  /** The same, row by row. */
  readonly kept: KeptTable;
  /** Sends nothing to a host any more until it is resumed, and refuses all who wait there. */
  isolate(authority: string): Isolated;
  /** False: it was not isolated. */
  resume(authority: string): boolean;
  /** The isolated hosts, row by row. */
  readonly isolation: KeptTable;
  /** Refuses all who wait, and whoever comes from now on, with `draining`. */
  close(): void;
}

const MAX_HOSTS = 10_000;
/** Who is turned away at the end is told to come back then: to another replica, or to this one's successor. */
const RESTART_MS = 1_000;
/** A host unused this long, and with nothing learned, is not worth saving. */
const FRESH_MS = 600_000;

/** Makes the lanes of one proxy. */
export function createLanes(options: LanesOptions): Lanes {
  const { clock, random, emit, probe, network, keep } = options;
  const hosts = new HostTable(options.maxHosts ?? MAX_HOSTS, {
    ...{ clock, random, emit, probe, network },
    keep: keep && ((host) => keep(LANES, host.authority, savedHost(host))),
  });
  const isolation = new Isolation((...row) => keep?.(...row));
  const gate = { open: true, isolation };
  const tell = (lane: string, isolated: boolean) =>
    emit({ type: 'lane_isolated', at: clock.now(), lane, isolated });
  return {
    laneFor: (exchange, laneKey) => new ExchangeLane({ hosts, gate, exchange, laneKey }),
    list: () => sights(hosts, isolation, clock.now()),
    isolate: (authority) => {
      const added = isolation.add(authority);
      if (added !== 'now') return added;
      if (hosts.has(authority)) hosts.get(authority).turnAway('isolated');
      tell(authority, true);
      return added;
    },
    resume: (authority) => {
      const was = isolation.remove(authority);
      if (was) tell(authority, false);
      return was;
    },
    isolation,
    snapshot: () => ({
      version: 1,
      hosts: [...hosts.all()].filter((host) => isWorthSaving(host, clock.now())).map(savedHost),
    }),
    restore: (saved) => {
      for (const one of readSavedLanes(saved)) hosts.get(one.host).health.load(movedHost(one, 0));
    },
    kept: new KeptLanes(hosts, clock),
    close: () => {
      gate.open = false;
      for (const host of hosts.all()) host.turnAway('draining');
    },
  };
}

function sights(hosts: HostTable, isolation: Isolation, now: number): LaneSight[] {
  const known = [...hosts.all()].flatMap((host) =>
    sightOf(host, { now, isolated: isolation.has(host.authority) }),
  );
  const shown = new Set(known.map(({ host }) => host));
  const unused = [...isolation.all()].filter((host) => !shown.has(host));
  return [...known, ...unused.map(isolatedSight)];
}

interface Gate {
  readonly open: boolean;
  readonly isolation: Isolation;
}

function isWorthSaving(host: Host, now: number): boolean {
  const { pacing } = host.health;
  return now - host.usedAt < FRESH_MS || pacing.rate !== null || host.health.isTroubled(now);
}

/** A lane as one exchange sees it: under its own policy. */
class ExchangeLane implements Lane {
  readonly id: string;
  readonly host: string;
  readonly #hosts: HostTable;
  readonly #gate: Gate;
  readonly #exchange: Exchange;
  readonly #laneKey: string | undefined;
  readonly #credential: string | undefined;

  constructor(o: {
    hosts: HostTable;
    gate: Gate;
    exchange: Exchange;
    laneKey: string | undefined;
  }) {
    this.#hosts = o.hosts;
    this.#gate = o.gate;
    this.#exchange = o.exchange;
    this.#laneKey = o.laneKey;
    this.#credential = credentialOf(o.exchange.rawHeaders);
    this.host = o.exchange.target.authority;
    this.id = this.#host.lane(o.laneKey, o.exchange.policy).id;
  }

  /** Looked up each time: an exchange that pauses for long must not hold on to a host that was forgotten. */
  get #host(): Host {
    return this.#hosts.get(this.host);
  }

  async admit(exchange: Exchange): Promise<Admission> {
    if (!this.#gate.open) return refused('draining', RESTART_MS);
    if (this.#gate.isolation.has(this.host)) return refused('isolated');
    const spent = this.#bytesRefusal(exchange);
    if (spent) return spent;
    const laneKey = this.#laneKey;
    const admission = await this.#host.admit({ exchange, laneKey, credential: this.#credential });
    if (admission.kind === 'refused') return admission;
    // Others may have spent the rest meanwhile.
    const spentSince = this.#bytesRefusal(exchange);
    if (spentSince) admission.release();
    return spentSince ?? admission;
  }

  record(outcome: {
    exchange: Exchange;
    admission: Admission;
    verdict: Verdict;
    route: Route;
  }): void {
    if (outcome.admission instanceof Slot) this.#host.record(outcome.admission, outcome);
  }

  get pausedUntil(): number {
    return this.#host.health.pacing.pausedUntil;
  }

  get failuresInRow(): number {
    return this.#host.health.failuresInRow;
  }

  get budgetLeft(): boolean {
    return this.retriesLeft > 0;
  }

  get retriesLeft(): number {
    return this.#host.health.budgetLeft(this.#exchange.policy);
  }

  get bytesLeft(): BytesLeft {
    return this.#host.health.bytes.left(this.#exchange.policy.byteBudget);
  }

  spend(wire: Wire): void {
    this.#host.health.bytes.follow(wire);
  }

  withdraw(): () => void {
    return this.#host.health.withdraw(this.#exchange.policy);
  }

  blockedAddresses(path: string): readonly string[] {
    return this.#host.health.forbiddenAddresses(path);
  }

  /** A redrive is a retry: it stops when they do. */
  #bytesRefusal({ priority }: Exchange): Refused | undefined {
    const left = this.bytesLeft;
    if (left === 'all' || (left === 'first_tries' && priority !== 'redrive')) return undefined;
    return refused('byte_budget_spent', untilNextDay(this.#hosts.now()));
  }
}
