import { chance } from '../test/support/chance.ts';
import type { Page } from './chaos-pages.ts';

/** One request of a conversation. */
export interface Asked {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST';
  readonly page: Page;
}

/** What one client does over one connection: it follows from the seed and its number alone. */
export interface Asking {
  readonly n: number;
  readonly kind:
    | 'plain'
    | 'secure'
    /** HTTP/2 on both sides, and on the client's alone. */
    | 'h2'
    | 'h2_to_h1'
    | 'blind_tls'
    | 'blind_raw'
    | 'server_first'
    | 'switch'
    | 'secure_switch';
  readonly way: 'direct' | 'http' | 'socks';
  readonly host: number;
  /** On one connection, in turn; over HTTP/2 all at once. */
  readonly requests: readonly Asked[];
  /** Whether the last of them says that the connection ends. */
  readonly closes: boolean;
  /** A client that has had enough after so long. */
  readonly leavesAfterMs: number | undefined;
}

const KINDS: readonly Asking['kind'][] = [
  ...(['plain', 'plain', 'plain', 'plain', 'secure', 'secure', 'secure', 'secure'] as const),
  ...(['h2', 'h2', 'h2', 'h2', 'h2_to_h1', 'h2_to_h1'] as const),
  ...(['blind_tls', 'blind_raw', 'server_first', 'switch', 'secure_switch'] as const),
];
const MOST_REQUESTS: Partial<Record<Asking['kind'], number>> = {
  ...{ plain: 3, secure: 3, blind_tls: 3, h2: 6, h2_to_h1: 6 },
};
const WAYS = ['direct', 'http', 'socks'] as const;
const METHODS = ['GET', 'GET', 'GET', 'GET', 'GET', 'HEAD', 'PUT', 'POST'] as const;
const TYPES = ['html', 'file', 'tagged'] as const;
const FRAMED = ['length', 'length', 'chunked', 'gzip'] as const;
const FRAMINGS = [...FRAMED, 'gzip_close'] as const;
const LARGEST_BYTES = 400_000;
const LARGEST_CODED_BYTES = 60_000;

/** The n-th conversation of a run. */
export function askingOf(seed: string, n: number, host: number): Asking {
  const roll = (what: string) => chance(seed, 'asking', n, what);
  const kind = pick(KINDS, roll('kind'));
  const most = MOST_REQUESTS[kind] ?? 1;
  const count = 1 + Math.floor(roll('count') * most);
  const isCalm = kind === 'blind_tls';
  return {
    n,
    kind,
    way: pick(WAYS, roll('way')),
    host,
    requests: Array.from({ length: count }, (_, at) => askedOf(`${n}-${at}`, isCalm, roll)),
    closes: roll('closes') < 0.5,
    leavesAfterMs: roll('leaves') < 0.05 ? Math.ceil(roll('leaves at') * 800) : undefined,
  };
}

function askedOf(id: string, isCalm: boolean, rollAll: (what: string) => number): Asked {
  const roll = (what: string) => rollAll(`${id} ${what}`);
  const method = pick(METHODS, roll('method'));
  // Nobody but the proxy turns an end by close into one that can be told from a cut.
  const framing = pick(isCalm ? FRAMED : FRAMINGS, roll('framing'));
  const largest = framing.startsWith('gzip') ? LARGEST_CODED_BYTES : LARGEST_BYTES;
  const magnitude = (what: string, most: number) =>
    Math.floor(Math.exp(roll(what) * Math.log(most)));
  const size = roll('empty') < 0.03 ? 0 : magnitude('size', largest);
  const upload = method === 'PUT' || method === 'POST' ? magnitude('upload', 200_000) : 0;
  const type = pick(TYPES, roll('type'));
  return { method, page: { id, size, framing, type, upload, isCalm } };
}

function pick<T>(from: readonly T[], roll: number): T {
  return from[Math.floor(roll * from.length)] as T;
}
