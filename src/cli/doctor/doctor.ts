import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wallTime } from '../../clock.ts';
import { printable } from '../../telemetry/log-text.ts';
import { inColumns } from '../columns.ts';
import { clientAddress } from '../find-proxy.ts';
import { homeFolder } from '../home.ts';
import { type ConfigFlags, settings } from '../settings.ts';
import type { ExitCode, Terminal } from '../terminal.ts';
import { checkCommand } from './check-command.ts';
import { checkHome } from './check-home.ts';
import { checkPorts } from './check-ports.ts';
import { checkShell } from './check-shell.ts';
import { checkUpstreams } from './check-upstreams.ts';
import { type Finding, findings } from './finding.ts';

/** Flags of `forbear doctor`. */
export interface DoctorFlags extends ConfigFlags {
  /** `HOST:PORT` to which every upstream is to connect. */
  readonly target?: string | undefined;
  readonly json?: boolean | undefined;
}

/** `forbear doctor`: what is in the way of a start, or of a client. Changes nothing. 0: nothing is; 1: something fails. */
export async function doctor(
  flags: DoctorFlags,
  command: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const config = settings(flags, terminal.env);
  const home = homeFolder(terminal.env);
  const { host, port } = clientAddress(config.listen);
  const found: readonly Finding[] = [
    findings('configuration').ok(config.file ?? 'all defaults'),
    ...(await checkPorts(config)),
    ...checkHome(home, config, wallTime()),
    ...(await checkUpstreams(config, flags.target)),
    ...checkShell(terminal.env, `${host.includes(':') ? `[${host}]` : host}:${port}`, caIn(home)),
    ...(command.length > 0 ? checkCommand(command, terminal.env) : []),
  ];
  terminal.out(flags.json ? `${JSON.stringify(found, undefined, 2)}\n` : shown(found));
  return found.some(({ level }) => level === 'fail') ? 1 : 0;
}

function caIn(home: string): string | undefined {
  const file = join(home, 'ca.pem');
  return existsSync(file) ? readFileSync(file, 'latin1') : undefined;
}

function shown(found: readonly Finding[]): string {
  const names = inColumns(found.map(({ level, check }) => [level, check, '.'])).split('\n');
  return found
    .map(({ text, fix }, at) => {
      const name = (names[at] ?? '').slice(0, -1);
      const cure = fix === undefined ? '' : `${' '.repeat(name.length)}-> ${printable(fix)}\n`;
      return `${name}${printable(text)}\n${cure}`;
    })
    .join('');
}
