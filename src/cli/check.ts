import type { Config } from '../config/config.ts';
import { type ConfigFlags, readSettings } from './settings.ts';
import type { ExitCode, Terminal } from './terminal.ts';

/** `forbear check`: says what the configuration amounts to, or everything that is wrong with it. */
export function check(flags: ConfigFlags, terminal: Terminal): ExitCode {
  const read = readSettings(flags, terminal.env);
  if (read.kind === 'faults') {
    terminal.err(`${read.text}\n`);
    return 2;
  }
  terminal.out(`OK ${summary(read.config)}\n`);
  for (const notice of read.config.notices) terminal.err(`note: ${notice}\n`);
  return 0;
}

function summary(config: Config): string {
  const { listen, upstreams, targets, profiles } = config;
  const names = upstreams.map((upstream) =>
    upstream.name === upstream.kind ? upstream.name : `${upstream.name} (${upstream.kind})`,
  );
  const parts = [
    `listen ${listen.host}:${listen.port}`,
    `upstreams ${names.join(', ')}`,
    count(targets.length, 'target'),
    count(Object.keys(profiles).length, 'profile'),
  ];
  return `${config.file ?? 'all defaults'}: ${parts.join('; ')}`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
