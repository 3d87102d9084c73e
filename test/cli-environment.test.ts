import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { clientFiles } from '../src/cli/client-files.ts';
import {
  BUNDLE_VARIABLES,
  CLIENT_VARIABLES,
  JAVA_VARIABLE,
  NO_PROXY_VARIABLES,
  PROXY_VARIABLES,
} from '../src/cli/client-variables.ts';
import { clientEnvironment, type EnvironmentWish } from '../src/cli/environment.ts';

const home = mkdtempSync(join(tmpdir(), 'forbear-env-'));
after(() => rmSync(home, { recursive: true, force: true }));

const [rootA = '', rootB = '', ours = ''] = rootCertificates;
const ca = { caFile: put('ca.pem', `${ours}\n`), caPem: `${ours}\n`, bundleFile: () => bundle };
const bundle = put('bundle.pem', `${rootA}\n${ours}\n`);

function put(name: string, content: string): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

function environment(own: Record<string, string>, over: Partial<EnvironmentWish> = {}) {
  const env = { HOME: join(home, 'nobody'), ...own };
  return clientEnvironment({
    proxy: { host: '127.0.0.1', port: 8888 },
    login: { username: 'client', password: 'x' },
    noProxy: undefined,
    java: false,
    own: env,
    files: clientFiles(home, ca, env),
    ...over,
  });
}

const read = (path: string | undefined): string => readFileSync(path ?? '', 'utf8');

test('every variable of the table is set, and none besides', () => {
  const { set } = environment({}, { java: true });
  assert.deepEqual(Object.keys(set).sort(), [...CLIENT_VARIABLES].sort());
});

test('both cases name the proxy, with a password that clients do not leave out', () => {
  const { set } = environment({});
  for (const name of PROXY_VARIABLES) assert.equal(set[name], 'http://client:x@127.0.0.1:8888');
  assert.equal(set.ALL_PROXY, undefined);
});

test('an IPv6 proxy is written in brackets, and a login is percent-encoded', () => {
  const { set } = environment(
    {},
    { proxy: { host: '::1', port: 1 }, login: { username: 'a b', password: 'p@:/' } },
  );
  assert.equal(set.HTTP_PROXY, 'http://a%20b:p%40%3A%2F@[::1]:1');
});

const noProxy: readonly (readonly [string, string | undefined, Record<string, string>, string])[] =
  [
    ['the default is loopback', undefined, {}, 'localhost,127.0.0.1,::1'],
    [
      "the user's own hosts are added",
      undefined,
      { NO_PROXY: 'a.test, .a.test' },
      'localhost,127.0.0.1,::1,a.test,.a.test',
    ],
    [
      'both cases of the user count',
      undefined,
      { NO_PROXY: 'a.test', no_proxy: 'b.test,a.test' },
      'localhost,127.0.0.1,::1,a.test,b.test',
    ],
    [
      'a list of the flag takes the place of loopback',
      'c.test',
      { no_proxy: 'b.test' },
      'c.test,b.test',
    ],
    ['an empty flag empties the list', '', { NO_PROXY: 'a.test', no_proxy: 'b.test' }, ''],
  ];

for (const [name, flag, own, expected] of noProxy) {
  test(`no proxy: ${name}`, () => {
    const { set } = environment(own, { noProxy: flag });
    for (const variable of NO_PROXY_VARIABLES) assert.equal(set[variable], expected);
  });
}

test('without bundles of the user everything points at the one bundle', () => {
  const { set } = environment({});
  for (const name of BUNDLE_VARIABLES) assert.equal(set[name], bundle);
  assert.equal(set.NODE_EXTRA_CA_CERTS, ca.caFile);
  assert.equal(set.DENO_CERT, ca.caFile);
});

test("certificates of the user's own bundle are added, each once", () => {
  const own = put('company.pem', `${rootA}\n${rootB}\n`);
  const { set } = environment({ CURL_CA_BUNDLE: own, PIP_CERT: own });
  const text = read(set.CURL_CA_BUNDLE);
  assert.equal(text.split(rootB).length, 2);
  assert.equal(text.split(rootA).length, 2);
  assert.ok(text.includes(ours));
  assert.equal(set.SSL_CERT_FILE, set.CURL_CA_BUNDLE);
  assert.equal(read(own), `${rootA}\n${rootB}\n`);
});

test("the user's extra CAs for Node are kept beside ours", () => {
  const own = put('extra.pem', rootB);
  const { set } = environment({ NODE_EXTRA_CA_CERTS: own });
  assert.equal(read(set.NODE_EXTRA_CA_CERTS), `${rootB}\n${ours}\n`);
  assert.equal(set.DENO_CERT, ca.caFile);
});

test('an own variable that names no file is as good as none', () => {
  const { set } = environment({
    NODE_EXTRA_CA_CERTS: '/nowhere/ca.pem',
    CURL_CA_BUNDLE: '/nowhere',
  });
  assert.equal(set.NODE_EXTRA_CA_CERTS, ca.caFile);
  assert.equal(set.CURL_CA_BUNDLE, bundle);
});

test('the environment of a client within a client is the same', () => {
  const first = environment({ NODE_EXTRA_CA_CERTS: put('extra.pem', rootB) }, { java: true });
  const second = environment({ ...first.set }, { java: true });
  assert.deepEqual(second.set, first.set);
  assert.deepEqual(second.notes, []);
});

test("a wgetrc keeps the user's lines, and ours comes last because the last one wins", () => {
  const own = put('my-wgetrc', 'tries = 3\nca_certificate = /old.pem');
  const { set } = environment({ WGETRC: own });
  assert.equal(
    read(set.WGETRC),
    `tries = 3\nca_certificate = /old.pem\nca_certificate = ${bundle}\n`,
  );
});

test('WGETRC would hide ~/.wgetrc, so that one is taken over', () => {
  put('someone/.wgetrc', 'user_agent = mine\n');
  const { set } = environment({ HOME: join(home, 'someone') });
  assert.match(read(set.WGETRC), /^user_agent = mine\nca_certificate = /);
});

test('a CA that only the wgetrc knew is in the bundle', () => {
  const company = put('wget-company.pem', rootB);
  const { set } = environment({ WGETRC: put('other-wgetrc', `ca_certificate=${company}\n`) });
  const named = /ca_certificate = (.+)\n$/.exec(read(set.WGETRC))?.[1];
  assert.ok(read(named).includes(rootB));
});

test('PHP reads its own folder, then the one of the user, then ours', () => {
  const { set } = environment({});
  const [compiledIn, ours] = (set.PHP_INI_SCAN_DIR ?? '').split(':');
  assert.equal(compiledIn, '');
  assert.equal(
    read(join(ours ?? '', 'forbear.ini')),
    `curl.cainfo="${bundle}"\nopenssl.cafile="${bundle}"\n`,
  );
  const added = environment({ PHP_INI_SCAN_DIR: '/my/conf' });
  assert.equal(added.set.PHP_INI_SCAN_DIR, `/my/conf:${ours}`);
});

test('Java is left alone unless asked for', () => {
  assert.equal(environment({}).set[JAVA_VARIABLE], undefined);
});

test('Java options are added to those of the user', () => {
  const { set } = environment(
    { JAVA_TOOL_OPTIONS: '-Xmx1g' },
    { java: true, noProxy: 'a.test,.b.test,::1' },
  );
  const options = (set[JAVA_VARIABLE] ?? '').split(' ');
  assert.equal(options[0], '-Xmx1g');
  assert.ok(options.includes('-Dhttps.proxyHost=127.0.0.1'));
  assert.ok(options.includes('-Dhttp.proxyPort=8888'));
  assert.ok(options.includes('-Dhttp.nonProxyHosts=a.test|*.b.test|[::1]'));
  const store = options.find((option) => option.includes('trustStore='))?.split('=')[1];
  assert.equal(readFileSync(store ?? '').readUInt32BE(0), 0xfeedfeed);
});

test('another proxy in the environment is replaced with a word, and its password is not told', () => {
  const { notes } = environment({ HTTPS_PROXY: 'http://me:secret@corp.test:3128' });
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? '', /^HTTPS_PROXY .*upstream/);
  assert.doesNotMatch(notes[0] ?? '', /secret/);
});

test('generated files are for nobody else to read', () => {
  const { set } = environment({});
  assert.equal(statSync(set.WGETRC ?? '').mode & 0o777, 0o600);
  assert.equal(statSync(dirname(set.WGETRC ?? '')).mode & 0o777, 0o700);
});
