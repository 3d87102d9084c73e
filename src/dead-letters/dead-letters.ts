import type { Clock } from '../clock.ts';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import type { Letter } from '../store/letter.ts';
import type {
  LetterCount,
  LetterPage,
  LetterQuery,
  Store,
  StoredResponse,
} from '../store/store.ts';
import type { Emit } from '../telemetry/events.ts';
import { Answers } from './answers.ts';
import { Closing } from './closing.ts';
import { allOf, type Chosen, redriveAll, type Summary } from './command.ts';
import { type ExportFormat, exported } from './export.ts';
import type { FullLetter } from './full-letter.ts';
import { OpenKeys } from './open-keys.ts';
import { parking } from './park.ts';
import { Redrive } from './redrive.ts';
import type { PolicyFor } from './redrive-exchange.ts';
import type { Hash } from './request-key.ts';
import { type End, policyOf, type Redriven, sendAgain } from './send-again.ts';
import { Trails } from './trail.ts';
import { Webhook } from './webhook.ts';

/** What the admin API and the commands can do with dead letters. All of it rejects with a `StoreError` when the store fails. */
export interface DeadLetters {
  list(query: LetterQuery): Promise<LetterPage>;
  get(id: string): Promise<Letter | undefined>;
  /** The request's body. */
  body(id: string): Promise<Uint8Array | undefined>;
  /** What a redrive has brought. */
  response(id: string): Promise<StoredResponse | undefined>;
  counts(): Promise<readonly LetterCount[]>;
  /** How many of them there were. */
  drop(ids: readonly string[]): Promise<number>;
  /** Begins at once; `onEach` hears of every letter when it is over with it. */
  redrive(which: Chosen, onEach?: (redriven: Redriven) => void): Promise<Summary>;
  /** Pieces of one text. Credentials are blanked unless they are asked for. */
  export(
    query: Omit<LetterQuery, 'cursor' | 'limit'>,
    o: { format: ExportFormat; withSecrets: boolean },
  ): AsyncIterable<string>;
}

/** Dead letters as the composition root has them. */
export interface DeadLetterOffice extends DeadLetters {
  /** The loop with parking around it. */
  parking(run: Run): Run;
  /** Reads what there is, and begins to redrive. */
  start(): Promise<void>;
  /** Ends redrives; their letters go back. To be called before the store is closed. */
  stop(): Promise<void>;
}

type Run = (exchange: Exchange) => Promise<Delivery>;

/** What dead letters need of the rest. */
export interface DeadLetterDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly emit: Emit;
  readonly subscribe: (subscriber: Emit) => () => void;
  readonly hash: Hash;
  /** The loop, without parking. */
  readonly run: Run;
  readonly policyFor: PolicyFor;
  readonly laneIdOf: (exchange: Exchange) => string;
  readonly sessionState: (exchange: Exchange) => 'active' | 'burned' | 'expired' | undefined;
  readonly endSession: (id: string) => void;
}

/** Makes the dead letters of one proxy. */
export function createDeadLetters(deps: DeadLetterDeps): DeadLetterOffice {
  const { clock, emit } = deps;
  const { letters } = deps.store;
  const openKeys = new OpenKeys();
  const trails = new Trails();
  const shared = { ...deps, letters, openKeys, trails };
  const answers = new Answers(shared);
  const closing = new Closing(shared);
  const full = (letter: Letter): Promise<FullLetter> => fullLetter(letter, letters);
  const webhook = new Webhook({
    ...shared,
    load: async (id) => {
      const letter = await letters.get(id);
      return letter && full(letter);
    },
    hookFor: (letter) => policyOf(letter, deps).deadLetters.webhook ?? undefined,
    pending: deps.store.state.rows('webhooks'),
  });
  const onOver = (letter: Letter, end: End, exchange: Exchange): void => {
    openKeys.remove(letter.key);
    const { webhook: hook, serveRedrivenMs } = exchange.policy.deadLetters;
    if (end === 'good' && serveRedrivenMs !== null && !letter.response?.truncated) {
      answers.add(letter, serveRedrivenMs);
    }
    if (hook && end !== 'expired') webhook.tell(letter.id);
  };
  const redrive: Redrive = new Redrive({
    ...shared,
    send: (job) => sendAgain(job, { ...shared, onOver }),
    onTrouble: (error) => emit(trouble('look for dead letters that are due', error, clock.now())),
  });
  deps.subscribe((event) => {
    if (event.type === 'attempt_finished') trails.record(event);
    if (event.type === 'exchange_finished') closing.finished(event);
  });

  return {
    list: (query) => letters.list(query),
    get: (id) => letters.get(id),
    body: (id) => letters.body(id),
    response: (id) => letters.response(id),
    counts: () => letters.counts(),
    drop: (ids) => letters.drop(ids),
    redrive: (which, onEach = () => {}) => redriveAll(which, onEach, { letters, clock, redrive }),
    export: (query, o) => exported(fullLetters(allOf(query, letters), full), o),
    parking: (run) =>
      parking(run, { ...shared, answers, closing, onDue: (dueAt) => redrive.dueAt(dueAt) }),
    async start() {
      try {
        for await (const keys of letters.openKeys()) for (const key of keys) openKeys.add(key);
        openKeys.complete();
      } catch (error) {
        emit(trouble('read which dead letters there are', error, clock.now()));
      }
      await webhook.start().catch((error) => {
        emit(trouble('read what the webhook is still to be told', error, clock.now()));
      });
      redrive.start();
    },
    async stop() {
      webhook.stop();
      await redrive.stop();
    },
  };
}

function trouble(doing: string, error: unknown, at: number) {
  const { code = 'internal', message = String(error) } = error as { code?: string } & Error;
  return { type: 'store_trouble', at, doing, code, message } as const;
}

async function* fullLetters(
  letters: AsyncIterable<Letter>,
  full: (letter: Letter) => Promise<FullLetter>,
): AsyncGenerator<FullLetter> {
  for await (const letter of letters) yield full(letter);
}

async function fullLetter(letter: Letter, letters: Store['letters']): Promise<FullLetter> {
  const [body, response] = await Promise.all([
    letters.body(letter.id),
    letter.response ? letters.response(letter.id) : undefined,
  ]);
  return { letter, body, response };
}
