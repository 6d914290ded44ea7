// Tests the end states of a whole controller after faults around it.
import { X509Certificate } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Overview } from '../../src/service/answers.ts';
import { treeline } from '../support/command-line.ts';
import { keepAlive } from '../support/https-client.ts';
import { effectsIn, existing, PATIENCE, runController, withProvider } from '../support/running-controller.ts';
import { loseStore } from '../support/scenario-database.ts';
import { commandLineOptions } from '../support/server-options.ts';
import { createSite, type Site } from '../support/site.ts';
import { instanceText, SERVERS, SHOP, STACKS } from './stacks.ts';

function headOf({ repository }: Site): Promise<string> {
  return repository.head();
}

it('a branch that is deleted and comes again is followed on', async () => {
  const site = await createSite(STACKS);
  const running = await runController(site);
  const head = await headOf(site);
  await running.untilDone(head, 'office', 'shop');
  await site.repository.git('update-ref', '-d', 'refs/heads/main');
  await running.logged('the repository could not be followed; everything stays as it is');
  expect([await running.status('office'), await running.status('shop')]).toEqual(['Done', 'Done']);
  await site.repository.git('update-ref', 'refs/heads/main', head);
  const commit = await site.repository.commit({ [SHOP]: instanceText('shop', 3) });
  await running.untilDone(commit, 'shop');
  expect(Object.keys(existing(site))).toEqual([...SERVERS, 'shop-web-3']);
});

it('a repository that is gone for a while takes nothing with it, not even over a restart', async () => {
  const site = await createSite(STACKS);
  const running = await runController(site);
  await running.untilDone(await headOf(site), 'office', 'shop');
  const away = join(site.folder, 'away.git');
  renameSync(site.repository.path, away);
  await running.logged('the repository could not be followed; everything stays as it is');
  expect(await running.status('shop')).toBe('Done');
  const outage = async () => ((await running.get('/operations/status')).body as Overview).repository;
  await expect.poll(async () => (await outage())?.reason, PATIENCE).toContain('is not a Git repository');
  const repository = await outage();
  expect(repository).toEqual({
    reason: expect.stringContaining('is not a Git repository'),
    since: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  const options = commandLineOptions(site, running);
  const words = new RegExp(
    `^needs a person:\n {2}repository:unread, since ${repository?.since}\n {4}the repository cannot be followed, .*is not a Git repository`,
  );
  for (const args of [['status'], ['status', 'shop']]) {
    const { code, stdout } = await treeline([...args, ...options]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(words) });
    const { stdout: json } = await treeline([...args, '--format', 'json', ...options]);
    expect(JSON.parse(json).repository).toEqual(repository);
  }
  // Once, and not again for each poll that fails.
  const told = () =>
    running.lines.filter(({ attention }) => attention === 'repository:unread').map(({ level }) => level);
  await expect.poll(told, PATIENCE).toEqual([40]);
  await running.stop();
  const earliest = Date.now();
  const again = await runController(site);
  await expect.poll(() => again.status('shop'), PATIENCE).toBe('Done');
  const unread = async () => ((await again.get('/operations/status')).body as Overview).repository;
  await expect.poll(unread, PATIENCE).toMatchObject({ sinceStart: true });
  const { since = '', reason = '' } = (await unread()) ?? {};
  expect([
    Date.parse(since) >= earliest,
    (await treeline(['status', ...commandLineOptions(site, again)])).stdout,
  ]).toEqual([
    true,
    expect.stringContaining(`${reason} (the controller has started then; it may have been so before)\n`),
  ]);
  expect((await again.get('/hiera/shop-web-1/port/')).body).toBe(80);
  const begun = ({ attention, level }: JsonMap) => attention === 'repository:unread' && level === 40;
  await expect.poll(() => again.lines.some(begun), PATIENCE).toBe(true);
  renameSync(away, site.repository.path);
  const commit = await site.repository.commit({ [SHOP]: instanceText('shop', 3) });
  await again.untilDone(commit, 'shop');
  expect(Object.keys(existing(site))).toEqual([...SERVERS, 'shop-web-3']);
  expect((await again.get('/operations/status')).body).not.toHaveProperty('repository');
  const over = ({ attention, level }: JsonMap) => attention === 'repository:unread' && level === 30;
  await expect.poll(() => again.lines.some(over), PATIENCE).toBe(true);
});

it('a provider that fails four times of five gets there in the end, and makes nothing twice', async () => {
  const site = await createSite(STACKS);
  const retry = { attempts: 20, firstSeconds: 0.02, maxSeconds: 0.1, failedSeconds: 0.1 };
  const running = await runController(site, withProvider({ failRate: 0.8 }, retry));
  await running.untilDone(await headOf(site), 'office', 'shop');
  const created = effectsIn(site).filter(({ operation }) => operation === 'create');
  expect(created.map(({ server }) => server).sort()).toEqual(SERVERS);
  const tries = running.lines.filter(({ msg, to }) => msg === 'state' && to === 'retrying');
  expect(tries.length).toBeGreaterThan(0);
});

it('a lost store creates and deletes nothing: what is there is blocked until it is adopted', async () => {
  const site = await createSite(STACKS);
  const running = await runController(site);
  await running.untilDone(await headOf(site), 'office', 'shop');
  await running.stop();
  const before = existing(site);
  await loseStore(site);
  const again = await runController(site);
  await expect.poll(() => again.status('shop'), PATIENCE).toBe('Suspended');
  await expect
    .poll(() => again.states('shop'), PATIENCE)
    .toEqual({ 'shop-db': 'blocked', 'shop-web-1': 'blocked', 'shop-web-2': 'blocked' });
  expect(existing(site)).toEqual(before);
  await again.endRecovery();
  const commit = await site.repository.commit({ [SHOP]: instanceText('shop', 3, 'adopt: true\n') });
  await again.untilDone(commit, 'shop');
  expect(await again.status('office')).toBe('Blocked');
  const made = effectsIn(site).slice(Object.keys(before).length);
  expect(made).toMatchObject([{ server: 'shop-web-3', operation: 'create' }]);
});

it('an adopted server that differs has drifted, and is left as it is', async () => {
  const site = await createSite(STACKS);
  const running = await runController(site);
  await running.untilDone(await headOf(site), 'shop');
  await running.stop();
  await loseStore(site);
  const different = instanceText('shop', 2, 'adopt: true\n').concat(
    'stackTemplateAdditions: { resources: { db: { properties: { size: huge, name: shop-web-1 } } } }\n',
    'stackTemplateSubstractions: { resources: { web: {} } }\n',
  );
  const commit = await site.repository.commit({ [SHOP]: different });
  const again = await runController(site);
  await again.untilDone(commit);
  await expect.poll(() => again.states('shop'), PATIENCE).toEqual({ 'shop-web-1': 'drifted' });
  await again.endRecovery();
  await expect.poll(() => again.status('shop'), PATIENCE).toBe('Drifted');
  expect(Object.keys(existing(site))).toEqual(SERVERS);
  expect(existing(site)['shop-web-1']).toMatchObject({ size: 'small' });
});

it('a client that a commit removes is refused from then on, on the connection that it has open', async () => {
  const [key, cert] = ['key', 'crt'].map((end) => `pki/automation-endpoint.${end}`);
  const site = await createSite(STACKS);
  const identity = {
    key: readFileSync(join(site.folder, key ?? ''), 'utf8'),
    cert: readFileSync(join(site.folder, cert ?? ''), 'utf8'),
  };
  const file = `clients/${new X509Certificate(identity.cert).serialNumber}.yaml`;
  const running = await runController(site);
  const agent = keepAlive();
  onTestFinished(() => agent.destroy());
  const ask = () => running.request('/stacks/instances/shop/status', { identity, agent });

  await running.untilDone(await site.repository.commit({ [file]: 'role: automation-endpoint\n' }), 'shop');
  expect(await ask()).toMatchObject({ status: 200, body: 'Done' });
  await running.untilDone(await site.repository.commit({ [file]: null }));
  expect(await ask()).toMatchObject({ status: 403, body: { error: 'client_not_registered', return_code: 403 } });
  expect(await running.status('shop')).toBe('Done');
});
