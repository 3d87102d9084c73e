import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Address, Config } from '../config/config.ts';

/** What a started proxy leaves in the home, so that `run` and `env` find it. */
export interface Running {
  readonly pid: number;
  readonly listen: Address;
  /** Where its admin server is; undefined: nowhere. */
  readonly admin?: Address;
  /** ISO 8601. */
  readonly started: string;
  readonly configHash: string;
}

const FILE = 'running.json';

/** Writes the note in one step: a reader sees the old one or the new one, never half of it. */
export function writeRunning(home: string, running: Running): void {
  const file = join(home, FILE);
  const draft = `${file}.${running.pid}`;
  writeFileSync(draft, `${JSON.stringify(running)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

/** Takes the note away, unless another proxy has written its own meanwhile. */
export function removeRunning(home: string, pid: number): void {
  if (readRunning(home)?.pid === pid) rmSync(join(home, FILE), { force: true });
}

/** The note, if there is one that can be read. The proxy it names may be long gone. */
export function readRunning(home: string): Running | undefined {
  try {
    const found: unknown = JSON.parse(readFileSync(join(home, FILE), 'utf8'));
    return isRunning(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Tells two configurations apart by what they make the proxy do, wherever they were read from. */
export function configHash(config: Config): string {
  const {
    file: _file,
    listen: _listen,
    admin: _admin,
    log: _log,
    notices: _notices,
    ...rest
  } = config;
  return createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 16);
}

function isRunning(value: unknown): value is Running {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, listen, admin, started, configHash: hash } = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(pid) &&
    (pid as number) > 0 &&
    isAddress(listen) &&
    (admin === undefined || isAddress(admin)) &&
    typeof started === 'string' &&
    typeof hash === 'string'
  );
}

function isAddress(value: unknown): value is Address {
  if (typeof value !== 'object' || value === null) return false;
  const { host, port } = value as Record<string, unknown>;
  return typeof host === 'string' && Number.isInteger(port);
}
