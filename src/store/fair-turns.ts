/** What is known of a letter before its turn is decided. */
export interface Candidate {
  readonly id: string;
  readonly host: string;
  readonly dueAt: number;
}

/** Gives each host one turn, then a second, and so on; hosts that got none come first the next time. */
export class FairTurns {
  #served: ReadonlySet<string> = new Set();

  pick(candidates: readonly Candidate[], limit: number): readonly Candidate[] {
    const longestDue = candidates.toSorted((a, b) => a.dueAt - b.dueAt || order(a.id, b.id));
    const turns = new Map<string, number>();
    const ranked = longestDue.map((candidate) => {
      const turn = (turns.get(candidate.host) ?? 0) + 1;
      turns.set(candidate.host, turn);
      return { candidate, turn, late: this.#served.has(candidate.host) ? 1 : 0 };
    });
    // The sort is stable: within a turn the longest due stay first.
    ranked.sort((a, b) => a.turn - b.turn || a.late - b.late);
    const picked = ranked.slice(0, Math.max(0, limit)).map(({ candidate }) => candidate);
    this.#served = new Set(turns.size > picked.length ? picked.map(({ host }) => host) : []);
    return picked;
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
