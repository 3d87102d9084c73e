import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Letter } from '../src/store/letter.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { seededRandom } from './support/fake-clock.ts';
import { LIMIT, started } from './support/forbear-process.ts';
import { letterOf, send, site } from './support/letters.ts';

const KILLS = 5;

/** What a client was told: the letter of each request. */
type Told = Map<string, { readonly url: string; readonly body: string }>;

test(
  `every letter that a client was told of outlives ${KILLS} kills, once and whole`,
  LIMIT,
  async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'forbear-letters-killed-'));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    const faulty = await site(t, (_, response) => response.writeHead(503).end('down'));
    const roll = seededRandom(11);
    const told: Told = new Map();
    for (let round = 0; round < KILLS; round += 1) {
      const env = {
        FORBEAR_HOME: home,
        FORBEAR_ADMIN_LISTEN: '127.0.0.1:0',
        FORBEAR_POLICY_MAX_ATTEMPTS: '1',
        FORBEAR_POLICY_BREAKER_WHEN_OPEN: 'refuse',
      };
      const { child, port, closed } = await started(t, [], env);
      let left = 5 + Math.floor(roll() * 60);
      const client = async (name: number) => {
        for (let n = 0; child.exitCode === null && child.signalCode === null; n += 1) {
          // Every third is the same request as one before.
          const body = `round ${round} client ${name} number ${n - (n % 3 === 2 ? 1 : 0)}`;
          const url = `${faulty.url}/${name}`;
          const got = await send(port, url, { method: 'PUT', body: Buffer.from(body) }).catch(
            () => undefined,
          );
          if (!got) return;
          const id = letterOf(got);
          assert.notEqual(id, 'undefined', JSON.stringify(got.headers));
          told.set(id, { url, body });
          left -= 1;
          if (left === 0) child.kill('SIGKILL');
        }
      };
      await Promise.all(Array.from({ length: 6 }, (_, name) => client(name)));
      await closed;
      await compare(join(home, 'forbear.db'), told);
    }
    assert.ok(told.size > 40, `only ${told.size} letters`);
  },
);

async function compare(file: string, told: Told): Promise<void> {
  const store = await openSqliteStore({ file });
  const found = new Map<string, Letter>();
  const keys = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await store.letters.list({ limit: 500, cursor });
    for (const letter of page.items) {
      assert.ok(!found.has(letter.id) && !keys.has(letter.key), `${letter.id} is there twice`);
      found.set(letter.id, letter);
      keys.add(letter.key);
      assert.equal(letter.state, 'parked');
    }
    cursor = page.next;
  } while (cursor !== undefined);
  for (const [id, { url, body }] of told) {
    const letter = found.get(id);
    assert.ok(letter, `${id} is lost`);
    assert.equal(letter.url, url);
    assert.equal(Buffer.from((await store.letters.body(id)) ?? []).toString(), body);
  }
  await store.close();
}
