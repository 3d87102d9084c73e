/** Where something was read: a place in a file, an environment variable or a flag. */
export interface Place {
  readonly file: string;
  /** 1-based; 0 where there are no lines. */
  readonly line: number;
  readonly column: number;
  /** The names of what was read into this value: its content is not shown. */
  readonly from?: string;
}

export type Path = readonly PropertyKey[];

/** Where each key and value of the configuration was read. */
export class Places {
  readonly #values = new Map<string, Place>();
  readonly #keys = new Map<string, Place>();
  readonly #root: Place;

  constructor(file: string) {
    this.#root = { file, line: 0, column: 0 };
  }

  setValue(path: Path, place: Place): void {
    this.#values.set(dotted(path), place);
  }

  setKey(path: Path, place: Place): void {
    this.#keys.set(dotted(path), place);
  }

  /** Of the value itself, or of the nearest thing around it. */
  value(path: Path): Place {
    for (let length = path.length; length > 0; length--) {
      const part = dotted(path.slice(0, length));
      const place = this.#values.get(part) ?? this.#keys.get(part);
      if (place) return place;
    }
    return this.#values.get('') ?? this.#root;
  }

  /** Of the key, or of its value where keys have no place. */
  key(path: Path): Place {
    return this.#keys.get(dotted(path)) ?? this.value(path);
  }

  /** Whether anybody wrote this value. */
  has(path: Path): boolean {
    return this.#values.has(dotted(path));
  }
}

/** A path as one text. */
export function dotted(path: Path): string {
  return path.map(String).join('.');
}
