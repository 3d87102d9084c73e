import { laneView } from './lane-endpoints.ts';
import type { LaneDesk } from './views.ts';

type Sight = ReturnType<LaneDesk['list']>[number];

/** What has changed of the lanes since the last look: with thousands of them most stand still. */
export class LaneDeltas {
  readonly #lanes: LaneDesk;
  #before = new Map<string, Sight>();

  constructor(lanes: LaneDesk) {
    this.#lanes = lanes;
  }

  /** Begins anew: what there is now is known. */
  reset(): void {
    this.#before = this.#look();
  }

  /** undefined when nothing has changed. */
  changes():
    | { lanes: readonly ReturnType<typeof laneView>[]; gone: readonly string[] }
    | undefined {
    const now = this.#look();
    const before = this.#before;
    this.#before = now;
    const lanes = [...now.values()].filter((lane) => !isSame(lane, before.get(lane.id)));
    const gone = [...before.keys()].filter((id) => !now.has(id));
    if (lanes.length === 0 && gone.length === 0) return undefined;
    return { lanes: lanes.map(laneView), gone };
  }

  #look(): Map<string, Sight> {
    return new Map(this.#lanes.list().map((lane) => [lane.id, lane]));
  }
}

function isSame(lane: Sight, before: Sight | undefined): boolean {
  if (before === undefined) return false;
  for (const key in lane) if (lane[key as keyof Sight] !== before[key as keyof Sight]) return false;
  return true;
}
