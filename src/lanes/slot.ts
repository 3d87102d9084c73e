import type { Admission, Exchange } from '../exchange/ports.ts';
import type { PacedLane } from './paced-lane.ts';

type Admitted = Extract<Admission, { kind: 'admitted' }>;

/** A place under way, from its start until whoever holds it lets go. */
export class Slot implements Admitted {
  readonly kind = 'admitted';
  readonly lane: PacedLane;
  readonly credential: string | undefined;
  readonly startedAt: number;
  readonly lease: number | undefined;
  readonly release: () => void;
  recorded = false;

  constructor(o: {
    lane: PacedLane;
    credential: string | undefined;
    startedAt: number;
    lease: number | undefined;
    onRelease: (slot: Slot) => void;
  }) {
    this.lane = o.lane;
    this.credential = o.credential;
    this.startedAt = o.startedAt;
    this.lease = o.lease;
    let held = true;
    this.release = () => {
      if (!held) return;
      held = false;
      o.onRelease(this);
    };
  }
}

/** One who asks to be admitted. */
export interface Applicant {
  readonly exchange: Exchange;
  readonly laneKey: string | undefined;
  readonly credential: string | undefined;
}
