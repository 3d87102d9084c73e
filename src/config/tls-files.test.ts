import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { makeRoot, subjectOf } from '../listener/leaf.ts';
import { formatFault } from './faults.ts';
import { loadConfig } from './load.ts';

function newPair() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = makeRoot(privateKey, subjectOf(publicKey), Date.UTC(2026, 0, 1));
  return { cert, key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
}

/** A folder with a configuration and its PEM files. */
function folderWith(
  t: { after: (end: () => void) => void },
  files: Readonly<Record<string, string>>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'forbear-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return loadConfig({ file: join(folder, 'c.yaml'), env: {}, flags: {} });
}

const TLS =
  'tls: { extra_ca: [ca.pem], client_certs: [{ host: "*.test", cert: c.pem, key: k.pem }] }';

test('PEM files are read relative to the configuration and handed on as texts', (t) => {
  const { cert, key } = newPair();
  const files = {
    'c.yaml': TLS,
    'ca.pem': `a comment\n${cert}${cert}`,
    'c.pem': cert,
    'k.pem': key,
  };
  const loaded = folderWith(t, files);
  assert.deepEqual(loaded.kind === 'ok' && loaded.config.tls, {
    extraCa: [files['ca.pem']],
    insecureHosts: [],
    clientCerts: [{ host: '*.test', cert, key }],
  });
});

test('PEM files that are missing, hold something else or do not belong together are faults', (t) => {
  const [one, other] = [newPair(), newPair()];
  const broken = one.cert.replace(/[A-Za-z0-9]{20}/, 'hunterhunterhunter22');
  const faults = (files: Readonly<Record<string, string>>) => {
    const loaded = folderWith(t, { 'c.yaml': TLS, ...files });
    return loaded.kind === 'ok'
      ? []
      : loaded.faults.map(formatFault).map((line) => line.replace(/^.*c\.yaml:/, ''));
  };
  assert.deepEqual(faults({}), [
    '1:19 tls.extra_ca.0: the file cannot be read (ENOENT)',
    '1:67 tls.client_certs.0.cert: the file cannot be read (ENOENT)',
    '1:79 tls.client_certs.0.key: the file cannot be read (ENOENT)',
  ]);
  assert.deepEqual(faults({ 'ca.pem': one.key, 'c.pem': one.cert, 'k.pem': other.key }), [
    '1:19 tls.extra_ca.0: expected a PEM file with at least one certificate',
    '1:43 tls.client_certs.0: expected PEM files of a certificate and of the key that belongs to it',
  ]);
  assert.match(
    faults({ 'ca.pem': broken, 'c.pem': one.cert, 'k.pem': one.key }).join(),
    /extra_ca\.0: expected a PEM file/,
  );
});
