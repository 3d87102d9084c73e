import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Admission } from '../../src/exchange/ports.ts';
import { type Asked, ok, Traffic } from '../support/lane-traffic.ts';
import { runs, schedule } from './runs.ts';

const CLIENTS = 4;

type Step =
  | { readonly kind: 'ask'; readonly client: number; readonly patienceMs: number }
  /** An exchange that begins, and asks for its place later. */
  | { readonly kind: 'begin'; readonly client: number }
  | { readonly kind: 'finish' | 'abort' | 'again'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'close' };

const which = fc.nat(60);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      client: fc.nat(CLIENTS - 1),
      patienceMs: fc.constantFrom(300, 4_000, 60_000, 3_600_000),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('finish' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('abort' as const, 'again' as const), which }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('begin' as const), client: fc.nat(CLIENTS - 1) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(3_000) }) },
);

/** One that waits, as an onlooker sees it. */
interface Waiter {
  readonly one: Asked;
  readonly client: string;
  readonly since: number;
  readonly arrival: number;
  readonly returning: boolean;
}

/** Who is next: the clients take turns, and within a client the oldest exchange goes first. */
class Model {
  readonly waiting: Waiter[] = [];
  /** Starts so far, by client, each with its number; what fairness is judged by. */
  readonly #starts: { readonly client: string; readonly n: number }[] = [];
  #n = 0;

  next(): number {
    this.#n += 1;
    return this.#n;
  }

  started(one: Asked): void {
    const at = this.waiting.findIndex((waiter) => waiter.one === one);
    const [waiter] = this.waiting.splice(at, 1);
    assert.ok(at !== -1 && waiter, 'started without waiting');
    this.#checkOldest(waiter);
    this.#checkTurns(waiter);
    this.#starts.push({ client: waiter.client, n: this.next() });
  }

  #checkOldest(chosen: Waiter): void {
    const older = this.waiting.find(
      ({ client, one, arrival }) =>
        client === chosen.client &&
        (one.exchange.startedAt < chosen.one.exchange.startedAt ||
          (one.exchange.startedAt === chosen.one.exchange.startedAt && arrival < chosen.arrival)),
    );
    assert.equal(older, undefined, 'an older one of the same client was passed over');
  }

  /** Nobody has a second turn while another client has waited for its first since before the last one. */
  #checkTurns({ client }: Waiter): void {
    const last = this.#starts.findLast((start) => start.client === client);
    if (!last) return;
    const passedOver = this.waiting.find((other) => {
      if (other.client === client) return false;
      const firstOfClient = this.waiting.filter((one) => one.client === other.client);
      const waitsSince = Math.min(...firstOfClient.map(({ since }) => since));
      const hadTurn = this.#starts.some(
        (start) => start.client === other.client && start.n > last.n,
      );
      return waitsSince < last.n && !hadTurn;
    });
    assert.equal(passedOver, undefined, 'a client was passed over');
  }
}

class Play {
  readonly traffic = new Traffic();
  readonly model = new Model();
  readonly #out: Asked[] = [];
  readonly #done: Asked[] = [];
  readonly #begun = new Set<Asked>();
  readonly #queue: number;
  readonly #concurrency: number;
  /** What went wrong in the course of an admission. */
  readonly #faults: unknown[] = [];
  readonly #firstArrival = new Map<Asked, number>();
  #isClosed = false;

  constructor(queue: number, concurrency: number) {
    this.#queue = queue;
    this.#concurrency = concurrency;
  }

  async act(step: Step): Promise<void> {
    const { clock } = this.traffic;
    switch (step.kind) {
      case 'ask':
        this.#admit(this.#make(step.client, step.patienceMs), 'new');
        break;
      case 'begin':
        this.#begun.add(this.#make(step.client, 60_000));
        break;
      case 'pass':
        await clock.advance(step.ms);
        break;
      case 'close':
        this.traffic.lanes.close();
        this.#isClosed = true;
        break;
      case 'finish': {
        const [one] = this.#out.splice(step.which % (this.#out.length || 1), 1);
        if (!one) break;
        one.finish(ok);
        this.#done.push(one);
        break;
      }
      case 'again': {
        const all = [...this.#done, ...this.#begun];
        const one = all[step.which % (all.length || 1)];
        if (!one) break;
        const isNew = this.#begun.delete(one);
        if (!isNew) this.#done.splice(this.#done.indexOf(one), 1);
        this.#admit(one, isNew ? 'new' : 'returning');
        break;
      }
      case 'abort':
        this.model.waiting[step.which % (this.model.waiting.length || 1)]?.one.abort();
        break;
    }
    await clock.advance(0);
    if (this.#faults.length > 0) throw this.#faults[0];
    this.#check();
  }

  #make(client: number, patienceMs: number): Asked {
    const pace = { queue: this.#queue, concurrency: this.#concurrency };
    return this.traffic.make({ client: `c${client}`, patienceMs, policy: { pace } });
  }

  #admit(one: Asked, kind: 'new' | 'returning'): void {
    const { model } = this;
    const since = model.next();
    const arrival = this.#firstArrival.get(one) ?? since;
    const client = one.exchange.client.name;
    const waiter = { one, client, since, arrival, returning: kind === 'returning' };
    model.waiting.push(waiter);
    const onAdmission = (admission: Admission) => {
      if (admission.kind === 'admitted') {
        model.started(one);
        this.#firstArrival.set(one, arrival);
        this.#out.push(one);
        return;
      }
      model.waiting.splice(model.waiting.indexOf(waiter), 1);
      this.#checkRefusal(waiter, admission.stop);
    };
    void one
      .admit()
      .then(onAdmission)
      .catch((fault: unknown) => this.#faults.push(fault));
  }

  #checkRefusal({ one, returning }: Waiter, stop: string): void {
    const { exchange } = one;
    const now = this.traffic.clock.now();
    switch (stop) {
      case 'queue_full':
        assert.ok(!returning, 'one that was sent before has a place');
        assert.ok(this.model.waiting.length >= this.#queue, 'the queue was not full');
        return;
      case 'patience_exceeded':
        assert.equal(Math.max(now, exchange.deadline), now, 'refused before its time');
        return;
      case 'client_gone':
        assert.ok(exchange.signal.aborted);
        return;
      default:
        assert.equal(stop, 'draining');
        assert.ok(this.#isClosed);
    }
  }

  #check(): void {
    const now = this.traffic.clock.now();
    const { waiting } = this.model;
    assert.ok(
      waiting.every(({ one }) => one.exchange.deadline > now),
      'waits beyond its patience',
    );
    assert.ok(
      waiting.every(({ one }) => !one.exchange.signal.aborted),
      'waits though it has gone',
    );
    assert.ok(!this.#isClosed || waiting.length === 0, 'waits though all is closed');
    const newcomers = waiting.filter(({ returning }) => !returning);
    const allowed = this.#queue + (waiting.length - newcomers.length);
    assert.ok(waiting.length <= allowed, 'more wait than may');
    assert.ok(this.#out.length <= this.#concurrency, 'more at once than may');
    // Everything is answered at once, so the opening never holds anybody back for long.
    const isIdle = this.#out.length === 0;
    assert.ok(!isIdle || waiting.length === 0, 'waits though nothing is under way');
  }
}

test('clients take turns, the oldest goes first, and nobody waits beyond patience, a full queue, or the end', async () => {
  await fc.assert(
    fc.asyncProperty(
      schedule(step, 100),
      fc.constantFrom(1, 5, 40),
      fc.constantFrom(1, 2),
      fc.boolean(),
      async (steps, queue, concurrency, closes) => {
        const play = new Play(queue, concurrency);
        for (const one of steps) await play.act(one);
        if (closes) await play.act({ kind: 'close' });
        if (closes) await play.act({ kind: 'ask', client: 0, patienceMs: 60_000 });
      },
    ),
    runs(80),
  );
});
