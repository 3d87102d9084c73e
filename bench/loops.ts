import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { chance } from '../test/support/chance.ts';
import type { Gateway } from '../test/support/gateway.ts';
import { type Answer, ask } from './requests.ts';

/** What a worker wants: one page, as a step of a flow or by itself. */
export interface Wish {
  readonly url: string;
  readonly flow: string | undefined;
  readonly cookie: string | undefined;
}

/** A page that the client takes for good; its cookie, if one was set. */
export interface Taken {
  readonly body: string;
  readonly cookie: string | undefined;
}

/** A scraper's way to get a page, with whatever retries it has of its own; undefined: it gave up. */
export interface Client {
  get(wish: Wish, signal: AbortSignal): Promise<Taken | undefined>;
  close(): Promise<void>;
}

const NAIVE_TRIES = 6;
const JITTER_TRIES = 8;
const JITTER_BASE_MS = 500;
const JITTER_CAP_MS = 15_000;

/** Tries at once up to five times more on any failure, each time from a new address, and trusts every 200. */
export function naiveLoop(gateway: Gateway): Client {
  const way = throughGateway(gateway, 'naive');
  return {
    close: way.close,
    async get(wish, signal) {
      for (let n = 1; n <= NAIVE_TRIES && !signal.aborted; n++) {
        const answer = await way.send(wish, signal);
        if (answer.kind === 'page' && answer.status === 200) return answer;
        way.rotate(wish);
      }
      return undefined;
    },
  };
}

/** What libraries do at their best: waits with full jitter, obeys Retry-After, and takes another address on a 403; each worker for itself. */
export function jitterLoop(gateway: Gateway): Client {
  const way = throughGateway(gateway, 'jitter');
  return {
    close: way.close,
    async get(wish, signal) {
      for (let n = 1; n <= JITTER_TRIES && !signal.aborted; n++) {
        const answer = await way.send(wish, signal);
        if (answer.kind === 'page' && answer.status === 200 && answer.complete) return answer;
        if (answer.kind === 'page' && answer.status === 403) way.rotate(wish);
        if (n < JITTER_TRIES) await pause(jitterMs(answer, wish, n), signal);
      }
      return undefined;
    },
  };
}

function jitterMs(answer: Answer, wish: Wish, n: number): number {
  const ceiling = Math.min(JITTER_CAP_MS, JITTER_BASE_MS * 2 ** (n - 1));
  const told = answer.kind === 'page' ? (answer.retryAfterMs ?? 0) : 0;
  return told + ceiling * chance('jitter', wish.url, n);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal }).catch(() => {});
}

/** Requests with a token of the gateway's: a page or a flow keeps its token until it is rotated. */
function throughGateway(gateway: Gateway, client: string) {
  const agent = new Agent({ keepAlive: true });
  const rotations = new Map<string, number>();
  const ownerOf = (wish: Wish) => wish.flow ?? wish.url;
  return {
    rotate(wish: Wish) {
      rotations.set(ownerOf(wish), (rotations.get(ownerOf(wish)) ?? 0) + 1);
    },
    send(wish: Wish, signal: AbortSignal): Promise<Answer> {
      const token = `${client}${ownerOf(wish)}#${rotations.get(ownerOf(wish)) ?? 0}`;
      const hex = Buffer.from(token).toString('hex');
      const login = `${gateway.account.name}-sid-${hex}:${gateway.account.password}`;
      const headers = {
        'Proxy-Authorization': `Basic ${Buffer.from(login).toString('base64')}`,
        ...(wish.cookie === undefined ? {} : { Cookie: wish.cookie }),
      };
      return ask({ url: wish.url, proxyPort: gateway.port, agent, headers, signal });
    },
    async close() {
      agent.destroy();
    },
  };
}
