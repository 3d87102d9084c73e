/** How many connections each client has open. */
export class Tally {
  readonly #counts = new Map<string, number>();

  of(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }

  add(owner: string): void {
    this.#counts.set(owner, this.of(owner) + 1);
  }

  /** An owner without connections leaves no trace. */
  remove(owner: string): void {
    const left = this.of(owner) - 1;
    if (left > 0) this.#counts.set(owner, left);
    else this.#counts.delete(owner);
  }
}
