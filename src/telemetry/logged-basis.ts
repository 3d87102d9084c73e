import type { Ledger, Progress } from '../core/action.ts';
import type { Sighting } from '../core/diagnose.ts';
import { newLedger } from '../core/ledger.ts';
import type { Suspicion } from '../core/soft-block.ts';
import type { Basis } from './events.ts';

/** What verdict and action rest on besides reply and rules. What has its usual value is left out. */
export interface LoggedBasis {
  readonly progress: LoggedProgress;
  readonly retriesLeft: number;
  readonly nowWall: number;
  readonly blockedAddresses?: readonly string[];
  readonly expectText?: string;
  readonly suspicion?: Suspicion;
  readonly seen?: Sighting;
}

type Timed = 'now' | 'deadline' | 'roll';

/** Where the exchange stood. */
export type LoggedProgress = Pick<Progress, Timed> &
  Partial<Omit<Progress, Timed | 'ledger'>> & { readonly ledger?: Partial<Ledger> };

/** The attempt that it belongs to. */
interface Of {
  readonly n: number;
  readonly routeId: string;
}

const LONGEST_EXPECT_CHARS = 1_024;

const USUAL: Omit<Progress, Timed | 'ledger'> = {
  replay: { bodyKept: true, repeatable: true, sent: true, unprocessed: false },
  retry: 'on',
  inSession: false,
  budgetLeft: true,
  bytesLeft: true,
  laneFailures: 0,
  pausedUntil: 0,
  routesLeft: false,
  upstreamsLeft: false,
};

const usualLedger = ({ n, routeId }: Of): Ledger => ({
  ...newLedger,
  attempts: n,
  addresses: [routeId],
});

/** Leaves out what is usual. */
export function loggedBasis({ judge, progress, retriesLeft }: Basis, of: Of): LoggedBasis {
  const { nowWall, blockedAddresses, expectText, suspicion, seen } = judge;
  const { now, deadline, roll, ledger, ...rest } = progress;
  const books = unusual(ledger, usualLedger(of));
  return {
    progress: {
      ...{ now, deadline, roll, ...unusual(rest, USUAL) },
      ...(Object.keys(books).length === 0 ? {} : { ledger: books }),
    },
    ...{ retriesLeft, nowWall },
    ...(blockedAddresses.length === 0 ? {} : { blockedAddresses }),
    ...(expectText === undefined ? {} : { expectText: expectText.slice(0, LONGEST_EXPECT_CHARS) }),
    ...(suspicion === undefined || suspicion.score === 0 ? {} : { suspicion }),
    ...(seen === undefined ? {} : { seen }),
  };
}

/** Fills in what was left out. */
export function progressOf({ progress }: LoggedBasis, of: Of): Progress {
  return { ...USUAL, ...progress, ledger: { ...usualLedger(of), ...progress.ledger } };
}

function unusual<T extends object>(values: T, usual: T): Partial<T> {
  const differs = ([key, value]: [string, unknown]): boolean => {
    const other = usual[key as keyof T];
    return value !== other && JSON.stringify(value) !== JSON.stringify(other);
  };
  return Object.fromEntries(Object.entries(values).filter(differs)) as Partial<T>;
}
