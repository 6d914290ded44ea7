// Commits that are not followed before an operator has said yes, on the whole controller: whatever else happens, reads go on.
import { describe, expect, it } from 'vitest';
import { effectsIn, existing } from '../support/running-controller.ts';
import { answers, headOf, heldIn, restart, type Scene, SHOP_FILES, untilHeld, upAndDone } from './scene.ts';
import { instanceText, SHOP } from './stacks.ts';

async function followedIn({ running }: Scene): Promise<unknown> {
  return (await running.get('/tree/')).headers['x-treeline-commit'];
}

describe('a rewritten history', () => {
  /** Other roots with the same files, but for one server less, and a command that follows it. */
  async function rewrite(scene: Scene): Promise<string> {
    const registered = await scene.site.repository.git('ls-tree', '-r', '--name-only', 'main', 'clients/');
    const client = `${await scene.site.repository.git('show', `main:${registered}`)}\n`;
    const files = { ...SHOP_FILES, [registered]: client, [SHOP]: instanceText('shop', 3) };
    return await scene.site.repository.commit(files, { parents: [] });
  }

  it('is held while reads continue, until exactly the accepted commit is followed', async () => {
    const scene = await upAndDone();
    const [followed, effects] = [await headOf(scene.site), effectsIn(scene.site)];
    const before = await answers(scene, 'office', 'shop');
    const commit = await rewrite(scene);
    const item = await untilHeld(scene, 'history');
    expect(item).toEqual({
      kind: 'history',
      digest: `history-${commit}`,
      instance: null,
      reason: expect.stringContaining(
        `the history was rewritten: ${commit} does not come after the followed commit ${followed}; accepting it creates `,
      ),
      since: expect.any(String),
      resources: expect.any(Array),
      commit,
      author: 'Test',
      check: 'restore the branch',
    });
    expect(await answers(scene, 'office', 'shop')).toEqual(before);
    await restart(scene);
    expect(await untilHeld(scene, 'history')).toMatchObject({ digest: item.digest });
    expect(await followedIn(scene)).toBe(followed);
    for (const wrong of [followed, commit.slice(0, 12)]) {
      expect(await scene.running.post('/operations/accept-history', { commit: wrong })).toMatchObject({ status: 404 });
    }
    expect(effectsIn(scene.site)).toEqual(effects);
    expect(await scene.running.post('/operations/accept-history', { commit })).toMatchObject({
      status: 200,
      body: { message: `The history is accepted at ${commit}` },
    });
    // Whether an earlier commit protected the server cannot be read from this history.
    const { digest } = await untilHeld(scene, 'unreadable');
    expect(await scene.running.post('/operations/approve', { digest })).toMatchObject({ status: 200 });
    await scene.running.untilDone(commit, 'shop');
    expect(await heldIn(scene)).toEqual([]);
    expect(Object.keys(existing(scene.site))).not.toContain('shop-web-4');
    await restart(scene);
    expect(await followedIn(scene)).toBe(commit);
  });
});
