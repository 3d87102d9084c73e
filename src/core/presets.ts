import type { Preset } from './preset.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const PLAIN_LOGIN = { password: '{password}', scheme: 'http', plain: 'forward' } as const;
const UNKNOWN_TTL = { kind: 'unknown' } as const;

const presets: readonly Preset[] = [
  {
    ...PLAIN_LOGIN,
    provider: 'shifter',
    host: 'p.shifter.io',
    port: '443',
    username:
      'customer-{account}[-country-{country|lower}][-region-{region|slug}][-city-{city|slug}][-asn-{asn}]' +
      '[-sid-{session|alnum:12}][-ttl-{ttl}]',
    otherHosts: ['fra', 'ams', 'lon', 'nyc', 'tor', 'sgp', 'blr', 'syd'].map(
      (at) => `${at}.p.shifter.io`,
    ),
    needs: ['account', 'password'],
    opensTls: false,
    session: {
      place: 'username',
      suffix: '[-sid-{session|alnum:12}][-ttl-{ttl}]',
      fixed: '-(?:sid|ttl)-[A-Za-z0-9]+',
      ttl: { kind: 'told', unit: 'seconds', defaultMs: 120_000, maxMs: DAY_MS },
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'shifter-isp',
    host: 'isp.shifter.io',
    port: '443',
    username: '{account}',
    otherHosts: [],
    needs: ['account', 'password'],
    opensTls: false,
    session: undefined,
  },
  {
    ...PLAIN_LOGIN,
    provider: 'brightdata',
    host: 'brd.superproxy.io',
    port: '33335',
    username:
      'brd-customer-{account}-zone-{zone}[-country-{country|lower}][-state-{region|lower}][-city-{city|slug}]' +
      '[-asn-{asn}][-session-{session|alnum:12}]',
    otherHosts: ['zproxy.lum-superproxy.io'],
    needs: ['account', 'zone', 'password'],
    opensTls: true,
    session: {
      place: 'username',
      suffix: '[-session-{session|alnum:12}]',
      fixed: '-session-[A-Za-z0-9_]+',
      ttl: UNKNOWN_TTL,
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'oxylabs',
    host: 'pr.oxylabs.io',
    port: '7777',
    username:
      'customer-{account}[-cc-{country|upper}][-city-{city|slug}][-st-{region|slug}]' +
      '[-sessid-{session|alnum:10}][-sesstime-{ttl|minutes}]',
    strictUsername:
      'customer-{account}[-cc-{country|upper}][-city-{city|slug}][-st-{region|slug}]' +
      '[-sessid_oneip-{session|alnum:10}][-sesstime-{ttl|minutes}]',
    otherHosts: [],
    needs: ['account', 'password'],
    opensTls: false,
    session: {
      place: 'username',
      suffix: '[-sessid-{session|alnum:10}][-sesstime-{ttl|minutes}]',
      fixed: '-(?:sessid|sessid_oneip|sesstime)-[A-Za-z0-9]+',
      ttl: { kind: 'told', unit: 'minutes', defaultMs: 10 * MINUTE_MS, maxMs: DAY_MS },
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'decodo',
    host: 'gate.decodo.com',
    port: '7000',
    username:
      'user-{account}[-country-{country|lower}][-city-{city|slug}]' +
      '[-session-{session|alnum:12}][-sessionduration-{ttl|minutes}]',
    otherHosts: ['gate.smartproxy.com'],
    needs: ['account', 'password'],
    opensTls: false,
    session: {
      place: 'username',
      suffix: '[-session-{session|alnum:12}][-sessionduration-{ttl|minutes}]',
      fixed: '-(?:session|sessionduration)-[A-Za-z0-9]+',
      ttl: { kind: 'told', unit: 'minutes', defaultMs: 10 * MINUTE_MS, maxMs: DAY_MS },
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'iproyal',
    host: 'geo.iproyal.com',
    port: '12321',
    username: '{account}',
    password: '{password}[_country-{country|lower}][_session-{session|alnum:8}][_lifetime-{ttl}s]',
    otherHosts: [],
    needs: ['account', 'password'],
    opensTls: false,
    session: {
      place: 'password',
      suffix: '[_session-{session|alnum:8}][_lifetime-{ttl}s]',
      fixed: '_(?:session|lifetime)-[A-Za-z0-9]+',
      ttl: { kind: 'told', unit: 'seconds', defaultMs: 10 * MINUTE_MS, maxMs: 7 * DAY_MS },
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'soax',
    host: 'proxy.soax.com',
    port: '5000',
    username:
      'package-{account}[-country-{country|lower}][-region-{region|slug}][-city-{city|slug}]' +
      '[-sessionid-{session|alnum:12}][-sessionlength-{ttl}]',
    otherHosts: [],
    needs: ['account', 'password'],
    opensTls: false,
    session: {
      place: 'username',
      suffix: '[-sessionid-{session|alnum:12}][-sessionlength-{ttl}]',
      fixed: '-(?:sessionid|sessionlength)-[A-Za-z0-9]+',
      ttl: { kind: 'told', unit: 'seconds', defaultMs: 180_000, maxMs: DAY_MS },
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'netnut',
    host: 'gw.netnut.net',
    port: '5959',
    // `any` stands for every country, and Britain is `uk` there.
    username: '{account}-res-{country|lower|map:gb=uk;=any}[-sid-{session|range:10000-999999999}]',
    otherHosts: [],
    needs: ['account', 'password'],
    opensTls: false,
    session: {
      place: 'username',
      suffix: '[-sid-{session|range:10000-999999999}]',
      fixed: '-sid-[0-9]+',
      ttl: UNKNOWN_TTL,
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'webshare',
    host: 'p.webshare.io',
    port: '80',
    username: '{account}[-{country|lower}][-city_{city|slug}][-{session|digits:8}]',
    otherHosts: [],
    needs: ['account', 'password'],
    opensTls: false,
    session: {
      place: 'username',
      suffix: '[-{session|digits:8}]',
      // A number and `rotate` exclude each other.
      fixed: '-(?:[0-9]+|rotate)$',
      ttl: UNKNOWN_TTL,
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'apify',
    host: 'proxy.apify.com',
    port: '8000',
    username:
      'groups-{zone|map:=RESIDENTIAL}[,session-{session|alnum:12}][,country-{country|upper}]',
    otherHosts: [],
    needs: ['password'],
    opensTls: false,
    session: {
      place: 'username',
      suffix: '[,session-{session|alnum:12}]',
      fixed: ',session-[A-Za-z0-9._~]+',
      ttl: UNKNOWN_TTL,
    },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'scraperapi',
    host: 'proxy-server.scraperapi.com',
    port: '8001',
    username:
      'scraperapi[.session_number={session|range:1-999999999}][.country_code={country|lower}]',
    otherHosts: [],
    needs: ['password'],
    opensTls: true,
    session: {
      place: 'username',
      suffix: '[.session_number={session|range:1-999999999}]',
      fixed: '\\.session_number=[0-9]+',
      ttl: { kind: 'idle', idleMs: 15 * MINUTE_MS },
    },
  },
  {
    provider: 'scrapedo',
    scheme: 'http',
    host: 'proxy.scrape.do',
    port: '8080',
    username: '{account}',
    // Without customHeaders the provider sends headers of its own instead of the client's.
    password:
      'customHeaders=true[&{password}][&geoCode={country|lower}][&sessionId={session|range:1-1000000}]',
    plain: 'forward',
    otherHosts: ['pm.scrape.do'],
    needs: ['account'],
    opensTls: true,
    session: {
      place: 'password',
      suffix: '[&sessionId={session|range:1-1000000}]',
      fixed: '&sessionId=[0-9]+',
      ttl: UNKNOWN_TTL,
    },
  },
  {
    provider: 'zyte',
    scheme: 'http',
    host: 'api.zyte.com',
    port: '8011',
    username: '{account}',
    password: '',
    headers: { 'Zyte-Session-ID': '[{session|uuid}]', 'Zyte-Geolocation': '[{country|upper}]' },
    plain: 'forward',
    otherHosts: ['proxy.zyte.com'],
    needs: ['account'],
    opensTls: true,
    session: { place: 'headers', suffix: '', fixed: '', ttl: UNKNOWN_TTL },
  },
  {
    ...PLAIN_LOGIN,
    provider: 'oxylabs-unblocker',
    scheme: 'https',
    host: 'unblock.oxylabs.io',
    port: '60000',
    username: '{account}',
    headers: { 'X-Oxylabs-Session-Id': '[{session|alnum:16}]' },
    otherHosts: [],
    needs: ['account', 'password'],
    opensTls: true,
    session: {
      place: 'headers',
      suffix: '',
      fixed: '',
      ttl: { kind: 'idle', idleMs: 10 * MINUTE_MS },
    },
  },
];

/** Every provider that has a preset. */
export const presetNames: readonly string[] = presets.map((preset) => preset.provider);

/** The preset of a provider, by the name used in the configuration. */
export function presetFor(name: string): Preset | undefined {
  return presets.find((preset) => preset.provider === name);
}

/** The preset whose gateway has this host name, for URLs pasted from a provider's dashboard. */
export function presetForHost(host: string): Preset | undefined {
  const name = host.toLowerCase().replace(/\.$/, '');
  return presets.find((preset) => preset.host === name || preset.otherHosts.includes(name));
}
