import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NOW_WALL, page, response } from '../../test/support/judging.ts';
import { upstreamError, upstreamRefusal } from './upstream-errors.ts';

type Row = readonly [status: number, owner: string];

const owner = (verdict: ReturnType<typeof upstreamError>): string =>
  verdict === undefined
    ? 'the site'
    : `${verdict.fault}/${verdict.reason}${verdict.fault === 'route' ? ` ${verdict.scope}` : ''}`;

const refusal = (status: number, rawHeaders: readonly string[] = [], text = '') =>
  upstreamRefusal({ status, rawHeaders, text }, NOW_WALL);

describe("an upstream's refusal of a CONNECT", () => {
  const rows: readonly Row[] = [
    [407, 'account/upstream_auth'],
    [401, 'account/upstream_auth'],
    [402, 'account/upstream_quota'],
    [429, 'account/upstream_rate_limited'],
    [400, 'route/refused lane'],
    [403, 'route/refused lane'],
    [405, 'route/refused lane'],
    [451, 'route/refused lane'],
    [300, 'route/refused lane'],
    [302, 'route/refused lane'],
    [499, 'route/refused lane'],
    [404, 'route/unreachable lane'],
    [408, 'route/unreachable lane'],
    [410, 'route/unreachable lane'],
    [452, 'route/unreachable lane'],
    [490, 'route/unreachable lane'],
    [500, 'route/unreachable lane'],
    [502, 'route/unreachable lane'],
    [503, 'route/unreachable lane'],
    [504, 'route/unreachable lane'],
    [522, 'route/unreachable lane'],
    [599, 'route/unreachable lane'],
    [204, 'route/unreachable lane'],
  ];
  for (const [status, expected] of rows) {
    test(`with ${status} is ${expected}`, () => assert.equal(owner(refusal(status)), expected));
  }

  test('is waited out on the upstream for as long as its 429 says', () => {
    assert.deepEqual(refusal(429, ['Retry-After', '30']), {
      fault: 'account',
      reason: 'upstream_rate_limited',
      evidence: { kind: 'upstream', status: 429, said: '' },
      waitMs: 30_000,
    });
    assert.deepEqual(refusal(429, ['RateLimit', '"a";r=0;t=5']), {
      fault: 'account',
      reason: 'upstream_rate_limited',
      evidence: { kind: 'upstream', status: 429, said: '' },
      waitMs: 5000,
    });
    assert.ok(!('waitMs' in refusal(429)));
  });

  test('for want of traffic is a matter of the account, whatever the status', () => {
    const raw = ['X-Error-Description', 'Access denied: traffic limit reached.'];
    assert.equal(owner(refusal(407, raw)), 'account/upstream_quota');
    assert.equal(owner(refusal(403, [], 'You are out of traffic')), 'account/upstream_quota');
    assert.equal(owner(refusal(407, [], 'Quota exceeded')), 'account/upstream_quota');
  });

  test('is read by its field rather than by its prose', () => {
    const raw = ['X-Error-Description', 'restricted target'];
    assert.equal(owner(refusal(403, raw, 'quota')), 'route/refused lane');
  });

  test('is not read by words of its prose that any error page has', () => {
    assert.equal(
      owner(refusal(502, [], 'load balancer, author, policy')),
      'route/unreachable lane',
    );
  });

  test('by a vendor word may concern the address itself', () => {
    assert.equal(owner(refusal(502, ['X-Brd-Error', 'no_peers'])), 'route/unreachable everywhere');
    assert.equal(owner(refusal(503, ['X-Crawlera-Error', 'banned'])), 'route/blocked lane');
    assert.equal(owner(refusal(503, ['X-Brd-Error', 'policy_20050'])), 'route/refused lane');
  });

  test('with a decisive status is not turned by softer words', () => {
    assert.equal(owner(refusal(407, ['X-Brd-Error', 'policy_1'])), 'account/upstream_auth');
    assert.equal(owner(refusal(429, ['X-Brd-Error', 'policy_1'])), 'account/upstream_rate_limited');
  });

  test('says what was said, cut to a bound', () => {
    const { evidence } = refusal(502, ['X-Brd-Error', 'x'.repeat(500)]);
    assert.ok(evidence.kind === 'upstream');
    assert.equal(evidence.said, `x-brd-error: ${'x'.repeat(147)}`);
  });
});

describe("a reply with a vendor's field", () => {
  const raw = ['X-Brd-Err-Code', 'client_10000 authentication'];
  test("through a tunnel is the upstream's, even under a 200", () => {
    assert.equal(
      owner(upstreamError(response({ via: 'tunnel', rawHeaders: raw }), NOW_WALL)),
      'account/upstream_auth',
    );
  });
  test("by forwarding is the upstream's, even under a 200", () => {
    assert.equal(
      owner(upstreamError(response({ via: 'forward', rawHeaders: raw }), NOW_WALL)),
      'account/upstream_auth',
    );
  });
  test("over direct is the site's", () => {
    assert.equal(upstreamError(response({ via: 'direct', rawHeaders: raw }), NOW_WALL), undefined);
  });
  test('of unknown meaning is told by its status', () => {
    const unknown = ['X-Brd-Error', 'new'];
    const at = (status: number) =>
      owner(upstreamError(response({ via: 'tunnel', status, rawHeaders: unknown }), NOW_WALL));
    assert.equal(at(200), 'route/unreachable lane');
    assert.equal(at(403), 'route/refused lane');
    assert.equal(at(502), 'route/unreachable lane');
    assert.equal(at(407), 'account/upstream_auth');
    assert.equal(at(429), 'account/upstream_rate_limited');
  });
});

describe('a reply without marks', () => {
  const forwarded: readonly Row[] = [
    [402, 'account/upstream_quota'],
    [407, 'account/upstream_auth'],
    [452, 'route/unreachable lane'],
    [453, 'route/unreachable lane'],
    [454, 'route/unreachable lane'],
    [455, 'route/unreachable lane'],
    [490, 'route/unreachable lane'],
    [522, 'route/unreachable lane'],
    [525, 'route/unreachable lane'],
    [200, 'the site'],
    [400, 'the site'],
    [401, 'the site'],
    [403, 'the site'],
    [429, 'the site'],
    [451, 'the site'],
    [456, 'the site'],
    [500, 'the site'],
    [502, 'the site'],
    [503, 'the site'],
    [504, 'the site'],
    [520, 'the site'],
  ];
  for (const [status, expected] of forwarded) {
    test(`forwarded with ${status} is ${expected}`, () => {
      assert.equal(owner(upstreamError(page('x', { via: 'forward', status }), NOW_WALL)), expected);
    });
    test(`through a tunnel or direct with ${status} is the site`, () => {
      assert.equal(upstreamError(page('x', { via: 'tunnel', status }), NOW_WALL), undefined);
      assert.equal(upstreamError(page('x', { via: 'direct', status }), NOW_WALL), undefined);
    });
  }
});

describe('Proxy-Status on a reply', () => {
  const rawHeaders = ['Proxy-Status', 'p.test; error=connection_refused'];
  test("that was forwarded is the upstream's", () => {
    const reply = response({ via: 'forward', status: 502, rawHeaders });
    assert.equal(owner(upstreamError(reply, NOW_WALL)), 'route/unreachable lane');
  });
  test("through a tunnel is the site's own proxy's", () => {
    assert.equal(
      upstreamError(response({ via: 'tunnel', status: 502, rawHeaders }), NOW_WALL),
      undefined,
    );
  });
});

describe('the open-source proxies on forwarded plain HTTP', () => {
  const tinyproxy = ['WWW-Authenticate', 'Basic realm="Tinyproxy"'];
  const rows: readonly (readonly [string, 'forward' | 'tunnel', number, string[], string])[] = [
    ['tinyproxy refuses a login', 'forward', 401, tinyproxy, 'account/upstream_auth'],
    ['the same from a site', 'tunnel', 401, tinyproxy, 'the site'],
    ['a site wants a login', 'forward', 401, ['WWW-Authenticate', 'Basic realm="x"'], 'the site'],
    [
      'squid cannot connect',
      'forward',
      503,
      ['X-Squid-Error', 'ERR_CONNECT_FAIL 111'],
      'route/unreachable lane',
    ],
    [
      'squid does not serve it',
      'forward',
      403,
      ['X-Squid-Error', 'ERR_ACCESS_DENIED 0'],
      'route/refused lane',
    ],
    [
      "a squid on the site's side",
      'tunnel',
      503,
      ['X-Squid-Error', 'ERR_CONNECT_FAIL 111'],
      'the site',
    ],
  ];
  for (const [name, via, status, headers, expected] of rows) {
    test(name, () => {
      const reply = response({ status, rawHeaders: headers, via });
      assert.equal(owner(upstreamError(reply, NOW_WALL)), expected);
    });
  }
});
