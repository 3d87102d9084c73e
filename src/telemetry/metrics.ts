import { Counter, Histogram, Registry } from 'prom-client';
import type { Exchange } from '../exchange/ports.ts';
import type { ProxyEvent } from './events.ts';
import { isBlock, tlsModeOf } from './interception.ts';
import { LaneLabels, laneOf } from './lane-labels.ts';
import { outcomeOf } from './outcome.ts';
import { RetryRatio } from './retry-ratio.ts';
import { type StateSource, stateGauges } from './state-gauges.ts';

/** What is counted of the traffic, in the form that Prometheus reads. */
export interface Metrics {
  /** Takes in one event. */
  readonly record: (event: ProxyEvent) => void;
  /** All series, with the state of this moment. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

type Of<T extends ProxyEvent['type']> = Extract<ProxyEvent, { type: T }>;

/** What is known of an exchange under way. */
interface Course {
  attemptsMs: number;
  plannedWaitMs: number;
  judgedAt: number;
}

const DURATIONS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const OVERHEADS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1];

/** Makes the metrics of one proxy. */
export function createMetrics(o: {
  readonly state: StateSource;
  /** Lanes with labels of their own; all others are `other`. */
  readonly mostLanes: () => number;
  /** The price of a GB over an upstream, or null. */
  readonly priceOf: (upstream: string) => number | null;
}): Metrics {
  const registers = [new Registry()];
  const [register = new Registry()] = registers;
  const lanes = new LaneLabels(o.mostLanes);
  const ratio = new RetryRatio();
  const counters = countersIn(registers);
  const renderState = stateGauges(registers, { ...o, lanes, ratio });
  const courses = new WeakMap<Exchange, Course>();

  const record = (event: ProxyEvent): void => {
    if (event.type === 'exchange_started') courses.set(event.exchange, newCourse(event.at));
    if (event.type === 'attempt_finished') {
      ratio.note(lanes.of(event.lane), event.n > 1, event.at);
      countAttempt(event, lanes.of(event.lane), counters);
      follow(courses.get(event.exchange), event);
    }
    if (event.type === 'attempt_closed') countBytes(event, counters, o.priceOf);
    if (event.type === 'exchange_finished') {
      const lane = lanes.of(laneOf(event.exchange));
      countExchange(event, { lane, course: courses.get(event.exchange) }, counters);
    }
  };

  return {
    record,
    async render() {
      const gone = await renderState();
      for (const lane of gone) await forget(lane, counters);
      return { contentType: register.contentType, text: await register.metrics() };
    },
  };
}

type Counters = ReturnType<typeof countersIn>;

function countersIn(registers: Registry[]) {
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[]) =>
    new Counter({ name, help, labelNames, registers });
  return {
    exchanges: counter('forbear_exchanges_total', 'Client requests by how they ended.', [
      'lane',
      'outcome',
    ]),
    attempts: counter('forbear_attempts_total', 'Attempts by their verdict.', [
      ...(['lane', 'upstream', 'fault', 'reason'] as const),
    ]),
    tls: counter('forbear_tls_attempts_total', 'Attempts in opened TLS and sealed tunnels.', [
      ...(['lane', 'mode', 'result'] as const),
    ]),
    retries: counter('forbear_retries_total', 'Attempts that were followed by another.', [
      'lane',
      'reason',
    ]),
    waits: counter('forbear_waits_seconds_total', 'Time that exchanges were told to wait.', [
      'lane',
      'reason',
    ]),
    rotations: counter('forbear_rotations_total', 'Changes to another address.', [
      'lane',
      'reason',
    ]),
    bytes: counter('forbear_bytes_total', 'Bytes on the wire, as an upstream bills them.', [
      ...(['upstream', 'direction', 'cause'] as const),
    ]),
    spend: counter('forbear_spend_total', 'Price of those bytes, by price_per_gb.', [
      'upstream',
      'cause',
    ]),
    durations: new Histogram({
      name: 'forbear_exchange_duration_seconds',
      help: 'From the request to the end of its answer, waits included.',
      buckets: DURATIONS,
      registers,
    }),
    overheads: new Histogram({
      name: 'forbear_overhead_seconds',
      help: 'Time until the answer is decided that is neither a wait nor an attempt.',
      buckets: OVERHEADS,
      registers,
    }),
  };
}

const newCourse = (at: number): Course => ({ attemptsMs: 0, plannedWaitMs: 0, judgedAt: at });

function follow(course: Course | undefined, { at, action, durationMs }: Of<'attempt_finished'>) {
  if (course === undefined) return;
  course.attemptsMs += durationMs;
  course.judgedAt = at;
  if (action.kind === 'wait') course.plannedWaitMs += action.delayMs;
}

function countAttempt(
  { exchange, reply, verdict, action, route }: Of<'attempt_finished'>,
  lane: string,
  { attempts, retries, rotations, tls, waits }: Counters,
): void {
  const { fault, reason } = verdict;
  attempts.inc({ lane, upstream: route.upstream, fault, reason });
  const mode = tlsModeOf(exchange);
  if (mode) tls.inc({ lane, mode, result: isBlock({ reply, verdict }) ? 'blocked' : 'other' });
  if (action.kind !== 'wait' && action.kind !== 'rotate') return;
  retries.inc({ lane, reason });
  if (action.kind === 'wait') waits.inc({ lane, reason }, action.delayMs / 1000);
  else rotations.inc({ lane, reason });
}

function countBytes(
  { route, cause, sentBytes, receivedBytes }: Of<'attempt_closed'>,
  { bytes, spend }: Counters,
  priceOf: (upstream: string) => number | null,
): void {
  const { upstream } = route;
  bytes.inc({ upstream, direction: 'sent', cause }, sentBytes);
  bytes.inc({ upstream, direction: 'received', cause }, receivedBytes);
  const perGb = priceOf(upstream);
  if (perGb !== null) spend.inc({ upstream, cause }, ((sentBytes + receivedBytes) / 1e9) * perGb);
}

/** A redrive has no client that would wait for it: letters are counted by their state. */
function countExchange(
  event: Of<'exchange_finished'>,
  { lane, course }: { readonly lane: string; readonly course: Course | undefined },
  { exchanges, durations, overheads, waits }: Counters,
): void {
  const { exchange, delivery, at } = event;
  if (exchange.priority === 'redrive') return;
  exchanges.inc({ lane, outcome: outcomeOf(event) });
  durations.observe((at - exchange.startedAt) / 1000);
  if (course === undefined || delivery.ledger.attempts === 0) return;
  const { waitedMs } = delivery.ledger;
  const turnMs = Math.max(0, waitedMs - course.plannedWaitMs);
  if (turnMs > 0) waits.inc({ lane, reason: 'turn' }, turnMs / 1000);
  const ownMs = course.judgedAt - exchange.startedAt - course.attemptsMs - waitedMs;
  overheads.observe(Math.max(0, ownMs) / 1000);
}

/** Series of lanes that are not remembered any more go away. */
async function forget(lane: string, counters: Counters): Promise<void> {
  const { exchanges, attempts, tls, retries, waits, rotations } = counters;
  for (const counter of [exchanges, attempts, tls, retries, waits, rotations] as Counter[]) {
    for (const { labels } of (await counter.get()).values) {
      if (labels.lane === lane) counter.remove(labels);
    }
  }
}
