// Every route of schemas/api.json by every kind of client, on the leader and on a replica that forwards to it, and every method that a
// path does not have.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Credential, issueClientCertificate } from '../../src/base/development-pki.ts';
import type { Client } from '../../src/model/objects.ts';
import { pickCases } from '../support/count-runs.ts';
import { keepAll, type Reply } from '../support/https-client.ts';
import { linkTo, type TestLink } from '../support/leader-link.ts';
import { ROUTES, type Route } from '../support/route-table.ts';
import { startTestApi, startTestStandby, type TestApi, type TestStandby } from '../support/test-api.ts';

type Kind = Partial<Client> & Pick<Client, 'role'>;

/** What they see is checked in least-rights.test.ts. */
const KINDS: Readonly<Record<string, Kind>> = {
  administrator: { role: 'administrator' },
  automation: { role: 'automation-endpoint' },
  proxy: { role: 'proxy', tags: ['lab'] },
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
};
const STRANGERS: Readonly<Record<string, string>> = {
  'a client that is not registered': 'client_not_registered',
  'a client with another fingerprint': 'fingerprint_mismatch',
};
/** The object decides which right is needed, not the route. */
const AS_TYPES: Readonly<Record<string, Partial<Route>>> = {
  'POST /types/stack-instance': {
    ...ROUTES['POST /stacks/instances/:stack_instance_id'],
    path: '/types/stack-instance',
  },
  'DELETE /types/stack-instance/shop': {
    ...ROUTES['DELETE /stacks/instances/:stack_instance_id'],
    path: '/types/stack-instance/shop',
  },
};
/** The reads that a standby forwards. */
const OF_LEADER = /^\/(?:agent|operations\/(?:status|servers|held|problems|clients|providers))|\/why$/;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

let leader: TestApi;
let standby: TestStandby;
let between: TestLink;
/** How many requests the standby has forwarded. */
let forwarded = 0;
const credentials = new Map<string, Credential>();
/** A handshake takes longer than most answers. */
const agent = keepAll();
beforeAll(async () => {
  leader = await startTestApi();
  const now = Date.now();
  for (const kind of [...Object.keys(KINDS), ...Object.keys(STRANGERS)]) {
    const credential = await issueClientCertificate(leader.authority, { commonName: kind, now });
    credentials.set(kind, credential);
    const fields = KINDS[kind];
    if (fields !== undefined) leader.register(credential, fields);
    if (STRANGERS[kind] === 'fingerprint_mismatch') {
      leader.register(credential, { role: 'administrator', fingerprint: leader.identities.proxy.fingerprint });
    }
  }
  between = await linkTo(leader.handler);
  standby = await startTestStandby(leader, {
    isKnown: () => true,
    lag: () => undefined,
    ask: (...question) => {
      forwarded += 1;
      return between.link.ask(...question);
    },
    refresh: async () => undefined,
    shows: async () => false,
  });
});
afterAll(async () => {
  agent.destroy();
  await standby.api.close();
  await between.close();
  await leader.api.close();
});

/** Returns why a kind of client may not send a request; undefined if it may. */
function refusalFor({ right, roles }: Route, { role, node, writes, reads, tenant }: Kind): RegExp | undefined {
  const isNarrow = node !== undefined || reads === 'site' || tenant !== undefined;
  if (right === undefined) return undefined;
  if (right === 'confirm records') {
    const mayConfirm = node !== undefined || (role === 'proxy' && writes !== 'none');
    return mayConfirm ? undefined : /^Only the client of shop-web, and proxies with one of its tags/;
  }
  if ((node !== undefined || writes === 'none') && !right.startsWith('read ')) return /^This client may only read/;
  if (isNarrow && right.startsWith('read ')) return /^The rights of this client are limited/;
  if (roles.includes(role)) return undefined;
  return new RegExp(`^The role ${role} may not ${right}; that is for ${roles.join(' and ')}$`);
}

async function ask({ method, path, body, isEndless }: Route, kind: string): Promise<readonly [Reply, Reply]> {
  const identity = credentials.get(kind);
  const [sent, json] = [JSON.stringify(body), { 'Content-Type': 'application/json' }];
  const asked = {
    method: isEndless ? 'HEAD' : method,
    identity: identity ?? null,
    agent,
    ...(method === 'POST' ? { headers: json, body: sent } : {}),
  };
  const target = path.replace('OWN', identity?.serial ?? '');
  return [await leader.request(target, asked), await standby.request(target, asked)];
}

/** Returns a reply as far as it is the same on every replica. */
function comparable({ status, headers, bytes }: Reply) {
  const { date: _date, 'x-request-id': _id, 'x-treeline-replica': _replica, ...others } = headers;
  return { status, headers: others, bytes: bytes.toString() };
}

function doneCount(): number {
  return leader.writer.asked.length + leader.operator.asked.length + leader.agent.asked.length;
}

const CASES = Object.entries({ ...ROUTES, ...(AS_TYPES as typeof ROUTES) }).map(([name, route], index) => {
  return { name, route, index };
});

describe.each(CASES)('$name', ({ route, index }) => {
  test('is allowed for the same clients on every replica', async () => {
    forwarded = 0;
    const [first, second, third, ...others] = Object.entries(KINDS);
    const kinds = [first, second, third].filter((one) => one !== undefined);
    for (const [kind, fields] of [...kinds, ...pickCases(others, index)]) {
      const before = doneCount();
      const refusal = refusalFor(route, fields);
      const [reply, ofStandby] = await ask(route, kind);
      expect({ kind, status: reply.status }).toEqual({ kind, status: refusal === undefined ? route.status : 403 });
      if (refusal !== undefined) {
        expect(reply.body).toMatchObject({ error: 'not_allowed', message: expect.stringMatching(refusal) });
      }
      expect({ kind, ...comparable(ofStandby) }).toEqual({ kind, ...comparable(reply) });
      expect(doneCount() - before).toBe(route.method === 'GET' || refusal !== undefined ? 0 : 2);
    }
    expect(forwarded > 0).toBe(route.method !== 'GET' || OF_LEADER.test(route.path));
  });

  test('is refused to unknown clients', async () => {
    for (const [kind, error] of pickCases(Object.entries(STRANGERS), index)) {
      for (const { status, body } of await ask(route, kind)) {
        expect(status).toBe(403);
        if (!route.isEndless) expect(body).toMatchObject({ error, return_code: 403 });
      }
    }
  });
});

const PATHS = Map.groupBy(Object.values(ROUTES), ({ path }) => path.replace(/\?.*/, '').replace('OWN', '0A'));
// A key may have that name; and `all` is a view that is not written.
const ALLOWED = { '/hiera/shop-web/applied': ['GET', 'POST'], '/types/all': ['GET'], '/types/all/z1': ['GET'] };
const METHODS_OF = {
  ...Object.fromEntries([...PATHS].map(([path, all]) => [path, all.map((one) => one.method)])),
  ...ALLOWED,
};

test.each(Object.entries(METHODS_OF))('%s has the methods %j and no other', async (path, methods) => {
  const allow = METHODS.filter((method) => methods.includes(method)).map((method) =>
    method.replace('GET', 'GET, HEAD'),
  );
  for (const method of METHODS.filter((one) => !methods.includes(one))) {
    for (const spelling of path === '/' ? ['/'] : [path, `${path}/`]) {
      const { status, headers, body } = await leader.request(spelling, { method, agent });
      const message = `${method} is not possible on ${spelling}, only ${allow.join(', ')}`;
      expect({ status, allow: headers.allow, body }).toMatchObject({
        status: 405,
        allow: allow.join(', '),
        body: { error: 'method_not_allowed', message: expect.stringContaining(message) },
      });
    }
  }
});
