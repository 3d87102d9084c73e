import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ShownLane, ShownStatus } from '../src/cli/status.ts';
import { type TopView, topLines } from '../src/cli/top-screen.ts';
import { ask } from './support/admin.ts';
import { LIMIT, Printed, ran, scratch, spawnForbear, started } from './support/forbear-process.ts';
import { site } from './support/letters.ts';
import { get } from './support/whole-proxy.ts';

const NOW = Date.UTC(2026, 0, 1);

const STATUS: ShownStatus = {
  ...{ version: '1.2.3', started_at: new Date(NOW - 3_723_000).toISOString(), state: 'ready' },
  ...{ listen: '127.0.0.1:8888', connections: 3, exchanges: 2, sockets: 2, waiting: 1 },
  lanes: { all: 2, isolated: 0, breaker_open: 1, paused: 0, active: 1, idle: 0 },
  ...{ routes: { in: 1, ejected: 0 }, sessions: { active: 0 }, dead_letters: { parked: 7 } },
};

const lane = (id: string, patch: Partial<ShownLane> = {}): ShownLane => ({
  ...{ id, state: 'idle', paused_until: null, breaker_until: null, rate: null, budget: 6 },
  ...{ waiting: 0, in_flight: 0, concurrency: 32, failures_in_row: 0 },
  ...patch,
});

const view = (lanes: number): TopView => ({
  status: STATUS,
  lanes: [
    lane('broken.test', {
      state: 'breaker_open',
      breaker_until: new Date(NOW + 65_000).toISOString(),
    }),
    ...Array.from({ length: lanes }, (_, i) => lane(`${'x'.repeat(60)}${i}.test`, { rate: 2.5 })),
  ],
  waiting: Array.from({ length: 12 }, (_, i) => ({
    ...{ id: `e${i}`, lane: 'a.test', method: 'GET', url: `http://a.test/\x1b[31m${i}` },
    started_at: new Date(NOW - 5_000).toISOString(),
    stage: { kind: 'paused', until: new Date(NOW + 9_000).toISOString() },
  })),
});

test('a screen of top fits any size, and shows trouble first', () => {
  for (const [columns, rows] of [
    [80, 24],
    [120, 50],
    [40, 10],
    [20, 5],
    [200, 8],
  ] as const) {
    const lines = topLines(view(100), { columns, rows }, NOW);
    assert.ok(lines.length <= rows, `${lines.length} of ${rows} rows`);
    for (const line of lines) {
      assert.ok(line.length <= columns, line);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      assert.doesNotMatch(line, /[\x00-\x1f\x7f-\x9f]/);
    }
  }
  const lines = topLines(view(2), { columns: 80, rows: 24 }, NOW);
  assert.match(lines[0] ?? '', /^Forbear 1\.2\.3 {2}ready {2}127\.0\.0\.1:8888 {2}up 1h02m$/);
  assert.match(lines[5] ?? '', /^broken\.test +breaker_open +1m05s/);
  assert.match(lines.join('\n'), /5s +9s {2}paused +GET http:\/\/a\.test\/\\x1b\[31m0/);
});

test('status, healthcheck and top tell of a running proxy', LIMIT, async (t) => {
  const { home, port } = await started(t);
  const far = await site(t, (_, response) => response.end('page'));
  await get(port, `${far.url}/`);
  const status = await ran(t, home, ['status']);
  assert.equal(status.status, 0);
  assert.match(
    status.out,
    new RegExp(`^Forbear \\S+ is ready, listens on http://127.0.0.1:${port}, `),
  );
  assert.match(status.out, /^ {2}lanes +1: 1 idle$/m);
  const json = JSON.parse((await ran(t, home, ['status', '--json'])).out);
  assert.deepEqual([json.state, json.lanes.all], ['ready', 1]);
  const health = await ran(t, home, ['healthcheck']);
  assert.deepEqual([health.status, health.out, health.err], [0, 'ready\n', '']);
  const live = await ran(t, home, ['healthcheck', '--live']);
  assert.deepEqual([live.status, live.out], [0, 'live\n']);
  const top = await ran(t, home, ['top', '--count', '2', '--interval', '100ms']);
  assert.equal(top.status, 0);
  assert.equal(top.out.match(/^\d{4}-\d\d-\d\dT\S+Z$/gm)?.length, 2);
  assert.match(top.out, new RegExp(`^${far.authority} +idle`, 'm'));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a pipe gets text alone
  assert.doesNotMatch(top.out, /\x1b/);
  assert.equal((await ran(t, home, ['top', '--interval', 'soon'])).status, 2);
});

test('a pipe that is closed ends top quietly', LIMIT, async (t) => {
  const { home } = await started(t);
  const top = spawnForbear(t, ['top', '--interval', '100ms'], { FORBEAR_HOME: home });
  await top.printed.until(/LANE/);
  top.child.stdout?.destroy();
  assert.deepEqual(await top.closed, [0, null]);
});

test('where nothing runs, one line and status 1', LIMIT, async (t) => {
  for (const command of ['status', 'healthcheck', 'top']) {
    const { status, out, err } = await ran(t, join(scratch, 'none'), [
      ...[command, '--admin', '127.0.0.1:9'],
    ]);
    assert.deepEqual([status, out], [1, ''], command);
    assert.match(err, /^forbear: no Forbear answers at [^\n]+\n$/);
  }
});

const forbear = fileURLToPath(new URL('../bin/forbear.js', import.meta.url));

/** The command on a terminal of its own; undefined where there is no `script` to make one. */
function onTerminal(
  t: TestContext,
  home: string,
  args: readonly string[],
): ChildProcess | undefined {
  if (!existsSync('/usr/bin/script') || process.platform !== 'linux') return undefined;
  const command = [process.execPath, forbear, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols 80 rows 24; ${command}`, '/dev/null'], {
    env: { PATH: process.env.PATH, HOME: scratch, FORBEAR_HOME: home, TERM: 'xterm' },
    cwd: scratch,
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

test(
  'on a terminal top redraws in place, and q or Ctrl-C gives the terminal back',
  LIMIT,
  async (t) => {
    const { home, child: service, closed } = await started(t);
    for (const key of ['q', '\x03']) {
      const top = onTerminal(t, home, ['top', '--interval', '100ms']);
      if (!top) return t.skip('no terminal can be made here');
      const over = once(top, 'close');
      const printed = new Printed(top);
      await printed.until(/\[\?1049h[\s\S]*\[HForbear[\s\S]*\[HForbear/);
      top.stdin?.write(key);
      assert.deepEqual(await over, [0, null]);
      assert.match(printed.text, /\[\?25h\S\[\?1049l\s*$/);
    }
    // The proxy goes away, and top stays until it is told to go.
    const top = onTerminal(t, home, ['top', '--interval', '100ms']);
    if (!top) return;
    const over = once(top, 'close');
    const printed = new Printed(top);
    await printed.until(/\[HForbear/);
    service.kill('SIGTERM');
    await closed;
    await printed.until(/no Forbear answers|the admin server is off/);
    top.stdin?.write('q');
    assert.deepEqual(await over, [0, null]);
  },
);

test(
  'draining over the API answers what runs, turns new ones away, and ends the process with 0',
  LIMIT,
  async (t) => {
    const held: ServerResponse[] = [];
    const far = await site(t, (_, response) => held.push(response));
    const { home, port, closed, printed } = await started(t);
    const [, admin] = await printed.until(/dashboard +http:\/\/127\.0\.0\.1:(\d+)/);
    const adminPort = Number(admin);
    const running = get(port, `${far.url}/`);
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const drain = await ask(adminPort, 'POST', '/api/v1/drain');
    assert.deepEqual([drain.status, drain.json], [202, { state: 'draining' }]);
    const ready = await ask(adminPort, 'GET', '/readyz');
    assert.deepEqual([ready.status, ready.json.reason], [503, 'draining']);
    assert.equal((await ask(adminPort, 'GET', '/livez')).status, 200);
    assert.equal((await ask(adminPort, 'POST', '/api/v1/drain')).status, 202);
    const health = await ran(t, home, ['healthcheck']);
    assert.deepEqual([health.status, health.out], [1, '']);
    assert.match(health.err, /^forbear: not ready: It is draining[^\n]*\n$/);
    held[0]?.end('the page');
    assert.equal((await running).body.toString(), 'the page');
    assert.deepEqual(await closed, [0, null]);
    assert.match(printed.text, /asked to stop/);
  },
);
