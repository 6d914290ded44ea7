// An operator has a server forgotten and left as it is, or deleted and made again.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';
import { answering, buildByHand, SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const ANY = { kind: null, properties: {} };
const WEB = { web: 'name: web, size: small' };

async function up(options: CoreOptions = {}, instance = ''): Promise<Core> {
  const core = new Core(options);
  core.source.commit(shopFiles(WEB, instance));
  await core.poll();
  expect(core.states()).toEqual({ web: 'done' });
  return core;
}

describe('retain', () => {
  async function unwanted(outcome: 'failed' | 'retryable' = 'failed'): Promise<Core> {
    const core = await up();
    answering(core, 'delete', async () => answerOf(outcome, { message: 'locked' }));
    core.source.commit({ [SHOP]: null });
    await core.poll();
    return core;
  }

  it.each(['failed', 'retryable'] as const)(
    'forgets a server whose delete is %s, and calls nobody',
    async (outcome) => {
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
    },
  );

  it('is refused while the delete runs', async () => {
    const core = await up();
    answering(core, 'delete', () => new Promise(() => undefined));
    core.source.commit({ [SHOP]: null });
    await core.poll();
    expect(core.states()).toEqual({ web: 'deleting' });
    await expect(core.operator.retain(core.order, 'web')).rejects.toThrow('its delete is running');
    expect(core.states()).toEqual({ web: 'deleting' });
  });

  it('is refused for a wanted server, with advice', async () => {
    const core = await up();
    const asked = core.operator.retain(core.order, 'web');
    await expect(asked).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('deletion: retain'),
    });
    await expect(core.operator.retain(core.order, 'wob')).rejects.toMatchObject({ code: 'not_found' });
    expect(core.states()).toEqual({ web: 'done' });
  });
});

describe('replace', () => {
  it('deletes, finds nothing, and creates one new incarnation, beyond any budget', async () => {
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

  it('is refused for a protected, an unwanted, a stranger and a busy server, and one that is being replaced', async () => {
    const kept = await up({}, 'protected: true\n');
    await expect(kept.operator.replace(kept.order, 'web')).rejects.toThrow('its instance is protected');

    const core = await up();
    answering(core, 'delete', () => new Promise(() => undefined));
    await core.operator.suspend(core.order, { instance: 'shop', until: null });
    await core.operator.replace(core.order, 'web');
    await expect(core.operator.replace(core.order, 'web')).rejects.toThrow('it is being replaced already');
    await core.operator.resume(core.order, 'shop');
    await core.settle();
    await expect(core.operator.replace(core.order, 'web')).rejects.toThrow(
      'the outcome of its delete is not known yet',
    );
    core.source.commit({ [SHOP]: null });
    await core.poll();
    await expect(core.operator.replace(core.order, 'web')).rejects.toThrow('no commit wants it any more');

    const found = await up();
    buildByHand(found, 'db');
    found.source.commit({ [TEMPLATE]: templateText({ ...WEB, db: 'name: db, size: small' }) });
    await found.poll();
    await expect(found.operator.replace(found.order, 'db')).rejects.toThrow('Treeline did not make it');
  });
});

describe('a request to replace', () => {
  const PROTECTED = { [SHOP]: 'stackTemplate: t\nprotected: true\n' };
  const OPEN = { [SHOP]: 'stackTemplate: t\n' };

  /** A request that waits, since its instance is suspended, and what a commit brings meanwhile. */
  async function overtaken(files: Readonly<Record<string, string>>, options: CoreOptions = {}): Promise<Core> {
    const core = await up(options);
    await core.operator.suspend(core.order, { instance: 'shop', until: null });
    await core.operator.replace(core.order, 'web');
    core.source.commit(files);
    await core.poll();
    await core.operator.resume(core.order, 'shop');
    await core.settle();
    return core;
  }

  it('counts against the budget where its instance was protected meanwhile', async () => {
    const core = await overtaken(PROTECTED, { budget: { percent: 0, least: 0, most: 0 } });
    core.source.commit(OPEN);
    await core.poll();
    expect(core.calls('delete')).toEqual([]);
    expect(core.held('shop')?.resources).toEqual(['web']);
  });
});

describe('a server that another provider entry matches now', () => {
  const SMALL = { kind: null, properties: { size: 'small' } };
  const entries = [
    { name: 'field', match: SMALL },
    { name: 'lab', match: ANY },
  ];

  /** `lab` made it, and `field` matches it now. */
  async function moved(now: CoreOptions['entries'] = entries): Promise<Core> {
    const core = await (await up()).restart({ entries: now });
    core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web, size: small, color: red' }) });
    await core.poll();
    expect(core.ledger.server('web')).toMatchObject({ state: 'blocked', reason: { code: 'provider_changed' } });
    return core;
  }

  it('is replaced: the entry that made it deletes it, the other one looks and creates it', async () => {
    const core = await moved();
    await core.operator.replace(core.order, 'web');
    await core.settle();
    expect(core.ledger.server('web')).toMatchObject({ state: 'done', provider: 'field' });
    expect(core.provider.calls.map(({ operation }) => operation)).toEqual(['delete', 'check', 'create']);
    const { events } = await core.operator.events(core.order.by, 'shop', { after: 0, limit: 100 });
    const begun = events.flatMap(({ reason }) => /(\w+) begins.*entry "(\w+)"/.exec(reason)?.slice(1).join(' ') ?? []);
    expect(begun).toEqual(['create lab', 'delete lab', 'create field']);
  });

  it('is not replaced where the entry that made it is gone', async () => {
    const core = await moved([{ name: 'field', match: ANY }]);
    const asked = core.operator.replace(core.order, 'web');
    await expect(asked).rejects.toThrow('only the provider entry "lab" can delete it, which is not in the settings');
    expect(core.calls('delete')).toEqual([]);
  });

  it('stays as it is where that entry does not find it, and may be asked again', async () => {
    const core = await moved();
    answering(core, 'check', async () => answerOf('absent'));
    await core.operator.adopt(core.order, { all: true });
    await core.settle();
    expect(core.ledger.server('web')).toMatchObject({
      ...{ state: 'blocked', provider: 'lab', adopting: false, reason: { code: 'provider_changed' } },
      reason: { text: expect.stringContaining('"field" does not find it') },
    });
    expect(core.ledger.server('web')?.applied).not.toBeNull();
    core.provider.script = () => undefined;
    await core.operator.adopt(core.order, { all: true });
    await core.settle();
    expect(core.ledger.server('web')?.provider).toBe('field');
    expect(core.calls('create')).toEqual([]);
  });
});
