import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, type TestContext, test } from 'node:test';
import type { Letter } from '../src/store/letter.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import type { Store } from '../src/store/store.ts';
import { sampleBody } from './store-sample.ts';
import { seededRandom } from './support/fake-clock.ts';

// STORE_KILLS=200 for a longer run.
const KILLS = Number(process.env.STORE_KILLS ?? 8);
const folder = mkdtempSync(join(tmpdir(), 'forbear-kill-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'forbear.db');
const writer = join(import.meta.dirname, 'store-writer.ts');

/** What the writer was told before it died. */
interface Acknowledged {
  readonly parked: Map<string, number>;
  readonly done: Map<string, number>;
  readonly sessions: Map<string, string>;
}

test(`nothing that was acknowledged is lost, doubled or torn by ${KILLS} kills in the middle of writing`, {
  timeout: 120_000,
}, async (t) => {
  const roll = seededRandom(7);
  let letters = 0;
  for (let round = 0; round < KILLS; round += 1) {
    const told = await writeUntilKilled(t, round, 5 + Math.floor(roll() * 400));
    const store = await openSqliteStore({ file });
    letters += await compare(store, told, round);
    await store.close();
  }
  assert.ok(letters > KILLS * 5, `only ${letters} letters were written`);
});

/** Lets the writer write until it was told this many things, and kills it while it goes on. */
async function writeUntilKilled(
  t: TestContext,
  round: number,
  lines: number,
): Promise<Acknowledged> {
  const child = spawn(process.execPath, [writer, file, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const told: Acknowledged = { parked: new Map(), done: new Map(), sessions: new Map() };
  let left = lines;
  const reading = createInterface(child.stdout).on('line', (line) => {
    const [what, name = '', value = ''] = line.split(' ');
    if (what === 'parked')
      told.parked.set(name, Math.max(Number(value), told.parked.get(name) ?? 0));
    if (what === 'done') told.done.set(name, Number(value));
    if (what === 'session') told.sessions.set(name, value);
    left -= 1;
    if (left === 0) child.kill('SIGKILL');
  });
  const [[, signal]] = await Promise.all([once(child, 'exit'), once(reading, 'close')]);
  assert.equal(signal, 'SIGKILL');
  return told;
}

async function compare(store: Store, told: Acknowledged, round: number): Promise<number> {
  const found = new Map<string, Letter>();
  let cursor: string | undefined;
  do {
    const page = await store.letters.list({ limit: 500, cursor });
    for (const letter of page.items) {
      assert.ok(!found.has(letter.id), `${letter.id} is there twice`);
      found.set(letter.id, letter);
    }
    cursor = page.next;
  } while (cursor !== undefined);

  for (const [id, count] of told.parked) {
    const letter = found.get(id);
    assert.ok(letter, `${id} is lost`);
    assert.ok(letter.count >= count, `${id} stands for ${letter.count} requests, not ${count}`);
  }
  for (const [id, bytes] of told.done) {
    assert.equal(found.get(id)?.state, 'done', id);
    assert.deepEqual((await store.letters.response(id))?.body, sampleBody(bytes), id);
  }
  // Whole, also where nobody was told of it any more; and no claim is left.
  for (const letter of found.values()) {
    assert.notEqual(letter.state, 'redriving');
    if (!letter.id.startsWith(`r${round}n`)) continue;
    const bytes = Number(letter.wishes.bytes);
    assert.deepEqual(await store.letters.body(letter.id), sampleBody(bytes), letter.id);
  }
  // A later write of the same row may have got through untold.
  const rows = new Map(await store.state.rows('sessions').entries());
  for (const [key, value] of told.sessions) {
    const [at, n] = String(rows.get(key)).split(':').map(Number);
    const [toldAt, toldN] = value.split(':').map(Number);
    assert.equal(at, toldAt, key);
    assert.ok((n ?? -1) >= (toldN ?? 0), `${key} went back from ${value} to ${rows.get(key)}`);
  }
  return found.size;
}
