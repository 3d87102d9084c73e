import { statSync } from 'node:fs';
import { judgeTools } from '../judge-tools.ts';
import { Flaws, type Located, readLog } from '../replay/read-log.ts';
import { WhatIf } from '../replay/what-if.ts';
import { ByteProgress } from './byte-progress.ts';
import { replayFacts, replayText } from './replay-report.ts';
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
  if (facts.attempts === 0 && facts.unusable.length > 0) {
    const [first] = facts.unusable;
    throw new CommandError(
      `${files.join(', ')} holds no attempt of a log of version 1 (${first?.count} lines ${first?.what}, from line ${first?.lines[0]} on)`,
      1,
    );
  }
  terminal.out(flags.json ? `${JSON.stringify(facts, undefined, 2)}\n` : replayText(facts));
  return 0;
}

async function play(
  files: readonly string[],
  o: { readonly whatIf: WhatIf; readonly flaws: Flaws; readonly terminal: Terminal },
): Promise<void> {
  const progress = new ByteProgress(o.terminal, 'replaying', sizeOf(files));
  try {
    for (const file of files) {
      for await (const entries of readLog(file, o.flaws, (bytes) => progress.add(bytes))) {
        for (const each of entries) take(each, o);
      }
    }
  } catch (error) {
    throw new CommandError(`cannot read the log (${systemCode(error) ?? error})`, 1);
  } finally {
    progress.clear();
  }
}

/** Whatever a line's insides are, the rest of the log is worth reading. */
function take(
  { entry, line }: Located,
  { whatIf, flaws }: { readonly whatIf: WhatIf; readonly flaws: Flaws },
): void {
  try {
    whatIf.take(entry);
  } catch {
    flaws.add('malformed', line);
  }
}

/** undefined where one of them is no file. */
function sizeOf(files: readonly string[]): number | undefined {
  try {
    return files.reduce((sum, file) => sum + statSync(file).size, 0);
  } catch {
    return undefined;
  }
}
