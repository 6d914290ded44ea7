// Tests the questions after a push on a whole controller: whether the commit is followed and done, and if not, why.
import { expect, it } from 'vitest';
import type { Reply } from '../support/https-client.ts';
import { runController } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';
import { headOf, type Scene, twoServers, upAndDone } from './scene.ts';
import { instanceText, SHOP, STACKS } from './stacks.ts';

function from({ running }: Scene, commit: string, path: string): Promise<Reply> {
  return running.request(path, { headers: { 'X-Treeline-Min-Commit': commit } });
}

it('a read answers from the commit on that it names, as soon as that is followed', async () => {
  const scene = await upAndDone();
  const { repository } = scene.site;
  const first = await headOf(scene.site);
  for (let count = 5; count < 8; count += 1) {
    const commit = await repository.commit({ [SHOP]: instanceText('shop', count) });
    const reply = await from(scene, commit, '/stacks/instances/shop/');
    expect(reply.headers['x-treeline-commit']).toBe(commit);
    expect(reply.body).toMatchObject({ parameters: { count: String(count) } });
    expect(Object.keys((reply.body as { resources: { web: object } }).resources.web)).toHaveLength(count);
  }
  expect((await from(scene, first, '/tree/')).status).toBe(200);
});

it('a read that names a commit that the branch does not have is 400, and one that is not followed 503', async () => {
  const scene = await upAndDone();
  const unknown = '0123456789abcdef0123456789abcdef01234567';
  const followed = await headOf(scene.site);
  expect(await from(scene, unknown, '/tree/')).toMatchObject({
    status: 400,
    body: { error: 'invalid_input', message: `The followed branch has no commit ${unknown}; was it pushed there?` },
  });
  const wrong = await scene.site.repository.commit({ 'tree.yaml': 'name: global\ntype: nonsense\n' });
  const reply = await from(scene, wrong, '/tree/');
  expect(reply).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  expect(reply.headers['retry-after']).toBe('5');
  expect((await from(scene, followed, '/operations/status')).body).toMatchObject({
    commit: followed,
    newest: {
      commit: wrong,
      reason: expect.stringContaining('nonsense'),
      action: 'treeline problems; correct that, then push',
    },
  });
});

it('an instance says why it is not done, over the interface', async () => {
  const site = await createSite(STACKS);
  const running = await runController(site, twoServers);
  await running.untilDone(await headOf(site), 'office', 'shop');
  expect((await running.post('/operations/suspend', { instance: 'shop', reason: 'moving' })).status).toBe(200);
  const reply = await running.get('/stacks/instances/shop/why/');
  expect(reply).toMatchObject({
    status: 200,
    body: {
      status: 'Suspended',
      summary: expect.stringMatching(/ suspended shop: moving$/),
      counts: { done: 3 },
      waiting: [{ resource: null, state: 'Suspended', until: null, action: 'treeline resume shop' }],
    },
  });
  expect(await running.get('/stacks/instances/shpo/why')).toMatchObject({ status: 404, body: { error: 'not_found' } });
});
