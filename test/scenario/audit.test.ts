// The audit log of a whole controller: who had which server deleted, and what is left of it after a kill and a rotation.
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Settings } from '../../src/model/settings.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { PATIENCE } from '../support/running-controller.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSite, type Site } from '../support/site.ts';
import { push, type Scene, SHOP_FILES, twoServers, untilHeld, untilStatus, upAndDone } from './scene.ts';
import { instanceText, SHOP, STACKS } from './stacks.ts';

const LOGROTATE = '/usr/sbin/logrotate';
const SIGNAL = 'systemctl kill --kill-who=main --signal=HUP treeline';

function auditOf({ config }: Pick<Site, 'config'>): string {
  return join(dirname(config), 'audit.log');
}

function serialOf({ site }: Scene): string {
  return new X509Certificate(site.administrator.cert).serialNumber;
}

function linesIn(file: string): JsonMap[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

async function auditedScene(): Promise<Scene & { lines(): JsonMap[] }> {
  let file = '';
  const scene = await upAndDone(SHOP_FILES, (settings: Settings) => {
    file = join(dirname(settings.store.directory), 'audit.log');
    return { ...twoServers(settings), audit: { file } };
  });
  return { ...scene, lines: () => linesIn(file) };
}

describe('each delete that begins', () => {
  it('is written with the commit of the write that asked for it', async () => {
    const scene = await auditedScene();
    const { headers } = await scene.running.request('/stacks/instances/shop', { method: 'DELETE' });
    await untilStatus(scene, 'shop', 'not_found');
    const commit = await scene.site.repository.head();
    const [write, ...deletes] = scene.lines();
    const serial = serialOf(scene);
    const who = { serial, role: 'administrator' };
    const asked = {
      kind: 'write',
      decision: 'allowed',
      request: headers['x-request-id'],
      object: 'stack-instance/shop',
    };
    expect(write).toMatchObject({ ...asked, ...who, commit });
    const begun = { kind: 'delete', decision: 'begun', instance: 'shop', commit, approved: true };
    expect(deletes.map(({ server }) => server).sort()).toEqual([
      'shop-db',
      ...[1, 2, 3, 4].map((n) => `shop-web-${n}`),
    ]);
    for (const line of deletes)
      expect(line).toMatchObject({ ...begun, approval: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('is written with the digest of its approval, which is a line of its own', async () => {
    const scene = await auditedScene();
    const held = await push(scene, { [SHOP]: null }, 'no shop');
    const { digest } = await untilHeld(scene, 'deletes');
    expect(scene.lines()).toEqual([]);
    await scene.running.post('/operations/approve', { digest, reason: 'closed' });
    await untilStatus(scene, 'shop', 'not_found');
    const [approval, ...deletes] = scene.lines();
    const given = {
      kind: 'approval',
      operation: 'approve',
      object: digest,
      comment: 'closed',
      serial: serialOf(scene),
    };
    expect(approval).toMatchObject(given);
    expect(deletes).toHaveLength(5);
    for (const line of deletes) {
      expect(line).toMatchObject({ kind: 'delete', instance: 'shop', commit: held, approval: digest });
    }
  });

  it('is written with its commit alone where it needed no approval', async () => {
    const scene = await auditedScene();
    const commit = await push(scene, { [SHOP]: instanceText('shop', 3) }, 'one less');
    await expect.poll(() => scene.lines().length, PATIENCE).toBe(1);
    const [line] = scene.lines();
    expect(line).toMatchObject({ kind: 'delete', server: 'shop-web-4', instance: 'shop', commit, approved: false });
    expect(Object.keys(line ?? {})).not.toContain('approval');
  });

  it('is one of a replacement where the server comes back', async () => {
    const scene = await auditedScene();
    await scene.running.post('/operations/replace', { resource: 'shop-db' });
    const replaced = () => scene.lines().find(({ kind }) => kind === 'replacement');
    await expect.poll(replaced, PATIENCE).toBeDefined();
    expect(replaced()).toMatchObject({ server: 'shop-db', approved: true });
    await untilStatus(scene, 'shop', 'Done');
    expect(scene.lines().map(({ kind }) => kind)).toEqual(['operation', 'replacement']);
  });
});

/** Starts a process that audits, and returns how an administrator suspends and resumes an instance. */
async function serve(site: Site) {
  appendFileSync(site.config, 'audit: { file: audit.log }\n');
  const serving = new ServingProcess(site.config);
  const { request } = createHttpsClient({ port: await serving.port(), ca: site.ca }, site.administrator);
  await expect.poll(async () => (await request('/types')).status, PATIENCE).toBe(200);
  const ask = async (operation: string): Promise<void> => {
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ instance: 'shop' });
    expect(await request(`/operations/${operation}`, { method: 'POST', headers, body })).toMatchObject({ status: 200 });
  };
  return { serving, ask, file: auditOf(site), request };
}

const operationsIn = (file: string) => linesIn(file).map(({ operation }) => operation);

describe('the file', () => {
  it('has the line of what was answered, whatever happens to the process, and is opened anew', async () => {
    const { serving, ask, file } = await serve(await createSite(STACKS));
    await ask('suspend');
    renameSync(file, `${file}.1`);
    serving.signal('SIGHUP');
    await expect.poll(() => existsSync(file), PATIENCE).toBe(true);
    await ask('resume');
    expect(await serving.end('SIGKILL')).toBeNull();
    expect([operationsIn(`${file}.1`), operationsIn(file)]).toEqual([['suspend'], ['resume']]);
  });

  it.skipIf(!existsSync(LOGROTATE))('is rotated by logrotate as the document says', async () => {
    const site = await createSite(STACKS);
    const { serving, ask, file } = await serve(site);
    await ask('suspend');
    const text = readFileSync(new URL('../../docs/operate.md', import.meta.url), 'utf8');
    const [, example = ''] = /^```\n(\/var\/log\/treeline\/audit\.log \{\n.*?^\}\n)```$/ms.exec(text) ?? [];
    expect(example).toContain(SIGNAL);
    const marker = join(site.folder, 'signalled');
    const recipe = example
      .replace('/var/log/treeline/audit.log', file)
      .replace(/^ *su .*\n/m, '')
      .replace(/^( *create 0640).*$/m, '$1')
      .replace(SIGNAL, `touch ${marker}`);
    const config = join(site.folder, 'logrotate.conf');
    writeFileSync(config, recipe, { mode: 0o644 });
    const rotate = spawnSync(LOGROTATE, ['--force', '--state', join(site.folder, 'logrotate.state'), config], {
      encoding: 'utf8',
    });
    expect(rotate).toMatchObject({ status: 0, stderr: '' });
    expect(existsSync(marker)).toBe(true);
    serving.signal('SIGHUP');
    await expect.poll(() => existsSync(file), PATIENCE).toBe(true);
    await ask('resume');
    expect([operationsIn(`${file}.1`), operationsIn(file)]).toEqual([['suspend'], ['resume']]);
  });
});

it('goes on where its audit log cannot be written, and says so', async () => {
  const site = await createSite(STACKS);
  appendFileSync(site.config, 'audit: { file: . }\n');
  const serving = new ServingProcess(site.config);
  const { request } = createHttpsClient({ port: await serving.port(), ca: site.ca }, site.administrator);
  await expect.poll(async () => (await request('/operations/status')).status, PATIENCE).toBe(200);
  const { body } = await request('/operations/status');
  expect(body).toMatchObject({ audit: { reason: expect.stringContaining('it is a folder') } });
  expect(serving.lines.filter(({ level }) => level === 50)).toMatchObject([
    { msg: 'the audit log cannot be written, and loses lines' },
  ]);
});
