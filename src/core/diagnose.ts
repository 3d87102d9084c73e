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
export interface Load {
  /** Under way when the attempt began, itself included. */
  readonly inFlight: number;
  /** What was typically under way when the lane last answered quickly; null: it never did. */
  readonly fastLevel: number | null;
  /** Failures of the site lately without more than that under way. */
  readonly failedBelow: number;
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
  load: { inFlight: 1, fastLevel: null, failedBelow: 0 },
  silence: { answered: false, hosts: 1, doors: 1, upstreams: 'some', unconnected: 0 },
};

/** Exchanges that a route fails in a row, on a lane that does well without it, until that is no chance any more. */
const RUN = 3;
const CUT_OFF_HOSTS = 3;
/** Without a single failure to connect it takes more: hosts of one owner do go silent together. */
const SILENT_HOSTS = 5;
/** Traffic swings by itself; what is this much above the level that goes well is more than a swing. */
const STRAIN = 1.25;

/**
 * Names the one at fault for an attempt that timed out. Each answer but `slow` needs proof, because only
 * `slow` does no harm when it is wrong: it waits.
 */
export function diagnose(seen: Sighting): Diagnosis {
  if (seen.network === 'out' || isCutOff(seen.silence)) return 'local_network';
  if (routeIsSick(seen)) return 'slow_route';
  return isOverrun(seen) ? 'overrun' : 'slow';
}

/** Whether nothing reaches anybody: several hosts, by several ways, and not one answer. */
export function isCutOff({ answered, hosts, doors, upstreams, unconnected }: Silence): boolean {
  if (answered || doors < 2 || upstreams === 'some') return false;
  return hosts >= (unconnected > 0 ? CUT_OFF_HOSTS : SILENT_HOSTS);
}

function routeIsSick({ route, lane, here }: Sighting): boolean {
  if (here.good > here.bad) return false;
  const laneIsFine = lane.good > 0 && lane.good > lane.bad + lane.unsure;
  const laneIsUnknown = lane.good + lane.bad + lane.unsure === 0;
  if (route.bad > route.good) return laneIsFine || (laneIsUnknown && route.bad > 1);
  // From here on nobody speaks against the lanes that fail over it, so nothing may speak for the route.
  if (route.good > 0 || here.good > 0) return false;
  if (route.bad + route.unsure > 1) return laneIsFine || laneIsUnknown;
  return laneIsFine && here.bad >= RUN - 1;
}

/** More was under way than the lane is quick with, and with less it does not fail. */
function isOverrun({ load, route }: Sighting): boolean {
  if (load.failedBelow > 0 || route.bad > route.good) return false;
  return isStrained(load.inFlight, load.fastLevel);
}

/** Whether clearly more is under way than the lane is typically quick with. */
export function isStrained(inFlight: number, fastLevel: number | null): boolean {
  return fastLevel !== null && inFlight > fastLevel * STRAIN + 1;
}
