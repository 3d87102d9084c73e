import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Asked, ok, Traffic, throttledFor } from '../support/lane-traffic.ts';
import { runs, schedule } from './runs.ts';

const MAX_HOSTS = 5;
const HOSTS = 12;
const DAY_MS = 24 * 3_600_000;

type Step =
  | { readonly kind: 'ask'; readonly host: number }
  | { readonly kind: 'well'; readonly which: number }
  | { readonly kind: 'throttle'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('ask' as const), host: fc.nat(HOSTS - 1) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('well' as const, 'well' as const, 'throttle' as const),
      which: fc.nat(30),
    }) as fc.Arbitrary<Step>,
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 1_000, 70_000, DAY_MS + 1),
    }),
  },
);

/** A host as an onlooker knows it. */
interface Known {
  usedAt: number;
  pausedUntil: number;
  /** Exchanges that wait or are under way. */
  live: number;
  /** Whether it was ever in trouble since it came to be known: then its turn to be forgotten may have passed. */
  wasTroubled: boolean;
}

class Play {
  readonly traffic = new Traffic({ maxHosts: MAX_HOSTS });
  readonly #known = new Map<string, Known>();
  readonly #out: { readonly host: string; readonly one: Asked }[] = [];
  #uses = 0;

  async act(step: Step): Promise<void> {
    switch (step.kind) {
      case 'pass':
        return this.traffic.clock.advance(step.ms);
      case 'ask':
        this.#use(`h${step.host}.test`, (host) => this.#ask(host));
        break;
      case 'well':
      case 'throttle': {
        const [under] = this.#out.splice(step.which % (this.#out.length || 1), 1);
        if (under) this.#use(under.host, () => this.#finish(under, step.kind));
      }
    }
    await this.traffic.clock.advance(0);
  }

  #ask(host: string): void {
    const one = this.traffic.make({ host, patienceMs: 10 * DAY_MS });
    this.#change(host, { live: 1 });
    void one.admit().then((admission) => {
      if (admission.kind === 'admitted') this.#out.push({ host, one });
      else this.#change(host, { live: -1 });
    });
  }

  #finish({ host, one }: { host: string; one: Asked }, kind: 'well' | 'throttle'): void {
    one.finish(kind === 'well' ? ok : throttledFor(60_000));
    this.#change(host, { live: -1 });
    const known = this.#known.get(host);
    if (!known || kind === 'well') return;
    known.pausedUntil = one.lane.pausedUntil;
    known.wasTroubled = true;
  }

  #change(host: string, { live }: { readonly live: number }): void {
    const known = this.#known.get(host);
    if (known) known.live += live;
  }

  /** Uses a host, and looks which others were forgotten for it. */
  #use(host: string, act: (host: string) => void): void {
    this.#uses += 1;
    const isNew = !this.#known.has(host);
    const known = this.#known.get(host) ?? {
      usedAt: 0,
      pausedUntil: 0,
      live: 0,
      wasTroubled: false,
    };
    known.usedAt = this.#uses;
    this.#known.set(host, known);
    act(host);
    const kept = new Set(this.traffic.lanes.list().map((lane) => lane.host));
    this.#check(host, kept, isNew);
    for (const name of [...this.#known.keys()]) if (!kept.has(name)) this.#known.delete(name);
  }

  #check(host: string, kept: ReadonlySet<string>, isNew: boolean): void {
    const now = this.traffic.clock.now();
    const isTroubled = ({ pausedUntil }: Known) => pausedUntil > now;
    assert.ok(kept.has(host), 'the one in use was forgotten');
    const gone = [...this.#known].filter(([name]) => !kept.has(name)).map(([, known]) => known);
    const stay = [...this.#known].filter(([name]) => kept.has(name) && name !== host);
    assert.ok(
      gone.every(({ live }) => live === 0),
      'one with live exchanges was forgotten',
    );
    const idle = stay.map(([, known]) => known).filter(({ live }) => live === 0);
    // Room is made for newcomers; live ones that have gone over the number since may stay until then.
    if (isNew && kept.size > MAX_HOSTS)
      assert.equal(idle.length, 0, 'more than may be, though one is idle');
    const healthy = idle.filter((known) => !isTroubled(known) && !known.wasTroubled);
    if (gone.some(isTroubled))
      assert.equal(healthy.length, 0, 'a troubled one before a healthy one');
    const youngest = Math.max(
      0,
      ...gone.filter((one) => !one.wasTroubled).map(({ usedAt }) => usedAt),
    );
    assert.ok(
      healthy.every(({ usedAt }) => usedAt > youngest),
      'not the longest unused',
    );
  }
}

test('of too many hosts the healthy idle ones are forgotten first, the longest unused of them before others, live ones never', async () => {
  await fc.assert(
    fc.asyncProperty(schedule(step, 120), async (steps) => {
      const play = new Play();
      for (const one of steps) await play.act(one);
    }),
    runs(80),
  );
});
