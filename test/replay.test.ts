import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { replay } from '../src/cli/replay.ts';
import type { ReplayFacts } from '../src/cli/replay-report.ts';
import { CommandError } from '../src/cli/terminal.ts';
import { type RecordedRun, recordedRun, scratch } from './support/recorded-run.ts';

const LIMIT = { timeout: 60_000 };

/** The findings under another configuration. */
async function facts(logs: string | readonly string[], config: string): Promise<ReplayFacts> {
  let out = '';
  const terminal = { out: (text: string) => (out += text), err: () => {}, env: {} };
  const log = typeof logs === 'string' ? [logs] : logs;
  assert.equal(await replay({ log, config, examples: 5, json: true }, terminal), 0);
  return JSON.parse(out);
}

/** The run's configuration with other lines in place of some. */
function changed(
  { config, folder }: RecordedRun,
  ...edits: readonly (readonly [string, string])[]
) {
  const file = join(folder, 'other.yaml');
  const text = edits.reduce(
    (now, [from, to]) => {
      assert.ok(now.includes(from), from);
      return now.replace(from, to);
    },
    readFileSync(config, 'utf8'),
  );
  writeFileSync(file, text);
  return file;
}

/** The exchange of a path. */
function exchangeOf({ log }: RecordedRun, path: string): string {
  const line = lines(log).find(({ request }) => request?.path === path);
  assert.ok(line, path);
  return line.exchange;
}

const lines = (log: string) =>
  readFileSync(log, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('replay', LIMIT, async (t) => {
  const run = await recordedRun(t);

  await t.test('under the rules of the log nothing is different', async () => {
    const found = await facts(run.log, run.config);
    assert.ok(found.attempts >= 20, `${found.attempts} attempts`);
    assert.equal(found.compared, found.attempts);
    const { different, rules, lanes, hosts, not_compared, doubtful, missing_lines, unusable } =
      found;
    assert.deepEqual(
      { different, rules, lanes, hosts, not_compared, doubtful, missing_lines, unusable },
      {
        ...{ different: { count: 0, exchanges: [] }, rules: [], lanes: [], hosts: [] },
        ...{ not_compared: [], doubtful: [], missing_lines: 0, unusable: [] },
      },
    );
  });

  await t.test('a log was made of every kind of verdict and step', () => {
    const attempts = lines(run.log).filter(({ kind }) => kind === 'attempt');
    const verdicts = new Set(attempts.map(({ verdict }) => `${verdict.fault}/${verdict.reason}`));
    for (const each of ['none/ok', 'host/overloaded', 'host/rate_limited', 'route/challenged']) {
      assert.ok(verdicts.has(each), `${each} in ${[...verdicts].join(', ')}`);
    }
    const actions = new Set(attempts.map(({ action }) => action.kind));
    assert.deepEqual([...actions].sort(), ['burn', 'deliver', 'fail', 'rotate', 'wait']);
  });

  await t.test('fewer attempts end the exchanges that took more, and those alone', async () => {
    const found = await facts(run.log, changed(run, ['max_attempts: 6', 'max_attempts: 2']));
    assert.deepEqual(found.rules, [{ key: 'maxAttempts', recorded: 6, whatIf: 2, replayed: true }]);
    const [lane] = found.lanes;
    assert.deepEqual(lane?.verdicts, {});
    assert.deepEqual(lane?.actions['wait -> fail: attempts_exhausted'], {
      count: 2,
      exchanges: ['/flaky/1', '/flaky/2'].map((path) => exchangeOf(run, path)),
    });
    assert.equal(found.not_compared[0]?.why, 'behind the first difference of their exchange');
    const later = lines(run.log).filter(({ kind, n }) => kind === 'attempt' && n > 2);
    assert.equal(found.not_compared[0]?.count, later.length);
  });

  await t.test('a status that is no longer transient is another verdict', async () => {
    const found = await facts(
      run.log,
      changed(run, ['  max_attempts: 6', '  max_attempts: 6\n  transient_statuses: [500]']),
    );
    const [lane] = found.lanes;
    const [[what, tally] = ['', undefined]] = Object.entries(lane?.verdicts ?? {});
    assert.match(what, /^host\/overloaded -> /);
    assert.deepEqual(
      tally?.exchanges,
      ['/flaky/1', '/flaky/2', '/flaky/3'].map((path) => exchangeOf(run, path)),
    );
  });

  await t.test('a rule about replies speaks of those that it fits', async () => {
    const rule =
      'targets: [{ match: shop.test, replies: [{ when: { status: 403, body_contains: "no entry" }, verdict: terminal, label: closed }] }]\n';
    const found = await facts(run.log, changed(run, ['upstreams:', `${rule}upstreams:`]));
    assert.deepEqual(found.different, { count: 1, exchanges: [exchangeOf(run, '/forbidden/1')] });
    assert.deepEqual(
      Object.values(found.lanes[0]?.verdicts ?? {}).map(({ count }) => count),
      [1],
    );
    assert.ok(found.lanes[0]?.rotations.whatIf === found.lanes[0]!.rotations.recorded - 1);
  });

  await t.test(
    'a longer wait is one, and ends what can be known unless it is taken for granted',
    async () => {
      const other = changed(run, [
        'backoff: { base: 20ms, cap: 100ms, jitter: 0 }',
        'backoff: { base: 200ms, cap: 1s, jitter: 0 }',
      ]);
      const found = await facts(run.log, other);
      const waits = found.lanes[0]?.waits;
      assert.deepEqual(
        waits?.longer.exchanges,
        ['/flaky/1', '/half/1', '/down/1', '/flaky/2'].map((path) => exchangeOf(run, path)),
      );
      assert.deepEqual([waits?.longer.count, waits?.shorter.count], [4, 0]);
      // The first of each, and the pause that the site asked for.
      assert.deepEqual([waits?.recordedMs, waits?.whatIfMs], [280, 1000]);
      let out = '';
      const terminal = { out: (text: string) => (out += text), err: () => {}, env: {} };
      const flags = { log: [run.log], config: other, examples: 5, json: true };
      await replay({ ...flags, assumeSameReplies: true }, terminal);
      const assumed: ReplayFacts = JSON.parse(out);
      assert.deepEqual(assumed.not_compared, []);
      assert.equal(assumed.lanes[0]?.waits.longer.count, 6);
    },
  );

  await t.test('a budget that is empty sooner denies retries', async () => {
    const found = await facts(
      run.log,
      changed(run, [
        'budget: { floor_per_minute: 60 }',
        'budget: { floor_per_minute: 2, ratio: 0 }',
      ]),
    );
    const [lane] = found.lanes;
    assert.equal(lane?.budget_denials.recorded, 0);
    assert.ok((lane?.budget_denials.whatIf ?? 0) > 0);
    assert.ok(lane?.actions['wait -> fail: retry_budget_spent']);
    assert.deepEqual(found.hosts[0]?.lowestBudget.whatIf, 0);
  });

  await t.test('a breaker that opens sooner holds back what came then', async () => {
    const found = await facts(
      run.log,
      changed(run, [
        'breaker: { consecutive: 50, min_attempts: 100 }',
        'breaker: { consecutive: 2, min_attempts: 100 }',
      ]),
    );
    assert.deepEqual(found.hosts[0]?.trips.recorded, 0);
    assert.ok((found.hosts[0]?.trips.whatIf ?? 0) > 0);
    assert.ok((found.lanes[0]?.held.breaker.count ?? 0) > 0);
  });

  await t.test('less patience fails what outlasted it', async () => {
    const found = await facts(run.log, changed(run, ['patience: 5s', 'patience: 10ms']));
    assert.ok(found.lanes[0]?.actions['wait -> fail: patience_exceeded']);
  });

  await t.test(
    'a log that was cut, with foreign lines, other versions and damage, gives what it has',
    async (t) => {
      const whole = readFileSync(run.log, 'utf8');
      const log = join(scratch(t), 'bad.jsonl');
      const broken = { ...lines(run.log).find(({ kind }) => kind === 'attempt'), reply: 7 };
      const bad = [
        ...['{"hello":1}', 'no json', '{"v":99,"kind":"attempt"}', JSON.stringify(broken)],
        `"${'x'.repeat(20_000_000)}"`,
      ];
      writeFileSync(log, `${bad.join('\n')}\n${whole}`);
      appendFileSync(log, whole.trimEnd().split('\n').at(-2)!.slice(0, 200));
      const found = await facts(log, run.config);
      assert.equal(found.attempts, (await facts(run.log, run.config)).attempts);
      const unusable = Object.fromEntries(found.unusable.map(({ what, lines }) => [what, lines]));
      assert.deepEqual(unusable, {
        'that are no lines of an attempt log': [1],
        'that are no JSON': [2],
        'of another version of the format': [3],
        'that are too long to be any': [5],
        'cut off in the middle': [6 + whole.trimEnd().split('\n').length],
        ...(unusable['of this version, but damaged']
          ? { 'of this version, but damaged': [4] }
          : {}),
      });
      assert.deepEqual(found.different.count, 0);
    },
  );

  await t.test('several files, compressed ones among them, are one log', async (t) => {
    const all = readFileSync(run.log, 'utf8').trimEnd().split('\n');
    const folder = scratch(t);
    const [first, second] = [join(folder, 'a.jsonl.gz'), join(folder, 'b.jsonl')];
    writeFileSync(first, gzipSync(`${all.slice(0, 12).join('\n')}\n`));
    writeFileSync(second, `${all.slice(12).join('\n')}\n`);
    const [split, whole] = [
      await facts([first, second], run.config),
      await facts(run.log, run.config),
    ];
    assert.deepEqual({ ...split, files: [] }, { ...whole, files: [] });
  });

  await t.test(
    'for people it names the rules, the numbers and the exchanges behind them',
    async () => {
      let out = '';
      const terminal = { out: (text: string) => (out += text), err: () => {}, env: {} };
      const config = changed(run, ['max_attempts: 6', 'max_attempts: 2']);
      await replay({ log: [run.log], config, examples: 5 }, terminal);
      assert.match(out, /maxAttempts: 6 -> 2/);
      assert.match(out, /2 {2}wait -> fail: attempts_exhausted/);
      assert.ok(out.includes(exchangeOf(run, '/flaky/1')));
    },
  );
});

test('nothing to replay is an error that says why', LIMIT, async (t: TestContext) => {
  const folder = scratch(t);
  const terminal = { out: () => {}, err: () => {}, env: {} };
  const cases: readonly (readonly [string, string | Buffer | undefined, RegExp])[] = [
    ['missing.jsonl', undefined, /ENOENT/],
    [
      'other.jsonl',
      '{"some":"log"}\n',
      /holds no attempt of a log of version 1 \(1 lines that are no lines/,
    ],
    ['next.jsonl', '{"v":2,"kind":"head"}\n', /of another version/],
    ['binary.jsonl', Buffer.from([0, 255, 10, 128, 10]), /no JSON/],
    ['not.jsonl.gz', 'plain', /cannot read the log/],
  ];
  for (const [name, text, message] of cases) {
    const file = join(folder, name);
    if (text !== undefined) writeFileSync(file, text);
    await assert.rejects(
      replay({ log: [file], examples: 3 }, terminal),
      (error) => error instanceof CommandError && message.test(error.message),
      name,
    );
  }
  await assert.rejects(replay({ log: [folder], examples: 3 }, terminal), /EISDIR/);
});

test('an empty log is one without attempts', LIMIT, async (t) => {
  const file = join(scratch(t), 'empty.jsonl');
  writeFileSync(file, '');
  const config = join(scratch(t), 'c.yaml');
  writeFileSync(config, 'listen: 127.0.0.1:0\n');
  assert.equal((await facts(file, config)).attempts, 0);
});
