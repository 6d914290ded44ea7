// The outcome of an action is lost, and the provider entry that could tell it is gone from the settings.
import { expect, it } from 'vitest';
import { Core, type CoreOptions } from './core.ts';
import { SHOP, shopFiles } from './shop.ts';

const ANY = { kind: null, properties: {} };

/** The create of `shop-db` is lost, `shop-web` waits for it, and the entry `lab` was renamed to `field`. */
async function renamed(): Promise<Core> {
  const core = new Core();
  core.provider.script = ({ operation }) => (operation === 'create' ? new Promise(() => undefined) : undefined);
  core.source.commit(shopFiles({ db: 'size: small', web: 'size: small, depends_on: db' }));
  await core.poll();
  expect(core.states()).toEqual({ 'shop-db': 'creating', 'shop-web': 'pending' });
  core.provider.script = () => undefined;
  const again = await core.restart({ entries: [{ name: 'field', match: ANY }] });
  await again.pass(120_000);
  return again;
}

const TEXT = 'the provider entry "lab" of the settings may have made it, but "field" matches it now';

it('it waits for a person, and so does who depends on it', async () => {
  const core = await renamed();
  expect(core.ledger.server('shop-db')).toMatchObject({
    state: 'unknown',
    reason: { code: 'provider_changed', text: TEXT },
  });
  expect(core.reader.status('shop')).toBe('Blocked');
  const { waiting } = core.operator.why(core.order.by, 'shop');
  expect(waiting[0]).toMatchObject({ resource: 'shop-db', state: 'unknown', reason: `provider_changed: ${TEXT}` });
  expect(waiting[0]?.action).toMatch(/^correct execution\.providers .*treeline adopt --resource shop-db$/);
  expect(core.provider.calls).toEqual([]);
});

it('a person may have the entry asked that matches now', async () => {
  const core = await renamed();
  await core.operator.adopt(core.order, { resource: 'shop-db' });
  await core.settle();
  await core.pass(60_000);
  expect(core.calls('check')[0]).toBe('shop-db');
  expect(core.reader.status('shop')).toBe('Done');
  expect(core.ledger.server('shop-db')?.provider).toBe('field');
});

it('an unwanted one waits for the settings', async () => {
  const core = await renamed();
  core.source.commit({ [SHOP]: null });
  await core.poll();
  expect(core.ledger.server('shop-db')?.wanted).toBeNull();
  await expect(core.operator.adopt(core.order, { resource: 'shop-db' })).rejects.toThrow(/No server there/);
  const item = core.operator.why(core.order.by, 'shop').waiting.find(({ resource }) => resource === 'shop-db');
  expect(item?.action).toBe('correct execution.providers in the settings, and start the controller again');
});

const SMALL = { kind: null, properties: { size: 'small' } };

/** `lab` is creating `shop-db`, and will not answer. */
async function creating(options: CoreOptions): Promise<Core> {
  const core = new Core(options);
  core.provider.script = ({ operation }) => (operation === 'create' ? new Promise(() => undefined) : undefined);
  core.source.commit(shopFiles({ db: 'size: small' }));
  await core.poll();
  expect(core.states()).toEqual({ 'shop-db': 'creating' });
  return core;
}

it('where a commit gives the server to another entry meanwhile, and its own finds it absent, the other one looks and creates it', async () => {
  const core = await creating({
    entries: [
      { name: 'lab', match: SMALL },
      { name: 'field', match: ANY },
    ],
  });
  core.provider.script = () => undefined;
  core.source.commit(shopFiles({ db: 'size: large' }));
  await core.poll();
  core.provider.calls.length = 0;
  await core.pass(120_000);
  expect(core.ledger.server('shop-db')).toMatchObject({ state: 'done', provider: 'field' });
  expect(core.provider.calls.map(({ operation }) => operation)).toEqual(['check', 'check', 'create']);
});
