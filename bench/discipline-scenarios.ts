import { chance } from '../test/support/chance.ts';
import { exitAddress } from '../test/support/gateway.ts';
import type { SiteOptions } from '../test/support/site.ts';

/** A site, a pool and a worklist. */
export interface Scenario {
  readonly number: number;
  readonly name: string;
  readonly site: SiteOptions;
  readonly exits: number;
  readonly work: Work;
  /** How long a client that knew the limit beforehand would take; only where a rate sets the pace. */
  readonly idealMs: number | undefined;
}

/** Single pages, or flows whose steps follow one another on one address. */
export type Work =
  | { readonly kind: 'pages'; readonly pages: number }
  | { readonly kind: 'flows'; readonly flows: number; readonly steps: number };

export const WORKERS = 20;
const EXITS = 200;
const BURNED_SHARE = 0.3;
const LATENCY_MS = 80;

/** The six trials; `scale` shrinks their worklists and spans, `seed` decides which exits are burned and what fails. */
export function scenarios({ scale, seed }: { scale: number; seed: number }): readonly Scenario[] {
  const scaled = (n: number) => Math.round(n * scale);
  const burned = burnedExits(seed);
  return [
    limited('one address under a limit', scaled(500), {
      exits: 1,
      site: { perAddress: { ratePerSecond: 20, burst: 20, retryAfterMs: 1000 } },
    }),
    limited('a limit of the whole site, rotating gateway', scaled(800), {
      exits: EXITS,
      site: { wholeSite: { ratePerSecond: 30, burst: 30, retryAfterMs: 1000, burnAbove: 8 } },
    }),
    trial('30 % of the exits burned beforehand', pages(scaled(1200)), {
      burned: (address) => burned.has(address),
    }),
    trial('an outage of 8 s', pages(scaled(2000)), {
      outage: { afterServed: scaled(800), lastsMs: scaled(8000) },
    }),
    trial(
      'sessions of 6 steps',
      { kind: 'flows', flows: scaled(40), steps: 6 },
      { perAddress: { ratePerSecond: 2, burst: 4, retryAfterMs: 1000 }, faultRatio: 0.03 },
    ),
    trial('4 % isolated faults', pages(scaled(1500)), { faultRatio: 0.04 }),
  ].map(({ site, ...scenario }, n) => ({
    ...scenario,
    number: n + 1,
    site: { seed, latencyMs: LATENCY_MS, ...site },
  }));
}

/** A scenario before it has its number and its seed. */
type Trial = Omit<Scenario, 'number' | 'site'> & {
  readonly site: Omit<SiteOptions, 'seed' | 'latencyMs'>;
};

function trial(name: string, work: Work, site: Trial['site']): Trial {
  return { name, work, exits: EXITS, idealMs: undefined, site };
}

function limited(
  name: string,
  count: number,
  { exits, site }: { exits: number; site: Pick<SiteOptions, 'perAddress' | 'wholeSite'> },
): Trial {
  const limit = site.wholeSite ?? site.perAddress;
  const { ratePerSecond = 1, burst = 0 } = limit ?? {};
  const idealMs = (1000 * (count - burst)) / ratePerSecond;
  return { ...trial(name, pages(count), site), exits, idealMs };
}

function pages(count: number): Work {
  return { kind: 'pages', pages: count };
}

function burnedExits(seed: number): ReadonlySet<string> {
  const exits = Array.from({ length: EXITS }, (_, n) => exitAddress(n));
  const roll = (address: string) => chance(seed, 'burned', address);
  const shuffled = exits.toSorted((a, b) => roll(a) - roll(b));
  return new Set(shuffled.slice(0, EXITS * BURNED_SHARE));
}
