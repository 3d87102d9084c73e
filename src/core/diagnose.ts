/** How others fared with one of the two parties of an attempt, one vote each. */
export interface Votes {
  /** Those it serves well. */
  readonly good: number;
  /** Those it fails although they do well without it. */
  readonly bad: number;
  /** Those it fails, and of which nothing else is known. Those that fail everywhere have no vote. */
  readonly unsure: number;
}

/** What was seen around an attempt that brought no answer, from its start to its end. Plain data. */
export interface Sighting {
  /** Whether this machine is known to be cut off, or was while the attempt was under way. */
  readonly network: 'up' | 'out';
  /** Whether a name that was not found is looked up once more. */
  readonly look: 'first' | 'last';
  /** This route, by the other lanes that used it. */
  readonly route: Votes;
  /** This lane, by the other routes it used. */
  readonly lane: Votes;
  /** This route on this lane, by the other exchanges. */
  readonly here: { readonly good: number; readonly bad: number };
  readonly load: Load;
  readonly silence: Silence;
}

/** How much of our own was under way on the lane. */
export interface Load extends Levels {
  /** Under way when the attempt began, itself included. */
  readonly inFlight: number;
  /** Failures of the site lately without too much under way. */
  readonly failedBelow: number;
}

/** What is known of how much a lane can do at once. */
export interface Levels {
  /** What was typically under way when the lane last answered quickly; null: it never did. */
  readonly fastLevel: number | null;
  /** What was under way when it was last found to be too much; null: not lately. */
  readonly overLevel: number | null;
}

/** Everything that had no answer since the attempt began. */
export interface Silence {
  /** Whether anything was answered by anybody. */
  readonly answered: boolean;
  /** Hosts asked in vain. */
  readonly hosts: number;
  /** Different machines dialled for them. */
  readonly doors: number;
  /** Upstreams used for them, as a share of those there are: one out of two says nothing about the network. */
  readonly upstreams: 'all' | 'some';
  /** Attempts that did not even connect. */
  readonly unconnected: number;
}

/** Who is to blame for a timeout. */
export type Diagnosis = 'slow_route' | 'slow' | 'overrun' | 'local_network';

/** Nothing is known about anybody. */
export const nothingSeen: Sighting = {
  network: 'up',
  look: 'last',
  route: { good: 0, bad: 0, unsure: 0 },
  lane: { good: 0, bad: 0, unsure: 0 },
  here: { good: 0, bad: 0 },
  load: { inFlight: 1, fastLevel: null, overLevel: null, failedBelow: 0 },
  silence: { answered: false, hosts: 1, doors: 1, upstreams: 'some', unconnected: 0 },
};

/** Exchanges that a route fails in a row, on a lane that does well without it, until that is no chance any more. */
const RUN = 3;
const CUT_OFF_HOSTS = 3;
/** Without a single failure to connect it takes more: hosts of one owner do go silent together. */
const SILENT_HOSTS = 5;
/** Traffic swings by itself; what is this much above the level that goes well is more than a swing. */
const STRAIN = 1.25;
const SWING = 2;
/** A cut halves what is under way. On the upper half of the way back the old limit is the first suspect. */
const NEAR = 0.75;

/**
 * Names the one at fault for an attempt that timed out. Each answer but `slow` needs proof, because only
 * `slow` does no harm when it is wrong: it waits.
 */
export function diagnose(seen: Sighting): Diagnosis {
  if (seen.network === 'out' || isCutOff(seen.silence)) return 'local_network';
  if (failsSeveral(seen)) return 'slow_route';
  // One lane's word against a route is little where the lane's own haste explains the silence as well.
  if (isOverrun(seen)) return 'overrun';
  return routeIsSick(seen) ? 'slow_route' : 'slow';
}

/** Whether nothing reaches anybody: several hosts, by several ways, and not one answer. */
export function isCutOff({ answered, hosts, doors, upstreams, unconnected }: Silence): boolean {
  if (answered || doors < 2 || upstreams === 'some') return false;
  return hosts >= (unconnected > 0 ? CUT_OFF_HOSTS : SILENT_HOSTS);
}

/** Several lanes that are fine otherwise: even if it works for this one by luck, such a route is sick. */
function failsSeveral({ route, lane }: Sighting): boolean {
  return route.bad > 1 && route.bad > 2 * route.good && lane.good > 0;
}

function routeIsSick({ route, lane, here }: Sighting): boolean {
  if (here.good > here.bad) return false;
  const laneIsFine = lane.good > 0 && lane.good > lane.bad + lane.unsure;
  const laneIsUnknown = lane.good + lane.bad + lane.unsure === 0;
  if (route.bad > route.good) return laneIsFine || (laneIsUnknown && route.bad > 1);
  // From here on nobody speaks for the lanes that fail over it, so nothing may speak for the route either.
  if (route.good > 0 || here.good > 0) return false;
  if (route.bad + route.unsure > 1) return laneIsFine || laneIsUnknown;
  return laneIsFine && here.bad >= RUN - 1;
}

/** More was under way than the lane is quick with, and with less it does not fail. */
function isOverrun({ load }: Sighting): boolean {
  return load.failedBelow === 0 && isStrained(load.inFlight, load);
}

/** Whether clearly more is under way than the lane is typically quick with, or as much as was too much before. */
export function isStrained(inFlight: number, { fastLevel, overLevel }: Levels): boolean {
  // After a cut the lane comes back to its limit in small steps, and its typical level comes along.
  if (overLevel !== null && inFlight >= overLevel * NEAR) return true;
  return fastLevel !== null && inFlight > fastLevel * STRAIN + SWING;
}
