import assert from 'node:assert/strict';
import test from 'node:test';
import type { Config } from './config.ts';
import { loadConfig } from './load.ts';
import { type PolicyRequest, policyFor } from './resolve.ts';

function configOf(text: string): Config {
  const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
  assert.ok(loaded.kind === 'ok');
  return loaded.config;
}

function request(changes: Partial<PolicyRequest>): PolicyRequest {
  const host = changes.host ?? 'www.example.com';
  return {
    host,
    authority: host,
    path: '/',
    method: 'GET',
    client: 'me',
    profile: undefined,
    ...changes,
  };
}

const config = configOf(`
policy: { max_attempts: 9, backoff: { base: 2s } }
profiles:
  patient: { patience: 10m, backoff: { cap: 2m } }
targets:
  - match: www.example.com/rest/**
    pace: { delay: 10s..20s }
    backoff: { factor: 3, cap: 300s }
    replies: [{ when: { status: "400-401", header: { X-Gone: "" } }, verdict: terminal }]
    expect: [{ css: { selector: h1 } }]
  - match: { host: www.example.com, method: post, client: crawler }
    max_attempts: 1
    pace: { concurrency: 1 }
  - match: "*.example.com"
    max_attempts: 2
  - { match: "127.0.0.1:8080", max_attempts: 3 }
  - { match: "10.0.0.1:443", max_attempts: 4 }
  - { match: "[::1]:8080/x", max_attempts: 5 }
  - { match: "::1", max_attempts: 6 }
`);

test('the first target that matches is merged over the policy, key by key', () => {
  const { policy, lane } = policyFor(config, request({ path: '/rest/a/b?c=d' }));
  assert.deepEqual(policy.backoff, {
    baseMs: 2000,
    factor: 3,
    capMs: 300_000,
    jitter: 'full',
    count: 'attempts',
  });
  assert.deepEqual(policy.pace, {
    delay: { minMs: 10_000, maxMs: 20_000 },
    concurrency: 32,
    ratePerSecond: null,
    queue: 1000,
  });
  assert.equal(policy.maxAttempts, 9);
  assert.deepEqual(policy.replies, [
    {
      when: { statuses: [400, 401], headers: { 'x-gone': '' } },
      verdict: 'terminal',
      label: 'reply-1-terminal',
    },
  ]);
  assert.deepEqual(policy.expect, [
    { when: {}, css: { selector: 'h1', min: 1 }, otherwise: 'transient', label: 'expect-1' },
  ]);
  assert.equal(lane, 'www.example.com/rest/**');
});

test('a profile is merged over the target', () => {
  const { policy, lane } = policyFor(config, request({ path: '/rest/a', profile: 'patient' }));
  assert.deepEqual(
    [policy.patienceMs, policy.backoff.capMs, policy.backoff.factor],
    [600_000, 120_000, 3],
  );
  assert.equal(lane, 'www.example.com/rest/**');
  assert.equal(policyFor(config, request({ profile: 'toString' })).policy.maxAttempts, 2);
});

const rows: readonly (readonly [Partial<PolicyRequest>, number, string | undefined])[] = [
  [{}, 2, undefined],
  [{ method: 'POST' }, 2, undefined],
  [{ method: 'post', client: 'crawler' }, 1, 'www.example.com POST client=crawler'],
  [{ host: 'example.com' }, 9, undefined],
  [{ host: 'other.test' }, 9, undefined],
  [{ host: '127.0.0.1', authority: '127.0.0.1:8080' }, 3, undefined],
  [{ host: '127.0.0.1', authority: '127.0.0.1:8081' }, 9, undefined],
  [{ host: '127.0.0.1' }, 9, undefined],
  [{ host: '10.0.0.1' }, 4, undefined],
  [{ host: '::1', authority: '[::1]:8080', path: '/x' }, 5, undefined],
  [{ host: '::1', authority: '[::1]:8080', path: '/y' }, 6, undefined],
];

for (const [changes, attempts, lane] of rows) {
  test(`${JSON.stringify(changes)} lives under max_attempts ${attempts}`, () => {
    const resolved = policyFor(config, request(changes));
    assert.deepEqual([resolved.policy.maxAttempts, resolved.lane], [attempts, lane]);
  });
}

test('the same target and profile give the same policy, not a copy', () => {
  const first = policyFor(config, request({ path: '/a' }));
  assert.equal(policyFor(config, request({ path: '/b' })), first);
  assert.notEqual(policyFor(config, request({ path: '/b', profile: 'patient' })), first);
});
