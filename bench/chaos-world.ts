import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Asking } from './chaos-asking.ts';
import type { World } from './chaos-client.ts';
import { Leg } from './chaos-legs.ts';
import { type Origin, startOrigin } from './chaos-origin.ts';
import type { Look, Told } from './chaos-proxy.ts';
import { type ChaosUpstream, startHttpUpstream, startSocksUpstream } from './chaos-upstreams.ts';

/** Sites, each on an address of its own; one conversation at a time with each, so that its trouble is its own. */
export const HOSTS = 24;
const PATIENCE_MS = 6000;
const LINGER_MS = 1000;
/** For a machine that is busy with this bench. */
const SLACK_MS = 3000;

/** Client, proxy, upstreams and sites, and the three legs between them. */
export interface ChaosWorld extends World {
  readonly legs: readonly Leg[];
  /** What went wrong in the proxy's process or at a site, since last asked. */
  faults(): string[];
  look(): Promise<Look>;
  close(): void;
}

/** Puts everything up. */
export async function openWorld(seed: string): Promise<ChaosWorld> {
  const wrongs: string[] = [];
  const origin = await startOrigin({
    seed,
    onWrong: (what, id) => wrongs.push(`at the site: ${what} (request ${id})`),
  });
  const near = new Leg('near', { seed, share: 0.35 });
  const mid = new Leg('mid', { seed, share: 0.2 });
  const far = new Leg('far', { seed, share: 0.3 });
  const ports = await openSites(far, origin);
  const upstreams = await Promise.all([startHttpUpstream(), startSocksUpstream()]);
  const config = await configured(mid, upstreams);
  const home = mkdtempSync(join(tmpdir(), 'forbear-chaos-'));
  writeFileSync(join(home, 'proxy.config.yaml'), config);
  const child = fork(fileURLToPath(new URL('chaos-proxy.ts', import.meta.url)), [home], {
    execArgv: ['--expose-gc'],
  });
  const proxy = await attach(child, wrongs);
  const port = await near.open('127.0.0.1', { host: '127.0.0.1', port: proxy.port });
  return {
    near,
    legs: [near, mid, far],
    proxy: { host: '127.0.0.1', port },
    caPem: proxy.caPem,
    limitMs: PATIENCE_MS + LINGER_MS + SLACK_MS,
    authorityFor: (asking) =>
      `${hostOf(asking)}:${ports.get(`${hostOf(asking)} ${portOf(asking)}`)}`,
    faults: () => wrongs.splice(0),
    look: proxy.look,
    close() {
      child.disconnect();
      for (const leg of [near, mid, far]) leg.close();
      for (const each of [origin, ...upstreams]) each.close();
      rmSync(home, { recursive: true });
    },
  };
}

/** The address of the site that a conversation is about. */
export function hostOf({ kind, host }: Asking): string {
  return `127.${kind === 'blind_tls' ? 4 : 2}.0.${host + 1}`;
}

function portOf({ kind }: Asking): 'plain' | 'secure' | 'raw' | 'first' | 'h2' {
  if (kind === 'plain' || kind === 'switch') return 'plain';
  if (kind === 'h2') return 'h2';
  if (kind === 'blind_raw') return 'raw';
  return kind === 'server_first' ? 'first' : 'secure';
}

async function openSites(far: Leg, origin: Origin): Promise<Map<string, number>> {
  const ports = new Map<string, number>();
  for (let at = 1; at <= HOSTS; at++) {
    for (const kind of ['plain', 'secure', 'raw', 'first', 'h2'] as const) {
      const to = { host: '127.0.0.1', port: origin[kind] };
      ports.set(`127.2.0.${at} ${kind}`, await far.open(`127.2.0.${at}`, to));
    }
    const to = { host: '127.0.0.1', port: origin.secure };
    ports.set(`127.4.0.${at} secure`, await far.open(`127.4.0.${at}`, to));
  }
  return ports;
}

async function configured(mid: Leg, upstreams: readonly ChaosUpstream[]): Promise<string> {
  const urls = async (scheme: string, upstream: ChaosUpstream | undefined, host: string) => {
    const to = { host: '127.0.0.1', port: upstream?.port ?? 0 };
    const ports = [await mid.open(`${host}.1`, to), await mid.open(`${host}.2`, to)];
    return ports.map((port, at) => `${scheme}://${host}.${at + 1}:${port}`).join(', ');
  };
  return `
listen: 127.0.0.1:0
intercept: { except: ["127.4.0.*"] }
tls: { insecure_hosts: ["*"] }
limits: { head: 4s, keep_alive: 5s }
upstreams:
  - name: direct
  - name: http
    routes: [${await urls('http', upstreams[0], '127.3.0')}]
  - name: socks
    routes: [${await urls('socks5', upstreams[1], '127.3.1')}]
policy:
  patience: ${PATIENCE_MS}ms
  max_attempts: 6
  max_addresses: 6
  timeouts: { connect: 1s, first_byte: 1s, idle: 1s, sniff: 200ms, linger: ${LINGER_MS}ms }
  backoff: { base: 50ms, cap: 500ms }
  budget: { ratio: 1, floor_per_minute: 600 }
  breaker: { consecutive: 50, failure_ratio: 1, min_attempts: 50, cooldown: 200ms, max_cooldown: 400ms }
  pace: { concurrency: 3 } # a place that is not given back shows soon
  routes: { retire_for: 500ms }
profiles:
  direct: { upstreams: [direct] }
  http: { upstreams: [http] }
  socks: { upstreams: [socks] }
log: { level: error }
`;
}

/** The proxy's process as it is spoken to. */
async function attach(child: ChildProcess, wrongs: string[]) {
  const ready = Promise.withResolvers<{ port: number; caPem: string }>();
  const looking: ((look: Look) => void)[] = [];
  child.on('message', (message) => {
    const told = message as Told;
    switch (told.type) {
      case 'ready':
        return ready.resolve(told);
      case 'look':
        return looking.shift()?.(told.look);
      case 'fault':
        wrongs.push(`in the proxy: ${told.what}`);
    }
  });
  child.on('exit', (code) => {
    if (child.connected) wrongs.push(`the proxy's process ended with ${code}`);
    ready.reject(new Error('the proxy did not start'));
  });
  const { port, caPem } = await ready.promise;
  const look = () => {
    const { promise, resolve } = Promise.withResolvers<Look>();
    looking.push(resolve);
    child.send('look');
    return promise;
  };
  return { port, caPem, look };
}
