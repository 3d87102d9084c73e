import type { Clock } from '../clock.ts';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import type { NewLetter } from '../store/letter.ts';
import { type Letters, type Parked, StoreError } from '../store/store.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Answers } from './answers.ts';
import type { Closing } from './closing.ts';
import { isGivenUp, newLetter } from './new-letter.ts';
import type { OpenKeys } from './open-keys.ts';
import { type Hash, headKey, requestKey } from './request-key.ts';
import type { Trails } from './trail.ts';

/** What parking needs of the rest. */
export interface ParkDeps {
  readonly letters: Letters;
  readonly clock: Clock;
  readonly emit: Emit;
  readonly hash: Hash;
  readonly trails: Trails;
  readonly openKeys: OpenKeys;
  readonly closing: Closing;
  readonly answers: Answers;
  readonly laneIdOf: (exchange: Exchange) => string;
  readonly sessionState: (exchange: Exchange) => 'active' | 'burned' | 'expired' | undefined;
  /** Called with the due time of a letter that may be redriven by itself. */
  readonly onDue: (dueAt: number) => void;
}

type Run = (exchange: Exchange) => Promise<Delivery>;

/** A body that still arrives is waited for so long: the client waits for its answer meanwhile. */
const BODY_WAIT_MS = 1_000;
/** So long the client waits for the store; a letter it was not told of is no loss to it. */
const STORE_WAIT_MS = 5_000;

/** The loop, with what is given up kept: durably, before the client hears of it. */
export function parking(run: Run, deps: ParkDeps): Run {
  return async (exchange) => {
    const earlier = await deps.answers.find(exchange);
    if (earlier) return earlier;
    const delivery = await run(exchange);
    if (delivery.stop === undefined) {
      if (delivery.verdict?.fault === 'none') deps.closing.expect(exchange);
      return delivery;
    }
    if (!isGivenUp(exchange, delivery)) return delivery;
    const deadLetter = await park(exchange, delivery, deps);
    return deadLetter === undefined ? delivery : { ...delivery, deadLetter };
  };
}

/** Never rejects: without a letter the client still gets its answer. */
async function park(
  exchange: Exchange,
  delivery: Delivery,
  deps: ParkDeps,
): Promise<string | undefined> {
  const { clock, trails, emit } = deps;
  try {
    const body = await wholeBody(exchange, clock);
    if (exchange.signal.aborted) return undefined;
    const letter = newLetter({
      exchange,
      delivery,
      body,
      trail: trails.of(exchange),
      lane: deps.laneIdOf(exchange),
      key: requestKey(headKey(exchange, deps.hash), exchange, body),
      sessionBegan: deps.sessionState(exchange) !== undefined,
      now: clock.now(),
    });
    const writing = deps.letters.park(letter, body).then((parked) => {
      tell(exchange, letter, parked, deps);
      return parked.id;
    });
    return await within(STORE_WAIT_MS, writing, clock);
  } catch (error) {
    const { code = 'internal', message = String(error) } = error as Partial<StoreError>;
    const doing = `keep ${exchange.method} for ${exchange.target.authority} as a dead letter`;
    emit({ type: 'store_trouble', at: clock.now(), doing, code, message });
    return undefined;
  }
}

function tell(exchange: Exchange, letter: NewLetter, parked: Parked, deps: ParkDeps): void {
  const { id, count, kept } = parked;
  const { lane, state, reason, dueAt } = letter;
  if (count === 1) deps.openKeys.add(letter.key);
  if (state === 'parked') deps.onDue(dueAt);
  const at = deps.clock.now();
  const told = { exchange, id, lane, count, state, reason, dueAt, kept };
  deps.emit({ type: 'dead_letter_parked', at, ...told });
}

/** The whole body; undefined where it is not whole any more, or does not arrive within a moment. */
async function wholeBody(
  { body, policy }: Exchange,
  clock: Clock,
): Promise<Uint8Array | undefined> {
  if (!body.present) return new Uint8Array();
  if (!body.replayable || (body.length ?? 0) > policy.replayBodyBytes) return undefined;
  // A refusal comes in place of the 100 Continue that such a client waits for: it keeps its body.
  if (body.withheld) return undefined;
  const arrived = new AbortController();
  await Promise.race([body.ended, clock.sleep(BODY_WAIT_MS, arrived.signal)]);
  arrived.abort();
  return body.kept?.();
}

async function within<T>(ms: number, work: Promise<T>, clock: Clock): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = new StoreError('failed', `the store took longer than ${ms / 1000} s`);
  const cancel = clock.after(ms, () => reject(late));
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
    work.catch(() => {});
  }
}
