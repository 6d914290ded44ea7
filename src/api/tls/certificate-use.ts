// Tells why a certificate cannot be used now, or not for that: its dates, and the purposes that it was made for. Whose it is,
// and who has signed it, is judged elsewhere.
import type { X509Certificate } from 'node:crypto';
import { momentOf, reasonOf } from '../../base/wording.ts';
import { readKeyUsage } from './der.ts';

/** What a certificate is shown as. */
export type CertificateUse = 'client' | 'server';

interface Rule {
  /** The name and the OID of the purpose, which has to be among those that a certificate lists. */
  readonly purpose: string;
  readonly oid: string;
  /** Bits of the first byte of the key usage, RFC 5280, 4.2.1.3: one of them has to be set. */
  readonly keyUsage: number;
}

const DIGITAL_SIGNATURE = 0x80;
const KEY_ENCIPHERMENT = 0x20;
const KEY_AGREEMENT = 0x08;

/** As OpenSSL judges them; it takes "any purpose" for neither. */
const RULES: Readonly<Record<CertificateUse, Rule>> = {
  client: { purpose: 'clientAuth', oid: '1.3.6.1.5.5.7.3.2', keyUsage: DIGITAL_SIGNATURE | KEY_AGREEMENT },
  server: {
    ...{ purpose: 'serverAuth', oid: '1.3.6.1.5.5.7.3.1' },
    keyUsage: DIGITAL_SIGNATURE | KEY_ENCIPHERMENT | KEY_AGREEMENT,
  },
};

/** Returns why a certificate is not one for that use, as the end of a sentence about it; undefined where it is. */
export function purposeFault(certificate: X509Certificate, use: CertificateUse): string | undefined {
  const { purpose, oid, keyUsage } = RULES[use];
  // Never let in; see docs/rest.md, authentication.
  if (use === 'client' && certificate.ca) return 'was not made for clients: it is the one of an authority ("CA:TRUE")';
  // The extended key usage; Node calls it so.
  const listed: readonly string[] | undefined = certificate.keyUsage;
  if (listed !== undefined && !listed.includes(oid)) {
    return `was not made for ${use}s: its extended key usage lacks ${purpose}`;
  }
  try {
    const allowed = readKeyUsage(certificate) ?? keyUsage;
    return (allowed & keyUsage) === 0 ? `was not made for ${use}s: its key usage lacks digitalSignature` : undefined;
  } catch (error) {
    return `cannot be used: its extensions cannot be read (${reasonOf(error)})`;
  }
}

/** Returns why something does not hold at `now`, as the end of a sentence about it; milliseconds since 1970. */
export function periodFault(
  { from, until }: { readonly from: number; readonly until: number },
  now: number,
): string | undefined {
  if (now < from) return `does not hold before ${momentOf(from)} (is the clock of this machine right?)`;
  return now >= until ? `has expired at ${momentOf(until)}` : undefined;
}

/** Returns why a certificate cannot be used so at `now`, as the end of a sentence about it; undefined where it can. */
export function useFault(certificate: X509Certificate, use: CertificateUse, now: number): string | undefined {
  const { validFromDate, validToDate } = certificate;
  const period = { from: validFromDate.getTime(), until: validToDate.getTime() };
  return periodFault(period, now) ?? purposeFault(certificate, use);
}
