import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Clock } from '../clock.ts';
import { eventView } from './event-view.ts';
import type { Emit, ProxyEvent } from './events.ts';

/** Posts each early warning, and each all-clear, to an address of the user's. */
export interface WarningWebhook {
  readonly record: (event: ProxyEvent) => void;
  /** Ends what is under way; what waits is lost. */
  stop(): void;
}

interface Deps {
  readonly clock: Clock;
  readonly emit: Emit;
  /** Where to; null: nowhere. */
  readonly url: () => string | null;
}

const TIMEOUT_MS = 10_000;
const WAITS_MS = [0, 5_000, 60_000];
/** Warnings are rare: where so many wait, the address is dead and the oldest are no news. */
const MOST_WAITING = 100;

/** Makes the webhook: one post at a time, in order, each tried three times. */
export function createWarningWebhook(deps: Deps): WarningWebhook {
  const ending = new AbortController();
  const waiting: string[] = [];
  let isBusy = false;
  const complain = (message: string) =>
    deps.emit({ type: 'notice', at: deps.clock.now(), level: 'warn', message });

  const work = async () => {
    isBusy = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const failure = await deliver(next, deps, ending.signal);
      if (failure !== undefined) complain(`the webhook was not told of a warning: ${failure}`);
    }
    isBusy = false;
  };

  return {
    record(event) {
      if (event.type !== 'early_warning' || deps.url() === null || ending.signal.aborted) return;
      waiting.push(JSON.stringify(eventView(event)));
      if (waiting.length > MOST_WAITING) {
        waiting.shift();
        complain('the webhook is too slow: a warning was dropped');
      }
      if (!isBusy) void work();
    },
    stop() {
      waiting.length = 0;
      ending.abort();
    },
  };
}

/** Why it was not taken; undefined when it was, or nobody wants it any more. */
async function deliver(
  text: string,
  { clock, url }: Deps,
  signal: AbortSignal,
): Promise<string | undefined> {
  let failure: string | undefined;
  for (const waitMs of WAITS_MS) {
    await clock.sleep(waitMs, signal);
    const to = url();
    if (signal.aborted || to === null) return undefined;
    failure = await post(text, to, { clock, signal });
    if (failure === undefined || signal.aborted) return undefined;
  }
  return failure;
}

function post(
  text: string,
  url: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const send = url.startsWith('https:') ? secureRequest : plainRequest;
  const asking = send(url, {
    method: 'POST',
    // No connection is shared, and no proxy of the environment has a say.
    agent: false,
    signal,
    headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) },
  });
  const cancel = clock.after(TIMEOUT_MS, () => {
    asking.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`));
  });
  const settle = (failure: string | undefined) => {
    cancel();
    resolve(failure);
  };
  asking.on('response', ({ statusCode = 0 }) => {
    // Redirects are not followed: what is told is for this address.
    settle(statusCode >= 200 && statusCode < 300 ? undefined : `it answered ${statusCode}`);
    asking.destroy();
  });
  asking.on('error', (error) => settle(error.message));
  asking.end(text);
  return promise;
}
