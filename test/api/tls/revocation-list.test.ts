// Revocation lists of authorities with every kind of key.
import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import { X509CertificateGenerator, X509CrlGenerator } from '@peculiar/x509';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseRevocationList } from '../../../src/api/tls/revocation-list.ts';
import { createAuthority, issueClientCertificate } from '../../../src/base/development-pki.ts';

type Algorithm = webcrypto.RsaHashedKeyGenParams & webcrypto.EcKeyGenParams;

const FROM = Date.parse('2026-11-20T10:13:56Z');
const UNTIL = Date.parse('2051-01-02T03:04:05Z');

/** An authority with a key of its own, and a way to make lists. */
async function authorityOf(algorithm: Partial<Algorithm> & { readonly name: string }, commonName = 'Authority') {
  const rsa = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
  const keys = (await webcrypto.subtle.generateKey({ ...rsa, namedCurve: 'P-256', ...algorithm }, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const signingAlgorithm = { hash: 'SHA-256', saltLength: 32, ...algorithm };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    name: `CN=${commonName}`,
    signingAlgorithm,
  });
  return {
    certificate: new X509Certificate(certificate.toString('pem')),
    async list(fields: { nextUpdate?: Date; serials?: readonly string[] } = { nextUpdate: new Date(UNTIL) }) {
      const { serials = [], ...dates } = fields;
      const crl = await X509CrlGenerator.create({
        issuer: certificate.subjectName,
        thisUpdate: new Date(FROM),
        signingKey: keys.privateKey,
        signingAlgorithm,
        entries: serials.map((serialNumber) => ({ serialNumber, revocationDate: new Date(FROM) })),
        ...dates,
      });
      return Buffer.from(crl.rawData);
    },
  };
}

type Authority = Awaited<ReturnType<typeof authorityOf>>;

describe('whose a list is', () => {
  const P256 = { name: 'ECDSA', namedCurve: 'P-256' };
  let other: Authority;
  beforeAll(async () => {
    other = await authorityOf(P256);
  });

  test.each([
    P256,
    { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
    { name: 'ECDSA', namedCurve: 'P-521', hash: 'SHA-512' },
    { name: 'RSASSA-PKCS1-v1_5' },
    { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-512' },
    { name: 'Ed25519' },
  ])('shows its signature: %o', async (algorithm) => {
    const authority = await authorityOf(algorithm);
    const bytes = await authority.list();
    const list = parseRevocationList(bytes);
    expect(list).toMatchObject({ from: FROM, until: UNTIL });
    expect(list.isOf(authority.certificate)).toBe(true);
    // The same name, another key: a list of before the authority got a new one.
    expect(list.isOf(other.certificate)).toBe(false);
    expect(parseRevocationList(await other.list()).isOf(authority.certificate)).toBe(false);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    expect(parseRevocationList(bytes).isOf(authority.certificate)).toBe(false);
  });

  test('shows its name too', async () => {
    const elsewhere = await authorityOf(P256, 'Elsewhere');
    expect(parseRevocationList(await elsewhere.list()).isOf(elsewhere.certificate)).toBe(true);
    expect(parseRevocationList(await elsewhere.list()).isOf(other.certificate)).toBe(false);
  });

  test('shows only its name where the signature is of a kind that OpenSSL alone knows', async () => {
    const authority = await authorityOf({ name: 'RSA-PSS' });
    const elsewhere = await authorityOf({ name: 'RSA-PSS' }, 'Elsewhere');
    const list = parseRevocationList(await authority.list());
    expect([list.isOf(authority.certificate), list.isOf(elsewhere.certificate)]).toEqual([true, false]);
  });
});

describe('what a list says', () => {
  test('who is revoked, by serial', async () => {
    const now = Date.now();
    const authority = await createAuthority({ commonName: 'Authority', now });
    const [one, two] = await Promise.all(
      ['one', 'two'].map((commonName) => issueClientCertificate(authority, { commonName, now })),
    );
    const issuer = await authorityOf({ name: 'ECDSA' });
    const list = parseRevocationList(await issuer.list({ serials: ['01', one?.serial ?? '', 'ff'] }));
    expect(list.revokes(new X509Certificate(one?.cert ?? ''))).toBe(true);
    expect(list.revokes(new X509Certificate(two?.cert ?? ''))).toBe(false);
    expect(parseRevocationList(await issuer.list({})).revokes(new X509Certificate(one?.cert ?? ''))).toBe(false);
  });

  test('without an end it holds for ever', async () => {
    const authority = await authorityOf({ name: 'ECDSA' });
    expect(parseRevocationList(await authority.list({}))).toMatchObject({
      from: FROM,
      until: Number.POSITIVE_INFINITY,
    });
    const until = await authority.list({ nextUpdate: new Date('1999-12-31T23:59:59Z') });
    expect(parseRevocationList(until).until).toBe(Date.parse('1999-12-31T23:59:59Z'));
  });
});

describe('what is no list', () => {
  test('is refused wherever it is cut off', async () => {
    const authority = await authorityOf({ name: 'ECDSA' });
    const bytes = await authority.list({ serials: ['01', '02'] });
    for (let length = 0; length < bytes.length; length++) {
      expect(() => parseRevocationList(bytes.subarray(0, length)), `${length} bytes`).toThrow('cut off');
    }
    expect(() => parseRevocationList(bytes)).not.toThrow();
  });

  const element = (tag: number, ...content: readonly Buffer[]): Buffer => {
    const bytes = Buffer.concat(content);
    return Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
  };
  const sequence = (...content: readonly Buffer[]): Buffer => element(0x30, ...content);
  const signed = (...fields: readonly Buffer[]): Buffer => sequence(sequence(...fields), sequence(), element(0x03));

  test.each<[string, Buffer, string]>([
    ['another value', element(0x02), 'tag 2 where 48 was expected'],
    ['an endless value', Buffer.from('3080', 'hex'), 'a length that is no DER'],
    ['a length of more than four bytes', Buffer.from('30850000000001', 'hex'), 'a length that is no DER, or too large'],
    ['nothing', sequence(), 'it is not signed'],
    ['one without fields', signed(), 'it lacks its issuer or date'],
    ['a date that is none', signed(sequence(), sequence(), element(0x17, Buffer.from('123'))), '"123" is no date'],
    ['a month that is none', signed(sequence(), sequence(), element(0x17, Buffer.from('261320101356Z'))), 'is no date'],
    ['no date', signed(sequence(), sequence(), element(0x18, Buffer.from('261120101356Z'))), 'is no date'],
    ['a text for a date', signed(sequence(), sequence(), element(0x0c, Buffer.from('20261120101356Z'))), 'is no date'],
  ])('is refused: %s', (_name, bytes, message) => {
    expect(() => parseRevocationList(bytes)).toThrow(message);
  });
});
