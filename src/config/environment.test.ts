// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the configuration itself
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { Config } from './config.ts';
import { formatFault } from './faults.ts';
import { loadConfig } from './load.ts';

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

test('a flag beats the environment, the environment the file, and the file the default', () => {
  const text = 'listen: 127.0.0.1:1\nadmin: { listen: 127.0.0.1:2 }\ndrain: 4s';
  const env = { FORBEAR_LISTEN: '127.0.0.1:11', FORBEAR_ADMIN_LISTEN: '[::1]:12' };
  const config = configOf(text, env, { listen: '127.0.0.1:21' });
  assert.deepEqual(
    [config.listen.port, config.admin.listen, config.drainMs, config.policy.maxAttempts],
    [21, { host: '::1', port: 12 }, 4000, 5],
  );
});

test('any setting can come from the environment, as its text or as YAML', () => {
  const config = configOf('policy: { backoff: { factor: 3 } }', {
    FORBEAR_POLICY_MAX_ATTEMPTS: '7',
    FORBEAR_POLICY_BACKOFF_BASE: '2s',
    FORBEAR_POLICY_ANNOTATE: 'false',
    FORBEAR_POLICY_PACE: '{ delay: 1s..2s, rate: 30/m }',
    FORBEAR_POLICY_PACE_CONCURRENCY: '2',
    FORBEAR_INTERCEPT_EXCEPT: '[bank.test, "*.gov.test"]',
    FORBEAR_ADMIN_TOKEN: '0123',
    FORBEAR_UPSTREAMS: '[{ name: gw, gateway: "http://u:p@h.test:1" }]',
    FORBEAR_DRAIN: '',
    FORBEAR_HOME: '/x',
    FORBEAR_CONFIG: 'y',
  });
  const { policy } = config;
  assert.deepEqual([policy.maxAttempts, policy.annotate], [7, false]);
  assert.deepEqual([policy.backoff.baseMs, policy.backoff.factor], [2000, 3]);
  assert.deepEqual(policy.pace, {
    delay: { minMs: 1000, maxMs: 2000 },
    concurrency: 2,
    ratePerSecond: 0.5,
    queue: 1000,
  });
  assert.deepEqual(config.intercept.except, ['bank.test', '*.gov.test']);
  assert.equal(config.admin.token, '0123');
  assert.equal(config.upstreams[0]?.name, 'gw');
  assert.equal(config.drainMs, 30_000);
});

test('faults of the environment and of flags name the variable or flag', () => {
  const env = {
    FORBEAR_POLICY_MAX_ATTEMPTS: 'x',
    FORBEAR_POLICY_MAX_ATEMPTS: '1',
    FORBEAR_TLS: '{',
  };
  const faults = faultsOf('', env, { listen: 'nowhere' }).join('\n');
  assert.match(
    faults,
    /^FORBEAR_POLICY_MAX_ATTEMPTS policy\.max_attempts: expected a whole number/m,
  );
  assert.match(
    faults,
    /^FORBEAR_POLICY_MAX_ATEMPTS: no setting has this name \(did you mean FORBEAR_POLICY_MAX_ATTEMPTS\?\)/m,
  );
  assert.match(faults, /^FORBEAR_TLS tls: not valid YAML/m);
  assert.match(faults, /^--listen listen: expected an address to listen on/m);
});

test('the variables that Kubernetes makes for a Service called forbear are no settings', () => {
  const env = {
    FORBEAR_SERVICE_HOST: '10.0.0.1',
    FORBEAR_SERVICE_PORT_PROXY: '8888',
    FORBEAR_PORT: 'tcp://10.0.0.1:8888',
    FORBEAR_PORT_8888_TCP: 'tcp://10.0.0.1:8888',
    FORBEAR_ADMIN_PORT_8889_TCP_ADDR: '10.0.0.1',
  };
  assert.deepEqual(faultsOf('', env), []);
  assert.equal(faultsOf('', { FORBEAR_PORT: '8888' }).length, 1);
});

test('secrets come from variables and files, and what is missing is named without its content', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'forbear-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'hunter2\n');
  const text = `clients: [{ name: a, password: "\${file:${secret}}" }, { name: b, password: "x\${PW}$\${PW}" }]\npolicy: { max_attempts: "\${N}" }`;
  const config = configOf(text, { PW: 'y', N: '4' });
  assert.deepEqual(
    config.clients.map((client) => client.password),
    ['hunter2', 'xy${PW}'],
  );
  assert.equal(config.policy.maxAttempts, 4);
  assert.match(
    faultsOf(text, {}).join('\n'),
    /1:\d+ clients\.1\.password: the environment variable PW is not set/,
  );
  assert.match(
    faultsOf('admin: { token: "${file:/nowhere/x}" }').join(),
    /the file \/nowhere\/x cannot be read \(ENOENT\)/,
  );
  const wrong = faultsOf('drain: ${PW}\nupstreams: [{ name: a, gateway: "${PW}" }]', {
    PW: 'hunter2',
  });
  assert.deepEqual(
    wrong.map((fault) => /what \$\{PW\} holds/.test(fault)),
    [true, true],
  );
  assert.doesNotMatch(wrong.join(), /hunter/);
});
