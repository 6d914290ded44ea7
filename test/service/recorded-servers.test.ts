// The recorded servers, as programs read them that compare a desired state with them.

import { expect, it } from 'vitest';
import { Core } from '../reconcile/core.ts';
import { SHOP, shopFiles } from '../reconcile/shop.ts';

it('recorded servers have instance, wanted and applied spec, and reason', async () => {
  const core = new Core({ budget: { percent: 0, least: 0, most: 0 } });
  core.source.commit(shopFiles({ web: 'name: web, size: small', db: 'name: db' }));
  await core.poll();
  const up = core.operator.recorded();
  expect(up).toMatchObject({ commit: core.reader.commit(), held: [] });
  expect(up.servers.map(({ name }) => name)).toEqual(['db', 'web']);
  const web = up.servers[1];
  expect(web).toMatchObject({
    name: 'web',
    instance: 'shop',
    key: 'web',
    index: null,
    state: 'done',
    reason: null,
    provider: 'lab',
    generation: 1,
    protected: false,
    deletion: 'delete',
    held: false,
    replacing: false,
    approved: false,
    mayExist: true,
    wanted: { kind: 'Platform::Server', properties: { name: 'web', size: 'small' } },
  });
  expect(web?.applied).toEqual(web?.wanted);
  expect(Object.keys(web ?? {})).not.toContain('action');

  core.source.commit({ [SHOP]: null });
  await core.poll();
  const held = core.operator.recorded();
  expect(held.held).toMatchObject([{ kind: 'deletes', instance: 'shop', resources: ['db', 'web'] }]);
  expect(held.servers.map((server) => server.held)).toEqual([true, true]);
});

it('recorded servers report a recovery', async () => {
  const core = new Core({}, undefined, 'the directory was lost');
  core.source.commit(shopFiles({ web: 'name: web' }));
  await core.poll();
  expect(core.operator.recorded()).toMatchObject({ isRecovering: true });
  await core.endRecovery();
  expect(core.operator.recorded()).not.toHaveProperty('isRecovering');
});
