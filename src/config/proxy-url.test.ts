import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { parseTemplate, renderTemplate } from '../core/template.ts';
import { gatewayUrl, listenAddress, proxyUrl } from './proxy-url.ts';

const hash = (text: string) => createHash('sha256').update(text).digest('hex');

/** What the provider gets for a text of the gateway. */
function render(text: string | undefined, variables: Readonly<Record<string, string>> = {}) {
  const template = parseTemplate(text ?? '');
  assert.ok('parts' in template);
  return renderTemplate(template, variables, hash);
}

/** URL, user name, password. */
const credentials: readonly (readonly [string, string | undefined, string | undefined])[] = [
  ['http://user%40mail:p%3Ass%2F@u.test:8000', 'user@mail', 'p:ss/'],
  [
    'http://customer-x-session-abc_1,country-us:pw@u.test:8000',
    'customer-x-session-abc_1,country-us',
    'pw',
  ],
  ['http://u:%25%23%3F@u.test:8000', 'u', '%#?'],
  ['http://u:a+b@u.test:8000', 'u', 'a+b'],
  ['http://u:%C3%A9@u.test:8000', 'u', 'é'],
  ['http://é:é@u.test:8000', 'é', 'é'],
  ['http://u:@u.test:8000', 'u', ''],
  ['http://u@u.test:8000', 'u', undefined],
  ['http://:pw@u.test:8000', '', 'pw'],
  ['http://u:p:w@u.test:8000', 'u', 'p:w'],
  ['http://u:p@w@u.test:8000', 'u', 'p@w'],
  ['http://u:%2540@u.test:8000', 'u', '%40'],
  ['http://u:%7Bx%7D%5B@u.test:8000', 'u', '{x}['],
  ['http://u.test:8000', undefined, undefined],
];

for (const [url, username, password] of credentials) {
  test(`credentials are percent-decoded once: ${url}`, () => {
    const route = proxyUrl.parse(url);
    assert.deepEqual([route.username, route.password], [username, password]);
    const gateway = gatewayUrl.parse(url);
    assert.equal(gateway.username === undefined ? undefined : render(gateway.username), username);
    assert.equal(gateway.password === undefined ? undefined : render(gateway.password), password);
  });
}

/** URL, and what its fault says. */
const refused: readonly (readonly [string, RegExp])[] = [
  ['http://u:hunter%6q@u.test:1', /% that starts no valid escape/],
  ['http://u:hunter%@u.test:1', /% that starts no valid escape/],
  ['http://u:hunter%FF@u.test:1', /% that starts no valid escape/],
  ['http://u:hunter#2@u.test:1', /a raw #.* written %23/],
  ['http://u:hunter?2@u.test:1', /a raw \?/],
  ['http://u:hunter/2@u.test:1', /a raw \//],
  ['http://u:hunter 2@u.test:1', /a space or a control character/],
  ['http://hunter%3A2:p@u.test:1', /user name of the URL holds a colon/],
  ['http://u:hunter@', /names no host/],
  ['http://u:hunter@u.test:0', /port of the URL/],
  ['http://u:hunter@u.test:65536', /port of the URL/],
  ['http://u:hunter@u.test:http', /port of the URL/],
  ['http://u:hunter@u.test/path', /no path/],
  ['socks4://u:hunter@u.test:1', /scheme that cannot be used/],
  ['u:hunter@u.test:1', /a proxy URL such as/],
];

for (const [url, expected] of refused) {
  test(`refused without a word of the secret: ${url}`, () => {
    for (const schema of [proxyUrl, gatewayUrl]) {
      const message = schema.safeParse(url).error?.issues[0]?.message ?? '';
      assert.match(message, expected);
      assert.doesNotMatch(message, /hunter/);
    }
  });
}

test('a proxy without a port has its scheme’s, and names are canonical', () => {
  const read = (url: string) => {
    const { scheme, host, port } = proxyUrl.parse(url);
    return `${scheme} ${host} ${port}`;
  };
  assert.equal(read('http://U.test'), 'http u.test 80');
  assert.equal(read('https://u.test/'), 'https u.test 443');
  assert.equal(read('socks5h://bücher.test'), 'socks5 xn--bcher-kva.test 1080');
  assert.equal(read('http://[::1]:3128'), 'http ::1 3128');
  assert.equal(read('http://[::1]'), 'http ::1 80');
  assert.equal(read('HTTP://10.0.0.1:1'), 'http 10.0.0.1 1');
});

test('separators inside braces separate nothing, and braces are left alone', () => {
  const gateway = gatewayUrl.parse(
    'http://c-{account}[-country-{country|map:gb=uk;x=a@b/c}]-sid-{session|alnum:12}:{password}@{region|slug}.gw.test:{session|range:10001-10009}',
  );
  assert.equal(
    gateway.username,
    'c-{account}[-country-{country|map:gb=uk;x=a@b/c}]-sid-{session|alnum:12}',
  );
  assert.equal(gateway.password, '{password}');
  assert.equal(gateway.host, '{region|slug}.gw.test');
  assert.equal(gateway.port, '{session|range:10001-10009}');
  assert.equal(
    render(gateway.username, { account: 'me', country: 'gb', session: 's' }).length,
    'c-me-country-uk-sid-'.length + 12,
  );
});

test('a template that is none is refused with its part and reason', () => {
  const message = gatewayUrl.safeParse('http://u{sess:hunter@u.test:1').error?.issues[0]?.message;
  assert.match(message ?? '', /^the user name of the URL is not a template/);
  assert.doesNotMatch(message ?? '', /hunter/);
});

test('an address to listen on has a host and a port', () => {
  assert.deepEqual(listenAddress.parse('[::1]:8888'), { host: '::1', port: 8888 });
  assert.deepEqual(listenAddress.parse('LocalHost:0'), { host: 'localhost', port: 0 });
  for (const wrong of [
    '8888',
    'localhost',
    '::1:8888',
    'a:65536',
    'http://a:1',
    '[x]:1',
    8888,
    null,
  ]) {
    assert.equal(listenAddress.safeParse(wrong).success, false, String(wrong));
  }
});
