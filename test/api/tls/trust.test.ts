// Whom the authorities vouch for; wherever OpenSSL can be asked too, it has to say the same.
import 'reflect-metadata';
import { execFileSync } from 'node:child_process';
import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BasicConstraintsExtension, X509Certificate as Certificate, X509CertificateGenerator } from '@peculiar/x509';
import { beforeAll, describe, expect, test } from 'vitest';
import { readTrust, vouchesFor } from '../../../src/api/tls/trust.ts';
import { type Credential, createAuthority, issueClientCertificate } from '../../../src/base/development-pki.ts';
import { createCrl } from '../../support/create-crl.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const now = Date.now();
const KEY = { name: 'ECDSA', namedCurve: 'P-256' };

/** An authority below another. */
async function createIntermediate(authority: Credential, commonName: string): Promise<Credential> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const der = createPrivateKey(authority.key).export({ type: 'pkcs8', format: 'der' });
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${commonName}`,
    issuer: new Certificate(authority.cert).subjectName,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey('pkcs8', der, KEY, false, ['sign']),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    notBefore: new Date(now - 60_000),
    notAfter: new Date(now + 24 * 60 * 60 * 1000),
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const key = createPrivateKey({ key: pkcs8, type: 'pkcs8', format: 'der' }).export({ type: 'pkcs8', format: 'pem' });
  const { serialNumber, fingerprint256 } = new X509Certificate(certificate.toString('pem'));
  return { key: `${key}`, cert: `${certificate.toString('pem')}\n`, serial: serialNumber, fingerprint: fingerprint256 };
}

async function makeWorld() {
  const root = await createAuthority({ commonName: 'Root', now });
  const twin = await createAuthority({ commonName: 'Root', now });
  const other = await createAuthority({ commonName: 'Other', now });
  // The handshake refuses it, since the development authority may sign no other; here only signatures count.
  const high = await createIntermediate(root, 'High');
  const client = await issueClientCertificate(root, { commonName: 'client', now });
  const below = await issueClientCertificate(high, { commonName: 'below', now });
  const crl = (authority: Credential, ...revoked: readonly Credential[]) =>
    createCrl(authority, { now, revoked: revoked.map(({ serial }) => serial) });
  return { root, twin, other, high, client, below, crl };
}

let world: Awaited<ReturnType<typeof makeWorld>>;
beforeAll(async () => {
  world = await makeWorld();
});

function isVouchedFor({ cert }: Credential, ca: readonly Credential[], crls?: readonly string[]): boolean {
  const crl = crls?.join('');
  return vouchesFor(readTrust({ ca: ca.map((one) => one.cert).join(''), crl }), new X509Certificate(cert));
}

describe('a client is vouched for', () => {
  test('by the authority that signed it, alone or among others', () => {
    const { client, root, other } = world;
    expect(isVouchedFor(client, [root])).toBe(true);
    expect(isVouchedFor(client, [other, root])).toBe(true);
  });

  test('by no other, not even one of the same name', () => {
    const { client, twin, other } = world;
    expect(isVouchedFor(client, [other])).toBe(false);
    expect(isVouchedFor(client, [twin])).toBe(false);
  });

  test('through an authority in between, but not by that one alone', () => {
    const { below, root, high } = world;
    expect(isVouchedFor(below, [root, high])).toBe(true);
    expect(isVouchedFor(below, [high, root])).toBe(true);
    expect(isVouchedFor(below, [high])).toBe(false);
    expect(isVouchedFor(below, [root])).toBe(false);
  });

  test('unless it is revoked, or its authority has no list', async () => {
    const { client, root, other, crl } = world;
    const sibling = await issueClientCertificate(root, { commonName: 'sibling', now });
    const lists = [await crl(root, client), await crl(other)];
    expect(isVouchedFor(client, [root, other], lists)).toBe(false);
    expect(isVouchedFor(sibling, [root, other], lists)).toBe(true);
    expect(isVouchedFor(sibling, [root, other], [await crl(other)])).toBe(false);
    // The list of another authority does not count, whatever serials are on it.
    expect(isVouchedFor(client, [root, other], [await crl(root), await crl(other, client)])).toBe(true);
    expect(isVouchedFor(client, [root], [await crl(world.twin)])).toBe(false);
  });

  test('unless an authority in between is revoked, or has no list', async () => {
    const { below, root, high, crl } = world;
    expect(isVouchedFor(below, [root, high], [await crl(root), await crl(high)])).toBe(true);
    expect(isVouchedFor(below, [root, high], [await crl(root, high), await crl(high)])).toBe(false);
    expect(isVouchedFor(below, [root, high], [await crl(root), await crl(high, below)])).toBe(false);
    expect(isVouchedFor(below, [root, high], [await crl(root)])).toBe(false);
    expect(isVouchedFor(below, [root, high], [await crl(high)])).toBe(false);
  });

  test('if it is on none of several lists of one authority', async () => {
    const { client, root, crl } = world;
    expect(isVouchedFor(client, [root], [await crl(root), await crl(root)])).toBe(true);
    expect(isVouchedFor(client, [root], [await crl(root), await crl(root, client)])).toBe(false);
  });
});

test('OpenSSL says the same', async () => {
  const { client, root, twin, other, crl } = world;
  const directory = temporaryDirectory();
  const lists = {
    none: undefined,
    empty: await crl(root),
    revoking: await crl(root, client),
    foreign: await crl(other),
  };
  for (const [name, list] of Object.entries(lists)) {
    for (const ca of [[root], [twin], [other, root]]) {
      const files = { ca: ca.map(({ cert }) => cert).join(''), crl: list ?? '', leaf: client.cert };
      for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text);
      const crlOptions = list === undefined ? [] : ['-crl_check_all', '-CRLfile', 'crl'];
      const here = isVouchedFor(client, ca, list === undefined ? undefined : [list]);
      expect(opensslVerifies(directory, crlOptions), `${name}, ${ca.length}`).toBe(here);
    }
  }
});

function opensslVerifies(cwd: string, options: readonly string[]): boolean {
  try {
    execFileSync('openssl', ['verify', '-no-CApath', '-CAfile', 'ca', ...options, 'leaf'], { cwd, stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

test('nothing that holds nobody is trusted', () => {
  expect(() => readTrust({ ca: '' })).toThrow('it holds no certificate');
  expect(() => readTrust({ ca: world.root.cert, crl: '' })).toThrow('it holds no revocation list');
});
