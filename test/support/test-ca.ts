import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { program } from './programs.ts';

/** A certificate authority of a test's own, and a server certificate of it. */
export interface TestCa {
  /** PEM file of the authority, for `tls.extra_ca`. */
  readonly caFile: string;
  readonly cert: string;
  readonly key: string;
}

/** Makes an authority in `folder` with the openssl program, and one certificate for all `names` (`DNS:…`, `IP:…`). */
export function makeTestCa(folder: string, names: readonly string[]): TestCa {
  mkdirSync(folder, { recursive: true });
  const file = (name: string): string => join(folder, name);
  const extensions = [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    'extendedKeyUsage=serverAuth',
    `subjectAltName=${names.join(',')}`,
  ];
  writeFileSync(file('extensions'), extensions.join('\n'));
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const root = ['-x509', '-days', '2', '-subj', '/CN=Origin test root'];
  openssl(['req', ...root, ...newKey, '-keyout', file('ca.key'), '-out', file('ca.pem')]);
  const request = ['-subj', '/CN=Origin', '-keyout', file('site.key'), '-out', file('site.csr')];
  openssl(['req', ...newKey, ...request]);
  const signer = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial'];
  const signed = ['-extfile', file('extensions'), '-out', file('site.pem')];
  openssl(['x509', '-req', '-days', '2', '-in', file('site.csr'), ...signer, ...signed]);
  return {
    caFile: file('ca.pem'),
    cert: readFileSync(file('site.pem'), 'utf8'),
    key: readFileSync(file('site.key'), 'utf8'),
  };
}

function openssl(args: readonly string[]): void {
  execFileSync(program('openssl'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
