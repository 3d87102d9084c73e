import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { startTrial, type TrialProcess } from './trial-process.ts';
import { startTrialSite, type TrialSite } from './trial-site.ts';
import { type Got, get } from './whole-proxy.ts';

/** What clients were told before the kills, and what of it was not true afterwards. */
export interface KillReport {
  readonly kills: number;
  readonly replies: number;
  readonly pauses: number;
  readonly sessions: number;
  readonly burned: number;
  readonly letters: number;
  readonly lost: readonly string[];
}

/** All that clients know. */
class Told {
  replies = 0;
  onReply = () => {};
  readonly pauses = new Set<string>();
  readonly sessions = new Map<string, string>();
  readonly burned = new Set<string>();
  readonly letters = new Set<string>();
}

const EXITS = 6;
const WORKERS = 6;

/** Kills a loaded Forbear again and again, and asks after each restart whether it still knows what it has told. */
export async function killTrial(
  times: number,
  onEach: (n: number) => void = () => {},
): Promise<KillReport> {
  const home = mkdtempSync(join(tmpdir(), 'forbear-kill-'));
  const site = await startTrialSite(EXITS);
  const config = join(home, 'trial.yaml');
  writeFileSync(config, configFor(site));
  const told = new Told();
  const lost: string[] = [];
  try {
    // Each process is asked for what those before it have told, then loaded and killed; the last is only asked.
    for (let n = 0; n <= times; n += 1) {
      const forbear = await startTrial(home, config);
      lost.push(...(await check(forbear, { told, site })));
      if (n < times) await loadAndKill(n, forbear, told);
      else await forbear.end('SIGKILL');
      lost.push(...(await missingLetters(home, told)));
      onEach(n);
    }
  } finally {
    site.close();
    rmSync(home, { recursive: true });
  }
  const { replies, pauses, sessions, burned, letters } = told;
  const counts = { pauses: pauses.size, sessions: sessions.size, burned: burned.size };
  return { kills: times, replies, ...counts, letters: letters.size, lost };
}

function configFor(site: TrialSite): string {
  return [
    'upstreams: [{ name: dc, routes: [%] }]'.replace('%', site.exits.join(', ')),
    'policy: { patience: 2s, max_attempts: 2, pace: { concurrency: 64 }, backoff: { base: 10ms }, breaker: { consecutive: 1000, min_attempts: 1000 } }',
    'log: { level: warn }',
  ].join('\n');
}

/** Load, and a kill in the middle of it. */
async function loadAndKill(n: number, forbear: TrialProcess, told: Told): Promise<void> {
  let alive = true;
  const worker = async (w: number): Promise<void> => {
    for (let i = 0; alive && i < 10_000; i += 1)
      await askOne(forbear.port, `${n}-${w}-${i}`, i % 4, told);
  };
  const workers = Array.from({ length: WORKERS }, (_, w) => worker(w));
  // With a reply, at once: whatever it told must be on disk by now.
  const killAt = told.replies + 20 + ((n * 7) % 30);
  const { promise, resolve } = Promise.withResolvers<void>();
  told.onReply = () => {
    if (told.replies < killAt) return;
    forbear.child.kill('SIGKILL');
    resolve();
  };
  await promise;
  const ended = forbear.end('SIGKILL');
  alive = false;
  await ended;
  await Promise.all(workers);
}

async function askOne(port: number, tag: string, kind: number, told: Told): Promise<void> {
  const session = `s${tag.replaceAll('-', '_')}`;
  if (kind === 0) {
    const host = `pause-${tag}.test`;
    note(await ask(port, `http://${host}/`), told, ({ status, headers }) => {
      if (status === 429 && headers['retry-after']) told.pauses.add(host);
    });
  } else if (kind === 1) {
    note(await ask(port, 'http://walls.test/blocked', session), told, ({ headers }) => {
      if (String(headers['forbear-session']).includes('burned')) told.burned.add(session);
    });
  } else if (kind === 2) {
    note(await ask(port, `http://broken.test/broken/${tag}`), told, () => {});
  } else {
    note(await ask(port, 'http://shop.test/page', session), told, ({ status, body }) => {
      if (status === 200) told.sessions.set(session, String(body));
    });
  }
}

function note(got: Got, told: Told, learn: (got: Got) => void): void {
  if (got.status === 0) return;
  told.replies += 1;
  const letter = got.headers['forbear-dead-letter'];
  if (typeof letter === 'string') told.letters.add(letter);
  learn(got);
  told.onReply();
}

const ask = (port: number, url: string, session?: string): Promise<Got> =>
  get(port, url, { headers: session === undefined ? {} : { 'Forbear-Session': session } });

/** Everything that was told and is not so any more. Of what was told long ago samples are asked for. */
async function check(
  forbear: TrialProcess,
  { told, site }: { readonly told: Told; readonly site: TrialSite },
): Promise<readonly string[]> {
  const pauses = sample([...told.pauses]).map((host) => forgotPause(forbear, host, site));
  const sessions = sample([...told.sessions]).map(async ([id, exit]) => {
    const { status, body } = await ask(forbear.port, 'http://shop.test/page', id);
    return status === 200 && String(body) === exit
      ? []
      : [`session ${id}: ${exit}, ${status} ${body}`];
  });
  const burned = sample([...told.burned]).map(async (id) => {
    const { status } = await ask(forbear.port, 'http://shop.test/page', id);
    return status === 409 ? [] : [`burned session ${id} got ${status}`];
  });
  return (await Promise.all([...pauses, ...sessions, ...burned])).flat();
}

const LATEST = 12;

function sample<Item>(all: readonly Item[]): readonly Item[] {
  const early = all.filter((_, n) => n % Math.ceil(all.length / 4) === 0);
  return [...new Set([...early, ...all.slice(-LATEST)])];
}

async function forgotPause({ port }: TrialProcess, host: string, site: TrialSite) {
  const before = site.asked.filter((one) => one.host === host).length;
  const { status } = await ask(port, `http://${host}/`);
  const after = site.asked.filter((one) => one.host === host).length;
  return after === before && status === 429 ? [] : [`pause of ${host}: ${status}, asked again`];
}

/** Letters that clients hold the name of, and the store does not know. */
async function missingLetters(home: string, told: Told): Promise<readonly string[]> {
  const store = await openSqliteStore({ file: join(home, 'forbear.db') });
  try {
    const ids = sample([...told.letters]);
    const found = await Promise.all(ids.map((id) => store.letters.get(id)));
    return ids.filter((_, n) => found[n] === undefined).map((id) => `letter ${id}`);
  } finally {
    await store.close();
  }
}
