// Verifies a client's chain against the operator's authorities. OpenSSL does that at every handshake; this is for
// connections whose handshake was under other authorities or revocation lists than those in force. See
// docs/operations.md, certificates.
import type { X509Certificate } from 'node:crypto';
import { readCertificates, readRevocationLists } from './pem.ts';
import type { RevocationList } from './revocation-list.ts';
import type { TlsMaterial } from './tls-material.ts';

interface Authority {
  readonly certificate: X509Certificate;
  /** Those that it signed. */
  readonly lists: readonly RevocationList[];
}

/** The authorities and revocation lists that certificates are verified against. */
export interface Trust {
  readonly authorities: readonly Authority[];
  /** All that there are, also of authorities that are not among these. */
  readonly lists: readonly RevocationList[];
  /** Tells that an authority without a list vouches for no certificate, as with OpenSSL. */
  readonly needsLists: boolean;
}

/** More than any chain of authorities has. */
const STEPS_MAX = 8;

/** Returns whom `ca` and `crl` trust. Throws where one of them cannot be read or holds nothing. */
export function readTrust({ ca, crl }: Pick<TlsMaterial, 'ca' | 'crl'>): Trust {
  return combineTrust(readCertificates(ca), crl === undefined ? undefined : readRevocationLists(crl));
}

/** Returns the authorities with the lists that each of them signed; `lists` undefined: no certificate is revoked. */
export function combineTrust(
  certificates: readonly X509Certificate[],
  lists: readonly RevocationList[] | undefined,
): Trust {
  return {
    authorities: certificates.map((certificate) => ({
      certificate,
      lists: lists?.filter((list) => list.isOf(certificate)) ?? [],
    })),
    lists: lists ?? [],
    needsLists: lists !== undefined,
  };
}

/**
 * Returns the same trust with authorities below the operator's that a client has sent along, and that a handshake has verified. None of
 * them is trusted by itself.
 */
export function trustBelow(trust: Trust, sentAlong: readonly X509Certificate[] = []): Trust {
  const below = sentAlong.filter((certificate) => certificate.ca && !hasSigned(certificate, certificate));
  if (below.length === 0) return trust;
  const certificates = [...trust.authorities.map(({ certificate }) => certificate), ...below];
  return combineTrust(certificates, trust.needsLists ? trust.lists : undefined);
}

/**
 * Tells whether a client's certificate would be let in: signed by an authority that leads to a self-signed one, and none of
 * them revoked. Dates and purpose are not looked at: the handshake did, and every request looks at the client's dates.
 * A client that sent intermediate authorities is not let in, as they are not known any more; it has to connect again.
 */
export function vouchesFor(trust: Trust, certificate: X509Certificate, stepsMax = STEPS_MAX): boolean {
  return trust.authorities.some((authority) => {
    if (!hasSigned(authority.certificate, certificate)) return false;
    if (trust.needsLists && !isUnrevoked(authority, certificate)) return false;
    if (authority.certificate.raw.equals(certificate.raw)) return true;
    return stepsMax > 0 && vouchesFor(trust, authority.certificate, stepsMax - 1);
  });
}

/** Tells whether one of the authorities themselves signed a certificate, and not one below them that a client sent along. */
export function issuedDirectly(trust: Trust, certificate: X509Certificate): boolean {
  return trust.authorities.some((authority) => hasSigned(authority.certificate, certificate));
}

/**
 * Returns until when the revocation lists say something about a certificate, in milliseconds since 1970; Infinity where no
 * lists are needed. After that its revocation is unknown. Where an authority between is not known any more, a
 * list of every authority has to hold.
 */
export function listsUntil(trust: Trust, certificate: X509Certificate, stepsMax = STEPS_MAX): number {
  if (!trust.needsLists) return Number.POSITIVE_INFINITY;
  const issuer = trust.authorities.find((authority) => hasSigned(authority.certificate, certificate));
  if (issuer === undefined || stepsMax === 0) return Math.min(...latestEnds(trust.lists).values());
  const until = Math.max(...issuer.lists.map((list) => list.until));
  if (issuer.certificate.raw.equals(certificate.raw) || hasSigned(issuer.certificate, issuer.certificate)) return until;
  return Math.min(until, listsUntil(trust, issuer.certificate, stepsMax - 1));
}

/** Of several lists of one authority the newest counts. */
function latestEnds(lists: readonly RevocationList[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { issuer, until } of lists) ends.set(issuer, Math.max(until, ends.get(issuer) ?? 0));
  return ends;
}

function hasSigned(authority: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

function isUnrevoked({ lists }: Authority, certificate: X509Certificate): boolean {
  return lists.length > 0 && lists.every((list) => !list.revokes(certificate));
}
