import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Certificate } from '@peculiar/asn1-x509';
import { LRUCache } from 'lru-cache';
import { type Clock, systemClock } from '../clock.ts';
import { type Issuer, makeLeaf, makeRoot, subjectOf } from './leaf.ts';

/** The local certificate authority, with which this proxy stands in for the sites it opens TLS of. */
export interface Authority {
  /** The CA certificate's file, for clients that add to their own roots. */
  readonly caFile: string;
  readonly caPem: string;
  /** Writes bundled, system and the user's own roots with ours to one file, for clients that replace theirs; returns its path. */
  bundleFile(): string;
  /** What to present for a name or IP address (canonical, without brackets). */
  contextFor(host: string): SecureContext;
  leavesMade(): number;
}

const CACHED_LEAVES = 1000;
/** Far below a leaf's life, so that a proxy that runs for years never shows an expired one. */
const LEAF_KEPT_MS = 30 * 86_400_000;
const BUNDLES_IN_USE = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE'] as const;

/**
 * Opens the CA kept in `home`, or makes one on first use. Two processes that start at once end up with one.
 * Throws an error that names the file and the cure when a kept CA cannot be used.
 */
export async function openAuthority(
  home: string,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<Authority> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  // Key and certificate are one file, so that a pair can never be half written or mixed with another's.
  const keyFile = join(home, 'ca-key.pem');
  if (!existsSync(keyFile)) await createOnce(keyFile, newPair(clock.now()));
  const pair = readPair(keyFile, await readFile(keyFile, 'latin1'), clock.now());

  const caFile = join(home, 'ca.pem');
  const caPem = pair.certificate.toString();
  if (contentOf(caFile) !== caPem) replaceFile(caFile, caPem, 0o644);
  return new LocalAuthority({ home, caFile, caPem, issuer: issuerOf(pair), clock });
}

/**
 * Looks at the CA kept in `home` and changes nothing: its certificate, or undefined where none was made yet. Throws
 * the error of `openAuthority` when it cannot be used.
 */
export function inspectAuthority(home: string, now: number): X509Certificate | undefined {
  const keyFile = join(home, 'ca-key.pem');
  if (!existsSync(keyFile)) return undefined;
  return readPair(keyFile, readFileSync(keyFile, 'latin1'), now).certificate;
}

interface Pair {
  readonly key: KeyObject;
  readonly certificate: X509Certificate;
}

class LocalAuthority implements Authority {
  readonly caFile: string;
  readonly caPem: string;
  readonly #home: string;
  readonly #issuer: Issuer;
  readonly #clock: Pick<Clock, 'now'>;
  /** One key for all leaves: making one takes longer than all the rest of a leaf. */
  readonly #leafKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #leafKeyPem = this.#leafKeys.privateKey.export({ type: 'pkcs8', format: 'pem' });
  readonly #subject = subjectOf(this.#leafKeys.publicKey);
  readonly #contexts = new LRUCache<string, SecureContext>({
    max: CACHED_LEAVES,
    ttl: LEAF_KEPT_MS,
  });
  #made = 0;

  constructor(made: {
    home: string;
    caFile: string;
    caPem: string;
    issuer: Issuer;
    clock: Pick<Clock, 'now'>;
  }) {
    this.#home = made.home;
    this.caFile = made.caFile;
    this.caPem = made.caPem;
    this.#issuer = made.issuer;
    this.#clock = made.clock;
  }

  contextFor(host: string): SecureContext {
    const known = this.#contexts.get(host);
    if (known !== undefined) return known;
    const leaf = makeLeaf(this.#issuer, this.#subject, { host, now: this.#clock.now() });
    // With the CA behind it: Chromium's list of trusted keys is looked up in what is sent, and nowhere else.
    const context = createSecureContext({ key: this.#leafKeyPem, cert: leaf + this.caPem });
    this.#contexts.set(host, context);
    this.#made += 1;
    return context;
  }

  leavesMade(): number {
    return this.#made;
  }

  bundleFile(): string {
    const file = join(this.#home, 'bundle.pem');
    const named = BUNDLES_IN_USE.flatMap((variable) => certificatesIn(process.env[variable]));
    const all = [
      ...getCACertificates('bundled'),
      ...getCACertificates('system'),
      ...named,
      this.caPem,
    ];
    const text = `${[...new Set(all.map((pem) => pem.trim()))].join('\n')}\n`;
    if (contentOf(file) !== text) replaceFile(file, text, 0o644);
    return file;
  }
}

function newPair(now: number): string {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const root = makeRoot(privateKey, subjectOf(publicKey), now);
  return `${privateKey.export({ type: 'pkcs8', format: 'pem' })}${root}`;
}

/** Puts the text there unless another process has been quicker; a reader never sees a part of it. */
async function createOnce(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
    // Unlike rename, a link does not replace what is there already.
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await handle.close();
    await unlink(draft);
  }
}

function readPair(file: string, text: string, now: number): Pair {
  const unusable = (why: string, cause?: unknown) =>
    new Error(
      `The certificate authority in ${file} cannot be used: ${why}. Delete that file to have a new one made; clients must then trust the new one.`,
      { cause },
    );
  let pair: Pair;
  try {
    pair = { key: createPrivateKey(text), certificate: new X509Certificate(text) };
  } catch (error) {
    throw unusable('it is damaged', error);
  }
  const { key, certificate } = pair;
  if (!certificate.checkPrivateKey(key))
    throw unusable('its key and certificate do not belong together');
  if (!certificate.ca) throw unusable('its certificate is not a CA');
  if (certificate.validToDate.getTime() <= now) throw unusable('its certificate has expired');
  return pair;
}

function issuerOf({ key, certificate }: Pair): Issuer {
  const { tbsCertificate } = AsnConvert.parse(certificate.raw, Certificate);
  return {
    key,
    name: tbsCertificate.subject,
    keyId: subjectOf(certificate.publicKey).keyId,
    notAfter: certificate.validToDate.getTime(),
  };
}

function certificatesIn(file: string | undefined): readonly string[] {
  const text = file ? contentOf(file) : undefined;
  return text?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}

function replaceFile(file: string, text: string, mode: number): void {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, text, { mode, flag: 'wx' });
  renameSync(draft, file);
}
