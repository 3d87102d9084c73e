import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Verdict } from '../src/core/verdict.ts';
import { FakeClock, flush, seededRandom } from './support/fake-clock.ts';
import {
  type Asked,
  blocked,
  notFound,
  ok,
  overloaded,
  overrun,
  Traffic,
  throttledFor,
  unreachableRoute,
} from './support/lane-traffic.ts';

const CONCURRENCY = { main: 3, slow: 1 };

const verdicts: readonly Verdict[] = [
  ok,
  ok,
  ok,
  notFound,
  overloaded,
  blocked,
  overrun,
  unreachableRoute,
  throttledFor(700),
  throttledFor(9_000),
  throttledFor(),
  { fault: 'none', reason: 'ok', evidence: { kind: 'status', status: 200 }, paceMs: 1_500 },
];

type Step =
  | {
      readonly kind: 'ask';
      readonly lane: 'main' | 'slow';
      readonly client: number;
      readonly patienceMs: number;
    }
  | { readonly kind: 'again' | 'release' | 'abort'; readonly which: number }
  | { readonly kind: 'record'; readonly which: number; readonly verdict: number }
  | { readonly kind: 'pass'; readonly ms: number };

const which = fc.nat(200);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      lane: fc.constantFrom('main' as const, 'slow' as const),
      client: fc.nat(3),
      patienceMs: fc.constantFrom(500, 5_000, 60_000, 3_600_000),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('record' as const),
      which,
      verdict: fc.nat(verdicts.length - 1),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom('release' as const, 'abort' as const, 'again' as const),
      which,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 50, 1_000, 10_000, 120_000),
    }),
  },
);

/** Watches every start: against the pause that ran at that moment, and the places of its lane. */
class Watch {
  readonly traffic: Traffic;
  readonly all: Asked[] = [];
  readonly out = new Map<Asked, { readonly lane: 'main' | 'slow'; recorded: boolean }>();
  readonly faults: string[] = [];
  readonly #laneOf = new Map<Asked, 'main' | 'slow'>();

  constructor(seed: number) {
    this.traffic = new Traffic({ random: seededRandom(seed), clock: new FakeClock() });
  }

  ask(step: Extract<Step, { kind: 'ask' }>): void {
    const one = this.traffic.make({
      client: `c${step.client}`,
      patienceMs: step.patienceMs,
      policy: { pace: { concurrency: CONCURRENCY[step.lane], queue: 20 } },
      ...(step.lane === 'slow' ? { laneKey: 'slow' } : {}),
    });
    this.all.push(one);
    this.#laneOf.set(one, step.lane);
    this.admit(one);
  }

  admit(one: Asked): void {
    void one.admit().then((admission) => {
      if (admission.kind === 'refused') return;
      const { startedAt } = admission;
      if (startedAt !== this.traffic.clock.now()) this.faults.push('told late');
      if (one.lane.pausedUntil > startedAt) this.faults.push('started inside a pause');
      this.out.set(one, { lane: this.#laneOf.get(one) ?? 'main', recorded: false });
      for (const lane of ['main', 'slow'] as const) {
        const under = [...this.out.values()].filter((o) => o.lane === lane).length;
        if (under > CONCURRENCY[lane]) this.faults.push(`${under} under way in ${lane}`);
      }
    });
  }

  async act(step: Step): Promise<void> {
    if (step.kind === 'ask') this.ask(step);
    else if (step.kind === 'pass') await this.traffic.clock.advance(step.ms);
    else if (step.kind === 'again') this.again(step.which);
    else if (step.kind === 'abort') this.all[step.which % Math.max(1, this.all.length)]?.abort();
    else this.end(step);
    await flush();
  }

  again(index: number): void {
    const done = this.all.filter((one) => one.answer && !this.out.has(one));
    const one = done[index % Math.max(1, done.length)];
    if (one) this.admit(one);
  }

  end(step: Extract<Step, { which: number }>): void {
    const running = [...this.out];
    const [one, state] = running[step.which % Math.max(1, running.length)] ?? [];
    if (!one || !state) return;
    if (step.kind === 'record' && !state.recorded) {
      state.recorded = true;
      const verdict = verdicts[step.verdict] ?? ok;
      const { exchange, lane, place } = one;
      const route = {
        id: `r${step.which % 3}`,
        label: '',
        upstream: 'direct',
        way: { kind: 'direct' },
      } as const;
      lane.record({
        exchange,
        admission: place,
        verdict,
        route: { ...route, session: undefined, generation: 0 },
      });
    } else if (step.kind === 'release') {
      this.release(one);
    }
  }

  release(one: Asked): void {
    const place = one.place;
    this.out.delete(one);
    place.release();
    place.release();
  }
}

test('whatever happens: never too many, never inside a pause, and everyone gets an answer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), fc.nat(), async (steps, seed) => {
      const watch = new Watch(seed);
      for (const one of steps) await watch.act(one);
      // Everyone under way ends in time, and patience ends for the rest.
      for (let round = 0; round < 200 && watch.out.size > 0; round += 1) {
        for (const one of [...watch.out.keys()]) watch.release(one);
        await watch.traffic.clock.advance(60_000);
      }
      await watch.traffic.clock.advance(3_700_000);
      for (const one of [...watch.out.keys()]) watch.release(one);
      await flush();
      assert.deepEqual(
        watch.all.filter((one) => one.state === 'waiting').map((one) => one.exchange.id),
        [],
      );
      assert.deepEqual(watch.faults, []);
      assert.equal(watch.traffic.clock.pending, 0, 'a timer is left');
      for (const lane of watch.traffic.lanes.list()) {
        assert.deepEqual([lane.waiting, lane.inFlight], [0, 0], lane.id);
      }
    }),
    { numRuns: 100 },
  );
});
