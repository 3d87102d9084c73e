import type { Moment } from '../../src/core/elapsed.ts';
import type { KeptTable } from '../../src/exchange/kept.ts';
import { createSaving, type Saving } from '../../src/saving/saving.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { State } from '../../src/store/store.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { FakeClock } from './fake-clock.ts';

/** A machine with a disk, and clocks that can be set wrong: processes come and go on it. */
export class Machine {
  state: State = createMemoryStore({ maxLetters: 10, maxBytes: 1000 }).state;
  wall = Date.UTC(2026, 0, 1);
  uptimeMs = 3_600_000;
  boot = 'first';

  /** A process that starts now; it ends whenever nobody uses it any more. */
  start(): Life {
    return new Life(this);
  }

  /** Time goes by while no process runs. */
  pass(ms: number): void {
    this.wall += ms;
    this.uptimeMs += ms;
  }

  restart(): void {
    this.uptimeMs = 0;
    this.boot += '+';
  }
}

/** One process. */
export class Life {
  readonly clock: FakeClock;
  readonly saving: Saving;
  readonly events: ProxyEvent[] = [];
  readonly #machine: Machine;
  #seenAt: number;

  constructor(machine: Machine) {
    this.#machine = machine;
    // As the system's clock: it begins at the wall's time, and goes its own way.
    this.clock = new FakeClock(machine.wall);
    this.#seenAt = machine.wall;
    this.saving = createSaving({
      state: machine.state,
      clock: this.clock,
      moment: () => this.#moment(),
      emit: (event) => this.events.push(event),
    });
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    this.#machine.pass(ms);
    this.#seenAt = this.clock.now();
  }

  async restore(tables: readonly KeptTable[]): Promise<void> {
    await this.saving.restore(tables);
  }

  #moment(): Moment {
    const { wall, uptimeMs, boot } = this.#machine;
    const now = this.clock.now();
    // While the clock is being wound on, the machine's are as far as it is.
    const aheadMs = now - this.#seenAt;
    return { now, wall: wall + aheadMs, uptimeMs: uptimeMs + aheadMs, boot };
  }
}
