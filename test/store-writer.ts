// node store-writer.ts FILE ROUND: parks, redrives and closes letters until it is killed, and says what was acknowledged.
import { writeSync } from 'node:fs';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { NOW, sampleBody, sampleLetter } from './store-sample.ts';

const [file = '', round = ''] = process.argv.slice(2);
const store = await openSqliteStore({ file });
const { letters, state } = store;
const sessions = state.rows('sessions');
// At once and whole: what was said before a kill is in the pipe.
const say = (...words: (string | number)[]) => writeSync(1, `${words.join(' ')}\n`);
say('opened', store.recovered);

for (let n = 0; ; n += 4) {
  await Promise.all([0, 1, 2, 3].map((more) => write(n + more)));
}

async function write(n: number): Promise<void> {
  const id = `r${round}n${n}`;
  const bytes = 500 + ((n * 7919) % 20_000);
  // Every third is the same request as the one before the last.
  const key = n % 3 === 2 ? `key r${round}n${n - 2}` : `key ${id}`;
  const parked = await letters.park(
    sampleLetter({ id, key, bodyBytes: bytes, wishes: { bytes: String(bytes) } }),
    sampleBody(bytes),
  );
  say('parked', parked.id, parked.count);
  await sessions.put(`s${n % 10}`, `${round}:${n}`);
  say('session', `s${n % 10}`, `${round}:${n}`);
  if (n % 5 !== 0) return;
  if (!(await letters.claim(parked.id, NOW))) return;
  const response = { status: 200, reason: 'OK', rawHeaders: [], body: sampleBody(bytes) };
  const settled = await letters.settle(parked.id, {
    to: 'done',
    at: NOW,
    attempts: [],
    why: undefined,
    keepUntil: undefined,
    response: { ...response, truncated: false, capBytes: 1e6, at: NOW },
  });
  if (settled) say('done', parked.id, bytes);
}
