import { Readable } from 'node:stream';
import { type Clock, sleepOn } from '../../src/clock.ts';
import type { Action } from '../../src/core/action.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { FailureReply, Reply, ResponseReply } from '../../src/core/verdict.ts';
import { createEvidence } from '../../src/exchange/evidence.ts';
import { LocalNetwork } from '../../src/exchange/network.ts';
import type { Exchange, Lane, Received, Route, Routes } from '../../src/exchange/ports.ts';
import { runExchange } from '../../src/exchange/run.ts';

/** What a scripted exchange may differ in. */
export interface Scene {
  readonly policy: Policy;
  readonly routes?: readonly string[];
  readonly session?: string;
  readonly method?: string;
  readonly headers?: readonly string[];
  readonly bodyKept?: boolean;
  readonly budget?: number;
  readonly retry?: 'on' | 'off';
  readonly path?: string;
}

/** Runs one exchange against scripted replies and tells, line by line, what the proxy did. No sockets, no sleeping. */
export async function play(replies: readonly Reply[], scene: Scene): Promise<string[]> {
  const script: string[] = [];
  const queue = [...replies];
  const clock = instantClock();
  const exchange = exchangeFor(scene, clock.now());
  const delivery = await runExchange(exchange, {
    clock,
    wall: clock.now,
    evidence: createEvidence({
      clock,
      network: new LocalNetwork({ clock, emit: () => {} }),
      upstreams: () => 1,
    }),
    random: () => 0.5,
    tools: { countCss: () => 0, matches: (pattern, text) => text.includes(pattern) },
    laneFor: () => lane(scene, clock, script),
    routes: routes(scene, script),
    attempt: async (_, route) => {
      const reply = queue.shift();
      if (!reply) throw new Error('the script ran out of replies');
      script.push(`attempt via ${route.id}`);
      return received(reply);
    },
    emit: (event) => {
      if (event.type === 'attempt_finished') script.push(line(event.action));
    },
  });
  if (delivery.stop) script.push(`stop: ${delivery.stop}`);
  const last = delivery.received?.reply;
  script.push(last?.kind === 'response' ? `answer ${last.status}` : 'answer of its own');
  return script;
}

function line(action: Action): string {
  switch (action.kind) {
    case 'wait':
      return `wait ${action.delayMs}${action.charged ? ' charged' : ''}`;
    case 'rotate':
      return `rotate${action.charged ? ' charged' : ''}`;
    case 'deliver':
    case 'burn':
      return action.kind;
    case 'fail':
      return 'fail';
  }
}

/** Time passes only when somebody waits for it. */
function instantClock(): Clock {
  let now = Date.UTC(2026, 0, 1);
  const after = (ms: number, action: () => void) => {
    now += ms;
    action();
    return () => {};
  };
  return { now: () => now, after, sleep: (ms, signal) => sleepOn({ after }, ms, signal) };
}

/** An exchange with nothing special about it but what the scene says. */
export function exchangeFor(scene: Scene, now: number): Exchange {
  return {
    id: 'x1',
    client: { name: 'tester', address: '127.0.0.1' },
    target: {
      scheme: 'https',
      host: 'shop.test',
      port: 443,
      authority: 'shop.test',
      path: scene.path ?? '/items/1',
    },
    method: scene.method ?? 'GET',
    rawHeaders: scene.headers ?? [],
    body: {
      length: 0,
      present: false,
      replayable: scene.bodyKept ?? true,
      open: () => Readable.from([]),
      rawTrailers: [],
    },
    policy: scene.policy,
    session: scene.session,
    country: undefined,
    expectText: undefined,
    retry: scene.retry ?? 'on',
    startedAt: now,
    deadline: now + scene.policy.patienceMs,
    signal: new AbortController().signal,
    stage: { kind: 'queued', sinceAt: now, untilAt: undefined },
  };
}

function lane(scene: Scene, clock: Clock, script: string[]): Lane {
  let budget = scene.budget ?? 100;
  let pausedUntil = 0;
  let failuresInRow = 0;
  return {
    id: 'shop.test',
    host: 'shop.test',
    admit: async () => {
      if (pausedUntil > clock.now()) await clock.sleep(pausedUntil - clock.now());
      return { kind: 'admitted', startedAt: clock.now(), lease: undefined, release: () => {} };
    },
    record({ verdict }) {
      if (verdict.fault === 'host' && verdict.kind === 'rate')
        pausedUntil = Math.max(pausedUntil, clock.now() + (verdict.waitMs ?? 1000));
      failuresInRow = verdict.fault === 'none' ? 0 : failuresInRow + 1;
    },
    get pausedUntil() {
      return pausedUntil;
    },
    get failuresInRow() {
      return failuresInRow;
    },
    get budgetLeft() {
      return budget > 0;
    },
    get retriesLeft() {
      return budget;
    },
    bytesLeft: 'all',
    spend: () => {},
    withdraw() {
      budget -= 1;
      return () => {
        budget += 1;
        script.push('refund');
      };
    },
    blockedAddresses: () => [],
  };
}

function routes(scene: Scene, script: string[]): Routes {
  const names = scene.routes ?? ['a', 'b', 'c'];
  const left = (avoided: readonly string[]) => names.filter((name) => !avoided.includes(name));
  let burned = false;
  return {
    choose: (_, __, ledger) => {
      const id = ledger.stayOn ?? left(ledger.avoidRoutes)[0];
      if (id === undefined) return { kind: 'none', stop: 'no_route', retryAfterMs: undefined };
      return { kind: 'route', route: route(id, scene.session) };
    },
    record: () => {},
    left: (_, __, ledger) => ({ routes: left(ledger.avoidRoutes).length > 0, upstreams: false }),
    burn: () => {
      burned = true;
      script.push('burn the session');
    },
    sessionState: () => (burned ? 'burned' : 'active'),
  };
}

const route = (id: string, session: string | undefined): Route => ({
  id,
  label: `list/${id}`,
  upstream: 'list',
  way: { kind: 'direct' },
  session,
  generation: 0,
});

function received(reply: Reply): Received {
  return {
    reply,
    response: undefined,
    closed: Promise.resolve(),
    keep: () => {},
    discard: () => {},
    deliverable: reply.kind === 'response',
    sentBytes: 0,
    receivedBytes: 0,
  };
}

/** A reply with this status, through a tunnel, its body seen whole. */
export function response(
  status: number,
  headers: readonly string[] = [],
  text = '<html>a page</html>',
): ResponseReply {
  return {
    kind: 'response',
    via: 'tunnel',
    status,
    rawHeaders: ['Content-Type', 'text/html', ...headers],
    body: { kind: 'seen', text, receivedBytes: text.length, end: 'complete', coding: 'ok' },
    headMs: 10,
  };
}

/** An attempt that ended without a reply. */
export function failure(
  code: FailureReply['code'],
  facts: Partial<Omit<FailureReply, 'kind' | 'code'>> = {},
): FailureReply {
  return {
    kind: 'failure',
    via: 'tunnel',
    phase: 'first_byte',
    leg: 'origin',
    sent: true,
    detail: '',
    ...facts,
    code,
  };
}
