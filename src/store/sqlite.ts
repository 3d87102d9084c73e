import type { NewLetter, Settlement } from './letter.ts';
import { letterFrom, lettersFrom } from './letter-json.ts';
import { SqliteClient } from './sqlite-client.ts';
import { CHANGED_AT_ONCE, KEYS_AT_ONCE, REMOVED_AT_ONCE } from './sqlite-letters.ts';
import { ENTRIES_AT_ONCE } from './sqlite-state.ts';
import type { Json, LetterQuery, Letters, Rows, State, Store } from './store.ts';

export interface SqliteTerms {
  /** Made, with its folder, when it is not there. */
  readonly file: string;
  /** How long another process may take to let the file go. Default 1000. */
  readonly lockWaitMs?: number;
  /** The file grows to this many pages (of 4 KiB) and no further; by default as the disk allows. */
  readonly maxPages?: number;
}

/**
 * Opens the store in a file of its own. Rejects with a `StoreError` that says what to do when the file is damaged,
 * newer, not ours or in use; such a file is never written to.
 */
export async function openSqliteStore(terms: SqliteTerms): Promise<Store> {
  const { file, lockWaitMs = 1000, maxPages } = terms;
  const client = new SqliteClient({ file, lockWaitMs, maxPages });
  const recovered = await client.open();
  return {
    letters: lettersOver(client),
    state: stateOver(client),
    recovered,
    close: () => client.close(),
  };
}

function lettersOver(client: SqliteClient): Letters {
  return {
    park: (letter: NewLetter, body) => client.call('park', letter, own(body)),
    async get(id) {
      const detail = await client.call('get', id);
      return detail === undefined ? undefined : letterFrom(detail);
    },
    body: (id) => client.call('body', id),
    async response(id) {
      const found = await client.call('response', id);
      const meta = found && letterFrom(found.detail).response;
      return meta && { ...meta, body: found.body };
    },
    async list(query: LetterQuery) {
      const { details, next } = await client.call('list', query);
      return { items: await lettersFrom(details), next };
    },
    counts: () => client.call('counts'),
    due: async (now, limit) => lettersFrom(await client.call('due', now, limit)),
    nextDueAt: () => client.call('nextDueAt'),
    claim: (id, at, afterCrash) => client.call('claim', id, at, afterCrash),
    settle: (id, outcome) => client.call('settle', id, ownSettlement(outcome)),
    close: (key, at) => client.call('close', key, at),
    async putOff(host, dueAt) {
      let sum = 0;
      for (let changed = CHANGED_AT_ONCE; changed === CHANGED_AT_ONCE; sum += changed) {
        changed = await client.call('putOff', host, dueAt);
      }
      return sum;
    },
    async *openKeys() {
      for (let after = ''; ; ) {
        const keys = await client.call('openKeys', after);
        yield keys;
        if (keys.length < KEYS_AT_ONCE) return;
        after = keys.at(-1) ?? '';
      }
    },
    async drop(ids) {
      let dropped = 0;
      for (let at = 0; at < ids.length; at += REMOVED_AT_ONCE) {
        dropped += await client.call('drop', ids.slice(at, at + REMOVED_AT_ONCE));
      }
      if (dropped > 0) await giveBack(client);
      return dropped;
    },
    async sweep(now) {
      let swept = 0;
      for (let removed = REMOVED_AT_ONCE; removed === REMOVED_AT_ONCE; swept += removed) {
        removed = await client.call('sweep', now);
      }
      if (swept > 0) await giveBack(client);
      return swept;
    },
  };
}

function stateOver(client: SqliteClient): State {
  return {
    save: async (name, value) => client.call('save', name, JSON.stringify(value)),
    async load(name) {
      const text = await client.call('load', name);
      return text === undefined ? undefined : JSON.parse(text);
    },
    rows: (name) => rowsOver(client, name),
  };
}

function rowsOver(client: SqliteClient, name: string): Rows {
  return {
    put: async (key, value) => client.call('put', name, key, JSON.stringify(value)),
    delete: (key) => client.call('delete', name, key),
    async entries() {
      const all: (readonly [string, Json])[] = [];
      for (let after: string | undefined; ; ) {
        const portion = await client.call('entries', name, after);
        for (const [key, text] of portion) all.push([key, JSON.parse(text)]);
        after = portion.at(-1)?.[0];
        if (portion.length < ENTRIES_AT_ONCE) return all;
      }
    },
  };
}

/** Shrinks the file in small steps: what others ask meanwhile comes in between. */
async function giveBack(client: SqliteClient): Promise<void> {
  try {
    let before = Number.POSITIVE_INFINITY;
    for (let left = await client.call('giveBack'); left > 0 && left < before; ) {
      before = left;
      left = await client.call('giveBack');
    }
  } catch {
    // The letters are gone, which was asked for; what the file could not do, the next write tells.
  }
}

function ownSettlement(outcome: Settlement): Settlement {
  if (outcome.to !== 'done' || outcome.response === undefined) return outcome;
  const { response } = outcome;
  // No more than will be stored crosses to the other thread; that there was more, it must still be told.
  const body = response.body.subarray(0, Math.max(0, response.capBytes));
  const truncated = response.truncated || body.byteLength < response.body.byteLength;
  return { ...outcome, response: { ...response, body: own(body), truncated } };
}

/** A view of a larger buffer takes all of that along when it is posted (and Node's small buffers share one). */
function own<Bytes extends Uint8Array | undefined>(bytes: Bytes): Bytes {
  if (bytes === undefined) return bytes;
  const whole = bytes.byteLength === bytes.buffer.byteLength && !Buffer.isBuffer(bytes);
  return (whole ? bytes : new Uint8Array(bytes)) as Bytes;
}
