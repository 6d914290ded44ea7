// A small certificate authority: creates keys and certificates as PEM text, and writes no files. For the demo, tests,
// operators without their own authority, and connections between replicas.
import 'reflect-metadata';
import { createPrivateKey, KeyObject, X509Certificate as NodeCertificate, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { canonicalFingerprint, canonicalSerial } from '../model/serial.ts';

/** The names of this machine for local clients. */
export const LOCAL_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '::1'];

/** A private key with its certificate, both PEM. The key is a secret: write it with mode 0600. */
export interface KeyPair {
  /** PKCS #8. */
  readonly key: string;
  readonly cert: string;
}

/** A new key pair, and the identifiers under which its certificate is registered. */
export interface Credential extends KeyPair {
  /** In the canonical form of `model/serial.ts`. */
  readonly serial: string;
  /** SHA-256, upper-case bytes joined by colons. */
  readonly fingerprint: string;
}

/** When a certificate is issued and how long it is valid. */
interface Validity {
  /** Milliseconds since 1970, UTC. */
  readonly now: number;
  readonly days?: number;
}

const AUTHORITY_DAYS = 3650;
/** Browsers on macOS and iOS refuse server certificates that are valid for more than 825 days. */
const CERTIFICATE_DAYS = 365;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Certificates are backdated, so that a machine whose clock is slightly behind accepts them. */
const CLOCK_SKEW_MS = 5 * 60 * 1000;

const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE_ALGORITHM = { name: 'ECDSA', hash: 'SHA-256' };

/** Returns a new, self-signed authority that can sign certificates and revocation lists, but no further authority. */
export async function createAuthority({
  commonName,
  now,
  days = AUTHORITY_DAYS,
}: Validity & { readonly commonName: string }): Promise<Credential> {
  const keys = await createKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...fieldsOf(now),
    name: subjectOf(commonName),
    keys,
    notAfter: new Date(now + days * DAY_MS),
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return exportCredential(keys.privateKey, certificate);
}

/** Returns a key and certificate for a TLS server at `hosts`, names or addresses. */
export function issueServerCertificate(
  authority: KeyPair,
  { hosts = LOCAL_HOSTS, ...validity }: Validity & { readonly hosts?: readonly string[] },
): Promise<Credential> {
  const names = hosts.map((host) => ({ type: isIP(host) === 0 ? ('dns' as const) : ('ip' as const), value: host }));
  const commonName = hosts[0] ?? 'localhost';
  const extensions = [new SubjectAlternativeNameExtension(names)];
  return issue(authority, { ...validity, commonName, purpose: ExtendedKeyUsage.serverAuth, extensions });
}

/** Returns a key and certificate for a client of the REST interface. The registry defines its permissions. */
export function issueClientCertificate(
  authority: KeyPair,
  options: Validity & { readonly commonName: string },
): Promise<Credential> {
  return issue(authority, { ...options, purpose: ExtendedKeyUsage.clientAuth, extensions: [] });
}

interface IssueOptions extends Validity {
  readonly commonName: string;
  readonly purpose: ExtendedKeyUsage;
  readonly extensions: readonly Extension[];
}

async function issue(
  authority: KeyPair,
  { now, days = CERTIFICATE_DAYS, commonName, purpose, extensions }: IssueOptions,
): Promise<Credential> {
  const issuer = new X509Certificate(authority.cert);
  const keys = await createKeys();
  const certificate = await X509CertificateGenerator.create({
    ...fieldsOf(now),
    subject: subjectOf(commonName),
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: createPrivateKey(authority.key).toCryptoKey(KEY_ALGORITHM, false, ['sign']),
    // A certificate is not valid after its issuer has expired, so a later date would only hide when to renew it.
    notAfter: new Date(Math.min(now + days * DAY_MS, issuer.notAfter.getTime())),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([purpose]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...extensions,
    ],
  });
  return exportCredential(keys.privateKey, certificate);
}

/** The fields that all certificates have. */
function fieldsOf(now: number) {
  const notBefore = new Date(now - CLOCK_SKEW_MS);
  return { serialNumber: randomSerial(), notBefore, signingAlgorithm: SIGNATURE_ALGORITHM };
}

function createKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
}

function exportCredential(key: webcrypto.CryptoKey, certificate: X509Certificate): Credential {
  const cert = `${certificate.toString('pem')}\n`;
  const { serialNumber, fingerprint256 } = new NodeCertificate(cert);
  const pem = KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' });
  const serial = canonicalSerial(serialNumber) ?? serialNumber;
  return { key: pem.toString(), cert, serial, fingerprint: canonicalFingerprint(fingerprint256) ?? fingerprint256 };
}

/** The structured form, so that a comma or `+` in the name cannot add fields. */
function subjectOf(commonName: string): { CN: string[] }[] {
  return [{ CN: [commonName] }];
}

/**
 * Returns sixteen bytes, the first between 0x40 and 0x7F: positive and without leading zeros, so that all tools print
 * it in the same way.
 */
function randomSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}
