import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { main } from '../src/cli/main.ts';
import { Flaws, parseLine, readLog } from '../src/replay/read-log.ts';
import { MadeLog } from './support/attempt-lines.ts';
import { LIMIT } from './support/forbear-process.ts';
import { folder, fresh, replay, replayed, written } from './support/recorded.ts';

const STRICT = written('strict.yaml', 'policy: { transient_statuses: [500] }\n');

/** Two exchanges: one was retried, one was good. Five lines. */
const madeLog = () =>
  new MadeLog()
    .add({ exchange: 'a', status: 503 })
    .add({ exchange: 'a', n: 2, status: 200 })
    .add({ exchange: 'b', status: 200 });

const good = () => readFileSync(madeLog().file(), 'utf8');
const under = (file: string, ...more: string[]) =>
  replay('--log', file, '--config', STRICT, ...more);
const unusable = async (file: string) =>
  (await replayed(file, '')).unusable.map(({ what, count, lines }) => [what, count, lines]);

test('a replay says what would have been different, for people', async () => {
  const { status, out, err } = await under(madeLog().file());
  assert.deepEqual([status, err], [0, '']);
  assert.equal(
    out,
    [
      '3 attempts of 2 exchanges, 2 compared',
      '',
      'Rules that differ (recorded -> what if):',
      '  transientStatuses: [408,425,500,502,503,504,520,521,522,523,524] -> [500]',
      '',
      '1 of 2 exchanges would have gone another way   [a]',
      '',
      'lane shop.test  (2 attempts compared)',
      '  verdict        1  host/overloaded -> client/rejected   [a]',
      '  action         1  wait (transient) -> deliver   [a]',
      '  waits in all: 500 ms -> 0 ms',
      '',
      'host shop.test',
      '  least left in the budget: 5 -> 6',
      '',
      'not compared: 1 attempt behind the first difference of their exchange   [a]',
      'An exchange is followed to its first different step: what would have come back after another one is not known.',
      '',
    ].join('\n'),
  );
});

test('a log that was cut midway is read up to there', async () => {
  const text = good();
  for (const at of [text.length - 1, text.length - 40, text.lastIndexOf('{', text.length - 40)]) {
    const { status, out } = await under(written('cut.jsonl', text.slice(0, at)));
    assert.equal(status, 0);
    // All but the last line end: that one is whole.
    const isWhole = at === text.length - 1;
    assert.match(out, isWhole ? /^3 attempts of 2/ : /^2 attempts of 1 exchange,/);
    const told = /passed over: 1 line, cut off in the middle \(\S+cut\.jsonl, line 5\)/.test(out);
    assert.equal(told, !isWhole);
  }
});

test('half a line of a process that was killed costs that line only', async () => {
  const text = good();
  const file = written('killed.jsonl', `${text}{"v":1,"kind":"att\n${text}`);
  assert.deepEqual(await unusable(file), [['not JSON', 1, [6]]]);
  assert.equal((await replayed(file, '')).attempts, 6);
});

test('lines of other versions and foreign lines are passed over, with their places', async () => {
  const foreign = ['[]', '3', 'null', '"v"', '{"level":"info","msg":"x"}', '{"v":1,"kind":"tea"}'];
  const odd = ['{"v":1,"kind":"constructor"}', '{"v":1,"kind":"__proto__"}'];
  const newer = good().replaceAll('"v":1,', '"v":2,');
  const file = written('mixed.jsonl', [...foreign, ...odd, newer, '', good()].join('\n'));
  assert.deepEqual(await unusable(file), [
    ['not of an attempt log', 8, [1, 2, 3, 4, 5]],
    ['of another version of the format', 5, [9, 10, 11, 12, 13]],
  ]);
  const { status, out } = await under(file);
  assert.equal(status, 0);
  assert.match(out, /^3 attempts of 2 exchanges, 2 compared\n/);
  assert.match(out, /line 1, 2, 3, 4, 5, …\)/);
});

test('a line whose insides are damaged costs that line only', async () => {
  const [head = '', policy = '', a1 = '', a2 = '', b = ''] = good().trimEnd().split('\n');
  const hurt = (key: string, value: unknown) => JSON.stringify({ ...JSON.parse(a1), [key]: value });
  const damaged = [
    hurt('reply', {}),
    hurt('reply', { kind: 'response', body: { kind: 'seen' } }),
    hurt('request', {}),
    hurt('verdict', 'ok'),
    hurt('basis', { progress: {} }),
    hurt('basis', 3),
    hurt('n', '1'),
  ];
  const file = written('hurt.jsonl', [head, policy, ...damaged, a1, a2, b, ''].join('\n'));
  const found = await replayed(file, 'policy: { transient_statuses: [500] }\n');
  assert.deepEqual([found.compared, found.different.exchanges], [2, ['a']]);
  const [flaw] = found.unusable;
  assert.deepEqual(
    [found.unusable.length, flaw?.what, flaw?.count],
    [1, 'of this version, but damaged', 7],
  );
  const ruleless = written(
    'ruleless.jsonl',
    [head, policy.replace(/"policy":\{.*/, '"policy":{}}'), a1].join('\n'),
  );
  assert.equal((await replay('--log', ruleless)).status, 0);
});

test('a file in which no attempt is, is an error that says what is there instead', async () => {
  const [head = ''] = good().split('\n');
  const noise = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919 + (i >> 3)) % 256));
  const files: readonly [string, RegExp][] = [
    [
      written('empty.jsonl', ''),
      /empty\.jsonl: no attempt of an attempt log of version 1 is in there$/,
    ],
    [written('head.jsonl', `${head}\n`), /no attempt of an attempt log of version 1 is in there$/],
    [
      written('v9.jsonl', good().replaceAll('"v":1', '"v":9')),
      /\(5 lines, of another version of the format, from line 1 on\)$/,
    ],
    [written('noise.jsonl', noise), /lines, not JSON, from line 1 on/],
    [written('log.txt', 'GET / 200\nGET /x 404\n'), /\(2 lines, not JSON, from line 1 on\)$/],
    [
      written('gz.jsonl', gzipSync(good())),
      /lines?, (?:not JSON|cut off in the middle), from line 1 on/,
    ],
    [fresh('missing.jsonl'), /^cannot read \S+missing\.jsonl \(there is no such file\)$/],
    [folder, /^cannot read \S+ \(it is a folder\)$/],
    [
      written('not.jsonl.gz', good()),
      /^cannot read \S+ \(it is no gzip archive, or a damaged one\)$/,
    ],
  ];
  for (const [file, told] of files) {
    const { status, out, err } = await under(file);
    assert.deepEqual([status, out], [1, ''], file);
    assert.match(err.replace(/^forbear: |\n$/g, ''), told);
    assert.equal(err.trimEnd().split('\n').length, 1);
  }
});

test('archives are read, as far as they go', async () => {
  const whole = written('a.jsonl.gz', gzipSync(good()));
  assert.equal((await replayed(whole, '')).attempts, 3);
  const log = new MadeLog();
  for (let i = 0; i < 3_000; i += 1) {
    log.add({ exchange: `x${i}`, status: 200, path: `/items/${(i * 7919) % 10_007}` });
  }
  const packed = gzipSync(readFileSync(log.file()));
  const cut = await replayed(written('b.jsonl.gz', packed.subarray(0, packed.length / 2)), '');
  assert.ok(cut.attempts > 500 && cut.attempts < 3_000, `${cut.attempts}`);
  assert.deepEqual(
    cut.unusable.map(({ what, count }) => [what, count]),
    [['cut off in the middle', 1]],
  );
});

test('lines without an end are bounded in memory, and what comes behind them is read', async () => {
  const file = fresh('long.jsonl');
  const fd = openSync(file, 'w');
  const MB = 1024 * 1024;
  ftruncateSync(fd, 400 * MB);
  const text = good();
  writeSync(fd, `\n${text}`, 400 * MB);
  closeSync(fd);
  const flaws = new Flaws();
  let entries = 0;
  let most = 0;
  const before = process.memoryUsage().arrayBuffers;
  const look = () => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  };
  for await (const piece of readLog(file, flaws, look)) entries += [...piece].length;
  assert.equal(entries, 5);
  assert.deepEqual(flaws.list(), [{ file, flaw: 'too_long', count: 1, lines: [1] }]);
  assert.ok(most < 150 * MB, `${Math.round(most / MB)} MiB`);
});

test('a line may be split over pieces anywhere, within a character too', async () => {
  const log = new MadeLog({}, { goodChars: 0, otherChars: 3_000_000 });
  for (const exchange of ['a', 'b', 'c']) {
    log.add({ exchange, status: 404, text: `${exchange}${'é€😀'.repeat(200_000)}` });
  }
  const texts: string[] = [];
  for await (const piece of readLog(log.file(), new Flaws())) {
    for (const { entry } of piece) {
      if (entry.kind === 'attempt' && entry.reply.kind === 'response') {
        texts.push(entry.reply.body.kind === 'seen' ? entry.reply.body.text : '');
      }
    }
  }
  assert.deepEqual(
    texts.map((text) => [text[0], text.length, text.includes('\ufffd')]),
    ['a', 'b', 'c'].map((exchange) => [exchange, 800_001, false]),
  );
});

test('no line makes the reader throw', () => {
  for (const text of [
    '',
    ' ',
    '{',
    '{}',
    '{"v":1}',
    '{"v":1,"kind":"end"}',
    '\u0000',
    '{"v":"1"}',
  ]) {
    assert.equal(typeof parseLine(text), 'string', text);
  }
});

test('standard input is read, and so are several files in their order', LIMIT, async () => {
  const forbear = fileURLToPath(new URL('../bin/forbear.js', import.meta.url));
  const args = [forbear, 'replay', '--log', '-', '--config', STRICT, '--json'];
  const piped = spawnSync(process.execPath, args, { input: good(), encoding: 'utf8' });
  assert.deepEqual([piped.status, piped.stderr], [0, '']);
  const found = JSON.parse(piped.stdout);
  assert.deepEqual([found.files, found.different], [['-'], { count: 1, exchanges: ['a'] }]);

  const lines = good().trimEnd().split('\n');
  const first = written('one.jsonl', `${lines.slice(0, 3).join('\n')}\n`);
  const second = written('two.jsonl', `oops\n${lines.slice(3).join('\n')}\n`);
  const both = JSON.parse((await under(first, '--log', second, '--json')).out);
  assert.deepEqual([both.attempts, both.compared, both.files], [3, 2, [first, second]]);
  assert.deepEqual(both.unusable, [{ file: second, what: 'not JSON', count: 1, lines: [1] }]);
});

test('what stands in a log cannot write to the terminal', async () => {
  const log = madeLog();
  const text = readFileSync(log.file(), 'utf8');
  const evil = '\\u001b[2J\\u009b31m';
  const bad = text
    .replaceAll('"lane":"shop.test"', `"lane":"shop${evil}"`)
    .replaceAll('"exchange":"a"', `"exchange":"a${evil}"`)
    .replaceAll('"reason":"overloaded"', `"reason":"over${evil}"`);
  const { status, out } = await under(written('evil.jsonl', bad));
  assert.equal(status, 0);
  assert.match(out, /shop\\x1b\[2J/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  assert.doesNotMatch(out, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
});

test('the bar is for terminals, on standard error, and is taken away', async () => {
  const file = madeLog().file();
  const said = { out: '', err: '' };
  const status = await main(['replay', '--log', file, '--config', STRICT], {
    ...{ out: (text) => (said.out += text), err: (text) => (said.err += text) },
    ...{ env: {}, errIsTerminal: true, columns: 70 },
  });
  assert.equal(status, 0);
  const drawn = said.err.split(/\r\S\[K/);
  assert.match(drawn[1] ?? '', /^replaying \[#{30}\] 100 % of \d+\.\d MB$/);
  assert.equal(drawn.at(-1), '');
  assert.equal(said.out, (await under(file)).out);
});

test('usage and configuration errors end with 2, help with 0', async () => {
  const file = madeLog().file();
  const bad = written('bad.yaml', 'policy: { pateince: 1s }\n');
  const wrong: readonly [string[], RegExp][] = [
    [[], /required option '--log <file>'/],
    [['--log', file, '--config', bad], /bad\.yaml:1:\d+ .*patience/],
    [['--log', file, '--config', fresh('none.yaml')], /none\.yaml/],
    [['--log', file, '--examples', 'many'], /--examples/],
    [['--log', file, '--loud'], /unknown option '--loud'/],
  ];
  for (const [args, told] of wrong) {
    const { status, out, err } = await replay(...args);
    assert.deepEqual([status, out], [2, ''], args.join(' '));
    assert.match(err, told);
  }
  const help = await replay('--help');
  assert.equal(help.status, 0);
  for (const flag of ['--log', '--config', '--assume-same-replies', '--examples', '--json']) {
    assert.ok(help.out.includes(flag), flag);
  }
});
