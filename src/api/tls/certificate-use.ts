// Says why a certificate cannot be used now, or not for a purpose. Who signed it is judged elsewhere.
import type { X509Certificate } from 'node:crypto';
import { momentOf } from '../../base/wording.ts';

/** The side that shows a certificate. */
export type CertificateUse = 'client' | 'server';

/** The extended key usage that OpenSSL requires, if a certificate lists any. It accepts "any purpose" for neither. */
const PURPOSES: Readonly<Record<CertificateUse, { readonly name: string; readonly oid: string }>> = {
  client: { name: 'clientAuth', oid: '1.3.6.1.5.5.7.3.2' },
  server: { name: 'serverAuth', oid: '1.3.6.1.5.5.7.3.1' },
};

/** Returns why a certificate is not one for that use, as the end of a sentence about it; undefined if it is. */
export function purposeFault(certificate: X509Certificate, use: CertificateUse): string | undefined {
  const { name, oid } = PURPOSES[use];
  // Never let in; see docs/rest.md, authentication.
  if (use === 'client' && certificate.ca) return `was not made for ${use}s: it is the one of an authority ("CA:TRUE")`;
  // The extended key usage; Node calls it so.
  const listed: readonly string[] | undefined = certificate.keyUsage;
  const isFit = listed === undefined || listed.includes(oid);
  return isFit ? undefined : `was not made for ${use}s: its extended key usage lacks ${name}`;
}

/** Returns why something is not valid at `now`, as the end of a sentence about it; milliseconds since 1970. */
export function periodFault(
  { from, until }: { readonly from: number; readonly until: number },
  now: number,
): string | undefined {
  if (now < from) return `does not hold before ${momentOf(from)} (is the clock of this machine right?)`;
  return now >= until ? `has expired at ${momentOf(until)}` : undefined;
}

/** Returns why a certificate cannot be used so at `now`, as the end of a sentence about it; undefined if it can. */
export function useFault(certificate: X509Certificate, use: CertificateUse, now: number): string | undefined {
  const { validFromDate, validToDate } = certificate;
  const period = { from: validFromDate.getTime(), until: validToDate.getTime() };
  return periodFault(period, now) ?? purposeFault(certificate, use);
}
