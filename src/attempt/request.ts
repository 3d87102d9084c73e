import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Via } from '../core/verdict.ts';
import type { Exchange, Route } from '../exchange/ports.ts';
import { proxyLogin } from './connect.ts';
import type { ConnectionKey } from './connections.ts';
import type { OutgoingHead } from './wire.ts';

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
  const fields = outgoingFields(exchange, route, plan.via);
  const body = exchange.body.present ? exchange.body.open() : undefined;
  const checked = fields.filter((_, i) => !isLength(fields[i - (i % 2)]));
  if (body !== undefined && exchange.body.length !== undefined) {
    checked.push('content-length', String(exchange.body.length));
  }
  return {
    // undici checks what it is given, so it is given all, though not all in the form in which it goes out.
    options: {
      method: exchange.method,
      path: target === '*' ? '/' : target,
      headers: checked,
      body: body ?? null,
    },
    head: { requestLine: `${exchange.method} ${target} HTTP/1.1`, fields },
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
]);

function outgoingFields(exchange: Exchange, route: Route, via: Via): string[] {
  const fields: string[] = [];
  const raw = exchange.rawHeaders;
  let hosts = 0;
  let lengths = 0;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const lower = name.toLowerCase();
    if (CONNECTION_FIELDS.has(lower)) continue;
    if (lower === 'host' && hosts++ > 0) continue;
    if (lower === 'content-length' && lengths++ > 0) continue;
    fields.push(name, raw[i + 1] ?? '');
  }
  if (hosts === 0) fields.unshift('Host', exchange.target.authority);
  const { way } = route;
  if (via === 'forward' && way.kind !== 'direct') fields.push(...proxyLogin(way), ...way.headers);
  return fields;
}

function requestTarget(exchange: Exchange, via: Via): string {
  const { authority, path } = exchange.target;
  if (via !== 'forward') return path;
  // RFC 9112 section 3.2.4: the last proxy turns an OPTIONS without a path into `*`.
  return `http://${authority}${path === '*' ? '' : path}`;
}

function isLength(name: string | undefined): boolean {
  return name?.toLowerCase() === 'content-length';
}

function loginOf(route: Route): string {
  const { way } = route;
  if (way.kind === 'direct') return '';
  return JSON.stringify([way.kind, way.host, way.port, way.username, way.password, way.headers]);
}
