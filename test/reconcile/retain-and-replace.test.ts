// An operator has a server forgotten and left as it is, or deleted and made again.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';
import { answering, SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const ANY = { kind: null, properties: {} };
const WEB = { web: 'name: web, size: small' };

async function up(options: CoreOptions = {}, instance = ''): Promise<Core> {
  const core = await Core.following(shopFiles(WEB, instance), options);
  expect(core.states()).toEqual({ web: 'done' });
  return core;
}

describe('retain', () => {
  async function unwanted(outcome: 'failed' | 'retryable' = 'failed'): Promise<Core> {
    const core = await up();
    answering(core, 'delete', async () => answerOf(outcome, { message: 'locked' }));
    await core.follow({ [SHOP]: null });
    return core;
  }

  it.each(['failed', 'retryable'] as const)('forgets a server whose delete is %s, without a call', async (outcome) => {
    const core = await unwanted(outcome);
    const calls = core.provider.calls.length;
    expect(await core.operator.retain(core.order, 'web')).toBe('web is forgotten, and left as it is');
    await core.settle();
    await core.pass(3_700_000);
    expect(core.states()).toEqual({});
    expect(core.provider.calls).toHaveLength(calls);
    expect(core.ledger.list('terminating').size).toBe(0);
    const { events } = await core.operator.events(core.order.by, 'shop', { after: 0, limit: 100 });
    expect(events.map(({ reason }) => reason)).toContain('forgotten; the server is left as it is');
  });
});

describe('replace', () => {
  it('deletes, checks, and creates one new incarnation, regardless of the budget', async () => {
    const core = await up({ budget: { percent: 0, least: 0, most: 0 } });
    const before = core.ledger.server('web')?.incarnation ?? 0;
    const calls = core.provider.calls.length;
    await core.operator.replace({ ...core.order, reason: 'rotten' }, 'web');
    await core.settle();
    expect(core.provider.calls.slice(calls).map(({ operation }) => operation)).toEqual(['delete', 'check', 'create']);
    expect(core.ledger.server('web')).toMatchObject({ state: 'done', replacing: false, approved: false });
    expect(core.ledger.server('web')?.incarnation).toBe(before + 1);
    expect(core.ledger.list('removal').size).toBe(0);
    const { events } = await core.operator.events(core.order.by, 'shop', { after: 0, limit: 100 });
    const asked = events.find(({ client }) => client === 'A1');
    expect(asked).toMatchObject({ resource: 'web', from: 'done', to: 'pending', reason: 'replace: rotten' });
  });
});

describe('a server that another provider entry now matches', () => {
  const SMALL = { kind: null, properties: { size: 'small' } };
  const entries = [
    { name: 'field', match: SMALL },
    { name: 'lab', match: ANY },
  ];

  /** `lab` made it, and `field` matches it now. */
  async function moved(now: CoreOptions['entries'] = entries): Promise<Core> {
    const core = await (await up()).restart({ entries: now });
    await core.follow({ [TEMPLATE]: templateText({ web: 'name: web, size: small, color: red' }) });
    expect(core.ledger.server('web')).toMatchObject({ state: 'blocked', reason: { code: 'provider_changed' } });
    return core;
  }

  it('is replaced: its entry deletes it, the other one checks and creates it', async () => {
    const core = await moved();
    await core.operator.replace(core.order, 'web');
    await core.settle();
    expect(core.ledger.server('web')).toMatchObject({ state: 'done', provider: 'field' });
    expect(core.provider.calls.map(({ operation }) => operation)).toEqual(['delete', 'check', 'create']);
    const { events } = await core.operator.events(core.order.by, 'shop', { after: 0, limit: 100 });
    const begun = events.flatMap(({ reason }) => /(\w+) begins.*entry "(\w+)"/.exec(reason)?.slice(1).join(' ') ?? []);
    expect(begun).toEqual(['create lab', 'delete lab', 'create field']);
  });

  it('is not replaced if the entry that created it is gone', async () => {
    const core = await moved([{ name: 'field', match: ANY }]);
    const asked = core.operator.replace(core.order, 'web');
    await expect(asked).rejects.toThrow('only the provider entry "lab" can delete it, which is not in the settings');
    expect(core.calls('delete')).toEqual([]);
  });

  it('stays blocked if that entry does not find it, and can be adopted later', async () => {
    const core = await moved();
    answering(core, 'check', async () => answerOf('absent'));
    await core.operator.adopt(core.order, { all: true });
    await core.settle();
    expect(core.ledger.server('web')).toMatchObject({
      state: 'blocked',
      provider: 'lab',
      adopting: false,
      reason: { code: 'provider_changed', text: expect.stringContaining('"field" does not find it') },
    });
    expect(core.ledger.server('web')?.applied).not.toBeNull();
    core.provider.script = () => undefined;
    await core.operator.adopt(core.order, { all: true });
    await core.settle();
    expect(core.ledger.server('web')?.provider).toBe('field');
    expect(core.calls('create')).toEqual([]);
  });
});
