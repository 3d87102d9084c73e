/** Any of these shows the sign. All text in lower case. */
export interface Sign {
  /** Anywhere in the page's source. */
  readonly body?: readonly string[];
  /** In the title or in what a reader sees. */
  readonly text?: readonly string[];
  /** In the title. */
  readonly title?: readonly string[];
  /** A field by its name, its value holding the text (empty: any value). */
  readonly header?: readonly [name: string, has: string];
}

/** How a challenge, block or throttle page is known. */
export interface Marker {
  readonly id: string;
  /** A challenge or wall asks for something first, a block says no, a throttle says less. */
  readonly kind: 'challenge' | 'wall' | 'block' | 'throttle';
  /** Signs that do not come from one another; all must show. None: only `proof` counts. */
  readonly signs: readonly Sign[];
  /** A field that proves it alone: no good reply carries it. Any of its words in the value. */
  readonly proof?: { readonly header: string; readonly words: readonly string[] };
  /** Source text that speaks against it. */
  readonly unless?: readonly string[];
  /** Words in the path asked for that speak against it: a login page is no wall for who asked for it. `/` is the home page. */
  readonly unlessPath?: readonly string[];
  /** Characters of readable text above which it is a page with a content of its own; 2000 where absent. */
  readonly maxText?: number;
  /** Statuses it is looked for under; absent: any. */
  readonly statuses?: readonly number[];
}
