// Tries hostile inputs: npm run fuzz -- [--seconds N] [--seed N] [--only KIND] [--case N] [--replay FILE]
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Dice } from './dice.ts';
import type { Kind } from './kind.ts';
import { kinds } from './kinds.ts';
import { type Finding, keep, playAlone, round } from './rounds.ts';
import { HeapTrend, Watchdog } from './watchdog.ts';

const LONGEST_ROUND_MS = 20_000;
/** Findings of one kind after which it is left alone. */
const ENOUGH = 5;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: process.env.FUZZ_SECONDS ?? '120' },
    seed: { type: 'string', default: process.env.FUZZ_SEED ?? `${Date.now() % 1_000_000_000}` },
    only: { type: 'string' },
    case: { type: 'string' },
    replay: { type: 'string' },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);
const chosen = kinds.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) {
  say(`There is no kind "${values.only}"; there are ${kinds.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}

if (values.replay !== undefined) await replay(values.replay);
else if (values.case !== undefined) await replayDrawn(Number(values.seed), Number(values.case));
else await fuzz(Number(values.seed), Number(values.seconds) * 1000);

async function fuzz(seed: number, ms: number): Promise<void> {
  say(`seed ${seed}, ${ms / 1000} s over ${chosen.map(({ name }) => name).join(', ')}`);
  const watchdog = new Watchdog({ seed, names: kinds.map(({ name }) => name) });
  const heap = new HeapTrend();
  const played = new Map<Kind, number>();
  const found = new Map<string, Finding>();
  const began = performance.now();
  const roundMs = Math.min(LONGEST_ROUND_MS, ms / chosen.length);
  for (let turn = 0; performance.now() < began + ms; turn += 1) {
    const kind = chosen[turn % chosen.length] as Kind;
    const ofKind = [...found.values()].filter((one) => one.kind === kind.name);
    if (ofKind.length >= ENOUGH) {
      if (chosen.every((one) => ofOne(found, one).length >= ENOUGH)) break;
      continue;
    }
    const onCase = (n: number) => watchdog.at(kinds.indexOf(kind), n);
    const from = played.get(kind) ?? 0;
    const leftMs = Math.max(500, Math.min(roundMs, began + ms - performance.now()));
    const result = await round(kind, { seed, from, ms: leftMs, onCase });
    played.set(kind, from + result.played);
    if (result.finding !== undefined) tell(result.finding, found);
    heap.read(kind.name);
  }
  await watchdog.stop();
  const growing = heap.complaint();
  if (growing !== undefined) say(`FOUND ${growing.rule}: ${growing.detail}`);
  for (const kind of chosen) say(`${kind.name}: ${played.get(kind) ?? 0} cases`);
  say(found.size === 0 && growing === undefined ? 'nothing found' : `seed was ${seed}`);
  process.exitCode = found.size > 0 || growing !== undefined ? 1 : 0;
}

function ofOne(found: ReadonlyMap<string, Finding>, kind: Kind): Finding[] {
  return [...found.values()].filter((one) => one.kind === kind.name);
}

function tell(finding: Finding, found: Map<string, Finding>): void {
  const key = `${finding.kind} ${finding.rule}`;
  const isNew = !found.has(key);
  found.set(`${key}${isNew ? '' : ` ${found.size}`}`, finding);
  say(`FOUND ${key}: ${finding.detail}\n  ${JSON.stringify(finding.case)}\n  ${keep(finding)}`);
}

async function replay(file: string): Promise<void> {
  const finding = JSON.parse(readFileSync(file, 'utf8')) as Finding;
  const kind = kinds.find(({ name }) => name === finding.kind);
  if (kind === undefined) throw new Error(`no kind ${finding.kind}`);
  await show(kind, finding.case);
}

async function replayDrawn(seed: number, n: number): Promise<void> {
  const [kind] = chosen as [Kind];
  const one = kind.make(new Dice(seed, kind.name, n));
  say(JSON.stringify(one));
  await show(kind, one);
}

async function show(kind: Kind, one: unknown): Promise<void> {
  const complaint = await playAlone(kind, one);
  say(complaint === undefined ? 'passes' : `FAILS ${complaint.rule}: ${complaint.detail}`);
  process.exitCode = complaint === undefined ? 0 : 1;
}
