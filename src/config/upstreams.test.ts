// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the configuration itself
import assert from 'node:assert/strict';
import test from 'node:test';
import type { GatewayUpstream } from './config.ts';
import { formatFault } from './faults.ts';
import { loadConfig } from './load.ts';

function load(entry: string, env: Readonly<Record<string, string>> = {}) {
  return loadConfig({ file: 'c.yaml', text: `upstreams:\n  - ${entry}\n`, env, flags: {} });
}

function gateway(entry: string, env = {}): GatewayUpstream {
  const loaded = load(entry, env);
  if (loaded.kind !== 'ok') assert.fail(loaded.faults.map(formatFault).join('\n'));
  const [upstream] = loaded.config.upstreams;
  assert.ok(upstream?.kind === 'gateway');
  return upstream;
}

function faults(entry: string): string {
  const loaded = load(entry);
  return loaded.kind === 'ok' ? '' : loaded.faults.map(formatFault).join('\n');
}

test('a URL pasted from the dashboard of a known provider gets its session syntax, and start says so', () => {
  const entry = '{ name: r, gateway: "http://customer-NAME-country-us:PASS@p.shifter.io:443" }';
  const upstream = gateway(entry);
  assert.equal(upstream.username, 'customer-NAME-country-us[-sid-{session|alnum:12}][-ttl-{ttl}]');
  assert.deepEqual(
    [upstream.provider, upstream.holdsSessions, upstream.password],
    ['shifter', true, 'PASS'],
  );
  assert.equal(upstream.sessionTtlMs, 1_800_000);
  const loaded = load(entry);
  assert.deepEqual(loaded.kind === 'ok' && loaded.config.notices, [
    'upstream r: recognised shifter by its host; its session syntax was added to the username',
  ]);
});

test('a gateway that names its session is left as it is', () => {
  const upstream = gateway(
    '{ name: r, gateway: "http://customer-N-sid-{session|alnum:12}:P@p.shifter.io:443", session_ttl: 2m }',
  );
  assert.equal(upstream.username, 'customer-N-sid-{session|alnum:12}');
  assert.equal(upstream.sessionTtlMs, 120_000);
});

test('an unknown gateway without {session} cannot hold sessions', () => {
  assert.equal(gateway('{ name: r, gateway: "http://u:p@gw.test:1" }').holdsSessions, false);
  assert.equal(
    gateway('{ name: r, gateway: "http://u:p@gw.test:{session|range:1000-2000}" }').holdsSessions,
    true,
  );
  assert.equal(
    gateway('{ name: r, gateway: "http://u:p@gw.test:1", headers: { X-Sid: "{session|uuid}" } }')
      .holdsSessions,
    true,
  );
});

test('a provider fills in its own gateway', () => {
  const upstream = gateway(
    '{ name: r, provider: oxylabs, account: me, country: us, asn: 1234, password: "p:{%40", strict: true }',
  );
  assert.match(upstream.username ?? '', /sessid_oneip/);
  assert.deepEqual(
    [upstream.host, upstream.port, upstream.password],
    ['pr.oxylabs.io', '7777', '{password}'],
  );
  assert.deepEqual(upstream.variables, {
    account: 'me',
    password: 'p:{%40',
    country: 'us',
    asn: '1234',
  });
});

test('user name and password keys are not decoded, and the password is no template', () => {
  const upstream = gateway(
    '{ name: r, gateway: "http://gw.test:1", username: "u%40-{session}", password: "a%40{b" }',
  );
  assert.deepEqual([upstream.username, upstream.password], ['u%40-{session}', 'a%40{{b']);
});

test('a secret that is filled into the credentials of a URL is taken literally', () => {
  const upstream = gateway('{ name: r, gateway: "http://u:${PW}@gw.test:1" }', { PW: 'p@s/s#%{1' });
  assert.equal(upstream.password, 'p@s/s#%{{1');
  const whole = gateway('{ name: r, gateway: "${URL}" }', { URL: 'http://u:p%40@gw.test:1' });
  assert.equal(whole.password, 'p@');
});

test('a list keeps its routes in order', () => {
  const loaded = load(
    '{ name: l, routes: ["http://a:b@h.test:1", "socks5://s.test"], price_per_gb: 3, exit_ip: { header: x-exit-ip } }',
  );
  assert.deepEqual(loaded.kind === 'ok' && loaded.config.upstreams, [
    {
      kind: 'list',
      name: 'l',
      pricePerGb: 3,
      exitIp: { header: 'x-exit-ip' },
      maxEjectedRatio: 0.5,
      routes: [
        { scheme: 'http', host: 'h.test', port: 1, username: 'a', password: 'b' },
        { scheme: 'socks5', host: 's.test', port: 1080, username: undefined, password: undefined },
      ],
    },
  ]);
});

const wrong: readonly (readonly [string, RegExp])[] = [
  ['{ name: x }', /upstreams\.0: expected one of routes, gateway and provider/],
  ['{ name: direct, routes: ["http://h.test"] }', /upstreams\.0\.name: direct is the name/],
  ['{ name: direct, country: us }', /only a gateway or provider has this key/],
  ['{ name: x, routes: [] }', /at least one entry/],
  ['{ name: x, routes: ["http://h.test"], provider: shifter }', /there is routes and provider/],
  ['{ name: x, provider: shifter, account: a }', /shifter needs password/],
  [
    '{ name: x, provider: shifter, account: "a:b", password: c }',
    /a colon cannot be part of a user name/,
  ],
  [
    '{ name: x, provider: shifter, account: a, password: c, strict: true }',
    /no sessions that end with their address/,
  ],
  ['{ name: x, provider: shifter, account: a, password: c, session_ttl: 8d }', /at most 24h/],
  ['{ name: x, gateway: "http://u:hunter@h.test", password: hunter }', /holds a password already/],
  ['{ name: x, gateway: "http://h.test", username: "a:b" }', /a user name with a colon/],
  ['{ name: x, gateway: "http://h.test", country: us }', /no \{country\} to put this into/],
  ['{ name: x, gateway: "http://h.test", headers: { X-A: 名 } }', /only Latin-1/],
  ['{ name: x, gateway: "http://h.test", headers: { "X A": b } }', /expected a header name/],
  ['{ name: x, gateway: "http://h.test", exit_ip: {} }', /expected one of header and url/],
  ['{ name: "a b", gateway: "http://h.test" }', /expected a name of letters/],
];

for (const [entry, expected] of wrong) {
  test(`an upstream that cannot work is refused: ${entry}`, () => {
    assert.match(faults(entry), expected);
    assert.doesNotMatch(faults(entry), /hunter/);
  });
}
