import { createHash, X509Certificate } from 'node:crypto';

const MAGIC = 0xfeedfeed;
const VERSION = 2;
const TRUSTED_CERTIFICATE = 2;
/** What Java's own trust store ships with; it guards against accidents, not against people. */
const PASSWORD = 'changeit';
const SALT = 'Mighty Aphrodite';

/**
 * A Java trust store (JKS) with these certificates. Java reads no PEM bundles, and its keytool is not
 * everywhere; the format is a list with a SHA-1 digest over it.
 */
export function trustStore(pems: readonly string[]): Uint8Array {
  const entries = pems.map((pem, n) => entry(`ca-${n}`, new X509Certificate(pem).raw));
  const body = Buffer.concat([uint32(MAGIC), uint32(VERSION), uint32(entries.length), ...entries]);
  const digest = createHash('sha1')
    .update(Buffer.from(PASSWORD, 'utf16le').swap16())
    .update(SALT)
    .update(body)
    .digest();
  return Buffer.concat([body, digest]);
}

function entry(alias: string, der: Uint8Array): Uint8Array {
  return Buffer.concat([
    uint32(TRUSTED_CERTIFICATE),
    text(alias),
    Buffer.alloc(8), // Creation date: the epoch, so that the same certificates give the same file.
    text('X.509'),
    uint32(der.length),
    der,
  ]);
}

function text(value: string): Uint8Array {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  return Buffer.concat([length, Buffer.from(value, 'latin1')]);
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
