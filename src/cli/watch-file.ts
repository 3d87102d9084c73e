import { createHash } from 'node:crypto';
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';

const POLL_MS = 2000;
/** Editors empty a file before they fill it: only what is the same after this long counts. */
const SETTLE_MS = 100;

/**
 * Calls `changed` when the content of a file has become another. The folder is watched as well as the
 * file polled, since a Kubernetes ConfigMap changes by a swap of a link that a watch on the file misses.
 * `known` is the digest of what was read of it before: a change between that and now counts.
 * Returns the function that ends it.
 */
export function watchFile(
  file: string,
  changed: () => void,
  known: string | undefined = digest(file),
): () => void {
  let settling: NodeJS.Timeout | undefined;

  const look = (): void => {
    const seen = digest(file);
    if (settling !== undefined || seen === undefined || seen === known) return;
    settling = setTimeout(() => {
      settling = undefined;
      if (digest(file) !== seen) return look();
      known = seen;
      changed();
    }, SETTLE_MS);
    settling.unref();
  };

  const poll = setInterval(look, POLL_MS);
  poll.unref();
  const watcher = watchFolder(dirname(file), look);
  look();
  return () => {
    clearInterval(poll);
    clearTimeout(settling);
    watcher?.close();
  };
}

/** Some file systems cannot be watched; the poll is enough then. */
function watchFolder(folder: string, look: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, look);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

/** Tells one content of a file from another. undefined while there is no file: in the middle of a swap, or gone; the last content stays in force. */
export function digest(file: string): string | undefined {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch {
    return undefined;
  }
}
