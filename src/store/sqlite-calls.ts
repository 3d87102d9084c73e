import type { SqliteLetters } from './sqlite-letters.ts';
import type { SqliteState } from './sqlite-state.ts';
import type { StoreErrorCode } from './store.ts';

/** What the proxy's thread can ask of the database's thread. */
export type Calls = Pick<
  SqliteLetters,
  | 'park'
  | 'get'
  | 'body'
  | 'response'
  | 'list'
  | 'counts'
  | 'due'
  | 'nextDueAt'
  | 'claim'
  | 'settle'
  | 'close'
  | 'putOff'
  | 'openKeys'
  | 'drop'
  | 'sweep'
  | 'giveBack'
> &
  Pick<SqliteState, 'save' | 'load' | 'put' | 'delete' | 'entries'>;

/** One question; `n` is repeated in its answer. */
export type Call = {
  [Name in keyof Calls]: {
    readonly n: number;
    readonly name: Name;
    readonly args: Parameters<Calls[Name]>;
  };
}[keyof Calls];

export type Answer = { readonly n: number } & (
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly code: StoreErrorCode; readonly message: string }
);

/** From the proxy's thread. `open` comes first, `end` last. */
export type ToWorker =
  | { readonly kind: 'open'; readonly recover: boolean }
  | { readonly kind: 'call'; readonly call: Call }
  | { readonly kind: 'end' };

/** From the database's thread. */
export type FromWorker =
  | { readonly kind: 'opened'; readonly recovered: number }
  | { readonly kind: 'not_opened'; readonly code: StoreErrorCode; readonly message: string }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] };

/** Does what a call says. */
export function perform(call: Call, letters: SqliteLetters, state: SqliteState): unknown {
  switch (call.name) {
    case 'park':
      return letters.park(...call.args);
    case 'get':
      return letters.get(...call.args);
    case 'body':
      return letters.body(...call.args);
    case 'response':
      return letters.response(...call.args);
    case 'list':
      return letters.list(...call.args);
    case 'counts':
      return letters.counts();
    case 'due':
      return letters.due(...call.args);
    case 'nextDueAt':
      return letters.nextDueAt();
    case 'claim':
      return letters.claim(...call.args);
    case 'settle':
      return letters.settle(...call.args);
    case 'close':
      return letters.close(...call.args);
    case 'putOff':
      return letters.putOff(...call.args);
    case 'openKeys':
      return letters.openKeys(...call.args);
    case 'drop':
      return letters.drop(...call.args);
    case 'sweep':
      return letters.sweep(...call.args);
    case 'giveBack':
      return letters.giveBack();
    case 'save':
      return state.save(...call.args);
    case 'load':
      return state.load(...call.args);
    case 'put':
      return state.put(...call.args);
    case 'delete':
      return state.delete(...call.args);
    case 'entries':
      return state.entries(...call.args);
  }
}
