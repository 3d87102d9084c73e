import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { scratch } from '../support/forbear-process.ts';
import { freePort, program, startServer } from '../support/programs.ts';

const USER = 'buyer';
const PASSWORD = 'right-one';

/** A real proxy that wants a login. */
export interface RealProxy {
  readonly name: string;
  readonly scheme: 'http' | 'socks5';
  /** The command that serves on a port in the foreground. */
  command(t: TestContext, at: Place): readonly [string, ...string[]];
}

interface Place {
  readonly port: number;
  /** A file as `/etc/hosts` is. */
  readonly hosts: string;
}

/** The proxies that Forbear is tried with as upstreams. */
export const REAL_PROXIES: readonly RealProxy[] = [
  { name: 'squid', scheme: 'http', command: squid },
  { name: 'tinyproxy', scheme: 'http', command: tinyproxy },
  { name: 'microsocks', scheme: 'socks5', command: microsocks },
];

/** Starts one on a free port, where it alone knows these names. Gives its URL by password. */
export async function startRealProxy(
  t: TestContext,
  { scheme, command }: RealProxy,
  names: readonly string[] = [],
): Promise<(password?: string) => string> {
  const port = await freePort();
  const { NSS_WRAPPER_HOSTS: hosts, LD_PRELOAD } = resolverOf(names);
  const resolver = [`LD_PRELOAD=${LD_PRELOAD}`, `NSS_WRAPPER_HOSTS=${hosts}`];
  await startServer(t, ['env', ...resolver, ...command(t, { port, hosts })], port);
  return (password = PASSWORD) => `${scheme}://${USER}:${password}@127.0.0.1:${port}`;
}

/** The environment in which a program, and no other, finds these names at 127.0.0.1. */
export function resolverOf(names: readonly string[]) {
  const file = join(mkdtempSync(join(tmpdir(), 'forbear-hosts-')), 'hosts');
  after(() => rmSync(dirname(file), { recursive: true, force: true }));
  chmodSync(dirname(file), 0o755);
  writeFileSync(file, ['localhost', ...names].map((name) => `127.0.0.1 ${name}\n`).join(''));
  return { LD_PRELOAD: 'libnss_wrapper.so', NSS_WRAPPER_HOSTS: file };
}

function squid(t: TestContext, { port, hosts }: Place): readonly [string, ...string[]] {
  // Squid gives up root, so its folder must be open to others.
  const folder = mkdtempSync(join(tmpdir(), 'forbear-squid-'));
  chmodSync(folder, 0o777);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const hash = execFileSync(program('openssl'), ['passwd', '-apr1', PASSWORD], {
    encoding: 'utf8',
  });
  writeFileSync(join(folder, 'passwords'), `${USER}:${hash}`);
  const checker = program('basic_ncsa_auth', ['/usr/lib/squid', '/usr/lib64/squid']);
  const lines = [
    `http_port 127.0.0.1:${port}`,
    // It asks name servers itself, not the system.
    `hosts_file ${hosts}`,
    `auth_param basic program ${checker} ${join(folder, 'passwords')}`,
    'acl known proxy_auth REQUIRED',
    'http_access allow known',
    'http_access deny all',
    'cache deny all',
    'cache_mem 1 MB',
    'access_log none',
    'pinger_enable off',
    'netdb_filename none',
    'shutdown_lifetime 0 seconds',
    `cache_log ${join(folder, 'cache.log')}`,
    `coredump_dir ${folder}`,
    `pid_filename ${join(folder, 'squid.pid')}`,
  ];
  writeFileSync(join(folder, 'squid.conf'), `${lines.join('\n')}\n`);
  return [program('squid'), '-N', '-f', join(folder, 'squid.conf')];
}

function tinyproxy(_: TestContext, { port }: Place): readonly [string, ...string[]] {
  const file = join(mkdtempSync(join(scratch, 'tinyproxy-')), 'tinyproxy.conf');
  const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Timeout 60', 'LogLevel Critical'];
  writeFileSync(file, `${[...lines, `BasicAuth ${USER} ${PASSWORD}`].join('\n')}\n`);
  return [program('tinyproxy'), '-d', '-c', file];
}

function microsocks(_: TestContext, { port }: Place): readonly [string, ...string[]] {
  const where = ['-i', '127.0.0.1', '-p', String(port)];
  return [program('microsocks'), ...where, '-u', USER, '-P', PASSWORD];
}
