// Judges whether the serial of a certificate identifies its client.
import { X509Certificate } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { findAmbiguity } from '../../../src/api/tls/tls-material.ts';
import { createAuthority, issueClientCertificate } from '../../../src/base/development-pki.ts';

test('findAmbiguity verifies the certificate of a connection once for each text of authorities', async () => {
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'One', now });
  const other = await createAuthority({ commonName: 'Other', now });
  const { cert } = await issueClientCertificate(authority, { commonName: 'client', now });
  const certificate = new X509Certificate(cert);
  const verify = vi.spyOn(certificate, 'verify');
  let ca = authority.cert;
  const ambiguityOf = findAmbiguity(() => ({ key: '', cert: '', ca }));
  expect([1, 2, 3].map(() => ambiguityOf(certificate))).toEqual([undefined, undefined, undefined]);
  expect(verify).toHaveBeenCalledTimes(1);
  ca = other.cert;
  expect(ambiguityOf(certificate)).toMatch(/below the one that is trusted here/);
});
