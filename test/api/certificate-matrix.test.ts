// Tests which certificates are accepted and why others are refused, one row a class: all of authentication in docs/rest.md.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { isMap } from '../../src/model/json.ts';
import type { Client } from '../../src/model/objects.ts';
import { createOpensslPki, type Issued, type OpensslPki } from '../support/openssl-pki.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const AUTHORITY = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'];
const CLIENT = [
  'basicConstraints=critical,CA:FALSE',
  'keyUsage=critical,digitalSignature',
  'extendedKeyUsage=clientAuth',
];
const LEAF = ['basicConstraints=critical,CA:FALSE'];

/** The authorities; only `root` is trusted, where a row does not say otherwise. */
interface Authorities {
  readonly root: Issued;
  /** Below the root. */
  readonly sub: Issued;
  /** Named like the root, with another key. */
  readonly impostor: Issued;
  readonly foreign: Issued;
}

type Registered = 'with fingerprint' | 'without fingerprint' | 'with another fingerprint' | 'not';

interface Row {
  readonly client: (pki: OpensslPki, authorities: Authorities) => Issued;
  /** What trusts clients: `clientCa`. */
  readonly trusted?: (authorities: Authorities, client: Issued) => readonly Issued[];
  readonly lists?: (pki: OpensslPki, authorities: Authorities, client: Issued) => string;
  /** Left out: with fingerprint. */
  readonly registered?: Registered;
  /** 'in'; or the reason that is logged where the connection ends, which Node has no name for sometimes; or the error of the 403. */
  readonly want: string;
}

const ROWS: Readonly<Record<string, Row>> = {
  'a client of the authority': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT }),
    want: 'in',
  },
  'without fingerprint in its record': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT }),
    registered: 'without fingerprint',
    want: 'in',
  },
  'with another fingerprint in its record': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT }),
    registered: 'with another fingerprint',
    want: 'fingerprint_mismatch',
  },
  'without a record': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT }),
    registered: 'not',
    want: 'client_not_registered',
  },
  'with an RSA key': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT, key: rsa(2048) }),
    want: 'in',
  },
  'with a P-384 key': {
    client: (pki, { root }) =>
      pki.issue('c', {
        by: root,
        extensions: CLIENT,
        key: ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
      }),
    want: 'in',
  },
  'with an Ed25519 key': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT, key: ['-algorithm', 'ED25519'] }),
    want: 'in',
  },
  'with the longest serial': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT, serial: `7F${'AB'.repeat(19)}` }),
    want: 'in',
  },
  'for clients and servers': {
    client: (pki, { root }) =>
      pki.issue('c', { by: root, extensions: [...LEAF, 'extendedKeyUsage=serverAuth,clientAuth'] }),
    want: 'in',
  },
  'without extended key usage': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: LEAF }),
    want: 'in',
  },
  'without any extension': { client: (pki, { root }) => pki.issue('c', { by: root }), want: 'in' },
  'for servers only': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: [...LEAF, 'extendedKeyUsage=serverAuth'] }),
    want: 'INVALID_PURPOSE',
  },
  'for mail only': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: [...LEAF, 'extendedKeyUsage=emailProtection'] }),
    want: 'INVALID_PURPOSE',
  },
  'for any extended key usage, and not for clients by name': {
    client: (pki, { root }) =>
      pki.issue('c', { by: root, extensions: [...LEAF, 'extendedKeyUsage=anyExtendedKeyUsage'] }),
    want: 'INVALID_PURPOSE',
  },
  'whose key may only encipher': {
    client: (pki, { root }) =>
      pki.issue('c', {
        by: root,
        extensions: [...LEAF, 'keyUsage=critical,keyEncipherment', 'extendedKeyUsage=clientAuth'],
      }),
    want: 'INVALID_PURPOSE',
  },
  'of an authority, without key usage': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: ['basicConstraints=critical,CA:TRUE'] }),
    want: 'CERTIFICATE_OF_AN_AUTHORITY',
  },
  'of an authority, and for clients': {
    client: (pki, { root }) =>
      pki.issue('c', {
        by: root,
        extensions: [
          'basicConstraints=critical,CA:TRUE',
          'keyUsage=critical,digitalSignature,keyCertSign',
          'extendedKeyUsage=clientAuth',
        ],
      }),
    want: 'CERTIFICATE_OF_AN_AUTHORITY',
  },
  'of an authority that may only sign': { client: (_pki, { sub }) => sub, want: 'INVALID_PURPOSE' },
  'of the trusted authority itself': { client: (_pki, { root }) => root, want: 'INVALID_PURPOSE' },
  'that has expired': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT, from: -9, until: -1 }),
    want: 'CERT_HAS_EXPIRED',
  },
  'without a subject, that has expired': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT, subject: '/', from: -9, until: -1 }),
    want: 'CERT_HAS_EXPIRED',
  },
  'that is not valid yet': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT, from: 1 }),
    want: 'CERT_NOT_YET_VALID',
  },
  'of an authority with the name of the trusted one, that has expired': {
    client: (pki, { impostor }) => pki.issue('c', { by: impostor, extensions: CLIENT, from: -9, until: -1 }),
    want: 'CERT_HAS_EXPIRED',
  },
  'of another authority, that is sent along and has expired': {
    client: (pki, { foreign }) =>
      pki.issue('c', { by: foreign, extensions: CLIENT, along: [foreign], from: -9, until: -1 }),
    want: 'CERT_HAS_EXPIRED',
  },
  'of another authority': {
    client: (pki, { foreign }) => pki.issue('c', { by: foreign, extensions: CLIENT }),
    want: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  },
  'of another authority, which is sent along': {
    client: (pki, { foreign }) => pki.issue('c', { by: foreign, extensions: CLIENT, along: [foreign] }),
    want: 'SELF_SIGNED_CERT_IN_CHAIN',
  },
  'of an authority with the name of the trusted one': {
    client: (pki, { impostor }) => pki.issue('c', { by: impostor, extensions: CLIENT }),
    want: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  },
  'that signed itself': {
    client: (pki) => pki.issue('c', { extensions: CLIENT }),
    want: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  },
  'that signed itself and is trusted': {
    client: (pki) => pki.issue('c', { extensions: CLIENT }),
    trusted: (_authorities, client) => [client],
    want: 'in',
  },
  'of a sub-authority that is sent along, with a fingerprint': {
    client: (pki, { sub }) => pki.issue('c', { by: sub, extensions: CLIENT, along: [sub] }),
    want: 'in',
  },
  'of a sub-authority that is sent along, without a fingerprint': {
    client: (pki, { sub }) => pki.issue('c', { by: sub, extensions: CLIENT, along: [sub] }),
    registered: 'without fingerprint',
    want: 'fingerprint_mismatch',
  },
  'of a sub-authority that is not sent along': {
    client: (pki, { sub }) => pki.issue('c', { by: sub, extensions: CLIENT }),
    want: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  },
  'of a sub-authority that is trusted by name, without a fingerprint': {
    client: (pki, { sub }) => pki.issue('c', { by: sub, extensions: CLIENT }),
    trusted: ({ root, sub }) => [root, sub],
    registered: 'without fingerprint',
    want: 'fingerprint_mismatch',
  },
  'of a sub-authority that is trusted by name, with a fingerprint': {
    client: (pki, { sub }) => pki.issue('c', { by: sub, extensions: CLIENT }),
    trusted: ({ root, sub }) => [root, sub],
    want: 'in',
  },
  'issued by a client': {
    client(pki, { root }) {
      const client = pki.issue('client', { by: root, extensions: CLIENT });
      return pki.issue('c', { by: client, extensions: CLIENT, along: [client] });
    },
    want: 'UNSPECIFIED',
  },
  'below an authority that may have none below it': {
    client(pki, { root }) {
      const last = pki.issue('last', { by: root, extensions: ['basicConstraints=critical,CA:TRUE,pathlen:0'] });
      const below = pki.issue('below', { by: last, extensions: AUTHORITY });
      return pki.issue('c', { by: below, extensions: CLIENT, along: [below, last] });
    },
    want: 'PATH_LENGTH_EXCEEDED',
  },
  'with a name that its authority may not give': {
    client(pki, { root }) {
      const bound = pki.issue('bound', {
        by: root,
        extensions: [...AUTHORITY, 'nameConstraints=critical,permitted;DNS:example.org'],
      });
      return pki.issue('c', { by: bound, extensions: [...CLIENT, 'subjectAltName=DNS:example.net'], along: [bound] });
    },
    want: 'UNSPECIFIED',
  },
  'with a critical extension that nobody knows': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: [...CLIENT, '1.2.3.4=critical,ASN1:NULL'] }),
    want: 'UNSPECIFIED',
  },
  'signed with SHA-1': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT, digest: 'sha1' }),
    want: 'refused',
  },
  'with a short key': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT, key: rsa(1024) }),
    want: 'refused',
  },
  'in no revocation list': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT }),
    lists: (pki, { root }) => pki.revocationList(root, {}),
    want: 'in',
  },
  'that is revoked': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT }),
    lists: (pki, { root }, client) => pki.revocationList(root, { revoked: [client] }),
    want: 'CERT_REVOKED',
  },
  'whose revocation list has expired': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT }),
    lists: (pki, { root }) => pki.revocationList(root, { until: -1 }),
    want: 'CRL_HAS_EXPIRED',
  },
  'whose authority has no revocation list': {
    client: (pki, { root }) => pki.issue('c', { by: root, extensions: CLIENT }),
    lists: (pki, { foreign }) => pki.revocationList(foreign, {}),
    want: 'UNABLE_TO_GET_CRL',
  },
  'of a sub-authority that is sent along, and both have lists, one of them an old one too': {
    client: (pki, { sub }) => pki.issue('c', { by: sub, extensions: CLIENT, along: [sub] }),
    lists: (pki, { root, sub }) =>
      pki.revocationList(root, {}) + pki.revocationList(sub, {}) + pki.revocationList(sub, { until: -1 }),
    want: 'in',
  },
  'of a sub-authority that is sent along, and has no list': {
    client: (pki, { sub }) => pki.issue('c', { by: sub, extensions: CLIENT, along: [sub] }),
    lists: (pki, { root }) => pki.revocationList(root, {}),
    want: 'UNABLE_TO_GET_CRL',
  },
  'of a sub-authority that was revoked': {
    client: (pki, { sub }) => pki.issue('c', { by: sub, extensions: CLIENT, along: [sub] }),
    lists: (pki, { root, sub }) => pki.revocationList(root, { revoked: [sub] }) + pki.revocationList(sub, {}),
    want: 'CERT_REVOKED',
  },
};

function rsa(bits: number): readonly string[] {
  return ['-algorithm', 'RSA', '-pkeyopt', `rsa_keygen_bits:${bits}`];
}

describe('a certificate', () => {
  let api: TestApi;
  let directory: string;
  let pki: OpensslPki;
  let authorities: Authorities;
  /** The same refusal is logged once a minute: a minute passes before each row. */
  let passedMs = 0;
  beforeAll(async () => {
    api = await startTestApi({ ...systemClock, monotonic: () => systemClock.monotonic() + passedMs });
    directory = mkdtempSync(join(tmpdir(), 'treeline-'));
    pki = createOpensslPki(directory);
    const root = pki.issue('root', { extensions: AUTHORITY });
    authorities = {
      root,
      sub: pki.issue('sub', { by: root, extensions: AUTHORITY }),
      impostor: pki.issue('impostor', { extensions: AUTHORITY, subject: '/CN=root' }),
      foreign: pki.issue('foreign', { extensions: AUTHORITY }),
    };
  });
  afterAll(async () => {
    rmSync(directory, { recursive: true });
    await api.api.close();
  });

  test.each(Object.entries(ROWS))('%s', async (_name, row) => {
    const client = row.client(pki, authorities);
    const trusted = row.trusted?.(authorities, client) ?? [authorities.root];
    const crl = row.lists?.(pki, authorities, client);
    api.api.reload({ ...api.tls, ca: trusted.map(({ own }) => own).join(''), crl });
    api.reader.registry.clear();
    register(client, row.registered ?? 'with fingerprint');
    passedMs += 60_000;
    const seen = api.lines.length;
    const outcome = await ask(client);
    if (outcome !== 'refused' || row.want === 'refused') {
      expect(outcome).toBe(row.want);
      return;
    }
    const refused = await vi.waitFor(() => {
      const line = api.lines.slice(seen).find((entry) => entry.includes('connection refused'));
      if (line === undefined) throw new Error('nothing refused yet');
      return JSON.parse(line);
    }, 20_000);
    expect(refused.reason).toBe(row.want);
  });

  /** A key that is too short is refused by the client's own side. */
  async function ask(client: Issued): Promise<unknown> {
    try {
      const { status, body } = await api.request('/tree', { identity: client });
      return status === 200 ? 'in' : isMap(body) && body.error;
    } catch {
      return 'refused';
    }
  }

  function register(client: Issued, how: Registered): void {
    const fingerprints: Readonly<Record<Registered, string | undefined>> = {
      'with fingerprint': client.fingerprint,
      'without fingerprint': '',
      'with another fingerprint': authorities.root.fingerprint,
      not: undefined,
    };
    const fingerprint = fingerprints[how];
    if (fingerprint === undefined) return;
    const { serial } = client;
    const record: Client = {
      name: serial,
      type: 'client',
      description: '',
      role: 'proxy',
      fingerprint,
      serial,
      tenant: '',
    };
    api.reader.registry.set(serial, record);
  }
});
