import { expect, it } from 'vitest';
import { at } from './build.ts';
import { Core } from './core.ts';
import { shopFiles } from './shop.ts';

it('goes on at the end of a suspension that was to last longer at first', async () => {
  const core = new Core();
  core.source.commit(shopFiles({}));
  await core.poll();
  await core.operator.suspend(core.order, { instance: 'shop', until: null });
  core.source.commit(shopFiles({ web: 'name: web' }));
  await core.poll();
  expect(core.states()).toEqual({ web: 'pending' });
  await core.operator.suspend(core.order, { instance: 'shop', until: at(core.clock.now() + 60_000) });
  await core.settle();
  await core.pass(61_000);
  expect(core.states()).toEqual({ web: 'done' });
});
