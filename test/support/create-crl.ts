// Issues certificate revocation lists, as the authority of a test's site does.
import 'reflect-metadata';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { AuthorityKeyIdentifierExtension, Extension, X509Certificate, X509CrlGenerator } from '@peculiar/x509';
import type { KeyPair } from '../../src/base/development-pki.ts';
import { canonicalSerial } from '../../src/model/serial.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS = 365;
/** Lists are backdated like certificates. */
const CLOCK_SKEW_MS = 5 * 60 * 1000;
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };

interface CrlOptions {
  /** Milliseconds since 1970, UTC. */
  readonly now: number;
  readonly days?: number;
  readonly revoked: readonly string[];
}

/** Returns a revocation list as PEM. `revoked` are serials in any spelling; throws for an invalid one. */
export async function createCrl(authority: KeyPair, { now, days = DAYS, revoked }: CrlOptions): Promise<string> {
  const issuer = new X509Certificate(authority.cert);
  const serials = new Set(revoked.map(requireSerial));
  const crl = await X509CrlGenerator.create({
    issuer: issuer.subjectName,
    thisUpdate: new Date(now - CLOCK_SKEW_MS),
    nextUpdate: new Date(now + days * DAY_MS),
    signingAlgorithm: SIGNATURE,
    signingKey: await importKey(authority.key),
    entries: [...serials].map((serialNumber) => ({ serialNumber, revocationDate: new Date(now) })),
    extensions: [await AuthorityKeyIdentifierExtension.create(issuer.publicKey), crlNumber(now)],
  });
  // OpenSSL accepts no other label; the library's own is "CRL".
  return `${crl.toString('pem').replaceAll(' CRL-----', ' X509 CRL-----')}\n`;
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
  return webcrypto.subtle.importKey('pkcs8', der, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
}

function requireSerial(text: string): string {
  const serial = canonicalSerial(text);
  if (serial === undefined) throw new Error(`"${text}" is no certificate serial: write it in hexadecimal`);
  return serial;
}

/** RFC 5280, 5.2.3: every list has a number that grows with time. Milliseconds satisfy this. */
function crlNumber(now: number): Extension {
  const digits = now.toString(16);
  const positive = digits.length % 2 === 0 && digits >= '8' ? `00${digits}` : digits;
  const bytes = Buffer.from(positive.padStart(positive.length + (positive.length % 2), '0'), 'hex');
  return new Extension('2.5.29.20', false, Buffer.concat([Buffer.from([0x02, bytes.length]), bytes]));
}
