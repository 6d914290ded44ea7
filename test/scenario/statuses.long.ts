// Commit statuses of the whole controller: commits of a real repository, a forge over HTTPS, restarts and kills.
import { expect, it } from 'vitest';
import type { Settings } from '../../src/model/settings.ts';
import { type FakeForge, startFakeForge } from '../support/fake-forge.ts';
import { type RunningController, runController } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';
import { headOf, twoServers } from './scene.ts';
import { instanceText, OFFICE, SHOP, STACKS } from './stacks.ts';

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

async function kindsOfCauses({ get }: RunningController): Promise<readonly string[]> {
  const { attention } = (await get('/operations/status')).body as { readonly attention: readonly { kind: string }[] };
  return attention.map(({ kind }) => kind);
}

it('commit statuses show valid and invalid commits, held deletes and a restart', async () => {
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
    'tree.yaml': 'name: global\ntype: common\n',
    [OFFICE]: instanceText('office', 1),
    [SHOP]: null,
  });
  expect(await untilShown(forge, held, 'validate', 'success')).toBe('valid, 1 instance');
  expect(await untilShown(forge, held, 'apply', 'running')).toBe(
    'held until approved: deletes or replaces 4 servers in 1 instance',
  );
  expect(await kindsOfCauses(running)).not.toContain('statuses');

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
