import { beforeAll, describe, expect, test } from 'vitest';
import { readCertificates, readRevocationLists } from '../../../src/api/tls/pem.ts';
import { type Credential, createAuthority } from '../../../src/base/development-pki.ts';
import { createCrl } from '../../support/create-crl.ts';

const now = Date.now();
let first: Credential;
let second: Credential;
let crl: string;
beforeAll(async () => {
  first = await createAuthority({ commonName: 'First', now });
  second = await createAuthority({ commonName: 'Second', now });
  crl = await createCrl(first, { now, revoked: [] });
});

test('certificates are read in order, whatever stands around them', () => {
  const text = `First:\r\n${first.cert.replaceAll('\n', '\r\n')}# and\n${crl}${second.cert}the end`;
  expect(readCertificates(text).map(({ subject }) => subject)).toEqual(['CN=First', 'CN=Second']);
});

test('revocation lists are read whatever stands around them', () => {
  expect(readRevocationLists(crl)).toHaveLength(1);
  expect(readRevocationLists(`x\n${crl.replaceAll('\n', '\r\n')}${first.cert}${crl}`)).toHaveLength(2);
});

describe('refused', () => {
  test.each<[string, () => string, string]>([
    ['nothing', () => '', 'it holds no certificate in PEM ("-----BEGIN CERTIFICATE-----"); from DER, "openssl x509'],
    ['a key', () => first.key, 'it holds no certificate in PEM'],
    ['the beginning of one', () => first.cert.slice(0, 200), 'a certificate in it is cut off'],
    ['one and a half', () => first.cert + second.cert.slice(0, -20), 'a certificate in it is cut off'],
    ['one with a hole in it', () => first.cert.slice(0, 200) + second.cert, 'a certificate in it is cut off'],
    ['a damaged second one', () => first.cert + damage(second.cert), 'its certificate number 2 cannot be read ('],
  ])('as certificates: %s', (_name, text, message) => {
    expect(() => readCertificates(text())).toThrow(message);
  });

  test.each<[string, () => string, string]>([
    ['nothing', () => '', 'it holds no revocation list in PEM ("-----BEGIN X509 CRL-----"); from DER, in which'],
    ['the wrong label', () => crl.replaceAll('X509 CRL', 'CRL'), 'it holds no revocation list in PEM'],
    ['the beginning of one', () => crl.slice(0, 100), 'a revocation list in it is cut off'],
    ['letters that are no base64', () => damage(crl), 'its revocation list number 1 cannot be read (it is no base64)'],
    [
      'no letters',
      () =>
        crl
          .split('\n')
          .toSpliced(1, 20, crl.split('\n').at(-2) ?? '')
          .join('\n'),
      'it is no base64',
    ],
    ['a certificate', () => first.cert.replaceAll('CERTIFICATE', 'X509 CRL'), 'number 1 cannot be read ('],
    ['half of one', () => crl.split('\n').toSpliced(2, 2).join('\n'), 'number 1 cannot be read (cut off)'],
  ])('as revocation lists: %s', (_name, text, message) => {
    expect(() => readRevocationLists(text())).toThrow(message);
  });
});

/** Puts letters into the third line that no PEM has. */
function damage(text: string): string {
  return text.split('\n').with(2, '@@@@').join('\n');
}
