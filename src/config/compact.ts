/** The same type where what is left out may also be undefined. */
export type Loose<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** Without what is undefined. The caller sees to it that what `T` needs is there. */
export function compact<T extends object>(loose: Loose<T>): T {
  const entries = Object.entries(loose).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
