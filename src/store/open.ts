import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { withFallback } from './fallback.ts';
import { createMemoryStore } from './memory.ts';
import type { StoreHealth } from './outage.ts';
import { openSqliteStore, type SqliteTerms } from './sqlite.ts';
import { inspectFile } from './sqlite-file.ts';
import { type Store, StoreError } from './store.ts';

export interface OpenTerms {
  readonly kind: 'embedded' | 'memory';
  /** The folder of the file. */
  readonly home: string;
  readonly clock: Pick<Clock, 'after'>;
  /** Hears when the store fails, and when it works again. */
  readonly onHealth: (health: StoreHealth) => void;
  /** Hears that the store could not be opened, and memory stands in until the next start. */
  readonly onMemoryOnly: (error: StoreError) => void;
  readonly limits?: Pick<SqliteTerms, 'lockWaitMs' | 'maxPages'>;
}

/** The store's file in the home folder. */
export const STORE_FILE = 'forbear.db';
// What a small machine can spare; beyond it nothing more is kept, and that is told.
const BOUNDS = { maxLetters: 10_000, maxBytes: 64 * 1024 * 1024 };
const RETRY_MS = 5_000;

/**
 * Opens the store of a home. Rejects with a `StoreError` where its file is damaged, foreign or newer: going on would
 * forget what it holds. Where the file is another process's, or cannot be written, memory stands in, and that is told.
 */
export async function openStore(terms: OpenTerms): Promise<Store> {
  const { kind, home, clock, onHealth, onMemoryOnly } = terms;
  if (kind === 'memory') return createMemoryStore(BOUNDS);
  try {
    const inner = await openSqliteStore({ file: join(home, STORE_FILE), ...terms.limits });
    return withFallback({ inner, clock, bounds: BOUNDS, retryMs: RETRY_MS, onHealth });
  } catch (error) {
    if (!(error instanceof StoreError) || mustNotStart(error)) throw error;
    onMemoryOnly(error);
    return createMemoryStore(BOUNDS);
  }
}

/** Looks at the store of a home and changes nothing: whether there is one. Throws the `StoreError` of a start. */
export function inspectStore(home: string): boolean {
  const file = join(home, STORE_FILE);
  if (!existsSync(file)) return false;
  inspectFile(file);
  return true;
}

/** There is a file that counts, and it cannot be read. */
function mustNotStart({ code }: StoreError): boolean {
  return code === 'damaged' || code === 'foreign' || code === 'newer';
}
