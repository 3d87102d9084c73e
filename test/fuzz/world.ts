import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createProxy, type Proxy as Forbear, openAuthority } from '../../src/proxy.ts';
import { root } from '../support/certificates.ts';
import { connectTo } from '../support/client-wire.ts';
import type { Complaint } from './kind.ts';

/** Where the origins of the fuzzers listen: nobody else's, so that a mutated port meets nobody. */
export const ORIGIN_HOST = '127.77.66.1';

const PROGRESS_MS = 10_000;
const LOOK_MS = 2;

/** A whole Forbear for cases to be played against. All names under `test` lead to ORIGIN_HOST. */
export class World {
  readonly proxy: Forbear;
  readonly port: number;
  readonly caPem: string;
  readonly #faults: string[];
  readonly #clients = new Set<Socket>();

  private constructor(made: { proxy: Forbear; port: number; caPem: string }, faults: string[]) {
    this.proxy = made.proxy;
    this.port = made.port;
    this.caPem = made.caPem;
    this.#faults = faults;
  }

  static async open(lines: readonly string[]): Promise<World> {
    const home = sharedHome();
    const faults: string[] = [];
    const proxy = await createProxy({
      config: configOf(lines),
      home,
      resolve,
      emit: (event) => {
        if (event.type === 'notice' && event.level === 'error') faults.push(event.message);
      },
    });
    const { port } = (await proxy.start()).proxy;
    const { caPem } = await openAuthority(home);
    return new World({ proxy, port, caPem }, faults);
  }

  /** Puts other rules in force for what comes from now on. */
  reload(lines: readonly string[]): void {
    this.proxy.reload(configOf(lines));
  }

  /** A bare connection to the proxy on which half an end is no end. */
  async dial(): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port: this.port, allowHalfOpen: true });
    this.#clients.add(socket);
    socket.on('error', () => {}).once('close', () => this.#clients.delete(socket));
    await once(socket, 'connect');
    return socket.setNoDelay(true);
  }

  /** A tunnel that has its 200. */
  async tunnel(target: string): Promise<Socket> {
    const socket = await this.dial();
    socket.write(connectTo(target));
    const [head] = (await once(socket, 'data')) as [Buffer];
    if (!head.toString('latin1').startsWith('HTTP/1.1 200 ')) throw new Error(`${head}`);
    return socket;
  }

  /** TLS through a tunnel that the proxy opens. */
  async secure(target: string, o: tls.ConnectionOptions = {}): Promise<tls.TLSSocket> {
    const socket = await this.tunnel(target);
    const servername = target.replace(/:\d+$/, '');
    const inner = tls.connect({ socket, ca: this.caPem, servername, ...o });
    inner.on('error', () => {});
    await once(inner, 'secureConnect');
    return inner;
  }

  /** What the proxy itself called a fault since it was last asked. */
  fault(): Complaint | undefined {
    const [detail] = this.#faults.splice(0);
    return detail === undefined ? undefined : { rule: 'internal_fault', detail };
  }

  /** Ends what the clients have left, and waits until the proxy has nothing under way. */
  async settle(): Promise<Complaint | undefined> {
    for (const socket of this.#clients) socket.destroy();
    const isQuiet = () => {
      const { connections, exchanges } = this.proxy.activity();
      return connections === 0 && exchanges === 0;
    };
    if (await holds(isQuiet)) return this.fault();
    return { rule: 'left_over', detail: JSON.stringify(this.proxy.activity()) };
  }

  async close(): Promise<Complaint | undefined> {
    await this.proxy.stop();
    const isEmpty = await holds(() => this.proxy.activity().sockets === 0);
    return isEmpty ? undefined : { rule: 'left_over', detail: 'sockets of a stopped proxy' };
  }
}

function configOf(lines: readonly string[]): Config {
  const authorities = join(sharedHome(), 'root.pem');
  const own = [
    'listen: 127.0.0.1:0',
    `tls: { extra_ca: [${authorities}], insecure_hosts: ["*.test"] }`,
  ];
  const text = [...own, ...lines].join('\n');
  const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.faults));
  return loaded.config;
}

let home: string | undefined;

/** One certificate authority for all worlds of this process: to make one takes longer than to make a world. */
function sharedHome(): string {
  if (home !== undefined) return home;
  const made = mkdtempSync(join(tmpdir(), 'forbear-fuzz-'));
  writeFileSync(join(made, 'root.pem'), root);
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  home = made;
  return made;
}

async function resolve(host: string): Promise<LookupAddress[]> {
  if (host.endsWith('.test')) return [{ address: ORIGIN_HOST, family: 4 }];
  throw Object.assign(new Error(`no ${host}`), { code: 'ENOTFOUND' });
}

/** Waits until a fact holds; false when it does not within the time in which there must be progress. */
export async function holds(fact: () => boolean, ms = PROGRESS_MS): Promise<boolean> {
  for (const deadline = performance.now() + ms; !fact(); await sleep(LOOK_MS)) {
    if (performance.now() > deadline) return false;
  }
  return true;
}

/** Writes pieces one by one, each in a packet of its own as far as that can be had. */
export async function dribble(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed || !socket.writable) return;
    socket.write(piece, 'latin1');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** All that a socket has said, and whether and how it ended. */
export class Ear {
  text = '';
  end: 'open' | 'fin' | 'reset' = 'open';

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString('latin1');
    });
    socket.once('end', () => {
      if (this.end === 'open') this.end = 'fin';
    });
    const broken = () => {
      if (this.end === 'open') this.end = 'reset';
    };
    socket.once('error', broken).once('close', broken);
  }
}
