import type { Exchange } from '../exchange/ports.ts';

const OTHER = 'other';

/** The lane of an exchange; the host's main lane bears the host's name. */
export const laneOf = ({ target, lane }: Exchange): string =>
  lane === undefined ? target.authority : `${target.authority}#${lane}`;

/** Which lanes have a label of their own: a crawler of a million hosts must not make a million series. */
export class LaneLabels {
  readonly #most: () => number;
  readonly #lanes = new Set<string>();

  constructor(most: () => number) {
    this.#most = most;
  }

  /** The lane's own name while there is room for it, else `other`. */
  of(lane: string): string {
    if (this.#lanes.has(lane)) return lane;
    if (this.#lanes.size >= this.#most()) return OTHER;
    this.#lanes.add(lane);
    return lane;
  }

  /** Gives up the labels of lanes that are not remembered any more. Which they were. */
  forgetAllBut(known: ReadonlySet<string>): readonly string[] {
    const gone = [...this.#lanes].filter((lane) => !known.has(lane));
    for (const lane of gone) this.#lanes.delete(lane);
    return gone;
  }
}
