import type { Clock } from '../clock.ts';
import { CodedError } from './failure.ts';

/** What bounds one step of an attempt. */
export interface Limits {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly ms: number;
}

/** How a step ended. */
export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown };

/** The two ways a step can report its end; only the first report counts. */
export interface Settle<T> {
  done(value: T): void;
  fail(error: unknown): void;
}

/**
 * Runs one step under its own deadline. `begin` starts it and returns what undoes its listeners; that is
 * called exactly once, at whichever comes first: its end, the deadline or the abort.
 */
export function step<T>(
  limits: Limits,
  begin: (settle: Settle<T>) => () => void,
): Promise<Outcome<T>> {
  if (limits.signal.aborted) return Promise.resolve({ kind: 'failed', error: abortion() });
  const { promise, resolve } = Promise.withResolvers<Outcome<T>>();
  let over = false;
  let undo: (() => void) | undefined;
  const end = (outcome: Outcome<T>) => {
    if (over) return;
    over = true;
    cancel();
    limits.signal.removeEventListener('abort', onAbort);
    undo?.();
    resolve(outcome);
  };
  const settle: Settle<T> = {
    done: (value) => end({ kind: 'done', value }),
    fail: (error) => end({ kind: 'failed', error }),
  };
  const onAbort = () => settle.fail(abortion());
  const cancel = limits.clock.after(limits.ms, () =>
    settle.fail(new CodedError('FORBEAR_TIMEOUT', `no answer within ${limits.ms} ms`)),
  );
  limits.signal.addEventListener('abort', onAbort, { once: true });
  undo = begin(settle);
  if (over) undo();
  return promise;
}

/** The error of whatever ends because the client has gone or the proxy stops. */
export function abortion(): CodedError {
  return new CodedError('FORBEAR_ABORTED', 'the exchange was aborted');
}
