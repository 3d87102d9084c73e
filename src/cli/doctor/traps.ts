/** A command as far as it can be told without running it. */
export interface Client {
  /** The program's name without folder, suffix and version: `python`, `node`. */
  readonly name: string;
  /** `[major, minor]`, where it said so. */
  readonly version: readonly [number, number] | undefined;
  /** The text of the script it is to run; empty where there is none. */
  readonly script: string;
}

/** Something about a client that surprises behind a proxy, and what helps. */
export interface Trap {
  readonly names: RegExp;
  readonly when?: (client: Client) => boolean;
  readonly text: string;
  readonly fix: string;
}

const mentions = (pattern: RegExp) => (client: Client) => pattern.test(client.script);
const lacks = (has: RegExp, lacking: RegExp) => (client: Client) =>
  has.test(client.script) && !lacking.test(client.script);
const olderThan =
  (major: number, minor: number) =>
  ({ version }: Client) =>
    version !== undefined && (version[0] < major || (version[0] === major && version[1] < minor));

const PYTHON = /^(?:python|pypy|pytest|uv|poetry|pipenv)$/;
const NODE = /^(?:node|nodejs|npx|tsx|ts-node)$/;
const BROWSER = /^(?:chromium|chromium-browser|google-chrome|chrome|msedge|brave)$/;

/** What docs/clients.md says, for what can be told from outside. */
export const TRAPS: readonly Trap[] = [
  {
    names: PYTHON,
    when: lacks(/\baiohttp\b/, /trust_env\s*=\s*True/),
    text: 'aiohttp looks at the proxy variables only when told to',
    fix: 'aiohttp.ClientSession(trust_env=True)',
  },
  {
    names: PYTHON,
    when: mentions(/trust_env\s*=\s*False/),
    text: 'with trust_env=False no proxy or CA variable is looked at',
    fix: 'take it out, or pass the proxy and the CA by hand',
  },
  {
    names: PYTHON,
    when: lacks(/\bPoolManager\b/, /ProxyManager/),
    text: "urllib3's PoolManager knows no proxies",
    fix: 'urllib3.ProxyManager("http://127.0.0.1:8888")',
  },
  {
    names: PYTHON,
    when: lacks(/\bpycurl\b/, /CAINFO/),
    text: 'pycurl built with GnuTLS reads no variable for the CA',
    fix: 'c.setopt(c.CAINFO, os.environ["SSL_CERT_FILE"])',
  },
  {
    names: PYTHON,
    when: mentions(
      /\btenacity\b|\bbackoff\b|urllib3\.util\.retry|\bHTTPAdapter\([^)]*max_retries|\bretrying\b/,
    ),
    text: 'it retries by itself: two layers that retry multiply',
    fix: 'set its retries to 0; Forbear does them',
  },
  {
    names: /^scrapy$/,
    text: 'Scrapy retries by itself: two layers that retry multiply',
    fix: 'RETRY_ENABLED = False',
  },
  {
    names: NODE,
    when: olderThan(22, 21),
    text: 'before Node 22.21 fetch and http look at no proxy variable',
    fix: 'a newer Node, or a ProxyAgent of undici by hand',
  },
  {
    names: NODE,
    when: mentions(
      /axios-retry|p-retry|async-retry|\bgot\b(?![\s\S]*retry\s*:\s*\{?\s*(?:limit\s*:\s*)?0)/,
    ),
    text: 'it retries by itself: two layers that retry multiply',
    fix: 'set its retries to 0 (got: retry: { limit: 0 }); Forbear does them',
  },
  {
    names: NODE,
    when: lacks(/playwright|puppeteer/, /ignoreHTTPSErrors|spki/i),
    text: 'browsers read the CA from a store of their own',
    fix: 'proxy: { server, username, password } at launch, and ignoreHTTPSErrors: true',
  },
  {
    names: PYTHON,
    when: lacks(/playwright|selenium/, /ignore_https_errors|ignore-certificate/i),
    text: 'browsers read the CA from a store of their own',
    fix: 'the flag that forbear ca install-help prints, or ignore_https_errors=True',
  },
  {
    names: BROWSER,
    text: 'Chromium reads the CA from the NSS store of the user, sends a login only after a 407, and never loopback to a proxy',
    fix: 'forbear ca install-help; auth: required for wishes; --proxy-bypass-list=<-loopback>',
  },
  {
    names: /^firefox$/,
    text: 'Firefox has a certificate store and proxy settings of its own',
    fix: 'import the CA there (forbear ca install-help)',
  },
  {
    names: /^(?:java|mvn|gradle|kotlin|scala)$/,
    text: 'Java reads no proxy variables, and replaces its trust store by the one it is given',
    fix: 'forbear run --java -- …',
  },
  {
    names: /^php$/,
    when: mentions(/file_get_contents|fopen\s*\(\s*['"]https?:/),
    text: "PHP's streams know no proxy variables",
    fix: 'the curl extension, or a stream context with proxy and cafile',
  },
  {
    names: /^(?:go|ruby|bundle|rake)$/,
    text: 'Go and Ruby never send requests for loopback through a proxy',
    fix: 'for tests on this machine take a name that leads to another address',
  },
  {
    names: /^git$/,
    text: 'git sends a login only after a 407',
    fix: 'auth: required, where session, country or profile are wished for',
  },
  {
    names: /^(?:npm|pnpm|yarn)$/,
    text: 'cafile in an npmrc wins over NODE_EXTRA_CA_CERTS',
    fix: 'npm config delete cafile, or put the CA into that file',
  },
];
