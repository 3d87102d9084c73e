// node bench/load.ts [--blind 5000] [--opened 5000] [--slow 2000] [--samples 1500]: many idle tunnels and slow bodies at once; what fresh requests and memory make of it.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Held, Order } from './load-clients.ts';
import type { Site, SitesUp } from './load-origin.ts';
import { measure, type Probe } from './load-probe.ts';

const { values } = parseArgs({
  options: {
    blind: { type: 'string', default: '5000' },
    opened: { type: 'string', default: '5000' },
    slow: { type: 'string', default: '2000' },
    samples: { type: 'string', default: '1500' },
    dribble: { type: 'string', default: '2000' },
    /** A folder for what the proxies say. */
    logs: { type: 'string' },
    /** Arguments for the proxy's Node, such as --cpu-prof. */
    node: { type: 'string', multiple: true, default: [] },
  },
});
const blind = Number(values.blind);
const opened = Number(values.opened);
const slow = Number(values.slow);
const samples = Number(values.samples);
/** Twenty slow bodies for each: a lane lets 32 through at once. */
const SITES = 100;
const MAX_RSS_MIB = 1024;
const MAX_TIMES = 2;

const children: ChildProcess[] = [];
const home = mkdtempSync(join(tmpdir(), 'forbear-load-'));
try {
  checkFiles();
  await run();
} finally {
  await Promise.all(children.map(ended));
  rmSync(home, { recursive: true });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
}

/** An opened tunnel without a request under way has no far leg: it costs one file, the others two. */
function checkFiles(): void {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  const needed = 2 * blind + opened + 2 * slow + 600;
  if (needed > most) {
    throw new Error(`the proxy needs ${needed} open files, and may have ${most} (ulimit -n)`);
  }
}

async function run(): Promise<void> {
  const { sites } = await sitesUp();
  const loaded = await proxyUp('loaded', values.node);
  const control = await proxyUp('control', []);
  const site = sites.at(-1) as Site;
  const url = `http://${site.host}:${site.plain}/`;
  const probes = (name: string): Probe[] => [
    { name: `the proxy ${name}`, proxyPort: loaded.port, url },
    { name: 'another proxy without load, side by side', proxyPort: control.port, url },
  ];
  await measure(probes('warming up'), 200);
  say('idle', loaded.pid);
  const before = await measure(probes('idle'), samples);

  const clients = childOf('load-clients.ts', []);
  const startedAt = performance.now();
  const caFile = join(home, 'loaded', 'ca.pem');
  const order: Order = {
    proxyPort: loaded.port,
    caFile,
    sites: sites.slice(0, -1),
    blind,
    opened,
    slow,
  };
  await told<Held>(clients, order);
  console.log(`all open after ${Math.round((performance.now() - startedAt) / 1000)} s`);
  // Far legs that are kept for the next request go after 4 s.
  await pause(6000);
  await told<Held>(clients, 'look');
  say('under load', loaded.pid);
  const cpuBefore = cpuSeconds(loaded.pid);
  const underFrom = performance.now();
  const under = await measure(probes('under load'), samples);
  const cpuShare = (cpuSeconds(loaded.pid) - cpuBefore) / ((performance.now() - underFrom) / 1000);
  const held = await told<Held>(clients, 'look');
  const memory = say('at the end', loaded.pid);
  console.log('held', held, `CPU of the proxy ${Math.round(cpuShare * 100)} % of a core`);
  report({ before, under, held, rssMiB: memory.peakMiB });

  clients.kill();
  await pause(8000);
  say('after all have gone', loaded.pid);
}

function report(o: {
  before: Awaited<ReturnType<typeof measure>>;
  under: Awaited<ReturnType<typeof measure>>;
  held: Held;
  rssMiB: number;
}): void {
  const [idle, controlBefore] = o.before;
  const [under, controlUnder] = o.under;
  console.table({
    'the proxy, idle, before': idle,
    'the proxy, under load': under,
    'another proxy without load, before': controlBefore,
    'another proxy without load, meanwhile': controlUnder,
  });
  const times = (under?.p99 ?? 0) / (idle?.p99 ?? 1);
  const besides = (under?.p99 ?? 0) / (controlUnder?.p99 ?? 1);
  console.log(
    `p99 ${times.toFixed(2)} times the idle figure, ${besides.toFixed(2)} times that of the other proxy; ` +
      `${cpus().length} cores, load average ${loadavg()[0]?.toFixed(1)}`,
  );
  const isHeld =
    o.held.blind === blind && o.held.opened === opened && o.held.slow === slow && o.held.lost === 0;
  const failed = [
    isHeld ? '' : `not all are open: ${o.held.why}`,
    o.held.moving === slow ? '' : `${slow - o.held.moving} slow bodies stand still`,
    o.rssMiB < MAX_RSS_MIB ? '' : `${o.rssMiB} MiB of memory`,
    // A busy machine slows both proxies; what counts is what the load does.
    Math.min(times, besides) <= MAX_TIMES ? '' : `p99 is ${times.toFixed(2)} times the idle figure`,
  ].filter((each) => each !== '');
  console.log(failed.length === 0 ? 'within the limits' : `missed: ${failed.join('; ')}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

function say(when: string, pid: number): { peakMiB: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string) =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024);
  const files = readdirSync(`/proc/${pid}/fd`).length;
  console.log(`${when}: ${mib('VmRSS')} MiB (peak ${mib('VmHWM')}), ${files} open files`);
  return { peakMiB: mib('VmHWM') };
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function childOf(file: string, args: readonly string[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args);
  children.push(child);
  return child;
}

async function sitesUp(): Promise<SitesUp> {
  const child = childOf('load-origin.ts', [String(SITES), values.dribble]);
  const [up] = (await once(child, 'message')) as [SitesUp];
  return up;
}

async function told<T>(child: ChildProcess, message: object | string): Promise<T> {
  child.send(message);
  const [answer] = (await once(child, 'message')) as [T];
  return answer;
}

/** The command as users run it, with its defaults; only idle connections may stay longer than usual, and busy clients speak later. */
async function proxyUp(name: string, node: readonly string[]) {
  const file = join(home, `${name}.yaml`);
  writeFileSync(
    file,
    `listen: 127.0.0.1:0
admin: { listen: 127.0.0.1:0 }
limits: { keep_alive: 10m }
policy: { timeouts: { sniff: 10s } }
tls: { insecure_hosts: ["*"] }
`,
  );
  const forbear = fileURLToPath(new URL('../bin/forbear.js', import.meta.url));
  const env = { ...process.env, FORBEAR_HOME: join(home, name), FORBEAR_ADMIN_LISTEN: 'off' };
  const log = join(values.logs ?? home, `${name}.log`);
  const out = openSync(log, 'w');
  const child = spawn(process.execPath, [...node, forbear, 'start', '--config', file], {
    env,
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  children.push(child);
  for (;;) {
    const text = readFileSync(log, 'utf8');
    const [, port] = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text) ?? [];
    if (port !== undefined) return { port: Number(port), pid: child.pid ?? 0 };
    if (child.exitCode !== null) throw new Error(`the proxy ended: ${text}`);
    await pause(50);
  }
}
