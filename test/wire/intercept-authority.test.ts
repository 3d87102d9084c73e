import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import tls from 'node:tls';
import { openAuthority } from '../../src/listener/authority.ts';

const root = mkdtempSync(join(tmpdir(), 'forbear-authority-'));
after(() => rmSync(root, { recursive: true, force: true }));
let homes = 0;
const newHome = () => {
  homes += 1;
  return join(root, `home${homes}`);
};
const DAY_MS = 86_400_000;

/** The certificate that a client is shown for a name. */
async function shown(
  authority: Awaited<ReturnType<typeof openAuthority>>,
  host: string,
): Promise<X509Certificate> {
  const server = tls.createServer({
    SNICallback: (_name, done) => done(null, authority.contextFor(host)),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = tls.connect({
    port,
    host: '127.0.0.1',
    servername: 'any.test',
    // Judged by OpenSSL's command, not here: some are of another time.
    rejectUnauthorized: false,
  });
  try {
    await once(client, 'secureConnect');
    return client.getPeerX509Certificate()!;
  } finally {
    client.destroy();
    server.close();
  }
}

test('the CA is made on first use, private to its owner, and kept', async () => {
  const home = newHome();
  const first = await openAuthority(home);
  assert.equal(statSync(home).mode & 0o777, 0o700);
  assert.equal(statSync(join(home, 'ca-key.pem')).mode & 0o777, 0o600);
  assert.equal(readFileSync(first.caFile, 'utf8'), first.caPem);
  assert.doesNotMatch(first.caPem, /PRIVATE/);
  const second = await openAuthority(home);
  assert.equal(second.caPem, first.caPem);
  assert.notEqual((await openAuthority(newHome())).caPem, first.caPem);
  assert.deepEqual(readdirSync(home).sort(), ['ca-key.pem', 'ca.pem']);
});

test('strict verifiers accept the leaf of every kind of name', async () => {
  const home = newHome();
  const authority = await openAuthority(home);
  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.example.test`;
  const names = [
    'o.test',
    'localhost',
    'com',
    'a_b.example.test',
    '127.0.0.1',
    '::1',
    'xn--bcher-kva.test',
    long,
  ];
  for (const host of names) {
    const leaf = await shown(authority, host);
    const file = join(home, 'leaf.pem');
    writeFileSync(file, leaf.toString());
    const isIp = /^[\d.]+$|:/.test(host);
    const said = execFileSync(
      'openssl',
      [
        'verify',
        '-x509_strict',
        '-purpose',
        'sslserver',
        isIp ? '-verify_ip' : '-verify_hostname',
        host,
        '-CAfile',
        authority.caFile,
        file,
      ],
      { encoding: 'utf8' },
    );
    assert.match(said, /: OK/, host);
    assert.equal(leaf.ca, false);
  }
});

test('a leaf begins a day ago, ends within 397 days and within the CA, and has a serial of its own', async () => {
  const home = newHome();
  const authority = await openAuthority(home);
  const now = Date.now();
  const leaf = await shown(authority, 'o.test');
  assert.ok(leaf.validFromDate.getTime() <= now - DAY_MS + 60_000);
  assert.ok(leaf.validToDate.getTime() - leaf.validFromDate.getTime() <= 397 * DAY_MS);
  assert.ok(BigInt(`0x${leaf.serialNumber}`) > 0n);
  assert.ok(leaf.serialNumber.length <= 40);
  const other = await shown(await openAuthority(home), 'o.test');
  assert.notEqual(other.serialNumber, leaf.serialNumber);

  const end = new X509Certificate(authority.caPem).validToDate.getTime();
  const last = await shown(await openAuthority(home, { now: () => end - 5 * DAY_MS }), 'o.test');
  assert.equal(last.validToDate.getTime(), end);
});

test('an expired CA is refused with its file and the cure', async () => {
  const home = newHome();
  await openAuthority(home);
  const future = { now: () => Date.now() + 4000 * DAY_MS };
  await assert.rejects(
    openAuthority(home, future),
    /ca-key\.pem cannot be used: its certificate has expired\. Delete that file/,
  );
});

test('a damaged or mixed up CA is an error that names the file and the cure', async () => {
  const home = newHome();
  await openAuthority(home);
  const file = join(home, 'ca-key.pem');
  const whole = readFileSync(file, 'utf8');
  writeFileSync(file, whole.slice(0, 200));
  await assert.rejects(openAuthority(home), (error: Error) => {
    assert.match(error.message, /ca-key\.pem cannot be used: it is damaged\. Delete that file/);
    return true;
  });
  const otherHome = newHome();
  await openAuthority(otherHome);
  const other = readFileSync(join(otherHome, 'ca-key.pem'), 'utf8');
  const begin = '-----BEGIN CERTIFICATE';
  writeFileSync(file, whole.slice(0, whole.indexOf(begin)) + other.slice(other.indexOf(begin)));
  await assert.rejects(openAuthority(home), /do not belong together/);
});

test('a damaged copy of the CA certificate is written anew', async () => {
  const home = newHome();
  const { caPem, caFile } = await openAuthority(home);
  writeFileSync(caFile, caPem.slice(0, 100));
  await openAuthority(home);
  assert.equal(readFileSync(caFile, 'utf8'), caPem);
});

test('processes that start at once end up with one CA', async () => {
  const home = newHome();
  const module = new URL('../../src/listener/authority.ts', import.meta.url).href;
  const script = `const { openAuthority } = await import(${JSON.stringify(module)}); const a = await openAuthority(${JSON.stringify(home)}); process.stdout.write(a.caPem);`;
  const outputs = await Promise.all(
    [1, 2, 3].map(() =>
      text(spawn(process.execPath, ['--input-type=module', '-e', script]).stdout),
    ),
  );
  assert.match(outputs[0]!, /BEGIN CERTIFICATE/);
  assert.deepEqual(new Set(outputs).size, 1);
  assert.deepEqual(readdirSync(home).sort(), ['ca-key.pem', 'ca.pem']);
});

test('the bundle holds bundled roots, what the user named, and ours, each once', async () => {
  const authority = await openAuthority(newHome());
  const named = await openAuthority(newHome());
  const before = process.env.SSL_CERT_FILE;
  process.env.SSL_CERT_FILE = named.caFile;
  try {
    const pems: string[] =
      readFileSync(authority.bundleFile(), 'utf8').match(
        /-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g,
      ) ?? [];
    assert.equal(new Set(pems).size, pems.length);
    assert.ok(pems.length > tls.getCACertificates('bundled').length);
    assert.ok(pems.includes(authority.caPem.trim()));
    assert.ok(pems.includes(named.caPem.trim()));
    process.env.SSL_CERT_FILE = authority.bundleFile();
    const again = readFileSync(authority.bundleFile(), 'utf8').match(/-----BEGIN/g) ?? [];
    assert.equal(again.length, pems.length, 'a bundle of our own, named again, adds nothing');
  } finally {
    if (before === undefined) delete process.env.SSL_CERT_FILE;
    else process.env.SSL_CERT_FILE = before;
  }
});

test('one leaf is made per name, and no more than the cap are kept', async () => {
  const authority = await openAuthority(newHome());
  const first = authority.contextFor('a.test');
  assert.equal(authority.contextFor('a.test'), first);
  assert.equal(authority.leavesMade(), 1);
  for (let i = 0; i < 1000; i += 1) authority.contextFor(`${i}.test`);
  assert.notEqual(authority.contextFor('a.test'), first);
  assert.equal(authority.leavesMade(), 1002);
});
