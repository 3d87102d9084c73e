import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { TlsConfig } from './config.ts';
import { errorCode } from './interpolate.ts';
import type { ConfigInput } from './schema.ts';

interface TlsProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The files that `tls` names, read and tried; relative paths start at the configuration's folder. */
export function readTlsFiles(
  tls: ConfigInput['tls'],
  file: string | undefined,
): { tls: TlsConfig; problems: readonly TlsProblem[] } {
  const folder = file === undefined ? '.' : dirname(file);
  const problems: TlsProblem[] = [];
  const read = (name: string, path: readonly PropertyKey[]) => {
    try {
      return readFileSync(resolve(folder, name), 'utf8');
    } catch (error) {
      problems.push({ path, message: `the file cannot be read (${errorCode(error)})` });
      return undefined;
    }
  };
  const extraCa = tls.extra_ca.flatMap((name, i) => {
    const pem = read(name, ['extra_ca', i]);
    if (pem === undefined) return [];
    if (holdsCertificates(pem)) return [pem];
    problems.push({
      path: ['extra_ca', i],
      message: 'expected a PEM file with at least one certificate',
    });
    return [];
  });
  const clientCerts = tls.client_certs.flatMap(({ host, cert, key }, i) => {
    const certPem = read(cert, ['client_certs', i, 'cert']);
    const keyPem = read(key, ['client_certs', i, 'key']);
    if (certPem === undefined || keyPem === undefined) return [];
    if (belongTogether(certPem, keyPem)) return [{ host, cert: certPem, key: keyPem }];
    problems.push({
      path: ['client_certs', i],
      message: 'expected PEM files of a certificate and of the key that belongs to it',
    });
    return [];
  });
  return { tls: { extraCa, insecureHosts: tls.insecure_hosts, clientCerts }, problems };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function holdsCertificates(pem: string): boolean {
  const blocks = pem.match(CERTIFICATE) ?? [];
  try {
    for (const block of blocks) new X509Certificate(block);
    return blocks.length > 0;
  } catch {
    return false;
  }
}

function belongTogether(cert: string, key: string): boolean {
  try {
    createSecureContext({ cert, key });
    return true;
  } catch {
    return false;
  }
}
