import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { failure, NOW_WALL } from '../../test/support/judging.ts';
import { nothingSeen, type Sighting } from './diagnose.ts';
import { failureVerdict } from './failures.ts';
import type { FailureCode, FailureReply, Phase } from './verdict.ts';

function blame(change: Partial<FailureReply>): string {
  const verdict = failureVerdict(failure(change), NOW_WALL);
  const scope = verdict.fault === 'route' ? ` ${verdict.scope}` : '';
  const ambiguous = 'ambiguous' in verdict ? ' ambiguous' : '';
  return `${verdict.fault}/${verdict.reason}${scope}${ambiguous}`;
}

type Row = readonly [phase: Phase, code: FailureCode, blame: string];

describe('over direct', () => {
  const rows: readonly Row[] = [
    ['resolve', 'unresolvable', 'client/unresolvable'],
    ['resolve', 'resolver_failed', 'self/local_network'],
    ['resolve', 'timeout', 'self/local_network'],
    ['resolve', 'connection_refused', 'self/local_network'],
    ['dial', 'connection_refused', 'host/unreachable'],
    ['dial', 'connection_reset', 'host/unreachable'],
    ['dial', 'closed', 'host/unreachable'],
    ['dial', 'timeout', 'host/unreachable'],
    ['dial', 'unreachable', 'self/local_network'],
    ['tls', 'certificate', 'client/untrusted_certificate'],
    ['tls', 'tls', 'host/reset'],
    ['tls', 'connection_reset', 'host/reset'],
    ['tls', 'closed', 'host/reset'],
    ['tls', 'timeout', 'host/slow'],
    ['tls', 'no_common_protocol', 'client/malformed_reply'],
    ['first_byte', 'stream_refused', 'host/overloaded'],
    ['first_byte', 'calm', 'host/rate_limited'],
    ['send', 'connection_reset', 'host/reset'],
    ['send', 'timeout', 'host/slow'],
    ['first_byte', 'connection_reset', 'host/reset'],
    ['first_byte', 'closed', 'host/reset'],
    ['first_byte', 'timeout', 'host/slow'],
    ['first_byte', 'unreachable', 'self/local_network'],
    ['first_byte', 'http_protocol', 'client/malformed_reply'],
    ['first_byte', 'header_overflow', 'client/malformed_reply'],
    ['body', 'connection_reset', 'host/truncated'],
    ['body', 'closed', 'host/truncated'],
    ['body', 'timeout', 'host/slow'],
    ['body', 'http_protocol', 'client/malformed_reply'],
  ];
  for (const [phase, code, expected] of rows) {
    test(`${code} in ${phase} is ${expected}`, () => {
      assert.equal(blame({ via: 'direct', phase, code }), expected);
    });
  }
});

describe('towards an upstream', () => {
  const rows: readonly Row[] = [
    ['resolve', 'unresolvable', 'route/unreachable everywhere'],
    ['resolve', 'timeout', 'route/unreachable everywhere'],
    ['resolve', 'resolver_failed', 'self/local_network'],
    ['dial', 'connection_refused', 'route/unreachable everywhere'],
    ['dial', 'connection_reset', 'route/unreachable everywhere'],
    ['dial', 'closed', 'route/unreachable everywhere'],
    ['dial', 'timeout', 'route/unreachable everywhere'],
    ['dial', 'unreachable', 'route/unreachable everywhere'],
    ['upstream_handshake', 'timeout', 'route/unreachable everywhere'],
    ['upstream_handshake', 'closed', 'route/unreachable everywhere'],
    ['upstream_handshake', 'connection_reset', 'route/unreachable everywhere'],
    ['upstream_handshake', 'certificate', 'route/unreachable everywhere'],
    ['upstream_handshake', 'tls', 'route/unreachable everywhere'],
    ['upstream_handshake', 'no_common_protocol', 'route/unreachable everywhere'],
    ['upstream_handshake', 'upstream_protocol', 'route/unreachable everywhere'],
    ['upstream_handshake', 'http_protocol', 'route/unreachable everywhere'],
    ['upstream_handshake', 'header_overflow', 'route/unreachable everywhere'],
    ['upstream_handshake', 'upstream_refused', 'route/refused lane'],
  ];
  for (const via of ['tunnel', 'forward'] as const) {
    for (const [phase, code, expected] of rows) {
      test(`${code} in ${phase} is ${expected} (${via})`, () => {
        assert.equal(blame({ via, phase, code, leg: 'upstream' }), expected);
      });
    }
  }

  test('a name that could not be looked up here is the name of the upstream', () => {
    const change = { via: 'tunnel', phase: 'resolve', code: 'unresolvable', leg: 'local' } as const;
    assert.equal(blame(change), 'route/unreachable everywhere');
  });
});

describe('through a tunnel towards the site', () => {
  const rows: readonly Row[] = [
    ['resolve', 'unresolvable', 'client/unresolvable'],
    ['dial', 'connection_refused', 'route/unreachable lane'],
    ['dial', 'unreachable', 'route/unreachable lane'],
    ['tls', 'certificate', 'client/untrusted_certificate'],
    ['tls', 'timeout', 'host/slow'],
    ['tls', 'closed', 'host/reset'],
    ['tls', 'tls', 'host/reset'],
    ['tls', 'no_common_protocol', 'client/malformed_reply'],
    ['first_byte', 'stream_refused', 'host/overloaded'],
    ['first_byte', 'calm', 'host/rate_limited'],
    ['first_byte', 'timeout', 'host/slow'],
    ['first_byte', 'closed', 'host/reset'],
    ['first_byte', 'unreachable', 'host/reset'],
    ['first_byte', 'http_protocol', 'client/malformed_reply'],
    ['body', 'closed', 'host/truncated'],
  ];
  for (const [phase, code, expected] of rows) {
    test(`${code} in ${phase} is ${expected}`, () => {
      assert.equal(blame({ via: 'tunnel', phase, code, leg: 'origin' }), expected);
    });
  }
});

describe('on forwarded plain HTTP, where the socket is the upstream’s', () => {
  const rows: readonly Row[] = [
    ['first_byte', 'timeout', 'host/slow'],
    ['first_byte', 'closed', 'host/reset ambiguous'],
    ['first_byte', 'connection_reset', 'host/reset ambiguous'],
    ['send', 'connection_reset', 'host/reset ambiguous'],
    ['body', 'connection_reset', 'host/truncated ambiguous'],
    ['first_byte', 'http_protocol', 'client/malformed_reply'],
  ];
  for (const [phase, code, expected] of rows) {
    test(`${code} in ${phase} is ${expected}`, () => {
      assert.equal(blame({ via: 'forward', phase, code, leg: 'upstream' }), expected);
    });
  }
});

describe('on this machine', () => {
  const rows: readonly [code: FailureCode, blame: string][] = [
    ['prohibited', 'client/prohibited'],
    ['loop', 'client/loop'],
    ['invalid_request', 'client/bad_request'],
    ['internal', 'client/bad_request'],
    ['local_resources', 'self/overrun'],
    ['aborted', 'self/local_network'],
    ['patience', 'self/local_network'],
  ];
  for (const via of ['direct', 'tunnel', 'forward'] as const) {
    for (const [code, expected] of rows) {
      test(`${code} is ${expected} (${via})`, () => {
        assert.equal(blame({ via, phase: 'send', code, leg: 'local' }), expected);
      });
    }
  }
});

test("the upstream's own answer outranks the code", () => {
  const upstreamReply = { status: 407, rawHeaders: [], text: '' };
  for (const code of ['upstream_refused', 'aborted', 'closed'] as const) {
    assert.equal(
      blame({ via: 'tunnel', phase: 'upstream_handshake', code, leg: 'upstream', upstreamReply }),
      'account/upstream_auth',
    );
  }
});

test('the evidence tells phase, code and the system’s words', () => {
  const change = { phase: 'dial', code: 'timeout', detail: 'ETIMEDOUT' } as const;
  assert.deepEqual(failureVerdict(failure(change), NOW_WALL).evidence, {
    kind: 'failure',
    ...change,
  });
});

test('whatever the failure, a site behind an upstream is never host/unreachable', () => {
  const phase = fc.constantFrom<Phase>(
    'resolve',
    'dial',
    'upstream_handshake',
    'tls',
    'first_byte',
  );
  const code = fc.constantFrom<FailureCode>(
    'closed',
    'timeout',
    'tls',
    'unreachable',
    'unresolvable',
  );
  const leg = fc.constantFrom('upstream', 'origin', 'local');
  const via = fc.constantFrom('tunnel', 'forward');
  fc.assert(
    fc.property(fc.record({ phase, code, leg, via }), (change) => {
      assert.ok(!blame(change as Partial<FailureReply>).startsWith('host/unreachable'));
    }),
  );
});

describe('in the light of what was seen around it', () => {
  const sick: Sighting = {
    ...nothingSeen,
    route: { good: 0, bad: 2, unsure: 0 },
    lane: { good: 2, bad: 0, unsure: 0 },
  };
  const out: Sighting = { ...nothingSeen, network: 'out' };
  const overrun: Sighting = {
    ...nothingSeen,
    load: { inFlight: 30, fastLevel: 8, overLevel: null, failedBelow: 0 },
  };
  const first: Sighting = { ...nothingSeen, look: 'first' };
  const rows: readonly [Sighting, Phase, FailureCode, FailureReply['leg'], string][] = [
    [sick, 'first_byte', 'timeout', 'origin', 'route/slow_route'],
    [sick, 'tls', 'timeout', 'origin', 'route/slow_route'],
    [sick, 'body', 'timeout', 'origin', 'route/slow_route'],
    [sick, 'first_byte', 'connection_reset', 'origin', 'route/unreachable'],
    [sick, 'first_byte', 'http_protocol', 'origin', 'client/malformed_reply'],
    [overrun, 'first_byte', 'timeout', 'origin', 'self/overrun'],
    [overrun, 'first_byte', 'connection_reset', 'origin', 'host/reset'],
    [overrun, 'dial', 'timeout', 'upstream', 'route/unreachable'],
    [out, 'first_byte', 'timeout', 'origin', 'self/local_network'],
    [out, 'first_byte', 'connection_reset', 'origin', 'self/local_network'],
    [out, 'dial', 'timeout', 'upstream', 'self/local_network'],
    [out, 'resolve', 'unresolvable', 'upstream', 'self/local_network'],
    [out, 'upstream_handshake', 'timeout', 'upstream', 'self/local_network'],
    [out, 'dial', 'connection_refused', 'upstream', 'route/unreachable'],
    [out, 'tls', 'certificate', 'origin', 'client/untrusted_certificate'],
    [first, 'resolve', 'unresolvable', 'origin', 'self/local_network'],
    [first, 'resolve', 'unresolvable', 'upstream', 'route/unreachable'],
  ];
  for (const [seen, phase, code, leg, expected] of rows) {
    test(`${code} in ${phase} towards the ${leg} is ${expected}`, () => {
      const { fault, reason } = failureVerdict(
        failure({ via: 'tunnel', phase, code, leg }),
        NOW_WALL,
        seen,
      );
      assert.equal(`${fault}/${reason}`, expected);
    });
  }
});
