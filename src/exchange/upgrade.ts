import type { Duplex } from 'node:stream';
import { fieldValues, type RawHeaders } from '../core/fields.ts';
import type { Delivery, Exchange, Received, Route } from './ports.ts';
import { type Deps, runExchange } from './run.ts';

/** A socket that speaks another protocol from here on. */
export interface Switched {
  readonly socket: Duplex;
  /** The 101 as it came, blank line included. */
  readonly head: Buffer;
  /** What the origin said right behind it. */
  readonly rest: Buffer;
}

/** An attempt at a switch: without `switched` it is one like any other. */
export interface UpgradeAttempt extends Received {
  readonly switched?: Switched;
}

export type OpenUpgrade = (exchange: Exchange, route: Route) => Promise<UpgradeAttempt>;

/**
 * Asks for another protocol with the whole discipline of the loop: the handshake is judged and repeated like
 * any request, up to the 101 and not beyond. The slot is given back with the 101: an open socket keeps nobody
 * from the host, and a breaker's probe has its answer.
 */
export async function runUpgrade(
  exchange: Exchange,
  { openUpgrade, ...deps }: Deps & { readonly openUpgrade: OpenUpgrade },
): Promise<Delivery & { readonly switched?: Switched }> {
  let switched: Switched | undefined;
  const delivery = await runExchange(exchange, {
    ...deps,
    async attempt(asked, route, readmit) {
      // The rest of a body that broke off is asked for in plain HTTP.
      if (asked !== exchange) return deps.attempt(asked, route, readmit);
      const attempted = await openUpgrade(exchange, route);
      switched = attempted.switched;
      if (switched === undefined) return attempted;
      return Object.assign(attempted, { released: Promise.resolve() });
    },
  });
  return switched && delivery.stop === undefined ? { ...delivery, switched } : delivery;
}

/** Whether a request asks for a protocol that this proxy would help it to: any but HTTP/2, which is not spoken here. */
export function asksForSwitch(raw: RawHeaders): boolean {
  return fieldValues(raw, 'upgrade').some((value) => offersOf(value).length > 0);
}

/**
 * The fields of a request (`kept`, less what is spoken between neighbours) with its `Connection` and `Upgrade`
 * back in their places: they are for the origin this time.
 */
export function switchingHeaders(raw: RawHeaders, kept: readonly string[]): string[] {
  const out: string[] = [];
  let next = 0;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = raw.slice(i, i + 2);
    const mine = forOrigin(name.toLowerCase(), value);
    if (mine !== undefined) {
      if (mine !== '') out.push(name, mine);
    } else if (kept[next] === name) {
      out.push(name, kept[next + 1] ?? '');
      next += 2;
    }
  }
  return [...out, ...kept.slice(next)];
}

/** What stays of a field about the switch; undefined for every other field. */
function forOrigin(name: string, value: string): string | undefined {
  if (name === 'upgrade') return only(value, offersOf(value));
  if (name === 'connection') return only(value, listed(value).filter(isAboutConnection));
  return undefined;
}

const isAboutConnection = (option: string): boolean => /^(?:upgrade|keep-alive)$/i.test(option);

const offersOf = (value: string): string[] =>
  listed(value).filter((protocol) => !/^(?:h2c?|http(?:\/.*)?)$/i.test(protocol));

const listed = (value: string): string[] =>
  value
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** The value as it was written if nothing had to go. */
function only(value: string, left: readonly string[]): string {
  return left.length === listed(value).length ? value : left.join(', ');
}
