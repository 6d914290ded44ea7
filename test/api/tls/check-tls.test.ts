// Tests the checks of keys, certificates and revocation lists before they are used.
import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkTls } from '../../../src/api/tls/check-tls.ts';
import type { TlsMaterial } from '../../../src/api/tls/tls-material.ts';
import {
  type Credential,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
} from '../../../src/base/development-pki.ts';
import { createCrl } from '../../support/create-crl.ts';
import { createOpensslPki, type Wish } from '../../support/openssl-pki.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const now = Date.parse('2026-11-20T10:00:00Z');

let ours: Credential;
let theirs: Credential;
let server: Credential;
let other: Credential;
let client: Pick<Credential, 'key' | 'cert'>;
/** An authority below a root, and the list of the root. */
let below: { root: string; own: string; crl: string };
let lists: { ours: string; theirs: string; old: string; early: string };
beforeAll(async () => {
  ours = await createAuthority({ commonName: 'Ours', now });
  theirs = await createAuthority({ commonName: 'Theirs', now });
  server = await issueServerCertificate(ours, { now });
  other = await issueServerCertificate(ours, { now });
  const { key, cert } = await issueClientCertificate(ours, { commonName: 'Ada', now });
  client = { key, cert };
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  const pki = createOpensslPki(directory);
  const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'];
  const root = pki.issue('root', { extensions });
  below = {
    root: root.own,
    own: pki.issue('sub', { by: root, extensions }).own,
    crl: await createCrl(root, { now, revoked: [] }),
  };
  rmSync(directory, { recursive: true });
  lists = {
    ours: await createCrl(ours, { now, revoked: [] }),
    theirs: await createCrl(theirs, { now, revoked: [], days: 30 }),
    old: await createCrl(ours, { now: now - 2 * DAY_MS, days: 1, revoked: [] }),
    early: await createCrl(ours, { now: now + DAY_MS, revoked: [] }),
  };
});

function material(changes: Partial<TlsMaterial> = {}): TlsMaterial {
  return { key: server.key, cert: server.cert, ca: ours.cert, ...changes };
}

function oldAuthority(): string {
  return createOpensslPki(temporaryDirectory()).issue('old', {}).own;
}

/** Returns a certificate that holds now, by openssl. */
function unlimited(wish: Wish): Pick<Credential, 'key' | 'cert'> {
  const days = Math.floor((now - Date.now()) / DAY_MS);
  const { key, cert } = createOpensslPki(temporaryDirectory()).issue('any', {
    from: days - 1,
    until: days + 30,
    ...wish,
  });
  return { key, cert };
}

function encrypt(key: string): string {
  return `${createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })}`;
}

describe('checkTls accepts', () => {
  test.each<[string, () => Partial<TlsMaterial>]>([
    ['what belongs together', () => ({})],
    ['a chain', () => ({ cert: server.cert + ours.cert })],
    ['a key with its curve before it', () => ({ key: `${PARAMETERS}${sec1(server.key)}` })],
    ['a certificate that lists no purposes', () => unlimited({})],
    ['one for clients and servers', () => unlimited({ extensions: ['extendedKeyUsage = clientAuth, serverAuth'] })],
    ['several authorities with a list each', () => ({ ca: ours.cert + theirs.cert, crl: lists.theirs + lists.ours })],
    ['an authority of version 1, which cannot say that it is one', () => ({ ca: oldAuthority() })],
    ['a list that holds beside others that do not', () => ({ crl: lists.old + lists.ours + lists.early })],
    ['a list of an authority that is not trusted', () => ({ crl: lists.ours + lists.theirs })],
  ])('%s', (_name, changes) => {
    expect(checkTls(material(changes()), now).faults).toEqual([]);
  });

  const PARAMETERS = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
  function sec1(key: string): string {
    return `${createPrivateKey(key).export({ type: 'sec1', format: 'pem' })}`;
  }
});

const LOCKED_OUT = 'and every client of that authority would be locked out';

/** Returns faults as `part: message`. */
function wordsOf(changes: Partial<TlsMaterial>, at = now): readonly string[] {
  return checkTls(material(changes), at).faults.map(({ part, message }) => `${part}: ${message}`);
}

function areBroken(changes: Partial<TlsMaterial>, at = now): readonly boolean[] {
  return checkTls(material(changes), at).faults.map(({ isBroken }) => isBroken);
}

const NO_AUTHORITY =
  'ca: CN=localhost is not an authority (it has no "CA:TRUE"), so it admits no client; use the one that signs clients';

test.each<[string, () => Partial<TlsMaterial>, unknown]>([
  ['no key', () => ({ key: '' }), 'key: it contains no private key in PEM'],
  [
    'a key with a passphrase',
    () => ({ key: encrypt(server.key) }),
    'key: its key has a passphrase, which Treeline cannot enter: remove it ("openssl pkey")',
  ],
  [
    'the key of another certificate',
    () => ({ key: other.key }),
    'cert: it does not match the private key: perhaps only one of the two was replaced',
  ],
  [
    'a chain the wrong way round',
    () => ({ cert: ours.cert + server.cert }),
    "cert: the certificate of the private key is its number 2: the server's own has to come first",
  ],
  [
    'the certificate of a client',
    () => client,
    "cert: it is not for servers: its extended key usage lacks serverAuth; name the server's own, with its key",
  ],
  ['a certificate in the place of its authority', () => ({ ca: server.cert }), NO_AUTHORITY],
  [
    'half of the second authority',
    () => ({ ca: ours.cert + theirs.cert.slice(0, 100) }),
    'ca: a certificate in it is truncated',
  ],
  [
    'a list of another authority',
    () => ({ crl: lists.theirs }),
    `crl: it contains no list of the authority CN=Ours, ${LOCKED_OUT}`,
  ],
  [
    'an intermediate authority without the one above it',
    () => ({ ca: below.own }),
    'ca: CN=sub is an intermediate authority, and its issuer CN=root is not in this file, so it admits no client; add the authorities above it',
  ],
  [
    'the list of a root without that of the intermediate authority',
    () => ({ ca: below.root + below.own, crl: below.crl }),
    `crl: it contains no list of the authority CN=sub, ${LOCKED_OUT}`,
  ],
  [
    'half a key',
    () => ({ key: server.key.split('\n').toSpliced(2, 1).join('\n') }),
    expect.stringMatching(/^key: its key cannot be read \(/),
  ],
  ['no authority', () => ({ ca: '' }), expect.stringMatching(/^ca: it contains no certificate in PEM/)],
  [
    'a list in DER',
    () => ({ crl: '0\u0082\u0001' }),
    expect.stringMatching(/^crl: .*often publish it, "openssl crl -inform DER/),
  ],
])('checkTls reports material that cannot be used: %s', (_name, changes, words) => {
  expect(wordsOf(changes())).toEqual([words]);
  expect(areBroken(changes())).toEqual([true]);
});

test('checkTls reports a key that is too short for OpenSSL', () => {
  const options = ['-newkey', 'rsa:512', '-nodes', '-subj', '/CN=short', '-keyout', '-', '-out', '-'];
  const both = execFileSync('openssl', ['req', '-x509', ...options], { encoding: 'utf8', stdio: 'pipe' });
  const changes = { key: both, cert: both };
  expect(wordsOf(changes, Date.now())).toEqual([
    expect.stringMatching(/^cert: OpenSSL refuses it \(.*key too small\)$/),
  ]);
  expect(areBroken(changes, Date.now())).toEqual([true]);
});

test('checkTls reports all faults together', () => {
  const { faults, ends } = checkTls({ key: '', cert: '', ca: '', crl: '' }, now);
  expect(faults.map(({ part }) => part)).toEqual(['key', 'cert', 'ca', 'crl']);
  expect(ends).toEqual([]);
});

test.each<[string, () => Partial<TlsMaterial>, words: string, days?: number]>([
  [
    'an expired list',
    () => ({ crl: lists.old }),
    `crl: its list of the authority CN=Ours has expired at 2026-11-19T10:00:00.000Z, ${LOCKED_OUT}`,
  ],
  [
    'a list of tomorrow',
    () => ({ crl: lists.early }),
    `crl: its list of the authority CN=Ours is not valid before 2026-11-21T09:55:00.000Z (check the clock of this machine), ${LOCKED_OUT}`,
  ],
  [
    'a second authority without a list',
    () => ({ ca: ours.cert + theirs.cert, crl: lists.ours }),
    `crl: it contains no list of the authority CN=Theirs, ${LOCKED_OUT}`,
  ],
  ['a certificate beside its authority', () => ({ ca: ours.cert + server.cert }), NO_AUTHORITY],
  [
    'an expired server certificate',
    () => ({}),
    'cert: it has expired at 2027-11-20T10:00:00.000Z, and clients would refuse to connect',
    400,
  ],
  [
    'a server certificate of tomorrow',
    () => ({}),
    'cert: it is not valid before 2026-11-20T09:55:00.000Z (check the clock of this machine), and clients would refuse to connect',
    -1,
  ],
])('checkTls reports material that locks out clients: %s', (_name, changes, words, days = 0) => {
  expect(wordsOf(changes(), now + days * DAY_MS)).toEqual([words]);
  expect(areBroken(changes(), now + days * DAY_MS)).toEqual([false]);
});

test('checkTls returns all ends, and the last one of several lists', () => {
  const changes = {
    cert: server.cert + ours.cert,
    ca: ours.cert + theirs.cert,
    crl: lists.old + lists.theirs + lists.ours,
  };
  const { ends } = checkTls(material(changes), now);
  const [begins, year, decade] = [now - 5 * 60_000, now + 365 * DAY_MS, now + 3650 * DAY_MS];
  const authority = expect.stringMatching(/^ca:[0-9A-F]{16}$/);
  expect(ends.map(({ action: _, ...end }) => end)).toEqual([
    { id: 'server', name: 'the server certificate of CN=localhost', begins, ends: year },
    { id: 'server', name: 'the server certificate of CN=Ours', begins, ends: decade },
    { id: authority, name: 'the client authority of CN=Ours', begins, ends: decade },
    { id: 'crl', name: 'the revocation list of CN=Ours', begins, ends: year },
    { id: authority, name: 'the client authority of CN=Theirs', begins, ends: decade },
    { id: 'crl', name: 'the revocation list of CN=Theirs', begins, ends: now + 30 * DAY_MS },
  ]);
  expect(ends[2]?.id).not.toBe(ends[4]?.id);
});
