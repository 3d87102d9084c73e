import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Via } from '../core/verdict.ts';
import type { Exchange, Placed, Route } from '../exchange/ports.ts';
import { proxyLogin } from './connect.ts';
import type { ConnectionKey } from './connections.ts';
import type { OutgoingHead } from './outgoing.ts';
import { passableTrailers } from './trailers.ts';

/** How one exchange goes over one route. */
export interface Plan {
  readonly via: Via;
  readonly reach: 'upstream' | 'origin';
  readonly secure: boolean;
  readonly key: ConnectionKey;
  /** May be sent a second time after bytes of it went out. */
  readonly repeatable: boolean;
}

/** Decides between direct, tunnel and absolute-form, and which connections would do. */
export function planOf(exchange: Exchange, route: Route): Plan {
  const { target } = exchange;
  const { way } = route;
  const blind = exchange.method === 'CONNECT';
  const forward =
    (way.kind === 'http' || way.kind === 'https') &&
    way.plain === 'forward' &&
    target.scheme === 'http' &&
    !blind;
  const via: Via = way.kind === 'direct' ? 'direct' : forward ? 'forward' : 'tunnel';
  const parts = [
    route.id,
    route.generation,
    route.session ?? '',
    target.scheme,
    target.host,
    target.port,
  ];
  return {
    via,
    reach: forward ? 'upstream' : 'origin',
    secure: target.scheme === 'https' && !blind,
    // The login is part of the key: a route may get new credentials under the same id.
    key: { routeId: route.id, text: JSON.stringify([...parts, via, loginOf(route)]) },
    repeatable: exchange.policy.replayMethods.includes(exchange.method.toUpperCase()),
  };
}

/** What undici is asked to send, and the words in which it shall go out. */
export function requestOf(
  exchange: Exchange,
  route: Route,
  plan: Plan,
): { options: Dispatcher.DispatchOptions; head: OutgoingHead; body: Readable | undefined } {
  const target = requestTarget(exchange, plan.via);
  const source = exchange.body;
  const body = source.present ? source.open() : undefined;
  const chunked = body !== undefined && source.length === undefined;
  const fields = outgoingFields(exchange, route, plan, chunked);
  const checked = fields.filter((_, i) => !isFraming(fields[i - (i % 2)]));
  if (body !== undefined && !chunked) checked.push('content-length', String(source.length));
  return {
    // undici checks what it is given, so it is given all, though not all in the form in which it goes out.
    options: {
      method: exchange.method,
      path: target === '*' ? '/' : target,
      headers: checked,
      body: chunked ? inChunks(body) : (body ?? null),
    },
    head: {
      requestLine: `${exchange.method} ${target} HTTP/1.1`,
      fields,
      trailers: chunked ? () => passableTrailers(source.rawTrailers) : undefined,
    },
    body,
  };
}

// These belong to one connection and are made anew for each; undici refuses them too.
const CONNECTION_FIELDS = new Set([
  'connection',
  'transfer-encoding',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
]);

function outgoingFields(exchange: Exchange, route: Route, plan: Plan, chunked: boolean): string[] {
  const fields: string[] = [];
  const raw = exchange.rawHeaders;
  const own = ownFields(exchange, chunked);
  const singles = new Set<string>();
  for (let i = 0; i <= raw.length; i += 2) {
    for (const { at, name, value } of own) if (at === i) fields.push(name, value);
    const name = raw[i];
    if (name !== undefined && goesOn(name.toLowerCase(), singles))
      fields.push(name, raw[i + 1] ?? '');
  }
  if (!singles.has('host')) fields.unshift('Host', exchange.target.authority);
  const { way } = route;
  if (plan.via === 'forward' && way.kind !== 'direct') {
    fields.push(...proxyLogin(way), ...way.headers);
  }
  return exchange.wording === undefined ? withConnection(fields) : fields;
}

/** Whether a field goes out; `singles` are those so far of which there must be one. */
function goesOn(lower: string, singles: Set<string>): boolean {
  if (CONNECTION_FIELDS.has(lower)) return false;
  if (lower !== 'host' && lower !== 'content-length') return true;
  const isFirst = !singles.has(lower);
  singles.add(lower);
  return isFirst;
}

/** Where no client said anything of its connection, `Connection` stands where browsers have it. */
function withConnection(fields: readonly string[]): string[] {
  const host = fields.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === 'host');
  return fields.toSpliced(host + 2, 0, 'Connection', 'keep-alive');
}

/** The fields of this connection, in the places and letters in which the client had those of its own. */
function ownFields({ wording, rawHeaders }: Exchange, chunked: boolean): Placed[] {
  const end = rawHeaders.length;
  const own: Placed[] = [];
  const te = wording?.te;
  const connection = wording?.connection;
  if (connection !== undefined) {
    own.push(te ? { ...connection, value: `${connection.value}, TE` } : connection);
  } else if (te !== undefined) {
    own.push({ ...te, name: 'Connection', value: 'TE' });
  }
  if (te !== undefined) own.push(te);
  if (chunked) {
    own.push(
      wording?.transferEncoding ?? {
        at: end,
        rank: end,
        name: 'Transfer-Encoding',
        value: 'chunked',
      },
    );
  }
  own.sort((a, b) => a.rank - b.rank);
  return own.map((field) => ({ ...field, at: Math.min(field.at, end) }));
}

function requestTarget(exchange: Exchange, via: Via): string {
  const { authority, path } = exchange.target;
  if (via !== 'forward') return path;
  // RFC 9112 section 3.2.4: the last proxy turns an OPTIONS without a path into `*`.
  return `http://${authority}${path === '*' ? '' : path}`;
}

const isFraming = (name: string | undefined): boolean =>
  /^(?:content-length|connection|transfer-encoding)$/i.test(name ?? '');

/**
 * undici knows the length of a stream that has ended, and would give it a Content-Length. What a client sent in
 * chunks goes on in chunks: some requests are signed that way.
 */
function inChunks(body: Readable): Readable {
  const chunks = { [Symbol.asyncIterator]: () => body[Symbol.asyncIterator]() };
  // undici takes any iterable; its types do not say so.
  return chunks as unknown as Readable;
}

function loginOf(route: Route): string {
  const { way } = route;
  if (way.kind === 'direct') return '';
  return JSON.stringify([way.kind, way.host, way.port, way.username, way.password, way.headers]);
}
