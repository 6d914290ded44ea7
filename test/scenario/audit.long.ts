// The audit log of a whole controller: who had which server deleted, and what is left of it after a kill and a rotation.
import { X509Certificate } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Settings } from '../../src/model/settings.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { PATIENCE } from '../support/running-controller.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSite, type Site } from '../support/site.ts';
import { push, type Scene, SHOP_FILES, twoServers, untilHeld, untilStatus, upAndDone } from './scene.ts';
import { SHOP, STACKS } from './stacks.ts';

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
});
