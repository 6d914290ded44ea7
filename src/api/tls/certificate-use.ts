// Explains why a certificate cannot be used now or for a purpose. Does not check its signature.
import type { X509Certificate } from 'node:crypto';
import { toRfc3339 } from '../../base/wording.ts';

/** The side that presents a certificate. */
export type CertificateUse = 'client' | 'server';

/** The extended key usage that OpenSSL requires if a certificate lists any. "Any purpose" is not enough for either. */
const PURPOSES: Readonly<Record<CertificateUse, { readonly name: string; readonly oid: string }>> = {
  client: { name: 'clientAuth', oid: '1.3.6.1.5.5.7.3.2' },
  server: { name: 'serverAuth', oid: '1.3.6.1.5.5.7.3.1' },
};

/** Returns why a certificate does not permit that use, as the end of a sentence; undefined if it does. */
export function purposeFault(certificate: X509Certificate, use: CertificateUse): string | undefined {
  const { name, oid } = PURPOSES[use];
  // An authority is never accepted as a client; see docs/rest.md, authentication.
  if (use === 'client' && certificate.ca) return `is not for ${use}s: it belongs to an authority ("CA:TRUE")`;
  // Node's name for the extended key usage.
  const listed: readonly string[] | undefined = certificate.keyUsage;
  const isFit = listed === undefined || listed.includes(oid);
  return isFit ? undefined : `is not for ${use}s: its extended key usage lacks ${name}`;
}

/** Returns why something is not valid at `now` (milliseconds since 1970), as the end of a sentence. */
export function periodFault(
  { from, until }: { readonly from: number; readonly until: number },
  now: number,
): string | undefined {
  if (now < from) return `is not valid before ${toRfc3339(from)} (check the clock of this machine)`;
  return now >= until ? `has expired at ${toRfc3339(until)}` : undefined;
}

/** Returns why a certificate cannot be used that way at `now`, as the end of a sentence; undefined if it can. */
export function useFault(certificate: X509Certificate, use: CertificateUse, now: number): string | undefined {
  const { validFromDate, validToDate } = certificate;
  const period = { from: validFromDate.getTime(), until: validToDate.getTime() };
  return periodFault(period, now) ?? purposeFault(certificate, use);
}
