// The files of the store are gone, and the rest of its directory is there: the whole controller beside a service that carries
// out what it was asked before.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { PATIENCE, runController } from '../support/running-controller.ts';
import { SERVICE_SECRET, type ServiceOfServers, startService } from '../support/service-of-servers.ts';
import { createSiteIn } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/t.yaml': 'resources:\n  web: { type: Platform::Server, properties: { name: web } }\n',
  'stacks/instances/shop.yaml': 'stackTemplate: t\n',
};

function creates({ requests }: ServiceOfServers): number {
  return requests.filter(({ body }) => body !== '' && JSON.parse(body).operation === 'create').length;
}

it('makes no server a second time that a service still makes for the controller before', {
  timeout: 60_000,
}, async () => {
  const service = await startService();
  onTestFinished(() => service.close());
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'secret'), SERVICE_SECRET, { mode: 0o600 });
  const cloud = `{ name: cloud, provider: http, url: "${service.url}", secretFile: secret, timeoutSeconds: 3 }`;
  const execution = `  graceSeconds: 1\n  providers:\n    - ${cloud}`;
  const site = await createSiteIn(folder, { files: FILES, execution, provider: 'cloud' });
  // The service works on it, and does not answer.
  service.script = ({ body }) => body !== '' && JSON.parse(body).operation === 'create';
  const first = await runController(site, (settings) => ({ ...settings, shutdownSeconds: 0 }));
  await expect.poll(() => creates(service), PATIENCE).toBe(1);
  await first.stop();
  for (const name of ['journal', 'snapshot']) rmSync(join(site.state, name), { force: true });
  expect(readdirSync(site.state)).toContain('repository');

  const second = await runController(site);
  const why = async () => JSON.stringify((await second.get('/stacks/instances/shop/why')).body);
  await expect
    .poll(why, PATIENCE)
    .toMatch(/waits until \S+Z: an earlier controller may have begun .*the store is empty.*repository/);
  service.servers.set('web', { name: 'web' });
  await expect.poll(() => second.states('shop'), PATIENCE).toEqual({ web: 'blocked' });
  expect(creates(service)).toBe(1);
});
