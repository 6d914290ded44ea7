// Every route by every identity: test/support/route-table.ts has the rows, and this holds it against the application.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Credential, issueClientCertificate } from '../../src/base/development-pki.ts';
import type { Role } from '../../src/model/names.ts';
import type { Client } from '../../src/model/objects.ts';
import { keepAll } from '../support/https-client.ts';
import { EXCEPTIONS, pathsOf, ROUTES, type Row, routesOfApplication } from '../support/route-table.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

/** Who asks. The last two are nobody, whatever they ask. */
const ROLES = ['administrator', 'automation-endpoint', 'proxy'] as const;
/** Registered clients whose files give them less than their roles have. What they see is held in least-rights.test.ts. */
const LIMITED = {
  'read-only administrator': { role: 'administrator', writes: 'none' },
  'read-only automation': { role: 'automation-endpoint', writes: 'none' },
  'read-only proxy': { role: 'proxy', tags: ['lab'], writes: 'none' },
  'client of a node': { role: 'proxy', tags: ['lab'], node: 'shop-web' },
  'administrator of a node': { role: 'administrator', node: 'shop-web' },
  'administrator of a tenant': { role: 'administrator', tenant: 'shop' },
  'automation of a tenant': { role: 'automation-endpoint', tenant: 'shop' },
  'administrator of a site': { role: 'administrator', reads: 'site', tags: ['lab'] },
  'automation of a site': { role: 'automation-endpoint', reads: 'site', tags: ['lab'] },
  'proxy of a site': { role: 'proxy', reads: 'site', tags: ['lab'] },
} as const satisfies Record<string, Partial<Client> & Pick<Client, 'role'>>;
const NOBODY = ['unregistered', 'other fingerprint'] as const;
const IDENTITIES = [...ROLES, ...(Object.keys(LIMITED) as (keyof typeof LIMITED)[]), ...NOBODY] as const;
type Identity = (typeof IDENTITIES)[number];

let api: TestApi;
/** A handshake takes longer than most answers. */
const agent = keepAll();
let identities: Readonly<Record<Identity, Credential>>;
beforeAll(async () => {
  api = await startTestApi();
  const now = Date.now();
  const twin = await issueClientCertificate(api.authority, { commonName: 'twin', now });
  api.register(twin, { role: 'administrator', fingerprint: api.identities.administrator.fingerprint });
  const limited = {} as Record<keyof typeof LIMITED, Credential>;
  for (const [name, fields] of Object.entries(LIMITED)) {
    const credential = await issueClientCertificate(api.authority, { commonName: name, now });
    api.register(credential, fields);
    limited[name as keyof typeof LIMITED] = credential;
  }
  identities = {
    ...api.identities,
    ...limited,
    unregistered: await issueClientCertificate(api.authority, { commonName: 'stranger', now }),
    'other fingerprint': twin,
  };
});
afterAll(() => {
  agent.destroy();
  return api.api.close();
});

test('every route has a row, and every row a route', () => {
  const routes = routesOfApplication();
  expect(routes.length).toBeGreaterThan(25);
  expect(routes).toEqual(Object.keys(ROUTES).sort());
});

function statusFor(route: string, { statuses, isOfWhole, isOfNode }: Row, identity: Identity): number {
  if (identity === 'unregistered' || identity === 'other fingerprint') return 403;
  const fields: Partial<Client> & Pick<Client, 'role'> =
    identity in LIMITED ? LIMITED[identity as keyof typeof LIMITED] : { role: identity as Role };
  const { role, node, reads, tenant, writes } = fields;
  const isRead = route.startsWith('GET ') && !route.startsWith('GET /agent/');
  if (node !== undefined && isOfNode) return 200;
  if ((node !== undefined || writes === 'none') && !isRead) return 403;
  const seesPart = node !== undefined || reads === 'site' || tenant !== undefined;
  // The record of another client: the reader of this test hides none.
  return seesPart && isOfWhole ? 403 : (statuses[ROLES.indexOf(role)] ?? 403);
}

const ERRORS: Partial<Readonly<Record<Identity, string>>> = {
  unregistered: 'client_not_registered',
  'other fingerprint': 'fingerprint_mismatch',
};

describe.each([...Object.entries(ROUTES), ...Object.entries(EXCEPTIONS)])('%s', (route, row) => {
  const [method = ''] = route.split(' ');
  const paths = pathsOf(route, row).flatMap((path) => [...new Set([path, path.replace(/\/?(\?|$)/, '/$1')])]);
  test.each(IDENTITIES)('as %s', async (identity) => {
    const asked = identity in LIMITED ? paths.filter((_, index) => index % 2 === 0) : paths;
    for (const path of asked.map((one) => one.replace('ADMINISTRATOR', api.identities.administrator.serial))) {
      const before = askedOf(api);
      const { status, body } = await api.request(path, {
        method: row.isEndless ? 'HEAD' : method,
        identity: identities[identity],
        ...(row.isEndless ? {} : { agent }),
        ...(method === 'POST' ? { headers: { 'Content-Type': 'application/json' }, body: bodyOf(row) } : {}),
      });
      const wanted = statusFor(route, row, identity);
      expect({ path, status }).toEqual({ path, status: wanted });
      if (wanted === 403 && !row.isEndless)
        expect(body).toMatchObject({ return_code: 403, error: ERRORS[identity] ?? 'not_allowed' });
      const isDone = method !== 'GET' && wanted < 400;
      expect(askedOf(api) - before).toBe(isDone ? 1 : 0);
    }
  });

  test('without a certificate', async () => {
    await expect(api.request(paths[0] ?? '', { method, identity: null })).rejects.toThrow();
  });
});

function askedOf({ writer, operator, agent }: TestApi): number {
  return writer.asked.length + operator.asked.length + agent.asked.length;
}

function bodyOf({ body = {} }: Row): string {
  return JSON.stringify(body);
}
