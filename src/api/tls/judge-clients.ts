// Judges a client's certificate by the authorities and revocation lists in force, at every request.
import type { X509Certificate } from 'node:crypto';
import type { AuthenticateOptions, CertificateJudgement } from '../authenticate.ts';
import type { TlsMaterial } from './tls-material.ts';
import { issuedDirectly, listsUntil, readTrust, type Trust, trustBelow, vouchesFor } from './trust.ts';

/** Judges certificates by the present material. */
export interface ClientJudge {
  readonly judge: AuthenticateOptions['judge'];
  /** Judges by other material from now on. Throws where it cannot be read, and then judges as before. */
  reload(tls: TlsMaterial): void;
}

/** Returns the judge. Throws where the material cannot be read. */
export function judgeClients(tls: TlsMaterial): ClientJudge {
  let trust = readTrust(tls);
  // Signatures are verified once a connection, not once a request.
  let judged = new WeakMap<X509Certificate, CertificateJudgement>();
  /** Those of connections that have asked, by whatever material. What base/connections.ts hands on of others is let in by the present one. */
  const asked = new WeakSet<X509Certificate>();
  return {
    judge(certificate, sentAlong) {
      const known = judged.get(certificate);
      if (known !== undefined) return known;
      // The handshake with another replica was by other material, perhaps.
      const wasLetIn = sentAlong === undefined && !asked.has(certificate);
      const isTrusted = wasLetIn || vouchesFor(trustBelow(trust, sentAlong), certificate);
      const judgement = { ...judgeAgainst(trust, certificate), isTrusted };
      asked.add(certificate);
      judged.set(certificate, judgement);
      return judgement;
    },
    reload(next) {
      trust = readTrust(next);
      judged = new WeakMap();
    },
  };
}

function judgeAgainst(trust: Trust, certificate: X509Certificate): Omit<CertificateJudgement, 'isTrusted'> {
  return { ambiguity: ambiguityOf(trust, certificate), listsUntil: listsUntil(trust, certificate) };
}

function ambiguityOf(trust: Trust, certificate: X509Certificate): string | undefined {
  if (trust.authorities.length > 1) return 'more than one authority is trusted here';
  if (issuedDirectly(trust, certificate)) return undefined;
  return 'its certificate was issued by an authority below the one that is trusted here';
}
