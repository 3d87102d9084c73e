import type { Clock } from '../clock.ts';
import type { Letter } from '../store/letter.ts';
import { type LetterQuery, type Letters, MAX_PAGE } from '../store/store.ts';
import type { RedriveOutcome } from '../telemetry/events.ts';
import type { Redrive } from './redrive.ts';
import type { Redriven } from './send-again.ts';

/** Which letters a command means. `all` and `due` are parked ones; what needs the client is named by its id. */
export type Chosen =
  | {
      readonly kind: 'ids';
      readonly ids: readonly string[];
      /** Also what may have been executed already, has lost its session, or whose credentials were refused. */
      readonly force: boolean;
    }
  | { readonly kind: 'due' }
  | { readonly kind: 'all' };

/** How many letters came to each end. */
export type Summary = Readonly<Partial<Record<RedriveOutcome, number>>>;

/** Letters in memory at once, however many there are. */
const MOST_AT_ONCE = 500;

/** Sends what a command names. One host that is away ends the sending there, not elsewhere. */
export async function redriveAll(
  which: Chosen,
  onEach: (redriven: Redriven) => void,
  deps: {
    readonly letters: Letters;
    readonly clock: Pick<Clock, 'now'>;
    readonly redrive: Redrive;
  },
): Promise<Summary> {
  const summary: Partial<Record<RedriveOutcome, number>> = {};
  const away = new Set<string>();
  const underWay = new Set<Promise<void>>();
  const tell = (redriven: Redriven): void => {
    summary[redriven.outcome] = (summary[redriven.outcome] ?? 0) + 1;
    onEach(redriven);
  };
  const force = which.kind === 'ids' && which.force;
  for await (const { id, letter } of chosen(which, deps)) {
    if (letter === undefined) {
      tell({ id, outcome: 'missing', detail: 'There is no such letter.' });
      continue;
    }
    const { host, lane } = letter;
    if (away.has(host)) {
      const detail = 'The host failed another letter, so this one was not tried.';
      tell({ id, outcome: 'put_off', detail });
      continue;
    }
    const sending = deps.redrive.ask({ id, host, lane, force }).then((redriven) => {
      if (redriven.outcome === 'put_off') away.add(host);
      tell(redriven);
      underWay.delete(sending);
    });
    underWay.add(sending);
    if (underWay.size >= MOST_AT_ONCE) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  return summary;
}

interface Named {
  readonly id: string;
  readonly letter: Letter | undefined;
}

async function* chosen(
  which: Chosen,
  { letters, clock }: { readonly letters: Letters; readonly clock: Pick<Clock, 'now'> },
): AsyncGenerator<Named> {
  if (which.kind === 'ids') {
    for (const id of new Set(which.ids)) yield { id, letter: await letters.get(id) };
    return;
  }
  const now = clock.now();
  for await (const letter of allOf({ state: 'parked' }, letters)) {
    if (which.kind === 'all' || letter.dueAt <= now) yield { id: letter.id, letter };
  }
}

/** All letters that a query finds, page by page. */
export async function* allOf(
  query: Omit<LetterQuery, 'cursor' | 'limit'>,
  letters: Pick<Letters, 'list'>,
): AsyncGenerator<Letter> {
  let cursor: string | undefined;
  do {
    const page = await letters.list({ ...query, cursor, limit: MAX_PAGE });
    yield* page.items;
    cursor = page.next;
  } while (cursor !== undefined);
}
