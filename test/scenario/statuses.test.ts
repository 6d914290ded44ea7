// Commit statuses of the whole controller: commits of a real repository, a forge over HTTPS, restarts and kills.
import { appendFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Settings } from '../../src/model/settings.ts';
import { type FakeForge, startFakeForge } from '../support/fake-forge.ts';
import { PATIENCE, type RunningController, runController, withProvider } from '../support/running-controller.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSite, type Site } from '../support/site.ts';
import { headOf, twoServers } from './scene.ts';
import { instanceText, OFFICE, SHOP, STACKS, TEMPLATE, templateText } from './stacks.ts';

const CHANGES = { timeout: 30_000, interval: 50 };

function reportingTo(forge: FakeForge): (settings: Settings) => Settings {
  return (settings) => ({ ...twoServers(settings), id: 'eu', statuses: forge.settings });
}

/** Resolves once the status of a commit has the state, and returns its description. */
async function untilShown(
  forge: FakeForge,
  commit: string,
  context: 'validate' | 'apply',
  state: string,
): Promise<string> {
  const last = () =>
    forge.statuses.findLast((each) => each.commit === commit && each.name === `treeline/eu/${context}`);
  await expect.poll(() => last()?.state, CHANGES).toBe(state);
  return last()?.description ?? '';
}

async function overview({ get }: RunningController): Promise<{ readonly statuses?: { readonly reason: string } }> {
  return (await get('/operations/status')).body as { readonly statuses?: { readonly reason: string } };
}

it('tells a forge of right and wrong commits, of held deletes and of a restart', async () => {
  const forge = await startFakeForge('gitlab');
  const site = await createSite(STACKS);
  const first = await headOf(site);
  const running = await runController(site, reportingTo(forge));
  expect(await untilShown(forge, first, 'validate', 'success')).toBe('valid, 2 instances');
  expect(await untilShown(forge, first, 'apply', 'success')).toBe('5 servers done');

  const partly = await site.repository.commit({
    [OFFICE]: 'stackTemplate: nowhere\n',
    [SHOP]: instanceText('shop', 3),
  });
  expect(await untilShown(forge, partly, 'validate', 'failed')).toBe('1 error in 1 file; 1 of 2 instances invalid');
  expect(await untilShown(forge, partly, 'apply', 'success')).toBe('1 server done');

  const refused = await site.repository.commit({ 'tree.yaml': 'name: [\n' });
  expect(await untilShown(forge, refused, 'validate', 'failed')).toBe('not followed: 1 error in 1 file');
  expect(forge.statesOf(refused, 'apply')).toEqual([]);

  const held = await site.repository.commit({
    ...{ 'tree.yaml': 'name: global\ntype: common\n', [OFFICE]: instanceText('office', 1), [SHOP]: null },
  });
  expect(await untilShown(forge, held, 'validate', 'success')).toBe('valid, 1 instance');
  expect(await untilShown(forge, held, 'apply', 'running')).toBe(
    'held until approved: deletes or replacements, 4 servers in 1 instance',
  );
  expect(await overview(running)).not.toHaveProperty('statuses');

  const count = forge.requests.length;
  await running.stop();
  const again = await runController(site, reportingTo(forge));
  await again.untilDone(held, 'office');
  const { body } = await again.get('/operations/held');
  const [item] = (body as { readonly held: readonly { readonly digest: string }[] }).held;
  await again.post('/operations/approve', { digest: item?.digest ?? '' });
  expect(await untilShown(forge, held, 'apply', 'success')).toBe('no server left to change');
  expect(forge.requests.length).toBe(count + 1);
  await again.stop();
  expect(JSON.stringify([running.lines, again.lines])).not.toContain(forge.token);
}, 90_000);

it('a forge that fails in every way changes nothing else, and is told what counts once it is back', async () => {
  const forge = await startFakeForge('github');
  const site = await createSite(STACKS);
  const ways = [500, 429, 302, 200_000, 0];
  forge.script = (_request, response) => {
    const way = ways[forge.requests.length % ways.length] ?? 0;
    if (way === 0) response.socket?.destroy();
    // Says nothing.
    else if (way < 1000) response.writeHead(way, { location: 'https://other.example/', 'retry-after': '1' }).end('?');
    return true;
  };
  const running = await runController(site, (settings) => withProvider({ failRate: 0 })(reportingTo(forge)(settings)));
  await running.untilDone(await headOf(site), 'shop', 'office');
  const second = await site.repository.commit({ [TEMPLATE]: templateText('large') });
  await running.untilDone(second, 'shop', 'office');
  await expect.poll(async () => (await overview(running)).statuses?.reason, PATIENCE).toBeDefined();
  forge.script = () => false;
  await untilShown(forge, second, 'apply', 'success');
  await expect.poll(async () => overview(running), PATIENCE).not.toHaveProperty('statuses');
  await running.stop();
}, 90_000);

it('a token that is wrong at first is read anew', async () => {
  const forge = await startFakeForge('gitea');
  forge.token = 'rotated';
  const site = await createSite(STACKS);
  const running = await runController(site, reportingTo(forge));
  const line = await running.logged('a message was not accepted; it is tried again');
  expect(line.answer).toMatch(/\(401\)/);
  writeFileSync(forge.settings.tokenFile, 'rotated\n');
  await untilShown(forge, await headOf(site), 'apply', 'success');
  expect(JSON.stringify(running.lines)).not.toMatch(/rotated|forge-token/);
}, 90_000);

it('a stop does not wait for a forge that hangs', async () => {
  const forge = await startFakeForge('github');
  forge.script = () => true;
  const site = await createSite(STACKS);
  const running = await runController(site, reportingTo(forge));
  await expect.poll(() => forge.requests.length, PATIENCE).toBe(1);
  const before = performance.now();
  await running.stop();
  expect(performance.now() - before).toBeLessThan(15_000);
}, 60_000);

it('a controller that is killed goes on, and sends at most one status twice', async () => {
  const forge = await startFakeForge('gitlab');
  const site = await createSite(STACKS);
  nameForge(site, forge);
  const killed = new ServingProcess(site.config);
  await killed.port();
  const first = await headOf(site);
  await untilShown(forge, first, 'validate', 'success');
  await killed.end('SIGKILL');
  const second = await site.repository.commit({ [SHOP]: instanceText('shop', 3) });
  const next = new ServingProcess(site.config);
  await next.port();
  expect(await untilShown(forge, second, 'apply', 'success')).toBe('1 server done');
  for (const context of ['validate', 'apply'] as const) {
    expect(forge.statesOf(first, context).length).toBeLessThanOrEqual(3);
    expect(forge.statesOf(second, context).length).toBeLessThanOrEqual(2);
  }
  expect(forge.statesOf(first, 'apply').at(-1)).not.toBe('running');
  expect(await next.end('SIGTERM')).toBe(0);
}, 90_000);

/** Writes the forge into the settings of a site. */
function nameForge({ config }: Site, { settings }: FakeForge): void {
  const { kind, apiUrl, project, tokenFile, caFile } = settings;
  const fields = `kind: ${kind}, apiUrl: "${apiUrl}", project: ${project}, tokenFile: ${tokenFile}, caFile: ${caFile}`;
  appendFileSync(config, `\nid: eu\nstatuses: { ${fields} }\n`);
}
