// The interface for proxies, asked over real TLS by several proxies of a whole controller: what each sees, may take and
// report, and what is refused.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Credential, issueClientCertificate } from '../../src/base/development-pki.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Reply } from '../support/https-client.ts';
import { PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { createSiteIn, type Site } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const SERVERS = `resources:
  web: { type: Platform::Server, properties: { name: web.1, ProxyTag: lab } }
  both: { type: Platform::Server, properties: { name: both, ProxyTag: [edge, lab] } }
  plain: { type: Platform::Server, properties: { name: plain } }
`;
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/t.yaml': SERVERS,
  'stacks/instances/shop.yaml': 'stackTemplate: t\n',
};

const CLIENTS = {
  ...{ lab: 'role: proxy\ntags: [lab]\n', edge: 'role: proxy\ntags: [edge]\n', plain: 'role: proxy\n' },
  ...{ automation: 'role: automation-endpoint\n', stranger: '' },
} as const;
type Name = keyof typeof CLIENTS;

let site: Site;
let running: RunningController;
let credentials: Readonly<Record<Name, Credential>>;

beforeEach(async () => {
  const execution = '  providers: []\n  proxied: { timeoutSeconds: 60 }';
  const options = { files: FILES, repository: ', pollSeconds: 1', execution, provider: 'none' };
  site = await createSiteIn(temporaryDirectory(), options);
  const read = (file: string): string => readFileSync(join(site.folder, 'pki', file), 'utf8');
  const authority = { cert: read('ca.crt'), key: read('ca.key') };
  const issued = Object.keys(CLIENTS).map(async (name) => {
    return [name, await issueClientCertificate(authority, { commonName: name, now: Date.now() })] as const;
  });
  credentials = Object.fromEntries(await Promise.all(issued)) as Record<Name, Credential>;
  const files = Object.entries(CLIENTS).filter(([, text]) => text !== '');
  const clients = files.map(([name, text]) => [`clients/${credentials[name as Name].serial}.yaml`, text]);
  await site.repository.commit(Object.fromEntries(clients));
  running = await runController(site);
  await expect.poll(async () => (await get('lab', '/tree')).status, PATIENCE).toBe(200);
});

function get(name: Name, path: string): Promise<Reply> {
  return running.request(path, { identity: credentials[name] });
}

function post(name: Name, path: string, body: JsonMap | string): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'Content-Type': 'application/json' };
  return running.request(path, { method: 'POST', identity: credentials[name], headers, body: text });
}

interface Offered {
  readonly id: string;
  readonly resource: string;
  readonly operation: string;
}

async function offered(name: Name): Promise<readonly Offered[]> {
  const { body } = await get(name, '/agent/actions?wait=5');
  return (body as { readonly actions: readonly Offered[] }).actions;
}

async function resources(name: Name): Promise<readonly string[]> {
  return (await offered(name)).map(({ resource }) => resource).sort();
}

function statusOf({ status, body }: Reply): unknown {
  return [status, (body as { readonly error?: string }).error];
}

/** Claims the action of a server, and reports how it ended. */
async function carryOut(name: Name, resource: string, report: JsonMap): Promise<string> {
  const find = async () => (await offered(name)).find((action) => action.resource === resource);
  await expect.poll(find, PATIENCE).toBeDefined();
  const { id = '', operation = '' } = (await find()) ?? {};
  const { body } = await post(name, `/agent/actions/${encodeURIComponent(id)}/claim`, {});
  const { lease } = body as { readonly lease: string };
  const reported = await post(name, `/agent/actions/${id}/report/`, { lease, ...report });
  expect(reported).toMatchObject({ status: 200, body: { return_code: 200 } });
  return operation;
}

/** The proxy at `edge` makes its server, once the others of both sites were looked at. */
async function createBoth(): Promise<void> {
  await carryOut('lab', 'web.1', { outcome: 'absent' });
  expect(await carryOut('edge', 'both', { outcome: 'absent' })).toBe('check');
  expect(await carryOut('edge', 'both', { outcome: 'done' })).toBe('create');
}

describe('a proxy', () => {
  it('sees and takes its own actions only, each once', async () => {
    expect(await resources('lab')).toEqual(['both', 'web.1']);
    expect(await resources('edge')).toEqual(['both']);
    expect(await resources('plain')).toEqual(['plain']);
    const [web] = (await offered('lab')).filter(({ resource }) => resource === 'web.1');
    const path = `/agent/actions/${web?.id}/claim`;
    expect(statusOf(await post('edge', path, {}))).toEqual([404, 'not_found']);
    const { status, headers, body } = await post('lab', path, {});
    expect({ status, cache: headers['cache-control'] }).toEqual({ status: 200, cache: 'no-store' });
    expect(body).toMatchObject({
      lease: expect.stringMatching(/^.{43}$/),
      action: { id: web?.id, timeoutSeconds: 60 },
    });
    expect(statusOf(await post('lab', path, {}))).toEqual([409, 'conflict']);
    expect(statusOf(await post('edge', `/agent/actions/${web?.id}/report`, { lease: 'x', outcome: 'done' }))).toEqual([
      404,
      'not_found',
    ]);
  });

  it('carries a server to done, with what it reports in the record', async () => {
    expect(await carryOut('lab', 'web.1', { outcome: 'absent' })).toBe('check');
    // Nothing is created at a site before each of its servers was looked at once.
    expect(await carryOut('lab', 'both', { outcome: 'absent' })).toBe('check');
    const report = { outcome: 'done', message: '', outputs: { address: '10.0.0.1' }, observed: {} };
    expect(await carryOut('lab', 'web.1', report)).toBe('create');
    expect(await running.states('shop')).toMatchObject({ 'web.1': 'done' });
    expect((await running.get('/hiera/web.1/address')).body).toMatchObject('10.0.0.1' as never);
  });

  it('is told what is wrong with a report, and may mend it', async () => {
    const [check] = (await offered('plain')).filter(({ resource }) => resource === 'plain');
    const { body } = await post('plain', `/agent/actions/${check?.id}/claim`, {});
    const { lease } = body as { readonly lease: string };
    const report = (fields: JsonMap | string) => post('plain', `/agent/actions/${check?.id}/report`, fields);
    expect(statusOf(await report({ outcome: 'absent' }))).toEqual([400, 'invalid_input']);
    expect(statusOf(await report({ lease, outcome: 'maybe' }))).toEqual([400, 'invalid_input']);
    expect(statusOf(await report({ lease, outcome: 'done', extra: 1 }))).toEqual([400, 'invalid_input']);
    expect(statusOf(await report({ lease, outcome: 'done', observed: { a: 1 } }))).toEqual([400, 'invalid_input']);
    const outputs = { a: 'x'.repeat(40_000), b: 'x'.repeat(40_000) };
    expect(await report({ lease, outcome: 'done', outputs })).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^This is no report: "outputs" takes 80\d+ bytes/) },
    });
    expect(statusOf(await report(JSON.stringify({ lease, message: 'x'.repeat((1024 + 64) * 1024) })))).toEqual([
      413,
      'body_too_large',
    ]);
    expect(statusOf(await report({ lease: 'other', outcome: 'absent' }))).toEqual([409, 'conflict']);
    expect(await post('plain', `/agent/actions/${check?.id}/heartbeat`, { lease })).toMatchObject({ status: 200 });
    expect((await report({ lease, outcome: 'absent' })).status).toBe(200);
    expect((await report({ lease, outcome: 'absent' })).status).toBe(200);
    expect(statusOf(await post('plain', `/agent/actions/${check?.id}/heartbeat`, { lease }))).toEqual([
      409,
      'conflict',
    ]);
  });

  it('waits for what a commit brings, without asking again', async () => {
    await createBoth();
    const waiting = get('edge', '/agent/actions?wait=30');
    const more = `${SERVERS}  new: { type: Platform::Server, properties: { name: new, ProxyTag: edge } }\n`;
    await site.repository.commit({ 'stacks/templates/t.yaml': more });
    expect((await waiting).body).toMatchObject({ actions: [{ resource: 'new', operation: 'check' }] });
  });

  it('that is removed while it waits is refused', async () => {
    await createBoth();
    const waiting = get('edge', '/agent/actions?wait=3');
    await site.repository.commit({ [`clients/${credentials.edge.serial}.yaml`]: null });
    expect(statusOf(await waiting)).toEqual([403, 'client_not_registered']);
  });
});

it('wrong queries and clients that are no proxies are refused', async () => {
  for (const query of ['wait=61', 'wait=-1', 'wait=x', 'limit=0', 'limit=101']) {
    expect([query, statusOf(await get('lab', `/agent/actions?${query}`))]).toEqual([query, [400, 'invalid_input']]);
  }
  for (const [name, code] of [
    ['automation', 'not_allowed'],
    ['stranger', 'client_not_registered'],
  ] as const) {
    expect(statusOf(await get(name, '/agent/actions?wait=0'))).toEqual([403, code]);
    expect(statusOf(await post(name, '/agent/actions/web.1.5.check/claim', {}))).toEqual([403, code]);
  }
});
