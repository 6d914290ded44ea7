// Every route by every identity: test/support/route-table.ts has the rows, and this holds it against the application.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Credential, issueClientCertificate } from '../../src/base/development-pki.ts';
import { EXCEPTIONS, pathsOf, ROUTES, type Row, routesOfApplication } from '../support/route-table.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

/** Who asks. The first three are registered; the others are nobody, whatever they ask. */
const IDENTITIES = ['administrator', 'automation-endpoint', 'proxy', 'unregistered', 'other fingerprint'] as const;
type Identity = (typeof IDENTITIES)[number];

let api: TestApi;
let identities: Readonly<Record<Identity, Credential>>;
beforeAll(async () => {
  api = await startTestApi();
  const now = Date.now();
  const twin = await issueClientCertificate(api.authority, { commonName: 'twin', now });
  api.register(twin, { role: 'administrator', fingerprint: api.identities.administrator.fingerprint });
  identities = {
    ...api.identities,
    unregistered: await issueClientCertificate(api.authority, { commonName: 'stranger', now }),
    'other fingerprint': twin,
  };
});
afterAll(() => api.api.close());

test('every route has a row, and every row a route', () => {
  const routes = routesOfApplication();
  expect(routes.length).toBeGreaterThan(25);
  expect(routes).toEqual(Object.keys(ROUTES).sort());
});

function statusFor({ statuses }: Row, identity: Identity): number {
  const index = IDENTITIES.indexOf(identity);
  return statuses[index] ?? 403;
}

const ERRORS: Partial<Readonly<Record<Identity, string>>> = {
  unregistered: 'client_not_registered',
  'other fingerprint': 'fingerprint_mismatch',
};

describe.each([...Object.entries(ROUTES), ...Object.entries(EXCEPTIONS)])('%s', (route, row) => {
  const [method = ''] = route.split(' ');
  const paths = pathsOf(route, row).flatMap((path) => [path, path.replace(/(\?|$)/, '/$1')]);
  test.each(IDENTITIES)('as %s', async (identity) => {
    for (const path of paths.map((one) => one.replace('ADMINISTRATOR', api.identities.administrator.serial))) {
      const before = askedOf(api);
      const { status, body } = await api.request(path, {
        method: row.isEndless ? 'HEAD' : method,
        identity: identities[identity],
        ...(method === 'POST' ? { headers: { 'Content-Type': 'application/json' }, body: bodyOf(row) } : {}),
      });
      const wanted = statusFor(row, identity);
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
