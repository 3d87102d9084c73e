/** The bytes of bodies that are kept in memory at this moment, of all exchanges together. */
export interface HeldMemory {
  /** Whether so many bytes more may be kept. */
  hasRoom(more: number): boolean;
  /** Counts bytes in; a negative number counts them out again. */
  add(bytes: number): void;
  readonly bytes: number;
}

/** Counts against a limit that a reload may change. What is kept already stays when the limit shrinks. */
export function createHeldMemory(maxBytes: () => number): HeldMemory {
  let bytes = 0;
  return {
    hasRoom: (more) => bytes + more <= maxBytes(),
    add(more) {
      bytes += more;
    },
    get bytes() {
      return bytes;
    },
  };
}
