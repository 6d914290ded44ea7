// What the interface writes into the audit log, over real TLS: of whom it refuses, and of what is asked for, before that is answered.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FollowedLeader } from '../../src/api/forward.ts';
import { AuditLog } from '../../src/base/audit-log.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { linkTo, type TestLink } from '../support/leader-link.ts';
import { PATIENCE } from '../support/running-controller.ts';
import { startTestApi, startTestStandby, type TestApi, type TestStandby } from '../support/test-api.ts';

const COMMIT = 'c'.repeat(40);
const SECRET = 'hunter2-of-the-body';
const JSON_BODY = { method: 'POST', headers: { 'Content-Type': 'application/json' } } as const;
/** More than any test asks for within a second is not throttled here. */
const PAUSED = { ...systemClock, after: () => () => undefined };

let folder: string;
let files: { readonly leader: string; readonly standby: string };
let leader: TestApi;
let standby: TestStandby;
let link: TestLink;
let ask: FollowedLeader['ask'];
const read = { leader: 0, standby: 0 };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'treeline-audit-'));
  files = { leader: join(folder, 'leader.log'), standby: join(folder, 'standby.log') };
  const log = createLog('silent');
  const auditOf = (replica: 'leader' | 'standby') =>
    new AuditLog({ file: files[replica], replica, clock: PAUSED, log });
  leader = await startTestApi(systemClock, auditOf('leader'));
  link = await linkTo(leader.handler);
  const followed: FollowedLeader = {
    isKnown: () => true,
    lag: () => undefined,
    refresh: async () => undefined,
    shows: async () => true,
    ask: (...question) => ask(...question),
  };
  standby = await startTestStandby(leader, followed, { audit: auditOf('standby') });
});
afterAll(async () => {
  await standby.api.close();
  await link.close();
  await leader.api.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  linesOf('leader');
  linesOf('standby');
  leader.writer.outcome = { commit: COMMIT, branch: null };
  ask = (...question) => link.link.ask(...question);
});

/** Returns the lines since the last call. */
function linesOf(replica: 'leader' | 'standby'): readonly JsonMap[] {
  const lines = readFileSync(files[replica], 'utf8').split('\n').slice(0, -1);
  const since = lines.slice(read[replica]);
  read[replica] = lines.length;
  return since.map((line) => JSON.parse(line));
}

const serialOf = (role: keyof TestApi['identities']): string => leader.identities[role].serial;
const post = (path: string, body: unknown = {}) => leader.request(path, { ...JSON_BODY, body: JSON.stringify(body) });

describe('a refused request', () => {
  it('is written with client, request and reason', async () => {
    const { headers } = await leader.request('/tree?dry_run=false', {
      ...JSON_BODY,
      body: JSON.stringify({ digest: SECRET }),
      identity: leader.identities.proxy,
    });
    expect(linesOf('leader')).toEqual([
      {
        time: expect.any(String),
        replica: 'leader',
        request: headers['x-request-id'],
        remote: '127.0.0.1',
        serial: serialOf('proxy'),
        name: '',
        role: 'proxy',
        method: 'POST',
        path: '/tree',
        kind: 'permission',
        decision: 'refused',
        code: 'not_allowed',
        reason: 'The role proxy may not write the tree; that is for administrator',
      },
    ]);
  });

  it('is written with the serial of an unregistered client', async () => {
    const stranger = await issueClientCertificate(leader.authority, { commonName: 'stranger', now: Date.now() });
    await leader.request('/types', { identity: stranger });
    const [line, ...others] = linesOf('leader');
    expect(others).toEqual([]);
    expect(line).toMatchObject({ kind: 'permission', code: 'client_not_registered', serial: stranger.serial });
    expect(line).not.toHaveProperty('role');
  });

  it('is not written if it is allowed', async () => {
    expect(await leader.request('/types')).toMatchObject({ status: 200 });
    expect(await leader.request('/nowhere')).toMatchObject({ status: 404 });
    expect(linesOf('leader')).toEqual([]);
  });
});

it('the audit log includes certificates refused by the handshake, with their address', async () => {
  const other = await createAuthority({ commonName: 'Another', now: Date.now() });
  const foreign = await issueClientCertificate(other, { commonName: 'foreign', now: Date.now() });
  await expect(leader.request('/types', { identity: foreign })).rejects.toThrow();
  const lines: JsonMap[] = [];
  await expect.poll(() => lines.push(...linesOf('leader')), PATIENCE).toBe(1);
  const reason = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
  expect(lines).toMatchObject([{ kind: 'certificate', decision: 'refused', reason, remote: '127.0.0.1' }]);
  expect(lines[0]).not.toHaveProperty('serial');
});

describe('a write', () => {
  it('is written with its commit before it is answered', async () => {
    const { headers } = await post('/stacks/instances/shop', {
      stackTemplate: 'web',
      parameters: { password: SECRET },
    });
    const who = { serial: serialOf('administrator'), role: 'administrator', request: headers['x-request-id'] };
    const line = { kind: 'write', decision: 'allowed', commit: COMMIT, path: '/stacks/instances/shop', ...who };
    expect(linesOf('leader')).toMatchObject([line]);
    leader.writer.outcome = { commit: COMMIT, branch: 'proposal' };
    await leader.request('/stacks/instances/shop', { method: 'DELETE' });
    expect(linesOf('leader')).toMatchObject([
      { ...line, method: 'DELETE', branch: 'proposal', request: expect.any(String) },
    ]);
  });

  it.each([
    [new ServiceError('conflict', `it is "${SECRET}"`), { decision: 'refused', code: 'conflict' }],
    [new ServiceError('outcome_unknown', 'perhaps'), { decision: 'unknown', code: 'outcome_unknown' }],
    [new Error('a mistake'), { decision: 'unknown', code: 'internal' }],
    [new ServiceError('not_allowed', 'no writes'), { kind: 'permission', decision: 'refused', reason: 'no writes' }],
  ])('that ends with %s is written without its body', async (outcome, line) => {
    leader.writer.outcome = outcome;
    await post('/tree', { name: SECRET });
    expect(linesOf('leader')).toMatchObject([{ kind: 'write', ...line }]);
  });

  it('that is a dry run is not written', async () => {
    const { status } = await post('/tree?dry_run=true', { name: 'x' });
    expect([status, linesOf('leader')]).toEqual([201, []]);
  });
});

it('an operation is written with its target and reason, but without a wrong body', async () => {
  await post('/operations/suspend', { instance: 'shop', reason: 'a new\ndisk' });
  await post('/operations/replace', { resource: 'shop-db' });
  await post('/operations/retry', { provider: 'lab' });
  await post('/operations/approve', { digest: 'abc' });
  await post('/operations/accept-history', { commit: COMMIT });
  await post('/operations/suspend', { [SECRET]: 1, instance: 5 });
  expect(linesOf('leader')).toMatchObject([
    { kind: 'operation', operation: 'suspend', instance: 'shop', comment: 'a new\ndisk', decision: 'allowed' },
    { kind: 'operation', operation: 'replace', server: 'shop-db' },
    { kind: 'operation', operation: 'retry', object: 'lab' },
    { kind: 'approval', operation: 'approve', object: 'abc', decision: 'allowed' },
    { kind: 'approval', operation: 'accept-history', object: COMMIT },
    { kind: 'operation', decision: 'refused', code: 'invalid_input' },
  ]);
});

describe('a request forwarded by a standby', () => {
  const JSON_POST = { ...JSON_BODY, body: '{}' };

  it('is written by the leader, with the standby', async () => {
    const { headers } = await standby.request('/tree', JSON_POST);
    const line = { kind: 'write', replica: 'leader', from: 'test-2', request: headers['x-request-id'] };
    expect([linesOf('standby'), linesOf('leader')]).toMatchObject([[], [line]]);
    await standby.request('/tree', { ...JSON_POST, identity: leader.identities.proxy });
    expect([linesOf('standby'), linesOf('leader')]).toMatchObject([[], [{ kind: 'permission', from: 'test-2' }]]);
  });

  it('is written by the standby if no leader answered', async () => {
    ask = () => Promise.reject(new ServiceError('not_ready', 'No replica leads'));
    await standby.request('/tree', JSON_POST);
    ask = () => Promise.reject(new ServiceError('outcome_unknown', 'It is not known'));
    await standby.request('/operations/approve', JSON_POST);
    expect(linesOf('standby')).toMatchObject([
      { kind: 'write', decision: 'refused', code: 'not_ready', replica: 'standby' },
      { kind: 'approval', decision: 'unknown', code: 'outcome_unknown', operation: 'approve' },
    ]);
  });

  it('is not written for proxies if no leader answers', async () => {
    ask = () => Promise.reject(new ServiceError('not_ready', 'No replica leads'));
    const identity = leader.identities.proxy;
    for (const path of ['/tree', '/operations/approve', '/clients', '/nowhere']) {
      expect(await standby.request(path, { ...JSON_POST, identity })).toMatchObject({ status: 503 });
    }
    expect(linesOf('standby')).toEqual([]);
  });

  it('has no forwarding replica if the peer is not one', async () => {
    const headers = { ...JSON_BODY.headers, 'x-treeline-forwarded-by': 'somebody' };
    await leader.request('/tree', { ...JSON_POST, headers });
    expect(linesOf('leader')[0]).not.toHaveProperty('from');
  });
});

it('the audit log contains no secret', () => {
  expect(readFileSync(files.leader, 'utf8').replaceAll(`"object":"${SECRET}"`, '')).not.toContain(SECRET);
});
