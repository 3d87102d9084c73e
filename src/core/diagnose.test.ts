import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Diagnosis, diagnose, isCutOff, nothingSeen, type Sighting } from './diagnose.ts';

type Change = { readonly [K in keyof Sighting]?: Partial<Sighting[K]> | Sighting[K] };

function seen(change: Change): Sighting {
  const merged = Object.entries(change).map(([key, value]) => {
    const base = nothingSeen[key as keyof Sighting];
    return [key, typeof base === 'object' ? { ...base, ...(value as object) } : value];
  });
  return { ...nothingSeen, ...Object.fromEntries(merged) };
}

describe('who is at fault for a silence', () => {
  const high = { inFlight: 24, fastLevel: 10 };
  const dead = { hosts: 3, doors: 2, upstreams: 'all', unconnected: 1 } as const;
  const rows: readonly [what: string, change: Change, diagnosis: Diagnosis][] = [
    ['nothing is known', {}, 'slow'],
    [
      'the route fails others, the lane is fine',
      { route: { bad: 1 }, lane: { good: 1 } },
      'slow_route',
    ],
    ['the route serves others, the lane fails', { route: { good: 2 }, lane: { bad: 2 } }, 'slow'],
    ['both are fine', { route: { good: 2 }, lane: { good: 2 } }, 'slow'],
    [
      'both are fine, and much is under way',
      { route: { good: 2 }, lane: { good: 2 }, load: high },
      'overrun',
    ],
    [
      'much is under way, and with less it failed too',
      { load: { ...high, failedBelow: 1 } },
      'slow',
    ],
    ['much is under way, but that is usual', { load: { inFlight: 24, fastLevel: 20 } }, 'slow'],
    [
      'as much as was too much before',
      { load: { inFlight: 18, fastLevel: 20, overLevel: 24 } },
      'overrun',
    ],
    [
      'half of what was too much before',
      { load: { inFlight: 12, fastLevel: 12, overLevel: 24 } },
      'slow',
    ],
    [
      'as many others do well over the route as do not',
      { route: { good: 1, bad: 1 }, lane: { good: 3 } },
      'slow',
    ],
    [
      'the route serves this lane meanwhile',
      { route: { bad: 1 }, lane: { good: 3 }, here: { good: 2, bad: 1 } },
      'slow',
    ],
    [
      'it serves this lane, but fails several others',
      { route: { bad: 3 }, lane: { good: 3 }, here: { good: 2 } },
      'slow_route',
    ],
    [
      'one lane fails over it that may itself be slow',
      { route: { unsure: 1 }, lane: { good: 2 } },
      'slow',
    ],
    [
      'two such lanes, and nobody is served',
      { route: { unsure: 2 }, lane: { good: 2 } },
      'slow_route',
    ],
    ['two such lanes, and of ours nothing is known', { route: { unsure: 2 } }, 'slow_route'],
    [
      'two such lanes, and a third is served',
      { route: { unsure: 2, good: 1 }, lane: { good: 2 } },
      'slow',
    ],
    ['the lane fails over most routes', { route: { bad: 1 }, lane: { good: 1, bad: 3 } }, 'slow'],
    [
      'only this lane uses it: three in a row',
      { lane: { good: 4 }, here: { bad: 2 } },
      'slow_route',
    ],
    ['only this lane uses it: two in a row', { lane: { good: 4 }, here: { bad: 1 } }, 'slow'],
    [
      'one word against the route, and much under way',
      { route: { bad: 1 }, lane: { good: 4 }, load: high },
      'overrun',
    ],
    [
      'several words against it, and much under way',
      { route: { bad: 2 }, lane: { good: 4 }, load: high },
      'slow_route',
    ],
    ['nobody reaches anything', { silence: dead }, 'local_network'],
    [
      'nobody connects, but somebody was answered',
      { silence: { ...dead, answered: true } },
      'slow',
    ],
    ['one machine is dialled for all', { silence: { ...dead, doors: 1 } }, 'slow'],
    ['a second upstream was not asked', { silence: { ...dead, upstreams: 'some' } }, 'slow'],
    ['three sites are silent, all connected', { silence: { ...dead, unconnected: 0 } }, 'slow'],
    [
      'five sites are silent, all connected',
      { silence: { ...dead, hosts: 5, unconnected: 0 } },
      'local_network',
    ],
    [
      'the network is known to be out',
      { network: 'out', route: { bad: 9 }, lane: { good: 9 } },
      'local_network',
    ],
  ];
  for (const [what, change, diagnosis] of rows) {
    test(`${what}: ${diagnosis}`, () => assert.equal(diagnose(seen(change)), diagnosis));
  }
});

const count = fc.nat(6);
const votes = fc.record({ good: count, bad: count, unsure: count });
const level = fc.option(fc.double({ min: 1, max: 40, noNaN: true }), { nil: null });
const sightings = fc.record<Sighting>({
  network: fc.constantFrom('up', 'out'),
  look: fc.constantFrom('first', 'last'),
  route: votes,
  lane: votes,
  here: fc.record({ good: count, bad: count }),
  load: fc.record({ inFlight: count, fastLevel: level, overLevel: level, failedBelow: count }),
  silence: fc.record({
    answered: fc.boolean(),
    hosts: count,
    doors: count,
    upstreams: fc.constantFrom('all', 'some'),
    unconnected: count,
  }),
});

test('a route is blamed only when something speaks against it, and the lane does not fail everywhere', () => {
  fc.assert(
    fc.property(sightings, (sighting) => {
      if (diagnose(sighting) !== 'slow_route') return;
      const { route, lane, here } = sighting;
      assert.ok(route.bad + route.unsure + here.bad > 0);
      assert.ok(lane.good > 0 || lane.bad + lane.unsure === 0);
    }),
  );
});

test('where somebody is answered the network is not out', () => {
  fc.assert(fc.property(sightings, ({ silence }) => !isCutOff({ ...silence, answered: true })));
});
