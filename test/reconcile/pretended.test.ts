// Tests servers of the simulated provider after the settings name another provider: they count as never made.
import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';
import { SHOP, shopFiles } from './shop.ts';

const ANY = { kind: null, properties: {} };
const FILES = shopFiles({ db: 'size: small', web: 'size: small, depends_on: db' });

/** Both servers are done, for a provider that pretends. */
async function rehearsed(): Promise<Core> {
  const core = new Core();
  core.provider.isPretending = true;
  core.source.commit(FILES);
  await core.poll();
  expect(core.states()).toEqual({ 'shop-db': 'done', 'shop-web': 'done' });
  return core;
}

describe.each(['lab', 'field'])('where the entry "%s" makes real servers now', (name) => {
  /** Nothing of the rehearsal exists; `before` happens before the start. */
  async function real(before: (core: Core) => unknown = () => undefined): Promise<Core> {
    const core = await rehearsed();
    for (const server of ['shop-db', 'shop-web']) core.provider.forget(server);
    await before(core);
    core.provider.isPretending = false;
    const again = await core.restart({ entries: [{ name, match: ANY }] });
    await again.pass(120_000);
    return again;
  }

  it('each is checked first, and created where it is absent', async () => {
    const core = await real();
    expect(core.states()).toEqual({ 'shop-db': 'done', 'shop-web': 'done' });
    expect(core.calls('create')).toEqual(['shop-db', 'shop-web']);
    expect(core.calls('check')).toEqual(expect.arrayContaining(['shop-db', 'shop-web']));
    expect(core.ledger.server('shop-db')).toMatchObject({ provider: name, applied: { kind: 'Platform::Server' } });
    expect(core.ledger.server('shop-db')?.isPretended).toBeUndefined();
  });

  it('one that somebody else has made is not taken', async () => {
    const core = await real((before) => before.provider.build('shop-db', { name: 'shop-db', size: 'large' }));
    expect(core.ledger.server('shop-db')).toMatchObject({ state: 'blocked', reason: { code: 'exists_already' } });
    expect(core.calls('create')).toEqual([]);
    expect(core.calls('update')).toEqual([]);
  });

  it('one that nobody wants any more is not deleted', async () => {
    const core = await real(async (before) => {
      before.provider.script = ({ operation }) => (operation === 'delete' ? new Promise(() => undefined) : undefined);
      before.source.commit({ [SHOP]: null });
      await before.poll();
      expect(before.states()).toEqual({ 'shop-db': 'marked for delete', 'shop-web': 'deleting' });
      before.provider.script = () => undefined;
    });
    expect(core.states()).toEqual({});
    expect(core.provider.calls).toEqual([]);
  });
});

it('an entry that pretends goes on with what it has made', async () => {
  const core = await (await rehearsed()).restart({});
  await core.pass(120_000);
  expect(core.states()).toEqual({ 'shop-db': 'done', 'shop-web': 'done' });
  expect(core.calls('create')).toEqual([]);
});
