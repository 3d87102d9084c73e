import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

/** A certificate authority in use: its key, and what its leaves repeat of it. */
export interface Issuer {
  readonly key: KeyObject;
  readonly name: Name;
  readonly keyId: ArrayBuffer;
  /** Epoch ms. */
  readonly notAfter: number;
}

/** A key pair's public half, encoded once for any number of certificates. */
export interface Subject {
  readonly info: SubjectPublicKeyInfo;
  readonly keyId: ArrayBuffer;
}

const DAY_MS = 86_400_000;
const CA_LIFE_MS = 3650 * DAY_MS;
/** Verifiers refuse leaves that live longer than 398 days. */
const LEAF_LIFE_MS = 396 * DAY_MS;
/** Clients in containers and on resumed machines have clocks that are behind ours. */
const BACKDATED_MS = DAY_MS;

const OID_COMMON_NAME = '2.5.4.3';
const OID_ORGANIZATION = '2.5.4.10';
const ECDSA_SHA256 = new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' });
const LONGEST_COMMON_NAME = 64;

/** Prepares a public key: its encoding and its identifier (RFC 7093 section 2, method 1). */
export function subjectOf(publicKey: KeyObject): Subject {
  const info = AsnConvert.parse(
    publicKey.export({ type: 'spki', format: 'der' }),
    SubjectPublicKeyInfo,
  );
  const digest = createHash('sha256').update(Buffer.from(info.subjectPublicKey)).digest();
  return { info, keyId: bytes(digest.subarray(0, 20)) };
}

/** Makes a self-signed CA certificate (PEM). */
export function makeRoot(key: KeyObject, subject: Subject, now: number): string {
  const id = Buffer.from(subject.keyId).toString('hex').slice(0, 8);
  const name = named([
    [OID_ORGANIZATION, 'Forbear'],
    [OID_COMMON_NAME, `Forbear local CA ${id}`],
  ]);
  return issue(key, {
    issuer: name,
    subject: name,
    info: subject.info,
    notBefore: now - BACKDATED_MS,
    notAfter: now + CA_LIFE_MS,
    extensions: [
      extension(id_ce_basicConstraints, new BasicConstraints({ cA: true }), 'critical'),
      extension(
        id_ce_keyUsage,
        new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign),
        'critical',
      ),
      ...keyIds(subject.keyId, subject.keyId),
    ],
  });
}

/** Makes a certificate (PEM) for exactly one name or IP address. */
export function makeLeaf(
  issuer: Issuer,
  subject: Subject,
  leaf: { host: string; now: number },
): string {
  const { host, now } = leaf;
  const alt = new GeneralName(isIP(host) === 0 ? { dNSName: host } : { iPAddress: host });
  // A common name is limited to 64 characters; without one the alternative name must be critical.
  const fits = host.length <= LONGEST_COMMON_NAME;
  return issue(issuer.key, {
    issuer: issuer.name,
    subject: named(fits ? [[OID_COMMON_NAME, host]] : []),
    info: subject.info,
    notBefore: now - BACKDATED_MS,
    notAfter: Math.min(now + LEAF_LIFE_MS, issuer.notAfter),
    extensions: [
      ...SERVER_ONLY,
      extension(
        id_ce_subjectAltName,
        new SubjectAlternativeName([alt]),
        fits ? 'plain' : 'critical',
      ),
      ...keyIds(subject.keyId, issuer.keyId),
    ],
  });
}

/** The same in every leaf, so encoded once. */
const SERVER_ONLY: readonly Extension[] = [
  extension(id_ce_basicConstraints, new BasicConstraints({ cA: false }), 'critical'),
  extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), 'critical'),
  extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth]), 'plain'),
];

interface Content {
  readonly issuer: Name;
  readonly subject: Name;
  readonly info: SubjectPublicKeyInfo;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly extensions: Extension[];
}

function issue(key: KeyObject, content: Content): string {
  const tbs = new TBSCertificate({
    version: Version.v3,
    serialNumber: serial(),
    signature: ECDSA_SHA256,
    issuer: content.issuer,
    subject: content.subject,
    subjectPublicKeyInfo: content.info,
    validity: new Validity({
      notBefore: new Date(content.notBefore),
      notAfter: new Date(content.notAfter),
    }),
    extensions: new Extensions(content.extensions),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbs)), key);
  const certificate = new Certificate({
    tbsCertificate: tbs,
    signatureAlgorithm: ECDSA_SHA256,
    signatureValue: bytes(signature),
  });
  return pem(Buffer.from(AsnConvert.serialize(certificate)));
}

/** 16 random octets, positive and without a leading zero octet (RFC 5280 section 4.1.2.2). */
function serial(): ArrayBuffer {
  const octets = randomBytes(16);
  octets[0] = ((octets[0] ?? 0) & 0x3f) | 0x40;
  return bytes(octets);
}

function named(attributes: readonly (readonly [string, string])[]): Name {
  return new Name(
    attributes.map(
      ([type, utf8String]) =>
        new RelativeDistinguishedName([
          new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String }) }),
        ]),
    ),
  );
}

function keyIds(subject: ArrayBuffer, authority: ArrayBuffer): Extension[] {
  const keyIdentifier = new KeyIdentifier(authority);
  return [
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(subject), 'plain'),
    extension(id_ce_authorityKeyIdentifier, new AuthorityKeyIdentifier({ keyIdentifier }), 'plain'),
  ];
}

function extension(extnID: string, value: object, weight: 'critical' | 'plain'): Extension {
  const extnValue = new OctetString(AsnConvert.serialize(value));
  return new Extension({ extnID, critical: weight === 'critical', extnValue });
}

function bytes(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
