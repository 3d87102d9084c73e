/** A value's place in a `Heap`; whoever holds it can take the value out. */
export interface Place<T> {
  readonly value: T;
  index: number;
}

/** Least value first. Adding and taking out, from the middle too, cost O(log n). */
export class Heap<T> {
  readonly #before: (a: T, b: T) => boolean;
  readonly #places: Place<T>[] = [];

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#places.length;
  }

  /** The least value's place. */
  peek(): Place<T> | undefined {
    return this.#places[0];
  }

  add(value: T): Place<T> {
    const place = { value, index: this.#places.length };
    this.#places.push(place);
    this.#rise(place);
    return place;
  }

  /** Does nothing when it is out already. */
  remove(place: Place<T>): void {
    const { index } = place;
    if (this.#places[index] !== place) return;
    const last = this.#places.pop();
    place.index = -1;
    if (!last || last === place) return;
    this.#put(last, index);
    this.#rise(last);
    this.#sink(last);
  }

  #put(place: Place<T>, index: number): void {
    this.#places[index] = place;
    place.index = index;
  }

  #rise(place: Place<T>): void {
    while (place.index > 0) {
      const at = place.index;
      const up = (at - 1) >> 1;
      const parent = this.#places[up];
      if (!parent || !this.#before(place.value, parent.value)) return;
      this.#put(parent, at);
      this.#put(place, up);
    }
  }

  #sink(place: Place<T>): void {
    for (;;) {
      const at = place.index;
      const left = this.#places[2 * at + 1];
      const right = this.#places[2 * at + 2];
      if (!left) return;
      const least = right && this.#before(right.value, left.value) ? right : left;
      if (!this.#before(least.value, place.value)) return;
      this.#put(place, least.index);
      this.#put(least, at);
    }
  }
}
