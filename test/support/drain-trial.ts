import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startTrial, type TrialProcess } from './trial-process.ts';
import { startTrialSite, type TrialSite } from './trial-site.ts';

/** What became of all requests around the stops of a loaded Forbear. */
export interface DrainReport {
  readonly stops: number;
  readonly answered: number;
  /** Answered with `Forbear-Stop: draining`. */
  readonly turnedAway: number;
  /** Came when nobody listened any more. */
  readonly tooLate: number;
  /** Let in by the system in the instant in which the door was shut, and reset by it: Forbear never saw them. */
  readonly atTheDoor: number;
  readonly longestStopMs: number;
  /** Requests that had begun and ended without a whole answer, and stops that did not end well. */
  readonly bad: readonly string[];
}

const WORKERS = 12;
const SLOW_MS = 250;

/** Sends SIGTERM to a loaded Forbear, again and again. */
export async function drainTrial(
  times: number,
  onEach: (n: number) => void = () => {},
): Promise<DrainReport> {
  const home = mkdtempSync(join(tmpdir(), 'forbear-drain-'));
  const site = await startTrialSite(3, SLOW_MS);
  const config = join(home, 'trial.yaml');
  writeFileSync(config, configFor(site));
  const sums = { answered: 0, turnedAway: 0, tooLate: 0, atTheDoor: 0, longestStopMs: 0 };
  const bad: string[] = [];
  try {
    for (let n = 0; n < times; n += 1) {
      await stopOnce(n, { home, config, sums, bad });
      onEach(n + 1);
    }
  } finally {
    site.close();
    rmSync(home, { recursive: true });
  }
  return { stops: times, ...sums, bad };
}

function configFor({ exits }: TrialSite): string {
  return [
    `upstreams: [{ name: dc, routes: [${exits.join(', ')}] }]`,
    'policy: { patience: 20s, backoff: { base: 5s, jitter: 0 }, pace: { concurrency: 64 }, breaker: { consecutive: 1000, min_attempts: 1000 } }',
    'targets: [{ match: slow.test, pace: { concurrency: 2 } }]',
    'drain: 10s',
    'log: { level: warn }',
  ].join('\n');
}

interface Trial {
  readonly home: string;
  readonly config: string;
  readonly sums: Record<
    'answered' | 'turnedAway' | 'tooLate' | 'atTheDoor' | 'longestStopMs',
    number
  >;
  readonly bad: string[];
}

/** Some requests run, some wait in a queue, some for the end of a backoff, and new ones come all the time. */
async function stopOnce(n: number, { home, config, sums, bad }: Trial): Promise<void> {
  const forbear = await startTrial(home, config, { tellsAccepted: true });
  let loading = true;
  const worker = async (w: number): Promise<void> => {
    const hosts = ['fast.test', 'slow.test', 'slow.test', 'broken.test/broken'];
    for (let i = 0; loading; i += 1) {
      const end = await ask(forbear, `http://${hosts[w % hosts.length]}/${n}-${w}-${i}`);
      if (end === 'answered') sums.answered += 1;
      else if (end === 'turned_away') sums.turnedAway += 1;
      else if (end === 'too_late') {
        sums.tooLate += 1;
        return;
      } else if (end === 'at_the_door') sums.atTheDoor += 1;
      else bad.push(`stop ${n}: ${end}`);
    }
  };
  const workers = Array.from({ length: WORKERS }, (_, w) => worker(w));
  await delay(300 + ((n * 97) % 400));
  const sinceAt = performance.now();
  const status = await forbear.end('SIGTERM');
  sums.longestStopMs = Math.max(sums.longestStopMs, Math.round(performance.now() - sinceAt));
  loading = false;
  if (status !== 0) bad.push(`stop ${n} ended with ${status}: ${forbear.text().slice(-500)}`);
  await Promise.all(workers);
}

type End = 'answered' | 'turned_away' | 'too_late' | 'at_the_door' | `no answer: ${string}`;

async function ask({ accepted, closed, port }: TrialProcess, url: string): Promise<End> {
  const asked = request({ host: '127.0.0.1', port, path: url, agent: false });
  let from: number | undefined;
  asked.on('socket', (socket) => socket.once('connect', () => (from = socket.localPort)));
  asked.end();
  try {
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    reply.resume();
    await once(reply, 'close');
    if (!reply.complete) return 'no answer: its body broke off';
    if (reply.headers.connection !== 'close') return 'no answer: the connection was to stay';
    return reply.headers['forbear-stop'] === 'draining' ? 'turned_away' : 'answered';
  } catch (error) {
    if (from === undefined) return 'too_late';
    // What it said of those that it accepted may be on its way still.
    await closed;
    return accepted(from) ? `no answer: ${(error as Error).message} for ${url}` : 'at_the_door';
  }
}
