import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch, started } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { SECURE_HOST, startRig } from './rig.ts';

const LIMIT = { timeout: 60_000 };
const LONG_HOST = `${'a'.repeat(60)}.${SECURE_HOST}`;

const TARGETS = [SECURE_HOST, LONG_HOST, '127.0.0.1'];

for (const host of TARGETS) {
  test(
    `openssl finds nothing wrong with the certificate for ${host}, strict as it can be`,
    LIMIT,
    async (t) => {
      const { config } = await startRig(t);
      const { home, port } = await started(t, ['--config', config]);
      const leaf = join(scratch, 'leaf.pem');
      writeFileSync(leaf, presented(port, host));
      const isName = /[a-z]/.test(host);
      const verified = execFileSync(
        program('openssl'),
        [
          ...['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', join(home, 'ca.pem')],
          ...['-no-CApath', '-no-CAstore', isName ? '-verify_hostname' : '-verify_ip', host, leaf],
        ],
        { encoding: 'utf8' },
      );
      assert.equal(verified, `${leaf}: OK\n`);
    },
  );
}

test('without the CA the certificate is worth nothing', LIMIT, async (t) => {
  const { config } = await startRig(t);
  const { port } = await started(t, ['--config', config]);
  const leaf = join(scratch, 'unknown-leaf.pem');
  writeFileSync(leaf, presented(port, SECURE_HOST));
  const { status, stderr } = spawnSync(program('openssl'), ['verify', leaf], { encoding: 'utf8' });
  assert.equal(status, 2);
  assert.match(stderr, /unable to get local issuer certificate/);
});

test('s_client agrees on TLS 1.3 and on 1.2, and on nothing older', LIMIT, async (t) => {
  const { config } = await startRig(t);
  const { home, port } = await started(t, ['--config', config]);
  const trusted = ['-CAfile', join(home, 'ca.pem'), '-verify_return_error'];
  for (const version of ['-tls1_2', '-tls1_3']) {
    const { status, stdout } = handshake(port, SECURE_HOST, [...trusted, version]);
    assert.equal(status, 0, stdout);
    assert.match(stdout, /Verify return code: 0 \(ok\)/);
  }
  // At this level openssl itself would still speak it.
  const old = [...trusted, '-tls1_1', '-cipher', 'DEFAULT:@SECLEVEL=0'];
  const { status, stderr } = handshake(port, SECURE_HOST, old);
  assert.notEqual(status, 0);
  assert.match(stderr, /alert protocol version/);
});

/** The certificate (PEM) that the proxy shows for a host. */
function presented(port: number, host: string): string {
  const { stdout, stderr } = handshake(port, host, []);
  const [pem] = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/.exec(stdout) ?? [];
  assert.ok(pem, stderr);
  return `${pem}\n`;
}

function handshake(port: number, host: string, flags: readonly string[]) {
  const name = /[a-z]/.test(host) ? ['-servername', host] : ['-noservername'];
  const args = ['-proxy', `127.0.0.1:${port}`, '-connect', `${host}:443`, ...name, ...flags];
  return spawnSync(program('openssl'), ['s_client', ...args], { encoding: 'utf8', input: '' });
}
