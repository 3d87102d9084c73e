import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { main } from '../src/cli/main.ts';
import { LIMIT, ran, scratch, spawnForbear, started } from './support/forbear-process.ts';
import { letterOf, send, site } from './support/letters.ts';
import { get, startProxy } from './support/whole-proxy.ts';

let files = 0;

function configFile(text: string): string {
  files += 1;
  const file = join(scratch, `letters-${files}.yaml`);
  writeFileSync(file, text);
  return file;
}

const POLICY = 'policy: { max_attempts: 1, breaker: { consecutive: 1000, min_attempts: 1000 } }';

/** A site that is down until told otherwise. */
async function faulty(t: TestContext) {
  const state = { status: 503, hold: false };
  const far = await site(t, (_, response) => {
    if (state.hold) return;
    response.writeHead(state.status, { 'X-Odd': '\x9b31m', 'Set-Cookie': 'a=hush' });
    response.end('page \x1b]0;title\x07 end');
  });
  const parkBy = async (port: number, path: string, headers: Record<string, string> = {}) =>
    letterOf(await get(port, `${far.url}${path}`, { headers }));
  return { far, state, parkBy };
}

/** Forbear as a process of its own before such a site, and the command as one beside it. */
async function processes(t: TestContext) {
  const { far, state, parkBy } = await faulty(t);
  const service = await started(t, ['--config', configFile(POLICY)]);
  const park = (path: string, headers = {}) => parkBy(service.port, path, headers);
  const letters = (...args: string[]) => ran(t, service.home, ['dead-letters', ...args]);
  return { ...service, far, state, park, letters };
}

/** The same within this process: many commands cost little. */
async function world(t: TestContext) {
  const { far, state, parkBy } = await faulty(t);
  const whole = await startProxy(t, [POLICY], { admin: true });
  const admin = ['--admin', `127.0.0.1:${whole.adminPort}`];
  const park = (path: string, headers = {}) => parkBy(whole.port, path, headers);
  const letters = async (...args: string[]) => {
    const said = { out: '', err: '' };
    const status = await main(['dead-letters', ...args, ...admin], {
      out: (text) => (said.out += text),
      err: (text) => (said.err += text),
      env: { FORBEAR_HOME: join(scratch, 'none') },
    });
    return { status, ...said };
  };
  const raw = (...args: string[]) => ran(t, scratch, ['dead-letters', ...args, ...admin]);
  return { ...whole, far, state, park, letters, raw };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are exactly what must not be there
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/;

test('letters are listed, chosen by flags, and shown whole', LIMIT, async (t) => {
  const { park, letters, raw, far, port } = await world(t);
  const first = await park('/one?token=hush&x=1', { Cookie: 'hush=1' });
  const body = Buffer.from('a=1\x1b[2J\n');
  const second = letterOf(await send(port, `${far.url}/two`, { method: 'PUT', body }));
  const all = await letters();
  assert.equal(all.status, 0);
  const [head, ...lines] = all.out.trimEnd().split('\n');
  assert.match(head ?? '', /^ID +STATE +REASON +DUE IN +REQUEST$/);
  assert.match(lines[0] ?? '', new RegExp(`^${second} +parked +overloaded +\\S+ +PUT http`));
  assert.match(lines[1] ?? '', new RegExp(`^${first} .*GET .*/one\\?token=\\*\\*\\*&x=1$`));

  const json = JSON.parse((await letters('ls', '--json', '--limit', '1')).out);
  assert.deepEqual([json.items.length, json.items[0].id, json.more], [1, second, true]);
  const none = await letters('ls', '--older-than', '1h');
  assert.deepEqual([none.status, none.out], [0, '']);
  const fitting = ['--host', far.authority, '--reason', 'overloaded', '--state', 'parked'];
  assert.equal(JSON.parse((await letters('ls', '--json', ...fitting)).out).items.length, 2);

  const shown = await letters('show', second);
  assert.equal(shown.status, 0);
  for (const part of [/^state +parked$/m, /host\/overloaded/, /a=1\\x1b\[2J/, /503/]) {
    assert.match(shown.out, part);
  }
  assert.doesNotMatch(shown.out, CONTROLS);
  assert.equal((await raw('show', second, '--body')).out, body.toString());
  assert.equal(JSON.parse((await letters('show', second, '--json')).out).id, second);
  assert.doesNotMatch((await letters('show', first)).out, /hush/);
  const missing = await letters('show', 'no-such');
  assert.deepEqual([missing.status, missing.out], [1, '']);
  assert.match(missing.err, /^forbear: There is no dead letter no-such\.\n$/);
});

test('a redrive says what became of each, and its status whether all is well', LIMIT, async (t) => {
  const { park, letters, raw, state, far } = await world(t);
  const ids = [await park('/1'), await park('/2'), await park('/3')];
  const failed = await letters('redrive', '--all');
  assert.equal(failed.status, 1);
  assert.match(failed.out, /^2 put_off, 1 parked\n$/);
  assert.equal(failed.err.trimEnd().split('\n').length, 3);

  state.status = 200;
  const some = await letters('redrive', ids[0] ?? '', 'no-such', '--json');
  assert.equal(some.status, 1);
  const told = some.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(told.at(-1), { summary: { done: 1, missing: 1 } });
  const rest = await letters('redrive', '--host', far.authority);
  assert.deepEqual([rest.status, rest.out, rest.err], [0, '2 done\n', '']);
  const nothing = await letters('redrive', '--due');
  assert.deepEqual([nothing.status, nothing.out], [0, 'There was nothing to redrive.\n']);

  const shown = await letters('show', ids[0] ?? '');
  assert.match(shown.out, /Reply of the redrive, .*: 200/);
  assert.match(shown.out, /page \\x1b\]0;title\\x07 end/);
  assert.doesNotMatch(shown.out, CONTROLS);
  const page = await raw('show', ids[0] ?? '', '--response');
  assert.equal(page.out, 'page \x1b]0;title\x07 end');

  const wrong = [[], ['x', '--all'], ['--all', '--force'], ['x', '--lane', 'y']];
  const statuses = await Promise.all(wrong.map((args) => letters('redrive', ...args)));
  for (const { status } of statuses) assert.equal(status, 2);
});

test(
  'on a terminal a redrive shows how far it is, and takes that away at the end',
  LIMIT,
  async (t) => {
    const { adminPort, park, state } = await world(t);
    const ids = [await park('/1'), await park('/2'), 'no-such'];
    state.status = 200;
    const said = { out: '', err: '' };
    const args = ['redrive', ...ids, '--admin', `127.0.0.1:${adminPort}`];
    const status = await main(['dead-letters', ...args], {
      ...{ out: (text) => (said.out += text), err: (text) => (said.err += text) },
      ...{ env: { FORBEAR_HOME: join(scratch, 'none') }, errIsTerminal: true, columns: 60 },
    });
    assert.deepEqual([status, said.out], [1, '2 done, 1 missing\n']);
    const shown = said.err.split(/\r\S\[K/);
    assert.equal(shown[1], 'redriving [....................] 0/3');
    assert.equal(shown.at(-1), '');
    assert.ok(
      shown.some((line) => /^redriving \[#{20}\] 3\/3 {2}.*1 missing/.test(line)),
      said.err,
    );
    assert.ok(shown.some((line) => line.startsWith('no-such  missing  ')));
  },
);

test('a redrive that the end of the proxy cuts off is told as that', LIMIT, async (t) => {
  const { park, home, state, child, far } = await processes(t);
  const id = await park('/1');
  state.hold = true;
  const redriving = spawnForbear(t, ['dead-letters', 'redrive', id], { FORBEAR_HOME: home });
  while (far.seen.length < 2) await new Promise((resolve) => setImmediate(resolve));
  child.kill('SIGKILL');
  assert.deepEqual(await redriving.closed, [1, null]);
  assert.match(redriving.printed.text, /^forbear: the redrive was broken off: [^\n]+\n$/);
});

test(
  'an export goes where it is told to, for its owner alone, or says why it cannot',
  LIMIT,
  async (t) => {
    const { park, letters, home } = await processes(t);
    await park('/1?a=1', { Cookie: 'hush=1' });
    await park('/2');
    const lines = (await letters('export')).out.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).state),
      ['parked', 'parked'],
    );
    assert.match((await letters('export', '--format', 'curl')).out, /^curl /m);

    const file = join(scratch, 'out.har');
    writeFileSync(file, 'x'.repeat(100_000), { mode: 0o644 });
    const written = await letters('export', '--format', 'har', '--output', file, '--with-secrets');
    assert.deepEqual([written.status, written.out, written.err], [0, '', '']);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const har = readFileSync(file, 'utf8');
    assert.equal(JSON.parse(har).log.entries.length, 2);
    assert.match(har, /hush=1/);
    const fresh = join(scratch, 'fresh.jsonl');
    await letters('export', '--output', fresh, '--reason', 'overloaded');
    assert.equal(statSync(fresh).mode & 0o777, 0o600);
    assert.doesNotMatch(readFileSync(fresh, 'utf8'), /hush/);

    const nowhere = await letters('export', '--output', join(scratch, 'no', 'such'));
    assert.equal(nowhere.status, 1);
    assert.match(
      nowhere.err,
      /^forbear: cannot write to \S+such: there is no such folder[^\n]*\n$/,
    );
    if (existsSync('/dev/full')) {
      const full = await letters('export', '--output', '/dev/full');
      assert.deepEqual([full.status, full.out], [1, '']);
      assert.match(full.err, /^forbear: cannot write to \/dev\/full: the disk is full[^\n]*\n$/);
    }
    const head = spawnForbear(t, ['dead-letters', 'export'], { FORBEAR_HOME: home });
    head.child.stdout?.destroy();
    assert.deepEqual(await head.closed, [0, null]);
    assert.equal(head.printed.text, '');
  },
);

test('letters are dropped after consent only', LIMIT, async (t) => {
  const { park, letters } = await world(t);
  const ids = [await park('/1'), await park('/2'), await park('/3')];
  const unasked = await letters('drop', ids[0] ?? '');
  assert.equal(unasked.status, 2);
  assert.match(unasked.err, /--yes/);
  assert.equal((await letters('drop', '--yes')).status, 2);
  assert.equal((await letters('drop', ids[0] ?? '', '--yes')).out, 'dropped 1\n');
  assert.equal((await letters('drop', ids[0] ?? '', '--yes')).status, 1);
  const rest = await letters('drop', '--all', '--yes', '--json');
  assert.deepEqual([rest.status, rest.out], [0, '{"dropped":2}\n']);
  assert.equal((await letters('drop', '--all', '--yes')).status, 0);
});

test('without a running proxy every command says so in one line', LIMIT, async (t) => {
  const home = join(scratch, 'nobody');
  const admin = ['--admin', '127.0.0.1:9'];
  const commands = [['ls'], ['show', 'x'], ['redrive', 'x'], ['export'], ['drop', 'x', '--yes']];
  const told = await Promise.all(
    commands.map((args) => ran(t, home, ['dead-letters', ...args, ...admin])),
  );
  for (const { status, out, err } of told) {
    assert.deepEqual([status, out], [1, '']);
    assert.match(
      err,
      /^forbear: no Forbear answers at http:\/\/127\.0\.0\.1:9 [^\n]*forbear start\n$/,
    );
  }
  const off = await ran(t, home, ['dead-letters'], { FORBEAR_ADMIN_LISTEN: 'off' });
  assert.deepEqual([off.status, off.out], [1, '']);
  assert.match(off.err, /^forbear: the admin server is off[^\n]*\n$/);
  for (const bad of ['127.0.0.1', '127.0.0.1:99999']) {
    assert.equal((await ran(t, home, ['dead-letters', '--admin', bad])).status, 2, bad);
  }
});

test(
  'the token comes from the configuration or the environment, and a wrong one is told',
  LIMIT,
  async (t) => {
    const config = configFile('admin: { token: open-sesame }\n');
    const { home } = await started(t, ['--config', config]);
    assert.equal((await ran(t, home, ['dead-letters', '--config', config])).status, 0);
    const env = { FORBEAR_ADMIN_TOKEN: 'open-sesame' };
    assert.equal((await ran(t, home, ['dead-letters'], env)).status, 0);
    const { status, err } = await ran(t, home, ['dead-letters']);
    assert.equal(status, 1);
    assert.match(err, /^forbear: \S+ wants another token: [^\n]*FORBEAR_ADMIN_TOKEN\n$/);
    const broken = configFile('policy: { pateince: 1s }\n');
    assert.equal((await ran(t, home, ['dead-letters', '--config', broken], env)).status, 0);
  },
);

test('what answers there may be something else', LIMIT, async (t) => {
  const far = await site(t, (_, response) => response.end('<h1>hello</h1>'));
  const { status, err } = await ran(t, scratch, ['status', '--admin', far.authority]);
  assert.equal(status, 1);
  assert.match(err, /^forbear: what answers at \S+ is not the admin server of a Forbear\n$/);
});
