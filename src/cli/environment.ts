import type { Address } from '../config/config.ts';
import type { ClientFiles } from './client-files.ts';
import {
  BUNDLE_VARIABLES,
  CA_VARIABLES,
  JAVA_VARIABLE,
  NO_PROXY_VARIABLES,
  PROXY_VARIABLES,
  SWITCHES,
} from './client-variables.ts';
import type { Terminal } from './terminal.ts';

/** Loopback: what runs beside the client is not meant to go through the proxy. */
export const DEFAULT_NO_PROXY = 'localhost,127.0.0.1,::1';

export interface EnvironmentWish {
  readonly proxy: Address;
  readonly login: { readonly username: string; readonly password: string };
  /** `--no-proxy`: undefined for the default, empty to send everything through the proxy. */
  readonly noProxy: string | undefined;
  readonly java: boolean;
  /** The environment the client would have without us. */
  readonly own: Terminal['env'];
  readonly files: ClientFiles;
}

export interface ClientEnvironment {
  /** Names and values to set. */
  readonly set: Readonly<Record<string, string>>;
  /** What of the user's own is replaced and may be missed. */
  readonly notes: readonly string[];
}

/** All variables that bring a client to use the proxy and to trust its CA, whatever client it is. */
export function clientEnvironment(wish: EnvironmentWish): ClientEnvironment {
  const { files, own } = wish;
  const url = proxyUrl(wish.proxy, wish.login);
  const noProxy = noProxyList(wish.noProxy, own).join(',');
  const set = {
    ...filled(PROXY_VARIABLES, url),
    ...filled(NO_PROXY_VARIABLES, noProxy),
    ...filled(BUNDLE_VARIABLES, files.bundle),
    ...Object.fromEntries(CA_VARIABLES.map((name) => [name, files.extraCa(name)])),
    ...SWITCHES,
    WGETRC: files.wgetrc,
    PHP_INI_SCAN_DIR: files.phpScanDir,
    ...(wish.java ? { [JAVA_VARIABLE]: javaOptions(wish, noProxy) } : {}),
  };
  return { set, notes: notes(own, url) };
}

/** The proxy as clients are told about it. Without a password several of them send no login at all. */
export function proxyUrl({ host, port }: Address, login: EnvironmentWish['login']): string {
  const name = encodeURIComponent(login.username);
  const password = encodeURIComponent(login.password);
  return `http://${name}:${password}@${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The list of the flag (or the default) and what the user's own variables name; nothing for an empty flag. */
function noProxyList(flag: string | undefined, own: Terminal['env']): readonly string[] {
  if (flag !== undefined && flag.trim() === '') return [];
  const lists = [flag ?? DEFAULT_NO_PROXY, ...NO_PROXY_VARIABLES.map((name) => own[name] ?? '')];
  const hosts = lists.flatMap((list) => list.split(',')).map((host) => host.trim());
  return [...new Set(hosts.filter((host) => host !== ''))];
}

function javaOptions({ proxy, own, files }: EnvironmentWish, noProxy: string): string {
  const bypass = noProxy.split(',').filter((host) => host !== '');
  const options = [
    `-Dhttp.proxyHost=${proxy.host}`,
    `-Dhttp.proxyPort=${proxy.port}`,
    `-Dhttps.proxyHost=${proxy.host}`,
    `-Dhttps.proxyPort=${proxy.port}`,
    `-Dhttp.nonProxyHosts=${bypass.map(javaPattern).join('|')}`,
    `-Djavax.net.ssl.trustStore=${files.javaTrustStore()}`,
    '-Djavax.net.ssl.trustStorePassword=changeit',
  ].map(javaQuoted);
  return [...ownJavaOptions(own[JAVA_VARIABLE], options), ...options].join(' ');
}

/** What the user has set, less what this very function has put there before (a `run` within a `run`). */
function ownJavaOptions(own: string | undefined, ours: readonly string[]): readonly string[] {
  if (!own?.trim()) return [];
  if (/['"]/.test(own)) return [own];
  return own
    .trim()
    .split(/\s+/)
    .filter((option) => !ours.includes(option));
}

function javaPattern(host: string): string {
  if (host.startsWith('.')) return `*${host}`;
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

// The JVM splits the variable at white space and knows quotes, but no backslashes.
function javaQuoted(option: string): string {
  if (!/[\s'"]/.test(option)) return option;
  return option.includes('"') ? `'${option}'` : `"${option}"`;
}

function filled(names: readonly string[], value: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

/** Another proxy in the user's variables would have been used until now. */
function notes(own: Terminal['env'], url: string): readonly string[] {
  const replaced = PROXY_VARIABLES.filter((name) => own[name] && own[name] !== url);
  if (replaced.length === 0) return [];
  return [
    `${replaced.join(', ')} named another proxy and ${replaced.length === 1 ? 'is' : 'are'} replaced; ` +
      'to go on using that one, make it an upstream in the configuration',
  ];
}
