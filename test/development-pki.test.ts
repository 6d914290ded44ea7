import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Credential,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
} from '../src/base/development-pki.ts';
import { createCrl } from './support/create-crl.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Certificates count in whole seconds. */
const now = Math.floor(Date.now() / 1000) * 1000;
let directory: string;
let authority: Credential;
let server: Credential;
let client: Credential;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'treeline-pki-'));
  authority = await createAuthority({ commonName: 'Test authority', now });
  server = await issueServerCertificate(authority, { now });
  client = await issueClientCertificate(authority, { commonName: 'administrator', now });
});
afterAll(() => rmSync(directory, { recursive: true }));

test('a server certificate is valid for the given hosts', async () => {
  const { cert } = await issueServerCertificate(authority, { now, hosts: ['stacks.example', '192.0.2.7'] });
  const certificate = new X509Certificate(cert);
  expect(certificate.subject).toBe('CN=stacks.example');
  expect(certificate.subjectAltName).toBe('DNS:stacks.example, IP Address:192.0.2.7');
});

test('serial and fingerprint are those that Node shows, and unique', () => {
  for (const { cert, serial, fingerprint } of [authority, server, client]) {
    expect(new X509Certificate(cert)).toMatchObject({ serialNumber: serial, fingerprint256: fingerprint });
    expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/);
  }
  expect(new Set([authority.serial, server.serial, client.serial]).size).toBe(3);
});

test('no certificate is valid longer than its authority', async () => {
  const short = await createAuthority({ commonName: 'Short', now, days: 10 });
  const { cert } = await issueClientCertificate(short, { commonName: 'x', now });
  expect(new X509Certificate(cert).validToDate.getTime()).toBe(now + 10 * DAY_MS);
});

describe('openssl accepts', () => {
  test.each<[string, () => string, string]>([
    ['the server certificate for servers', () => server.cert, 'sslserver'],
    ['a client certificate for clients', () => client.cert, 'sslclient'],
  ])('%s', (_name, cert, purpose) => {
    const ca = file('authority', authority.cert);
    const output = openssl('verify', '-x509_strict', '-CAfile', ca, '-purpose', purpose, file('leaf', cert()));
    expect(output).toMatch(/: OK\n$/);
  });

  test('no certificate for the other purpose', () => {
    const ca = file('authority', authority.cert);
    const leaf = file('leaf', server.cert);
    expect(() => openssl('verify', '-CAfile', ca, '-purpose', 'sslclient', leaf)).toThrow(/purpose/);
  });
});

describe('a revocation list', () => {
  test('of the authority revokes the certificates that it names', () => {
    const crl = createCrl(authority, { now, revoked: [client.serial] });
    expect(() => verifyWith(crl, client.cert)).toThrow(/certificate revoked/);
    expect(verifyWith(crl, server.cert)).toMatch(/: OK\n$/);
    expect(() => createSecureContext({ crl })).not.toThrow();
  });

  function verifyWith(crl: string, cert: string): string {
    const ca = file('authority', authority.cert);
    return openssl('verify', '-CAfile', ca, '-crl_check', '-CRLfile', file('crl', crl), file('leaf', cert));
  }
});

function file(name: string, text: string): string {
  const path = join(directory, `${name}.pem`);
  writeFileSync(path, text);
  return path;
}

function openssl(...argv: readonly string[]): string {
  return execFileSync('openssl', [...argv], { encoding: 'utf8', stdio: 'pipe' });
}
