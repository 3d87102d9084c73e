import type { HeldMemory } from '../exchange/held-memory.ts';

/** Pieces of a body that wait for their reader, counted in what all bodies hold together. */
export class ChunkQueue {
  readonly #memory: HeldMemory;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(memory: HeldMemory) {
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Pieces, not bytes. */
  get length(): number {
    return this.#chunks.length;
  }

  /** Whether so many bytes more may be held: of this body, and of all together. */
  hasRoom(more: number, maxBytes: number): boolean {
    return this.#bytes + more <= maxBytes && this.#memory.hasRoom(more);
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#count(chunk.length);
  }

  shift(): Buffer | undefined {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) this.#count(-chunk.length);
    return chunk;
  }

  clear(): void {
    this.#chunks = [];
    this.#count(-this.#bytes);
  }

  [Symbol.iterator](): Iterator<Buffer> {
    return this.#chunks.values();
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#memory.add(bytes);
  }
}
