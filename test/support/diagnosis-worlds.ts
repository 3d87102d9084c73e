import type { World } from './simulated-network.ts';

const base = { hosts: 6, routes: 8, workersPerHost: 4, lastsMs: 100_000 } as const;
const between = { fromMs: 30_000, toMs: 90_000 };

/** Worlds with known causes, for the test and for the table. */
export const worlds: readonly {
  readonly name: string;
  readonly world: World;
  /** Share of the timeouts that must be named right; less where the first few look alike. */
  readonly least?: number;
}[] = [
  {
    name: 'one slow site',
    world: { ...base, troubles: [{ cause: 'site', ...between, which: [2] }] },
  },
  {
    name: 'three slow sites',
    world: { ...base, troubles: [{ cause: 'site', ...between, which: [0, 2, 4] }] },
  },
  {
    name: 'a slow site, few routes in use',
    world: {
      ...base,
      rotation: 'keep',
      warm: 2,
      troubles: [{ cause: 'site', ...between, which: [1] }],
    },
  },
  {
    name: 'one sick route',
    world: { ...base, troubles: [{ cause: 'route', ...between, which: [3] }] },
  },
  {
    name: 'two sick routes, few routes in use',
    world: {
      ...base,
      rotation: 'keep',
      warm: 3,
      routes: 5,
      troubles: [{ cause: 'route', ...between, which: [1, 3] }],
    },
  },
  {
    name: 'one site, one sick route',
    world: {
      ...base,
      hosts: 1,
      workersPerHost: 12,
      troubles: [{ cause: 'route', ...between, which: [3] }],
    },
  },
  {
    name: 'overload by own concurrency',
    world: { ...base, hosts: 3, workersPerHost: 40, capacity: 7, lastsMs: 60_000, troubles: [] },
  },
  {
    name: 'overload over direct',
    world: {
      ...base,
      hosts: 2,
      routes: 'direct',
      workersPerHost: 40,
      capacity: 7,
      lastsMs: 60_000,
      troubles: [],
    },
  },
  {
    name: 'local outage, over routes',
    world: { ...base, troubles: [{ cause: 'local', ...between }] },
  },
  {
    name: 'local outage, over direct',
    world: { ...base, routes: 'direct', troubles: [{ cause: 'local', ...between }] },
  },
  {
    name: 'a slow site and a sick route',
    world: {
      ...base,
      troubles: [
        { cause: 'site', ...between, which: [2] },
        { cause: 'route', fromMs: 45_000, toMs: 100_000, which: [3] },
      ],
    },
  },
  {
    name: 'overload and a sick route',
    least: 0.88,
    world: {
      ...base,
      hosts: 3,
      workersPerHost: 40,
      capacity: 7,
      troubles: [{ cause: 'route', ...between, which: [3] }],
    },
  },
  {
    name: 'a site where one page in three hangs',
    world: { ...base, troubles: [{ cause: 'site', ...between, which: [2], share: 0.33 }] },
  },
  {
    name: 'a route that loses three in four',
    least: 0.8,
    world: { ...base, troubles: [{ cause: 'route', ...between, which: [3], share: 0.75 }] },
  },
  {
    name: 'a few heavy pages everywhere, nothing else',
    world: {
      ...base,
      troubles: [{ cause: 'site', ...between, which: [0, 1, 2, 3, 4, 5], share: 0.02 }],
    },
  },
  {
    name: 'heavy pages everywhere and a sick route',
    world: {
      ...base,
      troubles: [
        { cause: 'site', ...between, which: [0, 1, 2, 3, 4, 5], share: 0.02 },
        { cause: 'route', ...between, which: [3] },
      ],
    },
  },
  {
    name: 'a slow site, then a local outage',
    world: {
      ...base,
      troubles: [
        { cause: 'site', fromMs: 20_000, toMs: 100_000, which: [2] },
        { cause: 'local', fromMs: 60_000, toMs: 80_000 },
      ],
    },
  },
];
