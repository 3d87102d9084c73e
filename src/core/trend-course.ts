/** What one signal does over time: a slow mean, and a CUSUM of the log-likelihood that its share has risen. JSON. */
export interface Course extends Noise {
  /** Failures among the attempts that the slow mean rests on. */
  readonly slow: number;
  /** In nats. */
  readonly cusum: number;
  readonly rise: Rise;
  /** The share of late. */
  readonly recent: Share;
  readonly raisedAt: number | null;
}

interface Share {
  readonly attempts: number;
  readonly bad: number;
}

/** Squared surprise, and what pure chance would have made of it: failures that come in bursts count less. */
interface Noise {
  readonly surprise: number;
  readonly variance: number;
}

interface Rise extends Share, Noise {
  readonly since: number;
  readonly routes: readonly string[];
  readonly badRoutes: readonly string[];
}

/** What one slot of time showed of one signal. */
export interface Slice {
  readonly startsAt: number;
  readonly attempts: number;
  readonly bad: number;
  readonly routes: readonly string[];
  readonly badRoutes: readonly string[];
  /** Attempts that the slow mean rests on. */
  readonly weight: number;
}

/** In nats. e^17 attempts between false alarms: at one attempt a second and a dozen signals, months. */
export const THRESHOLD = 17;
/** One slot can add so much: one burst alone is no trend. */
const SLOT_CAP = THRESHOLD / 5;
const CUSUM_CAP = 3 * THRESHOLD;
/** The slow means forget half of it within so many attempts. */
const SLOW_HALF_LIFE = 20_000;
/** Bursts are rarer than failures, and remembered longer. */
const NOISE_HALF_LIFE = 200_000;
const RECENT_HALF_LIFE = 120;
/** Below that, what is usual is taken for that much. */
const LEAST_SHARE = 0.01;
/** Less than five points more is not worth a warning. */
const LEAST_RISE = 0.05;
const LEAST_RATIO = 1.5;
/** The all-clear of a burst comes within that time. */
const BURST_MS = 900_000;
const MANY_ROUTES = 64;
const BURST_CAP = 10;
const PRIOR = 5;

/** A signal never seen before. */
export const newCourse = (at: number): Course => ({
  slow: 0,
  surprise: 0,
  variance: 0,
  cusum: 0,
  rise: noRise(at),
  recent: { attempts: 0, bad: 0 },
  raisedAt: null,
});

const noRise = (since: number): Rise => ({
  since,
  attempts: 0,
  bad: 0,
  surprise: 0,
  variance: 0,
  routes: [],
  badRoutes: [],
});

/** How much of a slow sum is left after so many attempts more. */
export const fade = (attempts: number, halfLife = SLOW_HALF_LIFE): number =>
  0.5 ** (attempts / halfLife);

/** The slow mean alone takes the slot in. */
export function learned(
  course: Course,
  { attempts, bad }: Pick<Slice, 'attempts' | 'bad'>,
): Course {
  return { ...course, slow: course.slow * fade(attempts) + bad };
}

/** One slot's evidence for "more than usual" against "as usual", and what is usual from then on. */
export function moved(course: Course, slice: Slice): Course {
  const { attempts, bad, startsAt } = slice;
  const usual = usualShare(course, slice.weight);
  const { from, to } = rivals(course, slice.weight);
  const nats = bad * Math.log(to / from) + (attempts - bad) * Math.log((1 - to) / (1 - from));
  const gain = Math.min(SLOT_CAP, nats / burstiness(course));
  const cusum = Math.min(CUSUM_CAP, Math.max(0, course.cusum + gain));
  const next = { ...course, cusum, recent: recentShare(course.recent, attempts, bad) };
  // While a rise is being looked at, what is usual stays what it was; one that comes to nothing was usual.
  const rise = risen(course.rise.attempts === 0 ? noRise(startsAt) : course.rise, slice, usual);
  const held = learned({ ...next, rise }, { attempts, bad: attempts * usual });
  if (course.raisedAt !== null || cusum > 0) return held;
  const slow = Math.max(0, held.slow + rise.bad - rise.attempts * usual);
  return { ...withNoise(held, rise), slow, rise: noRise(startsAt) };
}

/** It is back where it was. A short rise was a burst, and such bursts are known from now on. */
export function calm(course: Course, at: number): Course {
  const isBurst = course.raisedAt !== null && at - course.raisedAt <= BURST_MS;
  const known = isBurst ? withNoise(course, course.rise) : course;
  return { ...known, cusum: 0, rise: noRise(at), raisedAt: null };
}

function withNoise(course: Course, { surprise, variance }: Noise): Course {
  return {
    ...course,
    surprise: course.surprise + surprise,
    variance: course.variance + variance,
  };
}

/** What is seen of late becomes what is usual. */
export function adopted(course: Course, at: number, weight: number): Course {
  const { attempts, bad } = course.recent;
  return { ...calm(course, at), slow: (weight * bad) / Math.max(1, attempts) };
}

/** Whether the share is nearer to what is usual than to what a rise would be. */
export function isBack(course: Course, weight: number): boolean {
  const { from, to } = rivals(course, weight);
  return course.recent.bad / Math.max(1, course.recent.attempts) < (from + to) / 2;
}

/** Puts a route to those that are known, up to a bound. */
export function withRoute(routes: readonly string[], route: string): readonly string[] {
  return routes.includes(route) || routes.length >= MANY_ROUTES ? routes : [...routes, route];
}

function usualShare(course: Course, weight: number): number {
  return Math.min(0.95, (course.slow + 0.5) / (weight + 1));
}

/** How much more than chance the failures vary, because they come in bursts. */
function burstiness({ surprise, variance }: Course): number {
  return Math.min(BURST_CAP, Math.max(1, (surprise + PRIOR) / (variance + PRIOR)));
}

/** The two shares that are held against each other. "As usual" gets the benefit of the doubt: more, the less is known. */
function rivals(course: Course, weight: number): { from: number; to: number } {
  const usual = usualShare(course, weight);
  const doubt = 2.5 * Math.sqrt((usual * (1 - usual) * burstiness(course)) / Math.max(1, weight));
  const from = Math.min(0.95, Math.max(LEAST_SHARE, usual + doubt));
  return { from, to: Math.min(0.98, Math.max(from + LEAST_RISE, from * LEAST_RATIO)) };
}

function noiseOf(noise: Noise, { attempts, bad }: Slice, usual: number): Noise {
  const left = fade(attempts, NOISE_HALF_LIFE);
  return {
    surprise: noise.surprise * left + (bad - attempts * usual) ** 2,
    variance: noise.variance * left + attempts * usual * (1 - usual),
  };
}

function recentShare(share: Share, attempts: number, bad: number): Share {
  const left = fade(attempts, RECENT_HALF_LIFE);
  return { attempts: share.attempts * left + attempts, bad: share.bad * left + bad };
}

function risen(rise: Rise, slice: Slice, usual: number): Rise {
  return {
    ...noiseOf(rise, slice, usual),
    since: rise.since,
    attempts: rise.attempts + slice.attempts,
    bad: rise.bad + slice.bad,
    routes: slice.routes.reduce(withRoute, rise.routes),
    badRoutes: slice.badRoutes.reduce(withRoute, rise.badRoutes),
  };
}
