import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/clock.ts';
import { openAttemptLog } from '../../src/telemetry/attempt-log.ts';
import { startExit } from './exit-proxy.ts';
import { type Seen, send, site } from './letters.ts';
import { get, startProxy } from './whole-proxy.ts';

/** A folder that goes with its test. */
export function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'forbear-log-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const CHALLENGE =
  '<html><head><title>Just a moment...</title></head><body>' +
  '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script></body></html>';

/** The site's answers by path; `n` is how often the path was asked for before. */
function answer({ url }: Seen, n: number, response: ServerResponse): void {
  const html = { 'Content-Type': 'text/html', 'Set-Cookie': 'sid=hush-hush' };
  const kind = url.split(/[/?]/)[1] ?? '';
  if (kind === 'flaky' && n < 2) return void response.writeHead(503).end('busy');
  if (kind === 'down') return void response.writeHead(500).end('down');
  if (kind === 'slow' && n < 1) {
    return void response.writeHead(429, { 'Retry-After': '0.2' }).end('slower');
  }
  if (kind === 'later') return void response.writeHead(429, { 'Retry-After': '600' }).end('later');
  if (kind === 'blocked' && n < 1) return void response.writeHead(403, html).end('no');
  if (kind === 'forbidden') return void response.writeHead(403, html).end('no entry');
  if (kind === 'challenge' && n < 1) {
    return void response
      .writeHead(403, { ...html, Server: 'cloudflare', 'CF-Mitigated': 'challenge' })
      .end(CHALLENGE);
  }
  if (kind === 'half' && n < 1) {
    response.writeHead(200, { ...html, 'Content-Length': '5000' }).write('<html>half');
    return void setTimeout(() => response.destroy(), 20);
  }
  if (kind === 'missing') return void response.writeHead(404, html).end('nothing here');
  response.writeHead(200, html).end(`<html><body>${'a page '.repeat(200)}</body></html>`);
}

/** What a run left behind. */
export interface RecordedRun {
  readonly log: string;
  /** The configuration it ran under. */
  readonly config: string;
  readonly folder: string;
}

/** The rules of the run, but for the ways out. */
const RULES = [
  'policy:',
  '  patience: 5s',
  '  max_attempts: 6',
  '  backoff: { base: 20ms, cap: 100ms, jitter: 0 }',
  '  budget: { floor_per_minute: 60 }',
  '  breaker: { consecutive: 50, min_attempts: 100 }',
];

/** A run of a whole proxy over two addresses against a site with every kind of trouble, with its attempt log. */
export async function recordedRun(
  t: TestContext,
  rules: readonly string[] = RULES,
): Promise<RecordedRun> {
  const asked = new Map<string, number>();
  const far = await site(t, (seen, response) => {
    const n = asked.get(seen.url) ?? 0;
    asked.set(seen.url, n + 1);
    answer(seen, n, response);
  });
  const names = { 'shop.test': Number(far.authority.split(':')[1]) };
  const exits = await Promise.all(
    ['127.0.1.1', '127.0.1.2', '127.0.1.3'].map((exit) => startExit(t, { exit, names })),
  );
  const lines = [
    ...rules,
    `upstreams: [{ name: exits, routes: [${exits.map(({ url }) => url)}] }]`,
  ];
  const folder = scratch(t);
  const log = join(folder, 'attempts.jsonl');
  const config = join(folder, 'then.yaml');
  writeFileSync(config, lines.join('\n'));
  const { proxy, port } = await startProxy(t, lines);
  const attempts = openAttemptLog({
    file: log,
    bodies: { goodChars: 0, otherChars: 4096 },
    version: 'test',
    clock: systemClock,
    tell: () => {},
  });
  proxy.subscribe(attempts.record);
  const ask = (path: string, headers: Record<string, string> = {}) =>
    get(port, `http://shop.test${path}`, { headers });
  for (const path of ['/good/1', '/flaky/1', '/slow/1', '/missing/1', '/challenge/1', '/half/1']) {
    await ask(path, { Authorization: 'Bearer hush-hush' });
  }
  await ask('/blocked/1?token=hush-hush');
  await ask('/down/1', { 'Forbear-Max-Attempts': '2' });
  await ask('/forbidden/1');
  await ask('/flaky/2', { 'Forbear-Session': 'cart', Cookie: 'sid=hush-hush' });
  await ask('/blocked/2', { 'Forbear-Session': 'cart' });
  await send(port, 'http://shop.test/flaky/3', { body: Buffer.from('hush-hush') });
  await ask('/later/1');
  await attempts.close();
  return { log, config, folder };
}
