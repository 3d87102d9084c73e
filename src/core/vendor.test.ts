import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { faultInWords, type VendorFault, vendorError } from './vendor.ts';

describe('the words of vendors', () => {
  const rows: readonly [text: string, fault: VendorFault | undefined][] = [
    ['/download/website-ban', 'ban'],
    ['banned', 'ban'],
    ['ERR::ASP::SHIELD_PROTECTION_FAILED', 'ban'],
    ['Access denied: traffic limit reached. Contact support.', 'quota'],
    ['ERR::SCRAPE::QUOTA_LIMIT_REACHED', 'quota'],
    ['/auth/account-suspended', 'quota'],
    ['client_10110 Account is suspended', 'quota'],
    ['Insufficient funds', 'quota'],
    ['too_many_conns', 'rate'],
    ['ERR::THROTTLE::MAX_REQUEST_RATE_EXCEEDED', 'rate'],
    ['ERR::THROTTLE::MAX_CONCURRENT_REQUEST_EXCEEDED', 'rate'],
    ['/limits/over-user-limit', 'rate'],
    ['serverbusy', 'rate'],
    ['noslaves', 'exit'],
    ['no_peers', 'exit'],
    ['proxy_no_peer', 'exit'],
    ['Requested IP is not allocated to this zone', 'exit'],
    ['Session failed. Please try again with another session', 'exit'],
    ['policy_20050', 'policy'],
    ['domain_forbidden', 'policy'],
    ['Access denied: restricted target.', 'policy'],
    ['client_10000 Authentication failed', 'auth'],
    ['Access denied: user authentication failed.', 'auth'],
    ['ERR_AUTH_REQUIRED', 'auth'],
    ['bad_proxy_auth', 'auth'],
    ['/auth/key-not-found', 'auth'],
    ['wrong_password', 'auth'],
    ['The author of the load balancer', undefined],
    ['nxdomain', undefined],
    ['', undefined],
  ];
  for (const [text, fault] of rows) {
    test(`"${text}" is ${fault ?? 'none of them'}`, () => assert.equal(faultInWords(text), fault));
  }
});

describe('fields of a vendor', () => {
  const own: readonly [name: string, value: string, fault: VendorFault | undefined][] = [
    ['X-Brd-Err-Code', 'client_10000 auth_failed', 'auth'],
    ['x-brd-error-code', 'policy_20050', 'policy'],
    ['x-brd-error', 'no peers', 'exit'],
    ['x-brd-err-msg', 'Too many requests', 'rate'],
    ['x-luminati-error-code', 'something new', undefined],
    ['x-luminati-error', 'Auth failed: Authentication', 'auth'],
    ['X-SOAX-Error', 'ERR_AUTH_FAILED', 'auth'],
    ['Zyte-Error-Type', '/download/website-ban', 'ban'],
    ['X-Crawlera-Error', 'noslaves', 'exit'],
    ['X-Scrapfly-Reject-Code', 'ERR::PROXY::POOL_NOT_FOUND', undefined],
  ];
  for (const [name, value, fault] of own) {
    test(`${name} counts inside a tunnel and outside`, () => {
      const expected = { fault, name: name.toLowerCase(), value };
      assert.deepEqual(vendorError([name, value], 'tunnel'), expected);
      assert.deepEqual(vendorError([name, value], 'outside'), expected);
    });
  }

  test('a name that sites use too counts outside only', () => {
    const raw = ['X-Error-Description', 'Access denied: restricted target.'];
    assert.equal(vendorError(raw, 'tunnel'), undefined);
    assert.equal(vendorError(raw, 'outside')?.fault, 'policy');
  });

  test('the code names the error, and the message may tell more', () => {
    const raw = ['X-Brd-Err-Msg', 'Account is suspended', 'X-Brd-Err-Code', 'client_10110'];
    assert.deepEqual(vendorError(raw, 'tunnel'), {
      fault: 'quota',
      name: 'x-brd-err-code',
      value: 'client_10110',
    });
  });

  test('an empty field says nothing', () => {
    assert.equal(vendorError(['X-Brd-Error', ' '], 'tunnel'), undefined);
    assert.equal(vendorError([], 'outside'), undefined);
  });

  test('a field that only resembles one says nothing', () => {
    assert.equal(vendorError(['X-Brd-Debug', 'error', 'X-Error', 'auth'], 'outside'), undefined);
  });
});

describe('Proxy-Status', () => {
  const of = (value: string, where: 'outside' | 'tunnel' = 'outside') =>
    vendorError(['Proxy-Status', value], where);

  const tokens: readonly [token: string, fault: VendorFault][] = [
    ['dns_timeout', 'path'],
    ['dns_error', 'path'],
    ['destination_not_found', 'path'],
    ['destination_unavailable', 'path'],
    ['destination_ip_prohibited', 'policy'],
    ['destination_ip_unroutable', 'path'],
    ['connection_refused', 'path'],
    ['connection_terminated', 'path'],
    ['connection_timeout', 'path'],
    ['connection_read_timeout', 'path'],
    ['connection_write_timeout', 'path'],
    ['connection_limit_reached', 'rate'],
    ['tls_protocol_error', 'path'],
    ['tls_certificate_error', 'path'],
    ['tls_alert_received', 'path'],
    ['http_request_error', 'policy'],
    ['http_request_denied', 'policy'],
    ['http_response_incomplete', 'path'],
    ['http_response_timeout', 'path'],
    ['http_protocol_error', 'path'],
    ['proxy_internal_response', 'path'],
    ['proxy_internal_error', 'exit'],
    ['proxy_configuration_error', 'exit'],
    ['proxy_loop_detected', 'policy'],
  ];
  for (const [token, fault] of tokens) {
    test(`with ${token} is ${fault}`, () => {
      assert.equal(of(`exit.test; error=${token}; received-status=502`)?.fault, fault);
    });
  }

  test('without an error says nothing', () => {
    assert.equal(of('exit.test; received-status=200'), undefined);
    assert.equal(of('exit.test; error='), undefined);
    assert.equal(of('exit.test; details="error=dns_error"'), undefined);
    assert.equal(of(''), undefined);
  });

  test('may be written in capitals', () => {
    assert.equal(of('exit.test; error=DNS_Error')?.fault, 'path');
  });

  test('with an unknown token is an error of unknown kind', () => {
    const value = 'exit.test; error=brand_new';
    assert.deepEqual(of(value), { fault: undefined, name: 'proxy-status', value });
  });

  test('counts by its last member, which is the nearest', () => {
    assert.equal(of('cdn.test; error=dns_error, exit.test; next-hop=a')?.fault, undefined);
    assert.equal(of('cdn.test, exit.test; error=dns_error')?.fault, 'path');
  });

  test('may come in several lines', () => {
    const raw = ['Proxy-Status', 'cdn.test', 'proxy-status', 'exit.test; error=dns_error'];
    assert.equal(vendorError(raw, 'outside')?.fault, 'path');
  });

  test('may hold separators and quotes in its details', () => {
    const value = String.raw`exit.test; details="a, b; error=none \" c"; error=dns_error`;
    assert.deepEqual(of(value), { fault: 'path', name: 'proxy-status', value });
  });

  test('its details outrank its token', () => {
    const details = 'details="client-10060: Requested IP is not allocated to this zone"';
    assert.equal(of(`brd.test; error=destination_ip_unroutable; ${details}`)?.fault, 'exit');
  });

  test("inside a tunnel is the site's, unless its member is a vendor's", () => {
    assert.equal(of('cdn.test; error=dns_error', 'tunnel'), undefined);
    assert.equal(of('BRD.superproxy.test; error=dns_error', 'tunnel')?.fault, 'path');
    assert.equal(of('cdn.test; error=dns_error; details="brd."', 'tunnel'), undefined);
  });
});

test('no header list makes it throw', () => {
  const name = fc.constantFrom(
    'proxy-status',
    'x-brd-error',
    'X-Error-Description',
    'zyte-error-type',
  );
  const raw = fc.array(fc.tuple(name, fc.string())).map((pairs) => pairs.flat());
  fc.assert(
    fc.property(raw, (headers) => {
      vendorError(headers, 'outside');
      vendorError(headers, 'tunnel');
    }),
  );
});
