// Tests the delete budget of a whole controller: a commit may take two servers away before an operator approves.
import { expect, it } from 'vitest';
import { treeline } from '../support/command-here.ts';
import { commandLineOptions, effectsIn } from '../support/running-controller.ts';
import {
  answers,
  type Held,
  heldIn,
  push,
  restart,
  SHOP_FILES,
  untilServers,
  untilStatus,
  upAndDone,
} from './scene.ts';
import { SHOP } from './stacks.ts';

const ALL_OF_SHOP = ['shop-db', 'shop-web-1', 'shop-web-2', 'shop-web-3', 'shop-web-4'];

it('a commit that removes an instance is held until it is reverted', async () => {
  const scene = await upAndDone();
  const [before, effects] = [await answers(scene, 'shop'), effectsIn(scene.site)];
  await push(scene, { [SHOP]: null, 'types/role/web.yaml': 'port: 443\n' });
  const items = await heldIn(scene);
  const expectHeld = async (): Promise<void> => {
    expect(await heldIn(scene)).toEqual(items);
    expect(await scene.running.status('shop')).toBe('Awaiting approval');
    expect(await answers(scene, 'shop')).toEqual(before);
    expect(effectsIn(scene.site)).toEqual(effects);
  };
  expect(items).toMatchObject([
    { kind: 'deletes', instance: 'shop', resources: ALL_OF_SHOP, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ]);
  expect(items[0]?.reason).toContain('5 servers would be deleted or replaced without approval, and 0 were');
  await expectHeld();
  await restart(scene);
  await expectHeld();
  await push(scene, { 'types/clientcert/printer.yaml': 'paper: a5\n' });
  await expectHeld();
  await scene.running.untilDone(await push(scene, SHOP_FILES), 'office', 'shop');
  expect(await heldIn(scene)).toEqual([]);
  expect(effectsIn(scene.site)).toEqual(effects);
});

it('treeline approve releases held deletes, also after a restart', async () => {
  const scene = await upAndDone();
  await push(scene, { [SHOP]: null });
  await restart(scene);
  const options = commandLineOptions(scene.site, scene.running);
  const { stdout } = await treeline(['held', '--format', 'json', ...options]);
  const { held } = JSON.parse(stdout) as { readonly held: readonly Held[] };
  const ended = await treeline(['approve', held[0]?.digest ?? '', '--reason', 'closed', ...options]);
  expect(ended).toEqual({ code: 0, stdout: 'The deletes of shop are approved\n', stderr: '' });
  await untilStatus(scene, 'shop', 'not_found');
  await untilServers(scene, ['office-db', 'office-web-1']);
});
