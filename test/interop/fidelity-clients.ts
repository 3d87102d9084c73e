import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratch } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';

/** A client of the comparison, and the command that sends its requests to the base URLs that follow. */
export interface FidelityClient {
  readonly name: string;
  readonly command: () => readonly [string, ...string[]];
}

const script = (name: string): string =>
  fileURLToPath(new URL(`clients/fidelity/${name}`, import.meta.url));

// Debian's Python has Debian's packages; another one may come first on PATH.
const python = (name: string): FidelityClient['command'] => {
  return () => [program('python3', ['/usr/bin']), script('with_python.py'), name];
};
const node = (name: string): FidelityClient['command'] => {
  return () => [process.execPath, script('with-node.js'), name];
};
const shell = (file: string, needs: string, ...args: string[]): FidelityClient['command'] => {
  return () => {
    program(needs);
    return ['sh', script(file), ...args];
  };
};
const perl = (name: string): FidelityClient['command'] => {
  return () => [program('perl', ['/usr/bin']), script('requests.pl'), name];
};
const java = (name: string): FidelityClient['command'] => {
  return () => [program('java'), script('Requests.java'), name];
};

/** Every client whose requests are compared. */
export const FIDELITY_CLIENTS: readonly FidelityClient[] = [
  { name: 'curl', command: shell('curl.sh', 'curl') },
  { name: 'wget', command: shell('wget.sh', 'wget') },
  { name: 'Python requests', command: python('requests') },
  { name: 'Python urllib', command: python('urllib') },
  { name: 'Python http.client', command: python('http_client') },
  { name: 'Python httpx', command: python('httpx') },
  { name: 'Python aiohttp', command: python('aiohttp') },
  { name: 'Scrapy', command: python('scrapy') },
  { name: 'Node http and https', command: node('http') },
  { name: 'Node fetch', command: node('fetch') },
  { name: 'undici', command: node('undici') },
  { name: 'axios', command: node('axios') },
  { name: 'got', command: node('got') },
  { name: 'Go net/http', command: goClient },
  { name: 'Java HttpURLConnection', command: java('connection') },
  { name: 'Java HttpClient', command: java('client') },
  { name: 'Perl HTTP::Tiny', command: perl('tiny') },
  { name: 'Perl LWP', command: perl('lwp') },
  { name: 'Ruby Net::HTTP', command: () => [program('ruby'), script('requests.rb')] },
  { name: 'git', command: shell('tools.sh', 'git', 'git') },
  { name: 'pip', command: shell('tools.sh', 'pip3', 'pip') },
  { name: 'npm', command: shell('tools.sh', 'npm', 'npm') },
];

function goClient(): readonly [string] {
  const binary = join(scratch, 'fidelity-go');
  const env = {
    ...process.env,
    GOCACHE: join(scratch, 'go-cache'),
    GOPATH: join(scratch, 'go'),
    GOFLAGS: '-mod=mod',
    CGO_ENABLED: '0',
  };
  execFileSync(program('go'), ['build', '-o', binary, script('main.go')], { env });
  return [binary];
}
