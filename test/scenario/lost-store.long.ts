// The files of the store are gone, and the rest of its directory is there: the whole controller beside a service that carries
// out what it was asked before.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { TEMPLATE, templateText } from '../reconcile/shop.ts';
import { existing, PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { SERVICE_SECRET, type ServiceOfServers, startService } from '../support/service-of-servers.ts';
import { createSite, type Site } from '../support/site.ts';
import { createSiteIn } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/t.yaml': 'resources:\n  web: { type: Platform::Server, properties: { name: web } }\n',
  'stacks/instances/shop.yaml': 'stackTemplate: t\n',
};

/** A service that makes servers, and a repository that wants one of it. */
async function siteWithService(): Promise<{ readonly service: ServiceOfServers; readonly site: Site }> {
  const service = await startService();
  onTestFinished(() => service.close());
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'secret'), SERVICE_SECRET, { mode: 0o600 });
  const cloud = `{ name: cloud, provider: http, url: "${service.url}", secretFile: secret, timeoutSeconds: 3 }`;
  const execution = `  graceSeconds: 1\n  providers:\n    - ${cloud}`;
  return { service, site: await createSiteIn(folder, { files: FILES, execution, provider: 'cloud' }) };
}

async function whyShop(controller: RunningController): Promise<string> {
  return JSON.stringify((await controller.get('/stacks/instances/shop/why')).body);
}

function creates({ requests }: ServiceOfServers): number {
  return requests.filter(({ body }) => body !== '' && JSON.parse(body).operation === 'create').length;
}

it('makes no server a second time that a service still makes for the controller before', {
  timeout: 60_000,
}, async () => {
  const { service, site } = await siteWithService();
  // The service works on it, and does not answer.
  service.script = ({ body }) => body !== '' && JSON.parse(body).operation === 'create';
  const first = await runController(site, (settings) => ({ ...settings, shutdownSeconds: 0 }));
  await expect.poll(() => creates(service), PATIENCE).toBe(1);
  await first.stop();
  rmSync(join(site.state, 'store.sqlite'));
  expect(readdirSync(site.state)).toContain('repository');

  const second = await runController(site);
  await expect
    .poll(() => whyShop(second), PATIENCE)
    .toMatch(/a recovery suspends every instance: the store is empty.*repository/);
  service.servers.set('web', { name: 'web' });
  const recovery = await second.recovery();
  const early = await second.post('/operations/resume', { recovery: recovery.id });
  expect([early.status, JSON.stringify(early.body)]).toEqual([409, expect.stringContaining(recovery.notBefore)]);
  await second.endRecovery();
  await expect.poll(() => second.states('shop'), PATIENCE).toEqual({ web: 'blocked' });
  expect(creates(service)).toBe(1);
});

it('creates and deletes nothing before an operator has looked, also of what a held commit asks for', {
  timeout: 60_000,
}, async () => {
  const site = await createSite({ ...FILES, [TEMPLATE]: templateText(SEVEN) });
  const first = await runController(site);
  await expect.poll(() => first.status('shop'), PATIENCE).toBe('Done');
  await site.repository.commit({ [TEMPLATE]: templateText({ a: '', y: '', z: '' }) });
  await expect.poll(() => first.status('shop'), PATIENCE).toBe('Awaiting approval');
  await first.stop();
  rmSync(join(site.state, 'store.sqlite'));

  const second = await runController(site);
  const found = { instance: 'shop', waiting: ['shop-a'], create: ['shop-y', 'shop-z'] };
  await expect.poll(async () => (await second.recovery()).instances, PATIENCE).toMatchObject([found]);
  const names = Object.keys(SEVEN).map((key) => `shop-${key}`);
  expect(Object.keys(existing(site))).toEqual(names);
  expect((await second.post('/operations/adopt', { all: true })).status).toBe(200);
  await second.endRecovery();
  await expect.poll(() => second.status('shop'), PATIENCE).toBe('Done');
  expect(Object.keys(existing(site))).toEqual([...names, 'shop-y', 'shop-z']);
});

const SEVEN = { a: '', b: '', c: '', d: '', e: '', f: '', g: '' };
