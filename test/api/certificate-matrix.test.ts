// Tests which certificates are accepted and why others are refused, one row a class: all of authentication in docs/rest.md.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { isMap } from '../../src/model/json.ts';
import type { Client } from '../../src/model/objects.ts';
import { createOpensslPki, type Issued, type OpensslPki, type Wish } from '../support/openssl-pki.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const AUTHORITY = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'];
const CLIENT = [
  'basicConstraints=critical,CA:FALSE',
  'keyUsage=critical,digitalSignature',
  'extendedKeyUsage=clientAuth',
];

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
  /** How the certificate is issued; left out: by the root, for clients. */
  readonly wish?: (authorities: Authorities) => Wish;
  /** A certificate that exists already. */
  readonly client?: (pki: OpensslPki, authorities: Authorities) => Issued;
  /** What trusts clients: `clientCa`. */
  readonly trusted?: (authorities: Authorities, client: Issued) => readonly Issued[];
  readonly lists?: (pki: OpensslPki, authorities: Authorities, client: Issued) => string;
  /** Left out: with fingerprint. */
  readonly registered?: Registered;
  /** 'in'; or the reason that is logged where the connection ends, which Node has no name for sometimes; or the error of the 403. */
  readonly want: string;
}

const ROWS: Readonly<Record<string, Row>> = {
  'a client of the authority': { want: 'in' },
  'without fingerprint in its record': { registered: 'without fingerprint', want: 'in' },
  'with another fingerprint in its record': { registered: 'with another fingerprint', want: 'fingerprint_mismatch' },
  'without a record': { registered: 'not', want: 'client_not_registered' },
  'with an RSA key': { wish: () => ({ key: rsa(2048) }), want: 'in' },
  'with an Ed25519 key': { wish: () => ({ key: ['-algorithm', 'ED25519'] }), want: 'in' },
  'with the longest serial': { wish: () => ({ serial: `7F${'AB'.repeat(19)}` }), want: 'in' },
  'for clients and servers': { wish: () => leaf('extendedKeyUsage=serverAuth,clientAuth'), want: 'in' },
  'without any extension': { wish: () => ({ extensions: [] }), want: 'in' },
  'for servers only': { wish: () => leaf('extendedKeyUsage=serverAuth'), want: 'INVALID_PURPOSE' },
  'for any extended key usage, and not for clients by name': {
    wish: () => leaf('extendedKeyUsage=anyExtendedKeyUsage'),
    want: 'INVALID_PURPOSE',
  },
  'whose key may only encipher': {
    wish: () => leaf('keyUsage=critical,keyEncipherment', 'extendedKeyUsage=clientAuth'),
    want: 'INVALID_PURPOSE',
  },
  'of an authority, without key usage': {
    wish: () => ({ extensions: ['basicConstraints=critical,CA:TRUE'] }),
    want: 'CERTIFICATE_OF_AN_AUTHORITY',
  },
  'of an authority, and for clients': {
    wish: () => ({
      extensions: [
        'basicConstraints=critical,CA:TRUE',
        'keyUsage=critical,digitalSignature,keyCertSign',
        'extendedKeyUsage=clientAuth',
      ],
    }),
    want: 'CERTIFICATE_OF_AN_AUTHORITY',
  },
  'of an authority that may only sign': { client: (_pki, { sub }) => sub, want: 'INVALID_PURPOSE' },
  'that has expired': { wish: () => ({ from: -9, until: -1 }), want: 'CERT_HAS_EXPIRED' },
  'that is not valid yet': { wish: () => ({ from: 1 }), want: 'CERT_NOT_YET_VALID' },
  'of another authority': { wish: ({ foreign }) => ({ by: foreign }), want: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' },
  'of another authority, which is sent along': {
    wish: ({ foreign }) => ({ by: foreign, along: [foreign] }),
    want: 'SELF_SIGNED_CERT_IN_CHAIN',
  },
  'of an authority with the name of the trusted one': {
    wish: ({ impostor }) => ({ by: impostor }),
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
    wish: ({ sub }) => ({ by: sub, along: [sub] }),
    want: 'in',
  },
  'of a sub-authority that is sent along, without a fingerprint': {
    wish: ({ sub }) => ({ by: sub, along: [sub] }),
    registered: 'without fingerprint',
    want: 'fingerprint_mismatch',
  },
  'of a sub-authority that is not sent along': {
    wish: ({ sub }) => ({ by: sub }),
    want: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  },
  'of a sub-authority that is trusted by name, without a fingerprint': {
    wish: ({ sub }) => ({ by: sub }),
    trusted: ({ root, sub }) => [root, sub],
    registered: 'without fingerprint',
    want: 'fingerprint_mismatch',
  },
  'of a sub-authority that is trusted by name, with a fingerprint': {
    wish: ({ sub }) => ({ by: sub }),
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
  'signed with SHA-1': { wish: () => ({ digest: 'sha1' }), want: 'refused' },
  'with a short key': { wish: () => ({ key: rsa(1024) }), want: 'refused' },
  'in no revocation list': { lists: (pki, { root }) => pki.revocationList(root, {}), want: 'in' },
  'that is revoked': {
    lists: (pki, { root }, client) => pki.revocationList(root, { revoked: [client] }),
    want: 'CERT_REVOKED',
  },
  'whose revocation list has expired': {
    lists: (pki, { root }) => pki.revocationList(root, { until: -1 }),
    want: 'CRL_HAS_EXPIRED',
  },
  'whose authority has no revocation list': {
    lists: (pki, { foreign }) => pki.revocationList(foreign, {}),
    want: 'UNABLE_TO_GET_CRL',
  },
  'of a sub-authority that is sent along, and both have lists, one of them an old one too': {
    wish: ({ sub }) => ({ by: sub, along: [sub] }),
    lists: (pki, { root, sub }) =>
      pki.revocationList(root, {}) + pki.revocationList(sub, {}) + pki.revocationList(sub, { until: -1 }),
    want: 'in',
  },
  'of a sub-authority that is sent along, and has no list': {
    wish: ({ sub }) => ({ by: sub, along: [sub] }),
    lists: (pki, { root }) => pki.revocationList(root, {}),
    want: 'UNABLE_TO_GET_CRL',
  },
  'of a sub-authority that was revoked': {
    wish: ({ sub }) => ({ by: sub, along: [sub] }),
    lists: (pki, { root, sub }) => pki.revocationList(root, { revoked: [sub] }) + pki.revocationList(sub, {}),
    want: 'CERT_REVOKED',
  },
};

function leaf(...extensions: readonly string[]): Wish {
  return { extensions: ['basicConstraints=critical,CA:FALSE', ...extensions] };
}

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
    api = await startTestApi({ ...systemClock, monotonic: () => systemClock.monotonic() + passedMs }, undefined, false);
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
    const wish = { by: authorities.root, extensions: CLIENT, ...row.wish?.(authorities) };
    const client = row.client?.(pki, authorities) ?? pki.issue('c', wish);
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
