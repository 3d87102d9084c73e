import type { TestContext } from 'node:test';
import { startExit } from './exit-proxy.ts';
import { site } from './letters.ts';
import { get, startProxy } from './whole-proxy.ts';

const HOSTS = ['shop.test', 'news.test', 'maps.test'];

/** A proxy with an admin server, two exits, and sites that do as `mood` says: all that the dashboard can act upon. */
export async function dashboardWorld(t: TestContext, lines: readonly string[] = []) {
  const mood = { status: 200 };
  const far = await site(t, (_, response) => {
    response.writeHead(mood.status, { 'Content-Type': 'text/html' });
    response.end('<html><body>a page</body></html>');
  });
  const port = Number(far.authority.split(':')[1]);
  const names = Object.fromEntries(HOSTS.map((host) => [host, port]));
  const exits = await Promise.all(
    ['127.0.1.1', '127.0.1.2'].map((exit) => startExit(t, { exit, names })),
  );
  const routes = exits.map(({ url }) => url).join(', ');
  const whole = await startProxy(
    t,
    [
      'policy: { backoff: { base: 20ms }, max_attempts: 2, breaker: { min_attempts: 1000, consecutive: 1000 } }',
      `upstreams: [{ name: exits, routes: [${routes}], price_per_gb: 3 }]`,
      ...lines,
    ],
    { admin: true },
  );
  const asks = (host: string, path = '/', headers: Record<string, string> = {}) =>
    get(whole.port, `http://${host}${path}`, { headers });
  return { ...whole, far, mood, asks, dashboard: `http://127.0.0.1:${whole.adminPort}/` };
}
