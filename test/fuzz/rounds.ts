import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { chance } from '../support/chance.ts';
import { Dice } from './dice.ts';
import type { Bench, Complaint, Kind } from './kind.ts';
import { minimise } from './minimise.ts';
import { leftOpen, Troubles } from './watchdog.ts';

/** An input that failed, as it is kept. */
export interface Finding extends Complaint {
  readonly kind: string;
  readonly case: unknown;
}

export interface RoundPlan {
  readonly seed: number;
  /** The number of the first case. */
  readonly from: number;
  /** How long new cases are begun. */
  readonly ms: number;
  /** Told before each case. */
  readonly onCase: (n: number) => void;
}

const SETTLE_EVERY = 25;
const PLAY_MS = 10_000;
const MINIMISE_MS = 20_000;

/** Plays cases of one kind for a while, in a world made for them; ends with the first that fails. */
export async function round(
  kind: Kind,
  plan: RoundPlan,
): Promise<{ readonly played: number; readonly finding: Finding | undefined }> {
  const troubles = new Troubles();
  const bench = await kind.open();
  const deadline = performance.now() + plan.ms;
  const recent: unknown[] = [];
  let played = 0;
  let failed: Complaint | undefined;
  while (failed === undefined && performance.now() < deadline) {
    const n = plan.from + played;
    plan.onCase(n);
    const one = kind.make(new Dice(plan.seed, kind.name, n));
    recent.push(one);
    if (recent.length > SETTLE_EVERY) recent.shift();
    failed = (await timed(bench, one)) ?? troubles.take();
    played += 1;
    if (failed !== undefined) break;
    if (played % SETTLE_EVERY !== 0) continue;
    await nextTurn(); // Cases that wait for nothing must not look like a loop that stands still.
    failed = (await bench.settle()) ?? troubles.take();
  }
  failed ??= await bench.settle();
  failed = (await bench.close()) ?? failed ?? (await leftOpen()) ?? troubles.take();
  troubles.stop();
  if (failed === undefined) return { played, finding: undefined };
  return { played, finding: await smallest(kind, failed, recent.toReversed(), plan.onCase) };
}

/** Plays one case in a world of its own, and looks what is left of it. */
export async function playAlone(kind: Kind, one: unknown): Promise<Complaint | undefined> {
  const stage = new Stage(kind);
  const failed = await stage.play(one);
  return failed ?? (await stage.close());
}

/** Plays case after case in one world for as long as all goes well, then in a new one. */
export class Stage {
  readonly #kind: Kind;
  readonly #troubles = new Troubles();
  #bench: Bench | undefined;

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  async play(one: unknown): Promise<Complaint | undefined> {
    this.#bench ??= await this.#kind.open();
    const bench = this.#bench;
    const failed = (await timed(bench, one)) ?? (await bench.settle()) ?? this.#troubles.take();
    if (failed === undefined) return undefined;
    this.#bench = undefined;
    await bench.close();
    return failed;
  }

  async close(): Promise<Complaint | undefined> {
    const left = (await this.#bench?.close()) ?? this.#troubles.take();
    this.#troubles.stop();
    return left;
  }
}

/** Keeps a finding in a file of its own, and returns its name. */
export function keep(finding: Finding): string {
  const folder = join(tmpdir(), 'forbear-fuzz-findings');
  mkdirSync(folder, { recursive: true });
  const mark = Math.floor(chance(JSON.stringify(finding.case)) * 2 ** 32).toString(16);
  const file = join(folder, `${finding.kind}-${finding.rule.replaceAll('_', '-')}-${mark}.json`);
  writeFileSync(file, `${JSON.stringify(finding, null, 2)}\n`);
  return file;
}

async function smallest(
  kind: Kind,
  complaint: Complaint,
  suspects: readonly unknown[],
  onCase: (n: number) => void,
): Promise<Finding> {
  const found = { ...complaint, kind: kind.name };
  let last: Complaint = complaint;
  const stage = new Stage(kind);
  const fails = async (one: unknown) => {
    onCase(-1);
    const again = await stage.play(one);
    if (again?.rule !== complaint.rule) return false;
    last = again;
    return true;
  };
  for (const suspect of suspects) {
    if (!(await fails(suspect))) continue;
    const now = () => performance.now();
    const one = await minimise(suspect, fails, { ms: MINIMISE_MS, now });
    await stage.close();
    return { ...found, detail: last.detail, case: one };
  }
  await stage.close();
  // It takes more than one case: all of the last ones are kept, the one that showed it first.
  return { ...found, rule: `${found.rule}_in_company`, case: suspects };
}

async function timed(bench: Bench, one: unknown): Promise<Complaint | undefined> {
  const { promise, resolve } = Promise.withResolvers<Complaint>();
  const timer = setTimeout(() => resolve({ rule: 'hang', detail: '' }), PLAY_MS + 2_000);
  const play = async () => bench.play(one);
  const end = await Promise.race([play().catch((error: Error) => asComplaint(error)), promise]);
  clearTimeout(timer);
  return end;
}

function asComplaint(error: Error): Complaint {
  return { rule: 'thrown', detail: `${error.stack ?? error}` };
}
