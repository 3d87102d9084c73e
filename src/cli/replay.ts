import { statSync } from 'node:fs';
import { judgeTools } from '../judge-tools.ts';
import { Flaws, readLog } from '../replay/read-log.ts';
import { WhatIf } from '../replay/what-if.ts';
import { LOG_VERSION } from '../telemetry/attempt-line.ts';
import { ByteProgress } from './byte-progress.ts';
import { counted, type ReplayFacts, replayFacts, replayText } from './replay-report.ts';
import { type ConfigFlags, settings } from './settings.ts';
import { CommandError, type ExitCode, systemCode, type Terminal } from './terminal.ts';
import { ownVersion } from './version.ts';

/** Flags of `forbear replay`. */
export interface ReplayFlags extends Omit<ConfigFlags, 'log'> {
  /** Files in the order in which they were written; `-` for standard input. */
  readonly log: readonly string[];
  readonly assumeSameReplies?: boolean | undefined;
  /** Exchanges named behind each number. */
  readonly examples: number;
  readonly json?: boolean | undefined;
}

/** `forbear replay`: recorded attempts under other rules, and what would have been different. */
export async function replay(flags: ReplayFlags, terminal: Terminal): Promise<ExitCode> {
  const { log: files, ...others } = flags;
  const config = settings({ config: others.config }, terminal.env);
  const whatIf = new WhatIf({
    config,
    tools: judgeTools,
    version: ownVersion(),
    examples: flags.examples,
    afterOtherWaits: flags.assumeSameReplies ? 'assume' : 'end',
  });
  const flaws = new Flaws();
  await play(files, { whatIf, flaws, terminal });
  const facts = replayFacts(whatIf, flaws, { files, config: config.file ?? null });
  if (facts.attempts === 0) throw new CommandError(nothingIn(facts), 1);
  terminal.out(flags.json ? `${JSON.stringify(facts, undefined, 2)}\n` : replayText(facts));
  return 0;
}

function nothingIn({ files, unusable }: ReplayFacts): string {
  const flaws = unusable.map(
    ({ count, what, lines }) => `${counted(count, 'line')}, ${what}, from line ${lines[0]} on`,
  );
  const why = flaws.length > 0 ? ` (${flaws.join('; ')})` : '';
  return `${files.join(', ')}: no attempt of an attempt log of version ${LOG_VERSION} is in there${why}`;
}

async function play(
  files: readonly string[],
  o: { readonly whatIf: WhatIf; readonly flaws: Flaws; readonly terminal: Terminal },
): Promise<void> {
  const progress = new ByteProgress(o.terminal, 'replaying', sizeOf(files));
  try {
    for (const file of files) await playFile(file, progress, o);
  } finally {
    progress.clear();
  }
}

async function playFile(
  file: string,
  progress: ByteProgress,
  { whatIf, flaws }: { readonly whatIf: WhatIf; readonly flaws: Flaws },
): Promise<void> {
  try {
    for await (const entries of readLog(file, flaws, (bytes) => progress.add(bytes))) {
      for (const { entry, line } of entries) {
        // Whatever a line's insides are, the rest of the log is worth reading.
        if (!whatIf.take(entry)) flaws.add('malformed', file, line);
      }
    }
  } catch (error) {
    throw new CommandError(`cannot read ${file} (${wordsOf(error)})`, 1);
  }
}

function wordsOf(error: unknown): string {
  const code = systemCode(error);
  if (code === undefined) return String(error);
  return WORDS[code] ?? code;
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  Z_DATA_ERROR: 'it is no gzip archive, or a damaged one',
};

/** undefined where one of them is no file. */
function sizeOf(files: readonly string[]): number | undefined {
  try {
    return files.reduce((sum, file) => sum + statSync(file).size, 0);
  } catch {
    return undefined;
  }
}
