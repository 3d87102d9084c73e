import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type Credentials, type Preset, withSessionSyntax } from './preset.ts';
import { presetFor, presetForHost, presetNames } from './presets.ts';
import { parseTemplate, renderTemplate, templateVariables } from './template.ts';

const hash = (text: string) => createHash('sha256').update(text).digest('hex');

const everything: Record<string, string> = {
  account: 'ACC',
  password: 'PW',
  zone: 'zone1',
  country: 'GB',
  region: 'Eng Land',
  city: 'New York',
  asn: '7922',
  session: 'seed',
  ttl: '600',
};

function render(text: string, variables: Record<string, string>): string {
  const template = parseTemplate(text);
  assert.ok(!('message' in template), 'message' in template ? template.message : '');
  return renderTemplate(template, variables, hash);
}

function preset(name: string): Preset {
  const found = presetFor(name);
  assert.ok(found, name);
  return found;
}

const grammars: Record<string, { full: RegExp; bare: string; password?: RegExp }> = {
  shifter: {
    full: /^customer-ACC-country-gb-region-eng_land-city-new_york-asn-7922-sid-[a-z0-9]{12}-ttl-600$/,
    bare: 'customer-ACC',
  },
  'shifter-isp': { full: /^ACC$/, bare: 'ACC' },
  brightdata: {
    full: /^brd-customer-ACC-zone-zone1-country-gb-state-eng land-city-new_york-asn-7922-session-[a-z0-9]{12}$/,
    bare: 'brd-customer-ACC-zone-zone1',
  },
  oxylabs: {
    full: /^customer-ACC-cc-GB-city-new_york-st-eng_land-sessid-[a-z0-9]{10}-sesstime-10$/,
    bare: 'customer-ACC',
  },
  decodo: {
    full: /^user-ACC-country-gb-city-new_york-session-[a-z0-9]{12}-sessionduration-10$/,
    bare: 'user-ACC',
  },
  iproyal: {
    full: /^ACC$/,
    bare: 'ACC',
    password: /^PW_country-gb_session-[a-z0-9]{8}_lifetime-600s$/,
  },
  soax: {
    full: /^package-ACC-country-gb-region-eng_land-city-new_york-sessionid-[a-z0-9]{12}-sessionlength-600$/,
    bare: 'package-ACC',
  },
  netnut: { full: /^ACC-res-uk-sid-[1-9][0-9]{4,8}$/, bare: 'ACC-res-any' },
  webshare: { full: /^ACC-gb-city_new_york-[1-9][0-9]{7}$/, bare: 'ACC' },
  apify: { full: /^groups-zone1,session-[a-z0-9]{12},country-GB$/, bare: 'groups-zone1' },
  scraperapi: {
    full: /^scraperapi\.session_number=[1-9][0-9]*\.country_code=gb$/,
    bare: 'scraperapi',
  },
  scrapedo: {
    full: /^ACC$/,
    bare: 'ACC',
    password: /^customHeaders=true&PW&geoCode=gb&sessionId=[1-9][0-9]*$/,
  },
  zyte: { full: /^ACC$/, bare: 'ACC', password: /^$/ },
  'oxylabs-unblocker': { full: /^ACC$/, bare: 'ACC' },
};

test('every preset has an example here, and the reverse', () => {
  assert.deepEqual([...presetNames].sort(), Object.keys(grammars).sort());
});

for (const [name, grammar] of Object.entries(grammars)) {
  test(`${name}: the credentials follow the provider's grammar`, () => {
    const { username = '', password = '' } = preset(name);
    assert.match(render(username, everything), grammar.full);
    assert.match(render(password, everything), grammar.password ?? /^PW$/);
    const bare = { account: 'ACC', password: 'PW', zone: 'zone1' };
    assert.equal(render(username, bare), grammar.bare);
  });
}

test('every preset is made of templates that parse and only name known variables', () => {
  for (const name of presetNames) {
    const { host, port, username = '', password = '', headers = {}, ...rest } = preset(name);
    const texts = [host, port, username, password, ...Object.values(headers)];
    const known = new Set(Object.keys(everything));
    for (const text of [...texts, rest.strictUsername ?? '', rest.session?.suffix ?? '']) {
      const template = parseTemplate(text);
      assert.ok(!('message' in template), `${name}: ${text}`);
      for (const variable of templateVariables(template)) assert.ok(known.has(variable), variable);
    }
    const named = texts.flatMap((text) => {
      const template = parseTemplate(text);
      return 'message' in template ? [] : templateVariables(template);
    });
    for (const needed of rest.needs) assert.ok(named.includes(needed), `${name} needs ${needed}`);
    assert.equal(named.includes('session'), rest.session !== undefined, name);
    assert.equal(presetForHost(host), presetFor(name));
  }
});

test('zyte gets its session as a UUID header and its country in capitals', () => {
  const { headers = {} } = preset('zyte');
  const rendered = Object.entries(headers).map(([name, text]) => [name, render(text, everything)]);
  assert.match(rendered.join('\n'), /^Zyte-Session-ID,[0-9a-f-]{36}\nZyte-Geolocation,GB$/);
});

test('the strict variant of oxylabs names its own kind of session', () => {
  const { strictUsername = '' } = preset('oxylabs');
  assert.match(render(strictUsername, everything), /-sessid_oneip-[a-z0-9]{10}-sesstime-10$/);
});

test('hosts are recognised in any case, regional ones too, and others are not', () => {
  assert.equal(presetForHost('P.Shifter.IO.')?.provider, 'shifter');
  assert.equal(presetForHost('fra.p.shifter.io')?.provider, 'shifter');
  assert.equal(presetForHost('pm.scrape.do')?.provider, 'scrapedo');
  for (const host of ['myname.p.shifter.io', 'shifter.io', 'evil-brd.superproxy.io.example', '']) {
    assert.equal(presetForHost(host), undefined, host);
  }
});

const pasted = (given: Partial<Credentials>): Credentials => ({
  username: undefined,
  password: undefined,
  headers: {},
  ...given,
});

for (const [name, username, expected] of [
  ['shifter', 'customer-NAME-country-us', /^customer-NAME-country-us-sid-[a-z0-9]{12}-ttl-600$/],
  ['shifter', 'customer-NAME-sid-old1-ttl-60', /^customer-NAME-sid-[a-z0-9]{12}-ttl-600$/],
  ['brightdata', 'brd-customer-c1-zone-z', /^brd-customer-c1-zone-z-session-[a-z0-9]{12}$/],
  ['oxylabs', 'customer-n-cc-US-sessid-abc', /^customer-n-cc-US-sessid-[a-z0-9]{10}-sesstime-10$/],
  [
    'decodo',
    'user-n-session-a-sessionduration-5',
    /^user-n-session-[a-z0-9]{12}-sessionduration-10$/,
  ],
  ['webshare', 'n-us-rotate', /^n-us-[1-9][0-9]{7}$/],
  ['webshare', 'n-us-17', /^n-us-[1-9][0-9]{7}$/],
  [
    'apify',
    'groups-RESIDENTIAL,session-x1,country-US',
    /^groups-RESIDENTIAL,country-US,session-[a-z0-9]{12}$/,
  ],
  ['netnut', 'n-res-us-sid-12345', /^n-res-us-sid-[0-9]+$/],
  ['scraperapi', 'scraperapi.session_number=5', /^scraperapi\.session_number=[1-9][0-9]*$/],
] as const) {
  test(`${username} as ${name}'s dashboard shows it gets the session syntax`, () => {
    const extended = withSessionSyntax(preset(name), pasted({ username, password: 'p' }));
    assert.match(render(extended?.username ?? '', everything), expected);
    assert.equal(extended?.password, 'p');
  });
}

test("iproyal's session goes behind a pasted password, and zyte's into headers", () => {
  const iproyal = withSessionSyntax(
    preset('iproyal'),
    pasted({ username: 'u', password: 'p_country-br_session-oldone12' }),
  );
  assert.match(
    render(iproyal?.password ?? '', everything),
    /^p_country-br_session-[a-z0-9]{8}_lifetime-600s$/,
  );
  assert.equal(iproyal?.username, 'u');
  const zyte = withSessionSyntax(preset('zyte'), pasted({ headers: { 'Zyte-Geolocation': 'US' } }));
  assert.equal(zyte?.headers['Zyte-Geolocation'], 'US');
  assert.equal(zyte?.headers['Zyte-Session-ID'], '[{session|uuid}]');
});

test('a provider without sessions leaves pasted credentials alone', () => {
  assert.equal(withSessionSyntax(preset('shifter-isp'), pasted({ username: 'u' })), undefined);
});
