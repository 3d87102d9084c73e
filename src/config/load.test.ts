// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the configuration itself
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import test from 'node:test';
import type { Config } from './config.ts';
import { formatFault } from './faults.ts';
import { loadConfig } from './load.ts';
import { configSchema } from './schema.ts';

type Env = Readonly<Record<string, string>>;

function load(text: string, env: Env = {}, flags: { listen?: string; admin?: string } = {}) {
  return loadConfig({ file: 'proxy.config.yaml', text, env, flags });
}

function configOf(text: string, env: Env = {}, flags = {}): Config {
  const loaded = load(text, env, flags);
  if (loaded.kind !== 'ok') assert.fail(loaded.faults.map(formatFault).join('\n'));
  return loaded.config;
}

function faultsOf(text: string, env: Env = {}, flags = {}): readonly string[] {
  const loaded = load(text, env, flags);
  return loaded.kind === 'ok' ? [] : loaded.faults.map(formatFault);
}

test('no part of the file may be of another kind than it is, and each says so', () => {
  for (const part of Object.keys(configSchema.shape)) {
    for (const value of ['[[7]]', '{ a: { b: 7 } }', '"\\u0000"']) {
      const [fault, ...more] = faultsOf(`${part}: ${value}`);
      assert.match(fault ?? '', new RegExp(`^proxy\\.config\\.yaml:1:.*${part}`), value);
      assert.deepEqual(
        more.filter((text) => !text.includes(part)),
        [],
      );
    }
  }
});

test('without a file, and with an empty one, everything has its default', () => {
  const none = loadConfig({ file: undefined, env: {}, flags: {} });
  assert.equal(none.kind, 'ok');
  const config = configOf('');
  assert.deepEqual(none.kind === 'ok' && none.config, { ...config, file: undefined });
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: 8888 });
  assert.equal(config.allowPrivateTargets, true);
  assert.deepEqual(
    config.upstreams.map(({ kind, name }) => [kind, name]),
    [['direct', 'direct']],
  );
  assert.equal(config.policy.patienceMs, 60_000);
  assert.equal(config.policy.deadLetters.keepMs, 7 * 86_400_000);
  assert.deepEqual(
    config.policy.transientStatuses,
    [408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524],
  );
  assert.deepEqual(config.notices, []);
});

test('keys with nothing behind them, as when all their lines are comments, stand for their defaults', () => {
  assert.deepEqual(
    configOf('policy:\nupstreams:\ntargets:\nprofiles:\ntls:\n  extra_ca:\n'),
    configOf(''),
  );
});

test('a file that is missing or cannot be read is a fault that names it', () => {
  const missing = loadConfig({ file: '/nowhere/x.yaml', env: {}, flags: {} });
  assert.deepEqual(missing.kind === 'faults' && missing.faults.map(formatFault), [
    '/nowhere/x.yaml: there is no such file',
  ]);
  const folder = loadConfig({ file: tmpdir(), env: {}, flags: {} });
  assert.match(
    folder.kind === 'faults' ? folder.faults.map(formatFault).join() : '',
    /cannot be read \(EISDIR\)/,
  );
});

test('what a client, a listener and an upstream need from each other is checked', () => {
  assert.match(faultsOf('listen: 0.0.0.0:1').join(), /off loopback the proxy needs clients/);
  assert.match(faultsOf('admin: { listen: "[::]:1" }').join(), /needs admin\.token/);
  assert.match(faultsOf('admin: { listen: 127.0.0.1:8888 }').join(), /the same address as listen/);
  assert.match(faultsOf('store: { kind: redis }').join(), /redis needs a url/);
  const open = configOf('listen: 0.0.0.0:1\nclients: [{ name: a, password: b }]');
  assert.equal(open.allowPrivateTargets, false);
  assert.equal(configOf('listen: 127.8.8.8:1').allowPrivateTargets, true);
  for (const url of ['http://127.0.0.1:8888', 'socks5://u:p@localhost:8888']) {
    assert.match(
      faultsOf(`upstreams: [{ name: a, routes: ["${url}"] }]`).join(),
      /1:\d+ upstreams\.0\.routes\.0: this is the address that this proxy listens on/,
    );
    assert.match(
      faultsOf(`upstreams: [{ name: a, gateway: "${url}" }]`).join(),
      /upstreams\.0\.gateway: this is the address/,
    );
  }
  assert.deepEqual(faultsOf('upstreams: [{ name: a, routes: ["http://127.0.0.2:8888"] }]'), []);
});

test('settings without effect in this version are told, unless they are at their defaults', () => {
  const text = `admin: { listen: 127.0.0.1:8889 }
policy: { dead_letters: { keep: 168h }, resume_downloads: false, soft_blocks: { learned: off } }
targets: [{ match: a.test, dead_letters: { keep: 1d }, soft_blocks: { learned: enforce } }]
profiles: { p: { lenient: true, dead_letters: { keep: 1d } } }
store: { kind: redis, url: 'redis://127.0.0.1' }
`;
  assert.deepEqual(
    configOf(text).notices.map((notice) => notice.split(' ')[0]),
    ['store.kind', 'store.url'],
  );
  assert.deepEqual(configOf('', { FORBEAR_ADMIN_TOKEN: 'x' }).notices, []);
  const url = { FORBEAR_STORE_URL: 'redis://127.0.0.1' };
  const { notices } = configOf('', url);
  assert.deepEqual(notices, ['store.url is accepted, but not in effect in this version']);
});
