import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interceptionAdvice, type TlsTally } from './interception.ts';

const NONE = { attempts: 0, blocked: 0 };

function kind(tally: Partial<TlsTally>): string | undefined {
  const whole = { intercepted: NONE, tunnelled: NONE, untrusted: 0, ...tally };
  return interceptionAdvice('a.test', whole)?.kind;
}

const tried = (attempts: number, blocked: number) => ({ attempts, blocked });

test('a host that blocks opened TLS far more often than sealed tunnels is better sealed', () => {
  assert.equal(kind({ intercepted: tried(100, 31), tunnelled: tried(54, 1) }), 'seal');
});

test('the other way round opened TLS does better', () => {
  assert.equal(kind({ intercepted: tried(100, 1), tunnelled: tried(100, 30) }), 'open');
});

test('nothing is said of a difference that may be chance, or is small', () => {
  assert.equal(kind({ intercepted: tried(30, 6), tunnelled: tried(30, 3) }), undefined);
  assert.equal(
    kind({ intercepted: tried(100_000, 4000), tunnelled: tried(100_000, 0) }),
    undefined,
  );
  assert.equal(kind({ intercepted: tried(50, 0), tunnelled: tried(50, 0) }), undefined);
  assert.equal(kind({ intercepted: tried(50, 50), tunnelled: tried(50, 50) }), undefined);
});

test('many blocks with nothing to compare ask for a comparison, few for nothing', () => {
  assert.equal(kind({ intercepted: tried(60, 12), tunnelled: tried(3, 0) }), 'compare');
  assert.equal(kind({ intercepted: tried(60, 2) }), undefined);
  assert.equal(kind({ intercepted: tried(10, 10) }), undefined);
  assert.equal(kind({ tunnelled: tried(60, 60) }), undefined);
});

test('clients that refuse the certificate everywhere need it, and those that do not are well', () => {
  assert.equal(kind({ untrusted: 3 }), 'install_ca');
  assert.equal(kind({ untrusted: 3, intercepted: tried(40, 0) }), undefined);
});

test('the sentence has the numbers and the setting', () => {
  const { sentence } =
    interceptionAdvice('a.test', {
      intercepted: tried(387, 120),
      tunnelled: tried(54, 1),
      untrusted: 0,
    }) ?? {};
  assert.match(sentence ?? '', /^31 % of 387 attempts .* 2 % of 54 sealed tunnels/);
  assert.match(sentence ?? '', /intercept\.except: \[a\.test\]/);
});
