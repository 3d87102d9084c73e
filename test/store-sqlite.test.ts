import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { storeContract } from './store.contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'forbear-store-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function newFile(): string {
  files += 1;
  return join(folder, `${files}`, 'forbear.db');
}

async function open(t: TestContext, file: string) {
  const store = await openSqliteStore({ file });
  t.after(() => store.close());
  return store;
}

storeContract('SQLite', async (t) => {
  const file = newFile();
  return { store: await open(t, file), kept: 'durable', reopen: () => open(t, file) };
});
