// The outcome of an action is lost, and the provider entry that could tell it is gone from the settings.
import { expect, it } from 'vitest';
import { Core, type CoreOptions } from './core.ts';
import { shopFiles } from './shop.ts';

const ANY = { kind: null, properties: {} };

const SMALL = { kind: null, properties: { size: 'small' } };

/** `lab` is creating `shop-db`, and will not answer. */
async function creating(options: CoreOptions): Promise<Core> {
  const core = new Core(options);
  core.provider.script = ({ operation }) => (operation === 'create' ? new Promise(() => undefined) : undefined);
  await core.follow(shopFiles({ db: 'size: small' }));
  expect(core.states()).toEqual({ 'shop-db': 'creating' });
  return core;
}

it('another entry checks and creates a lost server if its own entry finds it absent', async () => {
  const core = await creating({
    entries: [
      { name: 'lab', match: SMALL },
      { name: 'field', match: ANY },
    ],
  });
  core.provider.script = () => undefined;
  await core.follow(shopFiles({ db: 'size: large' }));
  core.provider.calls.length = 0;
  await core.pass(120_000);
  expect(core.ledger.server('shop-db')).toMatchObject({ state: 'done', provider: 'field' });
  expect(core.provider.calls.map(({ operation }) => operation)).toEqual(['check', 'check', 'create']);
});
