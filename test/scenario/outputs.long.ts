// The whole controller with a real program whose servers get addresses, as from DHCP, and others that take them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { ROOT, treeline } from '../support/command-line.ts';
import { PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { commandLineOptions } from '../support/server-options.ts';
import { createSiteIn } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TEMPLATE = 'stacks/templates/shop.yaml';
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/instances/shop.yaml': 'stackTemplate: shop\n',
  [TEMPLATE]: `resources:
  db: { type: Platform::Server, properties: { name: db } }
  web:
    type: Platform::ResourceGroup
    properties:
      count: "2"
      resource_def: { properties: { name: "web-<<index>>", database: "postgres://<<(Output)['db']['address']>>/shop" } }
  balancer:
    type: Platform::Server
    properties: { name: balancer, backends: "<<(Output)['web']['address']>>", configuration_only: backends }
`,
};

it('servers take what a program reports of others, when it comes and when it changes', async () => {
  const [servers, leases] = [temporaryDirectory(), temporaryDirectory()];
  const environment = `{ SERVERS: ${servers}, LEASES: ${leases} }`;
  const command = `[${process.execPath}, ${join(ROOT, 'test/support/programs/file-servers.js')}]`;
  const site = await createSiteIn(temporaryDirectory(), {
    files: FILES,
    repository: ', pollSeconds: 1',
    execution: `  providers: [{ name: lab, provider: exec, command: ${command}, environment: ${environment} }]`,
    provider: 'lab',
  });
  let running: RunningController = await runController(site);
  const lease = (server: string, outputs: JsonMap): void =>
    writeFileSync(join(leases, `${server}.outputs`), JSON.stringify(outputs));
  const made = (server: string): JsonMap => JSON.parse(readFileSync(join(servers, `${server}.json`), 'utf8'));
  const check = (): Promise<unknown> => running.post('/operations/check', { instance: 'shop' });
  const ask = async (...args: string[]): Promise<string> =>
    (await treeline([...args, ...commandLineOptions(site, running)])).stdout;
  const value = async (path: string): Promise<unknown> => (await running.get(path)).body;

  // The address is not there yet: what takes it waits, and says for what.
  await expect
    .poll(() => ask('why', 'shop'), PATIENCE)
    .toContain('waits for the output "address" of db, which its provider has not reported yet');
  expect(await running.states('shop')).toMatchObject({ db: 'done', 'web-1': 'pending', balancer: 'pending' });
  expect(await value('/hiera/web-1/')).not.toHaveProperty('database');
  expect(await ask('explain', 'web-1', 'database')).toContain('not known yet');

  // A check reports it.
  lease('db', { address: '10.0.0.1' });
  for (const [index, server] of ['web-1', 'web-2'].entries()) lease(server, { address: `10.0.1.${index + 1}` });
  await check();
  await running.untilDone(await site.repository.head(), 'shop');
  expect(made('web-1')).toMatchObject({ database: 'postgres://10.0.0.1/shop' });
  expect(await value('/hiera/balancer/backends')).toEqual(['10.0.1.1', '10.0.1.2']);
  expect(await value('/hiera/web-2/database?info=true')).toMatchObject({
    ...{ value: 'postgres://10.0.0.1/shop', type: 'clientcert', name: 'web-2', file: TEMPLATE, line: 7 },
    outputs: [{ output: 'address', servers: ['db'] }],
  });
  expect(await ask('explain', 'web-2', 'database')).toContain('from the output "address" of "db"');

  // Another address is an update, after a restart too; one that is not reported any more changes nothing.
  await running.stop();
  lease('db', { address: '10.0.0.2' });
  running = await runController(site);
  await expect.poll(() => running.status('shop'), PATIENCE).toBe('Done');
  await check();
  await expect.poll(() => made('web-2').database, PATIENCE).toBe('postgres://10.0.0.2/shop');
  lease('db', { other: 'x' });
  await check();
  await expect
    .poll(() => value('/operations/recorded').then((body) => JSON.stringify(body)), PATIENCE)
    .toContain('"other":"x"');
  await expect.poll(() => running.status('shop'), PATIENCE).toBe('Done');
  expect(await ask('why', 'shop')).toContain(
    'it keeps its last "database": the output "address" of db is not reported',
  );
  expect(made('web-1')).toMatchObject({ database: 'postgres://10.0.0.2/shop' });
});
