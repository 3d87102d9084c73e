// Run by chaos.ts as a process of its own, so that what is open in it is the proxy's alone. Argument: its home.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { loadConfig } from '../src/config/load.ts';
import { createProxy, openAuthority } from '../src/proxy.ts';

/** What is open in the proxy's process. */
export interface Look {
  readonly connections: number;
  readonly exchanges: number;
  readonly sockets: number;
  /** Exchanges that began and have not ended. */
  readonly unfinished: number;
  /** Sockets that Node holds. */
  readonly handles: number;
  readonly files: number;
  readonly timers: number;
  readonly heapMiB: number;
  readonly rssMiB: number;
}

/** What the proxy's process tells the bench. */
export type Told =
  | { readonly type: 'ready'; readonly port: number; readonly caPem: string }
  | { readonly type: 'look'; readonly look: Look }
  | { readonly type: 'fault'; readonly what: string };

const home = process.argv[2] ?? '';
const file = join(home, 'proxy.config.yaml');
const tell = (told: Told) => process.send?.(told);
let began = 0;
let ended = 0;

const loaded = loadConfig({ file, env: {}, flags: {} });
if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.faults));
const proxy = await createProxy({
  config: loaded.config,
  home,
  emit: (event) => {
    if (event.type === 'exchange_started') began += 1;
    if (event.type === 'exchange_finished') ended += 1;
    if (event.type === 'notice' && event.level === 'error') {
      tell({ type: 'fault', what: event.message });
    }
  },
});
process.on('uncaughtException', (error) => tell({ type: 'fault', what: `${error.stack}` }));
process.on('unhandledRejection', (error) => tell({ type: 'fault', what: `${error}` }));
const { port } = (await proxy.start()).proxy;
const { caPem } = await openAuthority(home);
process.on('message', () => void look().then((seen) => tell({ type: 'look', look: seen })));
process.on('disconnect', () => process.exit(0));
tell({ type: 'ready', port, caPem });

async function look(): Promise<Look> {
  globalThis.gc?.();
  await pause(50);
  globalThis.gc?.();
  const resources = process.getActiveResourcesInfo();
  const { heapUsed, rss } = process.memoryUsage();
  return {
    ...proxy.activity(),
    unfinished: began - ended,
    handles: resources.filter((name) => name === 'TCPSocketWrap' || name === 'TLSWrap').length,
    files: readdirSync('/proc/self/fd').length,
    timers: resources.filter((name) => name === 'Timeout').length,
    heapMiB: Math.round(heapUsed / 2 ** 20),
    rssMiB: Math.round(rss / 2 ** 20),
  };
}
