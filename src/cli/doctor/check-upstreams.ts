import { mkdtempSync, rmSync } from 'node:fs';
import { connect, isIP, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import type { Config, UpstreamConfig } from '../../config/config.ts';
import { createProxy } from '../../proxy.ts';
import { systemCode } from '../terminal.ts';
import { type Finding, findings } from './finding.ts';

/** A list may have thousands: so many are looked at, spread over it. */
const MOST_ROUTES = 20;
/** Behind the limit for connecting, for what follows it. */
const ANSWER_MS = 5_000;

/**
 * Whether each upstream takes connections; with a target, whether it connects to that, login included. Nobody else is
 * asked for anything.
 */
export async function checkUpstreams(
  config: Config,
  target: string | undefined,
): Promise<readonly Finding[]> {
  const found = config.upstreams.map(async (upstream) => {
    if (upstream.kind === 'direct' && target === undefined) return [];
    const reached = await reachable(upstream, config.policy.timeouts.connectMs);
    if (target === undefined || reached.some(({ level }) => level === 'fail')) return reached;
    return [await connects(upstream, target, config)];
  });
  return (await Promise.all(found)).flat();
}

interface Near {
  readonly scheme: 'http' | 'https' | 'socks5';
  readonly host: string;
  readonly port: number;
}

async function reachable(upstream: UpstreamConfig, limitMs: number): Promise<readonly Finding[]> {
  const { ok, warn, fail } = findings(`upstream ${upstream.name}`);
  const all = addressesOf(upstream);
  if (all.length === 0) return [];
  const step = Math.max(1, Math.ceil(all.length / MOST_ROUTES));
  const looked = all.filter((_, at) => at % step === 0);
  const ends = await Promise.all(
    looked.map(async (near) => ({ near, end: await dial(near, limitMs) })),
  );
  const bad = ends.filter(({ end }) => end !== undefined);
  const [first] = bad;
  const of = looked.length === all.length ? '' : ` (${looked.length} of ${all.length} looked at)`;
  if (first === undefined) {
    const takes = all.length === 1 ? 'takes connections' : 'all addresses take connections';
    return [ok(`${takes}${of}`)];
  }
  const { host, port } = first.near;
  const text = `${bad.length} of ${looked.length} addresses ${bad.length === 1 ? 'takes' : 'take'} no connection: ${host}:${port} (${first.end})`;
  const fix = 'check host and port, and whether a firewall is between';
  return [bad.length === looked.length ? fail(text, fix) : warn(text, fix)];
}

function addressesOf(upstream: UpstreamConfig): readonly Near[] {
  switch (upstream.kind) {
    case 'direct':
      return [];
    case 'list':
      return upstream.routes;
    case 'gateway': {
      const { scheme, host, port } = upstream;
      // A template names its host with each session.
      if (/[{[]/.test(`${host}${port}`)) return [];
      return [{ scheme, host, port: Number(port) }];
    }
  }
}

/** What was in the way; undefined where the connection (and for https its TLS) stands. */
function dial({ scheme, host, port }: Near, limitMs: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const isSecure = scheme === 'https';
  const socket: Socket = isSecure
    ? connectTls({ host, port, servername: isIP(host) ? '' : host, rejectUnauthorized: false })
    : connect({ host, port });
  const timer = setTimeout(() => resolve('no answer in time'), limitMs);
  socket.once(isSecure ? 'secureConnect' : 'connect', () => resolve(undefined));
  socket.once('error', (error) => resolve(systemCode(error) ?? error.message));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}

/** Asks a proxy of this upstream alone for a tunnel to the target, once. */
async function connects(
  upstream: UpstreamConfig,
  target: string,
  config: Config,
): Promise<Finding> {
  const { ok, fail } = findings(`upstream ${upstream.name}`);
  const home = mkdtempSync(join(tmpdir(), 'forbear-doctor-'));
  const { policy } = config;
  const proxy = await createProxy({
    home,
    config: {
      ...config,
      listen: { host: '127.0.0.1', port: 0 },
      clients: [],
      auth: 'optional',
      store: { kind: 'memory' },
      intercept: { ...config.intercept, mode: 'none' },
      upstreams: [upstream],
      targets: [],
      policy: {
        ...policy,
        maxAttempts: 1,
        deadLetters: { ...policy.deadLetters, enabled: false },
      },
    },
  });
  try {
    const { port } = (await proxy.start()).proxy;
    const said = await askForTunnel(port, target, policy.timeouts.connectMs * 2 + ANSWER_MS);
    return said === undefined
      ? ok(`connects to ${target}`)
      : fail(`does not connect to ${target}: ${said}`, 'check its login, its plan, and the target');
  } finally {
    await proxy.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Why there is none; undefined where it stands. */
async function askForTunnel(
  port: number,
  target: string,
  limitMs: number,
): Promise<string | undefined> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.setTimeout(limitMs, () => socket.destroy());
  let heard = '';
  try {
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    for await (const piece of socket.setEncoding('utf8')) {
      heard += piece;
      if (heard.startsWith('HTTP/1.1 200 ')) return undefined;
    }
  } catch (error) {
    return systemCode(error) ?? String(error);
  } finally {
    socket.destroy();
  }
  const { detail } = JSON.parse(/\{.*\}/s.exec(heard)?.[0] ?? '{}') as { detail?: string };
  return detail ?? (heard.split('\r\n', 1)[0] || 'no answer in time');
}
