import type { Turn } from './pacing.ts';

/** Whether this machine reaches anything, as data. */
export type Network = Up | Out | Resuming;

export interface Up {
  readonly state: 'up';
  readonly signs: readonly Sign[];
  /** When the last outage began and ended; 0: never. */
  readonly beganAt: number;
  readonly endedAt: number;
}

export interface Out {
  readonly state: 'out';
  readonly beganAt: number;
  /** When the next probe may start. */
  readonly probeAt: number;
  /** The host that was probed last: others go first. */
  readonly probed: string | null;
}

export interface Resuming {
  readonly state: 'resuming';
  readonly signs: readonly Sign[];
  readonly beganAt: number;
  readonly endedAt: number;
  /** Starts since the end of the outage. */
  readonly started: number;
}

/** One attempt that did not even connect. */
export interface Sign {
  readonly at: number;
  /** The host that was asked for. */
  readonly host: string;
  /** The machine that was dialled for it. */
  readonly door: string;
  readonly upstream: string;
  /** `sure`: this machine says that it has no network. `unsure`: the far end may be away as well. */
  readonly kind: 'sure' | 'unsure';
}

export const newNetwork: Network = { state: 'up', signs: [], beganAt: 0, endedAt: 0 };

const SPAN_MS = 15_000;
const MOST_SIGNS = 64;
const OUTAGE_HOSTS = 3;
const PROBE_EVERY_MS = 1_000;
/** The host that was probed last steps back this much, so that a dead host is not the only one asked. */
const STEP_BACK_MS = 20;
/** After an outage everybody is let go within this time, twice as many with every step. */
const RESUME_MS = 2_000;
const RESUME_STEP_MS = 200;

/** Enters that an attempt could not connect; several hosts in a row without an answer are an outage. */
export function failedToConnect(
  network: Network,
  sign: Sign,
  upstreams: number,
  now: number,
): Network {
  if (network.state === 'out') return network;
  const recent = network.signs.filter(({ at, host }) => now - at < SPAN_MS && host !== sign.host);
  const signs = [...recent.slice(1 - MOST_SIGNS), sign];
  return isOutage(signs, upstreams) ? cutOff(network, now) : { ...network, signs };
}

function isOutage(signs: readonly Sign[], upstreams: number): boolean {
  const count = (values: readonly string[]) => new Set(values).size;
  if (count(signs.map(({ host }) => host)) < OUTAGE_HOSTS) return false;
  // One upstream's door that stays shut is that upstream's trouble.
  if (count(signs.map(({ door }) => door)) < 2) return false;
  const sure = signs.filter(({ kind }) => kind === 'sure');
  if (count(sure.map(({ host }) => host)) >= OUTAGE_HOSTS) return true;
  // Where there is a second upstream it has its say.
  return count(signs.map(({ upstream }) => upstream)) >= Math.min(2, upstreams);
}

/** Begins an outage. */
export function cutOff(network: Network, now: number): Network {
  if (network.state === 'out') return network;
  return { state: 'out', beganAt: now, probeAt: now + PROBE_EVERY_MS, probed: null };
}

/** Somebody answered: there is a network. */
export function answered(network: Network, now: number): Network {
  switch (network.state) {
    case 'up':
      return network.signs.length === 0 ? network : { ...network, signs: [] };
    case 'out':
      return { state: 'resuming', signs: [], beganAt: network.beganAt, endedAt: now, started: 0 };
    case 'resuming':
      return { ...network, signs: [] };
  }
}

/** Whether an attempt towards a host may start, as far as the network is concerned. */
export function networkTurn(network: Network, host: string, now: number): Turn {
  switch (network.state) {
    case 'up':
      return { kind: 'go' };
    case 'out': {
      const at = network.probeAt + (network.probed === host ? STEP_BACK_MS : 0);
      return at <= now ? { kind: 'go' } : { kind: 'at', at };
    }
    case 'resuming': {
      const steps = Math.floor((now - network.endedAt) / RESUME_STEP_MS);
      if (now - network.endedAt >= RESUME_MS || network.started < 2 ** steps) return { kind: 'go' };
      const at = network.endedAt + (steps + 1) * RESUME_STEP_MS;
      return { kind: 'at', at };
    }
  }
}

/** Enters that an attempt starts, with the leave just given. */
export function startedUnder(network: Network, host: string, now: number): Network {
  switch (network.state) {
    case 'up':
      return network;
    case 'out':
      return { ...network, probeAt: now + PROBE_EVERY_MS, probed: host };
    case 'resuming': {
      const { signs, beganAt, endedAt } = network;
      if (now - endedAt >= RESUME_MS) return { state: 'up', signs, beganAt, endedAt };
      return { ...network, started: network.started + 1 };
    }
  }
}

/** Whether an attempt that began then may have failed for want of a network. */
export function wasCutOff(network: Network, startedAt: number): boolean {
  return network.state === 'out' || startedAt < network.endedAt;
}
