import { Counter, Gauge, type Registry } from 'prom-client';
import type { LaneLabels } from './lane-labels.ts';
import type { RetryRatio } from './retry-ratio.ts';

/** What is read of a lane; instants in epoch ms. */
interface LaneState {
  readonly id: string;
  readonly waiting: number;
  readonly budget: number;
  readonly breaker: (typeof BREAKER_STATES)[number];
  readonly pausedUntil: number | undefined;
  readonly rate: number | null;
}

interface WaysState {
  readonly routes: readonly { readonly upstream: string; readonly state: string }[];
  readonly sessions: readonly { readonly session: { readonly state: string } }[];
}

/** What is read at each scrape. */
export interface StateSource {
  readonly now: () => number;
  readonly lanes: () => readonly LaneState[];
  readonly routes: () => WaysState;
  readonly letters: () => Promise<
    readonly { readonly lane: string; readonly state: string; readonly letters: number }[]
  >;
  /** Early warnings that are raised. */
  readonly warnings: () => readonly { readonly lane: string; readonly signal: string }[];
  /** Events that telemetry could not take in. */
  readonly failures: () => number;
}

interface Around {
  readonly state: StateSource;
  readonly lanes: LaneLabels;
  readonly ratio: RetryRatio;
}

const BREAKER_STATES = ['closed', 'open', 'half_open'] as const;

/** The gauges of what is now. Returns what sets them, and which lanes have lost their label by it. */
export function stateGauges(
  registers: Registry[],
  { state, lanes, ratio }: Around,
): () => Promise<readonly string[]> {
  const gauges = gaugesIn(registers);
  const failures = new Counter({
    name: 'forbear_telemetry_failures_total',
    help: 'Events that logs, metrics or another listener could not take in.',
    registers,
  });
  return async () => {
    for (const gauge of Object.values(gauges) as Gauge[]) gauge.reset();
    const now = state.now();
    const known = state.lanes();
    const gone = lanes.forgetAllBut(new Set(known.map(({ id }) => id)));
    for (const lane of gone) ratio.forget(lane);
    for (const lane of known) setLane(gauges, lane, { label: lanes.of(lane.id), ratio, now });
    setRoutes(gauges, state.routes());
    for (const { lane, signal } of state.warnings()) {
      gauges.warnings.set({ lane: lanes.of(lane), reason: signal }, 1);
    }
    // What the store cannot tell is left out, rather than all the rest with it.
    const letters = await state.letters().catch(() => []);
    for (const { lane, state: is, letters: count } of letters) {
      gauges.letters.inc({ lane: lanes.of(lane), state: is }, count);
    }
    setProcess(gauges);
    failures.reset();
    failures.inc(state.failures());
    return gone;
  };
}

type Gauges = ReturnType<typeof gaugesIn>;

function gaugesIn(registers: Registry[]) {
  const gauge = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
    new Gauge({ name, help, labelNames, registers });
  return {
    ratio: gauge('forbear_retry_ratio', 'Share of attempts that are retries, of late.', 'lane'),
    budget: gauge('forbear_budget_remaining', 'Retries that may be scheduled now.', 'lane'),
    breaker: gauge('forbear_breaker_state', '1 for the state of the breaker.', 'lane', 'state'),
    paused: gauge('forbear_lane_paused_seconds', 'How long the pause still lasts.', 'lane'),
    rate: gauge('forbear_lane_rate', 'Starts per second that the lane keeps to.', 'lane'),
    queue: gauge('forbear_queue_depth', 'Exchanges that wait for their turn.', 'lane'),
    letters: gauge('forbear_dead_letters', 'Dead letters by state.', 'lane', 'state'),
    sessions: gauge('forbear_sessions', 'Sessions by state.', 'state'),
    routes: gauge('forbear_routes', 'Addresses by state.', 'upstream', 'state'),
    warnings: gauge('forbear_early_warning', '1 while it is raised.', 'lane', 'reason'),
    memory: gauge('process_resident_memory_bytes', 'Resident memory.'),
    started: gauge('process_start_time_seconds', 'Start of the process, Unix time.'),
  };
}

function setLane(
  gauges: Gauges,
  lane: LaneState,
  {
    label,
    ratio,
    now,
  }: { readonly label: string; readonly ratio: RetryRatio; readonly now: number },
): void {
  gauges.queue.inc({ lane: label }, lane.waiting);
  // Sums of budgets or pauses of many lanes would mean nothing.
  if (label !== lane.id) return;
  const share = ratio.of(label);
  if (share !== undefined) gauges.ratio.set({ lane: label }, share);
  gauges.budget.set({ lane: label }, lane.budget);
  for (const state of BREAKER_STATES) {
    gauges.breaker.set({ lane: label, state }, lane.breaker === state ? 1 : 0);
  }
  gauges.paused.set({ lane: label }, Math.max(0, (lane.pausedUntil ?? now) - now) / 1000);
  if (lane.rate !== null) gauges.rate.set({ lane: label }, lane.rate);
}

function setRoutes(gauges: Gauges, { routes, sessions }: WaysState): void {
  for (const { upstream, state } of routes) gauges.routes.inc({ upstream, state }, 1);
  for (const { session } of sessions) gauges.sessions.inc({ state: session.state }, 1);
}

function setProcess({ memory, started }: Gauges): void {
  memory.set(process.memoryUsage.rss());
  started.set(STARTED);
}

const STARTED = Math.floor(performance.timeOrigin / 1000);
