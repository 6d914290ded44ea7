// The files of the store are gone, and the rest of its directory is there: the whole controller beside a service that carries
// out what it was asked before.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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
    .toMatch(/waits until \S+Z: an earlier controller may have begun .*the store is empty.*repository/);
  service.servers.set('web', { name: 'web' });
  await expect.poll(() => second.states('shop'), PATIENCE).toEqual({ web: 'blocked' });
  expect(creates(service)).toBe(1);
});

it('takes the files of a former store, which a restore or the first start of a version keeps aside, for a sign of one', async () => {
  const { service, site } = await siteWithService();
  mkdirSync(join(site.state, 'former-2026-11-20T10-13-56-789Z'), { recursive: true });
  const controller = await runController(site);
  await expect.poll(() => whyShop(controller), PATIENCE).toMatch(/may have begun .*the store is empty.*former-2026/);
  expect(creates(service)).toBe(0);
});

it('makes no servers under new names beside those that a held commit was to replace, and deletes none', {
  timeout: 60_000,
}, async () => {
  const site = await createSite({ ...FILES, [TEMPLATE]: templateText(SIX) });
  const first = await runController(site);
  await expect.poll(() => first.status('shop'), PATIENCE).toBe('Done');
  await site.repository.commit({ [TEMPLATE]: templateText({ y: '', z: '' }) });
  await expect.poll(() => first.status('shop'), PATIENCE).toBe('Awaiting approval');
  await first.stop();
  rmSync(join(site.state, 'store.sqlite'));

  const second = await runController(site);
  const names = Object.keys(SIX).map((key) => `shop-${key}`);
  const blocked = Object.fromEntries(names.map((name) => [name, 'blocked']));
  const waiting = { 'shop-y': 'pending', 'shop-z': 'pending' };
  await expect.poll(() => recordedStates(second), PATIENCE).toEqual({ ...blocked, ...waiting });
  expect(await second.status('shop')).toBe('Blocked');
  expect(JSON.stringify((await second.get('/stacks/instances/shop/why')).body)).toContain('treeline retain shop-a');
  expect(Object.keys(existing(site))).toEqual(names);
  for (const resource of names) expect((await second.post('/operations/retain', { resource })).status).toBe(200);
  await expect.poll(() => second.status('shop'), PATIENCE).toBe('Done');
  expect(Object.keys(existing(site))).toEqual([...names, 'shop-y', 'shop-z']);
});

const SIX = { a: '', b: '', c: '', d: '', e: '', f: '' };

async function recordedStates(running: RunningController): Promise<Readonly<Record<string, string>>> {
  const { servers } = (await running.get('/operations/recorded')).body as {
    servers: { name: string; state: string }[];
  };
  return Object.fromEntries(servers.map(({ name, state }) => [name, state]));
}
