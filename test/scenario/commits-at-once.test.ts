// Commits that come at once, with real git: pushed together, and pushed while the controller is down. Each test ends like the
// commits one by one; test/follow/commits-at-once.test.ts has many more.
import { describe, expect, it } from 'vitest';
import type { NewCommit } from '../support/git-repository.ts';
import { effectsIn, existing, runController } from '../support/running-controller.ts';
import { headOf, pushAtOnce, restart, type Scene, SHOP_FILES, untilHeld, untilStatus, upAndDone } from './scene.ts';
import { instanceText, OFFICE, SHOP } from './stacks.ts';

const RETAIN = 'deletion: retain\n';

/** Pushes the commits while the controller is down, and starts it. */
async function pushWhileDown(scene: Scene, commits: readonly NewCommit[]): Promise<void> {
  await scene.running.stop();
  await scene.site.repository.commitAll(commits);
  scene.running = await runController(scene.site, scene.settings);
  await scene.running.untilDone(await headOf(scene.site));
}

const MANY: readonly NewCommit[] = Array.from({ length: 20 }, (_, index) => ({
  files: { 'README.md': `${index}` },
}));

describe.each([
  ['in one push', pushAtOnce],
  ['while the controller is down', pushWhileDown],
] as const)('%s', (_, come) => {
  it('servers are retained, and then their file is removed: all of them stay', async () => {
    const scene = await upAndDone();
    const effects = effectsIn(scene.site);
    const retained = { [SHOP]: instanceText('shop', 4, RETAIN) };
    await come(scene, [{ files: retained }, ...MANY, { files: { [SHOP]: null } }]);
    await untilStatus(scene, 'shop', 'not_found');
    expect(effectsIn(scene.site)).toEqual(effects);
  });

  it('one server goes while they are retained: it stays, forgotten, and the others go on', async () => {
    const scene = await upAndDone();
    const servers = Object.keys(existing(scene.site));
    await come(scene, [
      { files: { [SHOP]: instanceText('shop', 4, RETAIN) } },
      { files: { [SHOP]: instanceText('shop', 3, RETAIN) } },
      { files: { [SHOP]: instanceText('shop', 3) } },
    ]);
    await untilStatus(scene, 'shop', 'Done');
    expect(Object.keys(await scene.running.states('shop'))).not.toContain('shop-web-4');
    expect(Object.keys(existing(scene.site))).toEqual(servers);
  });

  it.each([
    ['the same', ''],
    ['edited', '# closed\n'],
  ])('a file is moved to a name that makes no instance, %s: its servers wait for a person', async (_what, more) => {
    const scene = await upAndDone();
    const effects = effectsIn(scene.site);
    const moved = { [OFFICE]: null, 'attic/office.txt': `${instanceText('office', 1)}${more}` };
    await come(scene, [...MANY, { files: moved }, { files: { 'README.md': 'moved' } }]);
    const held = { instance: 'office', resources: ['office-db', 'office-web-1'] };
    const reason = expect.stringMatching(/^"attic\/office.txt" is not read .*: rename it, or approve the deletes$/);
    expect(await untilHeld(scene, 'deletes')).toMatchObject({ ...held, reason });
    await restart(scene);
    expect(await untilHeld(scene, 'deletes')).toMatchObject({ ...held, reason });
    expect(effectsIn(scene.site)).toEqual(effects);
  });

  it('one person protects an instance, and another removes it: it stays', async () => {
    const scene = await upAndDone();
    const effects = effectsIn(scene.site);
    await come(scene, [
      { files: { [SHOP]: instanceText('shop', 4, 'protected: true\n') } },
      { files: { [SHOP]: null } },
    ]);
    expect(await scene.running.status('shop')).toBe('Invalid');
    expect(effectsIn(scene.site)).toEqual(effects);
    await scene.running.untilDone(await scene.site.repository.commit(SHOP_FILES), 'shop');
    expect(effectsIn(scene.site)).toEqual(effects);
  });
});
