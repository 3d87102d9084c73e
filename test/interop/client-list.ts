import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { client } from './rig.ts';

/** A program that fetches the URLs it is given, and prints one line for each. */
export interface Client {
  readonly name: string;
  /** Flags that `forbear run` needs for it. */
  readonly flags?: readonly string[];
  command(): readonly string[];
}

/** Every client that is tried with every site and every upstream. */
export const CLIENTS: readonly Client[] = [
  { name: 'curl', command: () => shell('curl.sh', 'curl') },
  { name: 'wget', command: () => shell('wget.sh', 'wget') },
  { name: "Python's requests", command: () => python('with_requests.py') },
  { name: "Python's urllib", command: () => python('with_urllib.py') },
  {
    name: "Python's urllib with the strict checks of 3.13",
    command: () => python('with_urllib_strict.py'),
  },
  { name: "Python's httpx", command: () => python('with_httpx.py') },
  { name: "Python's aiohttp, all at once", command: () => python('with_aiohttp.py') },
  { name: 'Scrapy, all at once', command: () => python('with_scrapy.py') },
  { name: "Node's fetch, all at once", command: () => node('with-fetch.js') },
  { name: 'undici', command: () => node('with-undici.js') },
  { name: 'the newest axios', command: () => node('with-axios.js') },
  {
    name: 'an axios that sends https URLs to the proxy',
    command: () => node('with-old-axios.js'),
  },
  { name: 'got, all at once', command: () => node('with-got.js') },
  { name: "Go's net/http, all at once", command: () => [goClient()] },
  {
    name: "Ruby's Net::HTTP",
    command: () => [program('ruby'), client('with-net-http.rb')],
  },
  {
    name: "Java's HttpClient, all at once",
    flags: ['--java'],
    command: () => java('WithHttpClient.java'),
  },
  {
    name: "Java's HttpURLConnection",
    flags: ['--java'],
    command: () => java('WithUrlConnection.java'),
  },
  { name: 'Chromium', command: () => chromium('with-chromium.js') },
];

// Debian's Python has Debian's packages; another one may come first on PATH.
export const python = (script: string) => [program('python3', ['/usr/bin']), client(script)];
export const node = (script: string) => [process.execPath, client(script)];
export const java = (script: string) => [program('java'), client(script)];

export function chromium(script: string): readonly string[] {
  for (const needed of ['chromium', 'certutil']) program(needed);
  return node(script);
}

function shell(script: string, needs: string): readonly string[] {
  program(needs);
  return ['sh', client(script)];
}

/** The Go client, compiled when it is first asked for. */
export function goClient(): string {
  const compiled = join(scratch, 'go-client');
  if (existsSync(compiled)) return compiled;
  const env = {
    ...process.env,
    GOPATH: join(scratch, 'go'),
    GOFLAGS: '-mod=mod',
    CGO_ENABLED: '0',
  };
  execFileSync(program('go'), ['build', '-o', compiled, client('main.go')], { env });
  return compiled;
}
