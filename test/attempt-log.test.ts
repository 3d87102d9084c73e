import assert from 'node:assert/strict';
import fs, {
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../src/clock.ts';
import { newLedger } from '../src/core/ledger.ts';
import { type AttemptLog, openAttemptLog } from '../src/telemetry/attempt-log.ts';
import type { ProxyEvent } from '../src/telemetry/events.ts';
import { FakeClock, flush } from './support/fake-clock.ts';
import { exchangeFor } from './support/playbook.ts';
import { policyWith } from './support/policy.ts';
import { recordedRun, scratch } from './support/recorded-run.ts';

const LIMIT = { timeout: 60_000 };
const HEAD = { v: 1, kind: 'head', forbear: 'test' };

// biome-ignore lint/suspicious/noExplicitAny: lines are read as a stranger reads them
const linesOf = (file: string): any[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const policy = policyWith();

/** The end of an exchange, which is the shortest thing that is logged. */
function ended(n: number): ProxyEvent {
  const exchange = { ...exchangeFor({ policy }, 0), id: `x${n}` };
  return {
    ...{
      type: 'exchange_finished',
      at: n,
      exchange,
      answered: 200,
      sentBytes: 0,
      receivedBytes: 0,
    },
    delivery: {
      ...{ received: undefined, verdict: undefined, stop: undefined, retryAfterMs: undefined },
      ...{ ledger: newLedger, route: undefined },
    },
  };
}

function opened(t: TestContext, file: string, clock: FakeClock | typeof systemClock = systemClock) {
  const told: string[] = [];
  const log = openAttemptLog({
    ...{ file, bodies: { goodChars: 0, otherChars: 100 }, version: 'test', clock },
    tell: (level, message) => told.push(`${level}: ${message}`),
  });
  t.after(() => log.close());
  return { log, told };
}

const idsIn = (file: string) => linesOf(file).flatMap(({ exchange }) => exchange ?? []);

/** What was given to the log so far is on the disk. */
async function written(file: string, id: string): Promise<void> {
  const end = performance.now() + 5_000;
  while (!existsSync(file) || !readFileSync(file, 'utf8').includes(`"${id}"`)) {
    if (performance.now() > end) throw new Error(`${id} is not in ${file}`);
    await systemClock.sleep(5);
  }
}

function until(log: AttemptLog, file: string, n: number): Promise<void> {
  log.record(ended(n));
  return written(file, `x${n}`);
}

test(
  'a run is logged: a head, the rules ahead of what they rule, each attempt, each end',
  LIMIT,
  async (t) => {
    const { log } = await recordedRun(t);
    const lines = linesOf(log);
    const { at, ...head } = lines[0];
    assert.deepEqual([head, typeof at], [HEAD, 'number']);
    const known = new Set<string>();
    const attempts = new Map<string, number>();
    for (const line of lines) {
      assert.equal(line.v, 1);
      if (line.kind === 'policy') known.add(line.id);
      if (line.kind === 'attempt') {
        assert.ok(known.has(line.policy), 'rules are told first');
        assert.equal(line.n, (attempts.get(line.exchange) ?? 0) + 1);
        attempts.set(line.exchange, line.n);
        assert.ok(line.basis.progress.now > 0 && line.verdict.reason && line.action.kind);
      }
      if (line.kind === 'end') assert.equal(line.attempts, attempts.get(line.exchange));
    }
    assert.ok(attempts.size >= 13);
    const kinds = lines.map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === 'end').length, attempts.size);

    await t.test('without the credentials of anybody, and without bodies of requests', () => {
      const text = readFileSync(log, 'utf8');
      assert.ok(!text.includes('hush'), /.{60}hush.{20}/.exec(text)?.[0]);
      assert.ok(!text.includes('user:secret'));
      assert.match(text, /token=\*\*\*/);
    });

    await t.test(
      'with the text of replies that were no good, and of good ones only how long it was',
      () => {
        const bodies = lines.flatMap(({ reply, verdict }) =>
          reply?.body?.kind === 'seen' ? [{ ...reply.body, fault: verdict.fault }] : [],
        );
        assert.ok(bodies.some(({ text }) => text.includes('no entry')));
        const good = bodies.filter(({ fault }) => fault === 'none');
        assert.ok(good.length > 0 && good.every(({ text, chars }) => text === '' && chars > 0));
      },
    );

    await t.test('and can be read by nobody else', () => {
      assert.equal(statSync(log).mode & 0o777, 0o600);
    });
  },
);

test(
  'a log that was moved away goes on in a new file, at once or within a second',
  LIMIT,
  async (t) => {
    const folder = scratch(t);
    const file = join(folder, 'a.jsonl');
    const { log } = opened(t, file);
    await until(log, file, 1);
    renameSync(file, join(folder, 'a.1'));
    log.reopen();
    await until(log, file, 2);
    renameSync(file, join(folder, 'a.2'));
    await systemClock.sleep(1_100);
    log.record(ended(3));
    await log.close();
    assert.deepEqual(
      ['a.1', 'a.2', 'a.jsonl'].map((name) => [
        linesOf(join(folder, name))[0].kind,
        idsIn(join(folder, name)),
      ]),
      [
        ['head', ['x1']],
        ['head', ['x2']],
        ['head', ['x3']],
      ],
    );
  },
);

test('a log that was cut to nothing begins anew', LIMIT, async (t) => {
  const file = join(scratch(t), 'a.jsonl');
  const { log } = opened(t, file);
  await until(log, file, 1);
  truncateSync(file);
  await systemClock.sleep(1_100);
  log.record(ended(2));
  await log.close();
  assert.deepEqual([linesOf(file)[0].kind, idsIn(file)], ['head', ['x2']]);
});

test('what a killed process left is kept, its half line apart', LIMIT, async (t) => {
  const file = join(scratch(t), 'a.jsonl');
  writeFileSync(file, '{"v":1,"kind":"he');
  const { log } = opened(t, file);
  log.record(ended(1));
  await log.close();
  const [half, ...rest] = readFileSync(file, 'utf8').trimEnd().split('\n');
  assert.equal(half, '{"v":1,"kind":"he');
  assert.deepEqual(
    rest.map((line) => JSON.parse(line).kind),
    ['head', 'end'],
  );
});

test(
  'a full disk costs lines and nothing else: it is said once, and what is missing stands in the log',
  LIMIT,
  async (t) => {
    const file = join(scratch(t), 'a.jsonl');
    const clock = new FakeClock();
    const { log, told } = opened(t, file, clock);
    await until(log, file, 1);
    const full = (...args: readonly unknown[]) => {
      const done = args.at(-1) as (error: Error) => void;
      setImmediate(() => done(Object.assign(new Error('full'), { code: 'ENOSPC' })));
    };
    t.mock.method(fs, 'write', full as typeof fs.write);
    syncBuiltinESMExports();
    const before = performance.now();
    for (let n = 2; n < 100_000; n += 1) log.record(ended(n));
    assert.ok(performance.now() - before < 10_000);
    await flush();
    await systemClock.sleep(20);
    assert.deepEqual(
      told.map((line) => line.split(' ')[0]),
      ['error:'],
    );
    assert.match(told[0] ?? '', /ENOSPC|does not keep up/);
    t.mock.restoreAll();
    syncBuiltinESMExports();
    clock.advance(5_000);
    await written(file, 'x2');
    const end = performance.now() + 5_000;
    while (told.length < 2 && performance.now() < end) await systemClock.sleep(5);
    assert.match(told[1] ?? '', /^info: .* is written again; [1-9]\d* lines are lost$/);
    log.record(ended(100_000));
    await written(file, 'x100000');
    await log.close();
    const gap = linesOf(file).find(({ kind }) => kind === 'gap');
    assert.equal(gap.lines, 99_999 - new Set(idsIn(file)).size + 1);
  },
);

test(
  'a line is never longer than it may be, whatever a site sends',
  LIMIT,
  async (t: TestContext) => {
    const file = join(scratch(t), 'a.jsonl');
    const { log } = opened(t, file);
    const exchange = exchangeFor({ policy }, 0);
    const rawHeaders = Array.from({ length: 400 }, (_, i) =>
      i % 2 === 0 ? `x-${i}` : '\u0001'.repeat(900),
    );
    log.record({
      ...{ type: 'attempt_finished', at: 1, exchange, lane: 'shop.test', n: 1, durationMs: 1 },
      ...{ sentBytes: 1, receivedBytes: 1, action: { kind: 'deliver' } },
      route: {
        id: 'r',
        label: 'r',
        upstream: 'u',
        session: undefined,
        generation: 0,
        way: { kind: 'direct' },
      },
      verdict: { fault: 'none', reason: 'ok', evidence: { kind: 'status', status: 200 } },
      reply: {
        kind: 'response',
        via: 'direct',
        status: 200,
        headMs: 1,
        rawHeaders,
        body: { kind: 'unseen' },
      },
    });
    await log.close();
    const [, , attempt] = readFileSync(file, 'utf8').split('\n');
    assert.ok(attempt && attempt.length < 33_000, `${attempt?.length}`);
    assert.equal(JSON.parse(attempt).kind, 'attempt');
  },
);

test('what is no regular file is refused', (t) => {
  assert.throws(() => opened(t, '/dev/full'), /not a regular file/);
  const folder = scratch(t);
  assert.throws(() => opened(t, folder), { code: 'EISDIR' });
  assert.throws(() => opened(t, join(folder, 'none', 'a.jsonl')), { code: 'ENOENT' });
});
