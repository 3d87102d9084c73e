import type { Exchange } from '../exchange/ports.ts';

/** A request in a line: its method and its URL, without the query. */
export function request({ method, target }: Exchange): string {
  if (target.path === '') return `${method} ${target.authority}`;
  return `${method} ${target.scheme}://${target.authority}${pathOnly(target.path)}`;
}

/** The fields that say which request it is. */
export function requestFields({ method, target, client, session }: Exchange) {
  return {
    http: { request: { method } },
    url: { scheme: target.scheme, path: pathOnly(target.path) },
    server: { address: target.host, port: target.port },
    client: { address: client.address },
    ...(session === undefined ? {} : { session: { id: session } }),
  };
}

function pathOnly(path: string): string {
  return path.split(/[?#]/, 1)[0] ?? '';
}
