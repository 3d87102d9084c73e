import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { main } from '../../src/cli/main.ts';
import type { ReplayFacts } from '../../src/cli/replay-report.ts';
import { ownVersion } from '../../src/cli/version.ts';
import { systemClock } from '../../src/clock.ts';
import type { AttemptLine, EndLine, LogEntry } from '../../src/telemetry/attempt-line.ts';
import { openAttemptLog } from '../../src/telemetry/attempt-log.ts';
import type { BodyLimits } from '../../src/telemetry/logged-reply.ts';
import { startProxy, type WholeProxy } from './whole-proxy.ts';

/** A folder of this test file alone. */
export const folder = mkdtempSync(join(tmpdir(), 'forbear-recorded-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

/** A file name that nothing else uses. */
export function fresh(name: string): string {
  files += 1;
  return join(folder, `${files}-${name}`);
}

/** Writes a file that nothing else uses. */
export function written(name: string, content: string | Uint8Array): string {
  const file = fresh(name);
  writeFileSync(file, content);
  return file;
}

/** A whole proxy whose attempts are recorded. */
export interface RecordedProxy extends WholeProxy {
  readonly file: string;
  /** Ends the log, and reads all of it. */
  entries(): Promise<LogEntry[]>;
}

/** Starts a proxy with an attempt log, as `forbear start --log` does. */
export async function recordedProxy(
  t: TestContext,
  config: readonly string[],
  bodies: BodyLimits = { goodChars: 0, otherChars: 2_048 },
): Promise<RecordedProxy> {
  const whole = await startProxy(t, config);
  const file = fresh('attempts.jsonl');
  const log = openAttemptLog({
    ...{ file, bodies, version: ownVersion(), clock: systemClock },
    tell: (level, message) => t.diagnostic(`${level}: ${message}`),
  });
  t.after(() => log.close());
  whole.proxy.subscribe(log.record);
  const entries = async () => {
    await log.close();
    return entriesOf(file);
  };
  return { ...whole, file, entries };
}

/** All lines of a log. */
export const entriesOf = (file: string): LogEntry[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LogEntry);

export const attemptsOf = (entries: readonly LogEntry[]): AttemptLine[] =>
  entries.filter((entry) => entry.kind === 'attempt');

export const endsOf = (entries: readonly LogEntry[]): EndLine[] =>
  entries.filter((entry) => entry.kind === 'end');

/** Runs `forbear replay` within this process. */
export async function replay(...args: string[]) {
  const said = { out: '', err: '' };
  const status = await main(['replay', ...args], {
    out: (text) => (said.out += text),
    err: (text) => (said.err += text),
    env: {},
  });
  return { status, ...said };
}

/** What a replay of a log under a configuration finds. */
export async function replayed(
  file: string,
  config: string,
  ...args: string[]
): Promise<ReplayFacts> {
  const yaml = written('what-if.yaml', config);
  const { status, out, err } = await replay('--log', file, '--config', yaml, '--json', ...args);
  if (status !== 0) throw new Error(err);
  return JSON.parse(out) as ReplayFacts;
}
