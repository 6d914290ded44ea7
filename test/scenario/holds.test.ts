// Commits that are not followed before a person has said yes, on the whole controller: whatever else happens, reads go on.
import { describe, expect, it } from 'vitest';
import { effectsIn, existing, PATIENCE } from '../support/running-controller.ts';
import {
  answers,
  approve,
  digestOf,
  headOf,
  heldIn,
  push,
  restart,
  type Scene,
  SHOP_FILES,
  untilHeld,
  untilServers,
  untilStatus,
  upAndDone,
} from './scene.ts';
import { instanceText, OFFICE, SHOP, STACKS } from './stacks.ts';

const EVERYTHING = ['shop-db', 'shop-web-1', 'shop-web-2', 'shop-web-3', 'shop-web-4'];

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

  it('is held, reads go on, and exactly the commit that is accepted is followed', async () => {
    const scene = await upAndDone();
    const [followed, effects] = [await headOf(scene.site), effectsIn(scene.site)];
    const before = await answers(scene, 'office', 'shop');
    const commit = await rewrite(scene);
    const item = await untilHeld(scene, 'history');
    expect(item).toEqual({
      kind: 'history',
      digest: `history-${commit}`,
      instance: null,
      reason:
        'nothing is shared with what is followed: this is another repository, or all of the history was rewritten; ' +
        `${commit} and the followed commit ${followed} have no commit in common`,
      since: expect.any(String),
      resources: [],
      ...{ commit, author: 'Test' },
      check: 'check repository.url and repository.branch',
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
    const { digest } = await untilHeld(scene, 'deletes');
    expect(await scene.running.post('/operations/approve', { digest })).toMatchObject({ status: 200 });
    await scene.running.untilDone(commit, 'shop');
    expect(await heldIn(scene)).toEqual([]);
    expect(Object.keys(existing(scene.site))).not.toContain('shop-web-4');
    await restart(scene);
    expect(await followedIn(scene)).toBe(commit);
  });

  it('is held no more when the branch is back at what is followed', async () => {
    const scene = await upAndDone();
    const followed = await headOf(scene.site);
    await rewrite(scene);
    await untilHeld(scene, 'history');
    await scene.site.repository.git('update-ref', 'refs/heads/main', followed);
    await expect.poll(() => heldIn(scene), PATIENCE).toEqual([]);
    expect(await followedIn(scene)).toBe(followed);
  });

  it('that is accepted has a budget like any other commit', async () => {
    const scene = await upAndDone();
    const { repository } = scene.site;
    await rewrite(scene);
    const commit = await repository.commit({ [SHOP]: null });
    await expect.poll(async () => (await heldIn(scene))[0]?.digest, PATIENCE).toBe(`history-${commit}`);
    expect(await approve(scene, `history-${commit}`)).toBe(200);
    await scene.running.untilDone(commit);
    expect(await heldIn(scene)).toMatchObject([{ kind: 'deletes', instance: 'shop', resources: EVERYTHING }]);
  });

  it('holds up no approval of what was followed before', async () => {
    const scene = await upAndDone();
    const followed = await push(scene, { [SHOP]: instanceText('shop', 1) });
    const digest = await digestOf(scene);
    await rewrite(scene);
    const { since } = await untilHeld(scene, 'history');
    expect(await approve(scene, digest)).toBe(200);
    await untilServers(scene, ['office-db', 'office-web-1', 'shop-db', 'shop-web-1']);
    expect(await heldIn(scene)).toMatchObject([{ kind: 'history', since }]);
    expect(await followedIn(scene)).toBe(followed);
  });
});

describe('a commit after which nothing is left', () => {
  it('of the instances is held; once it is accepted, every instance waits for its own yes', async () => {
    const scene = await upAndDone();
    const effects = effectsIn(scene.site);
    const before = await answers(scene, 'office', 'shop');
    const commit = await scene.site.repository.commit({ [SHOP]: null, [OFFICE]: null });
    const item = await untilHeld(scene, 'nothing left');
    expect(item).toMatchObject({ digest: `nothing-left-${commit}`, instance: null, resources: [] });
    expect(item.reason).toContain('no stack instance would be left');
    expect((await scene.running.get('/operations/problems')).body).toMatchObject({
      commit,
      problems: [{ code: 'nothing_left', file: 'stacks/instances' }],
    });
    expect(await answers(scene, 'office', 'shop')).toEqual(before);
    expect(await approve(scene, item.digest)).toBe(200);
    await scene.running.untilDone(commit);
    expect(await heldIn(scene)).toMatchObject([
      { kind: 'deletes', instance: 'office' },
      { kind: 'deletes', instance: 'shop' },
    ]);
    expect(effectsIn(scene.site)).toEqual(effects);
    expect(await approve(scene, await digestOf(scene, 'shop'))).toBe(200);
    await untilServers(scene, ['office-db', 'office-web-1']);
    await restart(scene);
    expect(await scene.running.status('office')).toBe('Awaiting approval');
    expect(await approve(scene, await digestOf(scene, 'office'))).toBe(200);
    await untilServers(scene, []);
    await expect.poll(async () => (await scene.running.get('/stacks/instances/')).body, PATIENCE).toEqual([]);
  });

  it('of the clients is held; once it is accepted, the last administrator stays all the same', async () => {
    const scene = await upAndDone();
    const registered = await scene.site.repository.git('ls-tree', '-r', '--name-only', 'main', 'clients/');
    const commit = await scene.site.repository.commit({ [registered]: null });
    const { digest, reason } = await untilHeld(scene, 'nothing left');
    expect(reason).toContain('no client would be left');
    expect(await approve(scene, digest)).toBe(200);
    await scene.running.untilDone(commit, 'office', 'shop');
    expect((await scene.running.get('/operations/problems')).body).toMatchObject({
      problems: [{ code: 'last_administrator' }],
    });
  });

  it('of the layout is held, and is not followed even then: it has no tree', async () => {
    const scene = await upAndDone();
    const followed = await headOf(scene.site);
    const paths = (await scene.site.repository.git('ls-tree', '-r', '--name-only', 'main')).split('\n');
    const commit = await scene.site.repository.commit(Object.fromEntries(paths.map((path) => [path, null])));
    const { digest, reason } = await untilHeld(scene, 'nothing left');
    expect(reason).toContain('no file of the layout would be left');
    expect(await approve(scene, digest)).toBe(200);
    await expect.poll(() => heldIn(scene), PATIENCE).toEqual([]);
    expect((await scene.running.get('/operations/problems')).body).toMatchObject({
      commit,
      problems: [{ code: 'tree_missing' }],
    });
    expect(await followedIn(scene)).toBe(followed);
    expect([await scene.running.status('office'), await scene.running.status('shop')]).toEqual(['Done', 'Done']);
  });

  it('is forgotten with the commit that brings one back', async () => {
    const scene = await upAndDone();
    const effects = effectsIn(scene.site);
    await scene.site.repository.commit({ [SHOP]: null, [OFFICE]: null });
    await untilHeld(scene, 'nothing left');
    await scene.running.untilDone(await push(scene, { ...STACKS, [SHOP]: SHOP_FILES[SHOP] ?? '' }), 'office', 'shop');
    expect(await heldIn(scene)).toEqual([]);
    expect(effectsIn(scene.site)).toEqual(effects);
    await untilStatus(scene, 'shop', 'Done');
  });
});
