import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { inspectAuthority } from '../../listener/authority.ts';
import { inspectStore } from '../../store/open.ts';
import { systemCode } from '../terminal.ts';
import { type Finding, findings } from './finding.ts';

const LEAST_FREE_BYTES = 100 * 1024 * 1024;
const DAY_MS = 86_400_000;
const SOON_DAYS = 30;

/** The folder for what is kept, the CA and the store in it; nothing of it is made or changed. */
export function checkHome(home: string, config: Config, now: number): readonly Finding[] {
  const folder = checkFolder(home);
  if (folder.level === 'fail') return [folder];
  return [
    folder,
    checkAuthority(home, now),
    ...(config.store.kind === 'memory' ? [] : [checkStore(home)]),
  ];
}

function checkFolder(home: string): Finding {
  const { ok, warn, fail } = findings('home');
  const isThere = existsSync(home);
  const nearest = isThere ? home : nearestFolder(home);
  try {
    if (!statSync(nearest).isDirectory()) {
      return fail(`${nearest} is no folder`, 'set FORBEAR_HOME to a folder of yours');
    }
    accessSync(nearest, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(nearest);
    if (bavail * bsize < LEAST_FREE_BYTES) {
      return warn(
        `${home} has ${Math.round((bavail * bsize) / 1024 / 1024)} MiB of room left`,
        'make room: dead letters and replies are kept there',
      );
    }
    return ok(isThere ? home : `${home} is made at the first start`);
  } catch (error) {
    return fail(
      `cannot use ${home} (${systemCode(error) ?? error})`,
      'set FORBEAR_HOME to a folder of yours',
    );
  }
}

function nearestFolder(path: string): string {
  const parent = dirname(path);
  return existsSync(parent) || parent === path ? parent : nearestFolder(parent);
}

function checkAuthority(home: string, now: number): Finding {
  const { ok, warn, fail } = findings('CA');
  try {
    const certificate = inspectAuthority(home, now);
    if (certificate === undefined) return ok('is made at the first start');
    if (certificate.validFromDate.getTime() > now) {
      return fail(
        `is valid from ${day(certificate.validFromDate)} on, and it is ${day(new Date(now))} here`,
        'set the clock of this machine',
      );
    }
    const days = Math.floor((certificate.validToDate.getTime() - now) / DAY_MS);
    if (days < SOON_DAYS) {
      return warn(
        `expires in ${days} days`,
        `delete ${join(home, 'ca-key.pem')} to have a new one made; clients must then trust the new one`,
      );
    }
    const shown = readFileSync(join(home, 'ca.pem'), 'latin1');
    if (!shown.includes(certificate.toString().trim())) {
      return warn(
        `${join(home, 'ca.pem')} is another one than is signed with`,
        'it is put right at the next start; clients that trust the other one must be told',
      );
    }
    return ok(`valid until ${day(certificate.validToDate)}, ${join(home, 'ca.pem')}`);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return fail(text, 'delete that file, or bring the right one back');
  }
}

function checkStore(home: string): Finding {
  const { ok, fail } = findings('store');
  try {
    return ok(inspectStore(home) ? 'can be read' : 'is made at the first start');
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return fail(text, 'move the file away to start with an empty one');
  }
}

const day = (date: Date): string => date.toISOString().slice(0, 10);
