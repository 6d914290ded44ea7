// Tests which certificates are accepted and why others are refused, by the rules of docs/rest.md, authentication. OpenSSL verifies chains; a
// few rows show that it is asked to.
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
  readonly foreign: Issued;
}

type Registered = 'with fingerprint' | 'without fingerprint' | 'with another fingerprint' | 'not';

interface Row {
  /** How the certificate is issued; left out: by the root, for clients. */
  readonly wish?: (authorities: Authorities) => Wish;
  /** What trusts clients: `clientCa`. */
  readonly trusted?: (authorities: Authorities) => readonly Issued[];
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
  'with the longest serial': { wish: () => ({ serial: `7F${'AB'.repeat(19)}` }), want: 'in' },
  'for servers only': { wish: () => ({ extensions: ['extendedKeyUsage=serverAuth'] }), want: 'INVALID_PURPOSE' },
  'of an authority': {
    wish: () => ({ extensions: ['basicConstraints=critical,CA:TRUE'] }),
    want: 'CERTIFICATE_OF_AN_AUTHORITY',
  },
  'that has expired': { wish: () => ({ from: -9, until: -1 }), want: 'CERT_HAS_EXPIRED' },
  'of another authority': { wish: ({ foreign }) => ({ by: foreign }), want: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' },
  'of a sent sub-authority, with a fingerprint': {
    wish: ({ sub }) => ({ by: sub, along: [sub] }),
    want: 'in',
  },
  'of a sent sub-authority, without a fingerprint': {
    wish: ({ sub }) => ({ by: sub, along: [sub] }),
    registered: 'without fingerprint',
    want: 'fingerprint_mismatch',
  },
  'of a trusted sub-authority, without a fingerprint': {
    wish: ({ sub }) => ({ by: sub }),
    trusted: ({ root, sub }) => [root, sub],
    registered: 'without fingerprint',
    want: 'fingerprint_mismatch',
  },
  'in no revocation list': { lists: (pki, { root }) => pki.revocationList(root, {}), want: 'in' },
  'that is revoked': {
    lists: (pki, { root }, client) => pki.revocationList(root, { revoked: [client] }),
    want: 'CERT_REVOKED',
  },
  'whose revocation list has expired': {
    lists: (pki, { root }) => pki.revocationList(root, { until: -1 }),
    want: 'CRL_HAS_EXPIRED',
  },
  'of a sent sub-authority whose revocation lists include an old one': {
    wish: ({ sub }) => ({ by: sub, along: [sub] }),
    lists: (pki, { root, sub }) =>
      pki.revocationList(root, {}) + pki.revocationList(sub, {}) + pki.revocationList(sub, { until: -1 }),
    want: 'in',
  },
};

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
      foreign: pki.issue('foreign', { extensions: AUTHORITY }),
    };
  });
  afterAll(async () => {
    rmSync(directory, { recursive: true });
    await api.api.close();
  });

  test.each(Object.entries(ROWS))('%s', async (_name, row) => {
    const wish = { by: authorities.root, extensions: CLIENT, ...row.wish?.(authorities) };
    const client = pki.issue('c', wish);
    const trusted = row.trusted?.(authorities) ?? [authorities.root];
    const crl = row.lists?.(pki, authorities, client);
    api.api.reload({ ...api.tls, ca: trusted.map(({ own }) => own).join(''), crl });
    api.reader.registry.clear();
    register(client, row.registered ?? 'with fingerprint');
    passedMs += 60_000;
    const seen = api.lines.length;
    const outcome = await ask(client);
    if (outcome !== 'refused') {
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
