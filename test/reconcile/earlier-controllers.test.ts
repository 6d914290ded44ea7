// After a lost or restored store, actions of an earlier controller may still run at services and proxies: where anything shows
// that there was one, nothing begins before the longest of them is over. A first start waits for nothing.
import { describe, expect, it } from 'vitest';
import { restoredAt } from '../../src/follow/renew-incarnations.ts';
import type { Client } from '../../src/model/objects.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { beginningChanges } from '../../src/reconcile/passes/earlier-controller.ts';
import { allowed } from '../support/allowed.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { shopFiles, TEMPLATE, templateText } from './shop.ts';

/** The entries of the core have a time limit of 60 s; a second is its grace. */
const LONGEST = 61_000;
const FILES = 'the store is empty, and its directory has "repository" of an earlier one';

interface Life {
  readonly ends?: Provider['lostActionEnds'];
  readonly sign?: string;
  /** What is there already. */
  readonly present?: readonly string[];
}

/** A controller whose store begins now, at a site with these servers. */
async function begin({ ends = 'after its deadline', sign, present = [] }: Life): Promise<Core> {
  const core = new Core();
  core.provider.lostActionEnds = ends;
  for (const name of present) core.provider.build(name, { name });
  if (sign !== undefined) await core.ledger.commit(beginningChanges(core.ledger, core.clock.now(), sign));
  core.source.commit(shopFiles(SHOP));
  await core.poll();
  return core;
}

const SHOP = { a: 'size: small', b: 'size: small', c: 'size: small' };

describe('a first start', () => {
  it('waits for nothing', async () => {
    const core = await begin({});
    expect(core.states()).toEqual({ 'shop-a': 'done', 'shop-b': 'done', 'shop-c': 'done' });
    expect(core.clock.now()).toBe(new Core().clock.now());
  });
});

const SIGNS: readonly (readonly [string, Life, string])[] = [
  ['files of its state', { sign: FILES }, FILES],
  ['a server that is there already', { present: ['shop-c'] }, 'shop-c was there already'],
];

describe.each(SIGNS)('an earlier controller that is shown by %s', (_, life, sign) => {
  it('may have begun an action of a service: nothing is created before that is over, and `why` says so', async () => {
    const first = await begin(life);
    expect(first.calls('create')).toEqual([]);
    const item = first.operator.why(first.order.by, 'shop').waiting.find(({ resource }) => resource === 'shop-a');
    const until = new Date(first.clock.now() + LONGEST).toISOString();
    expect(item).toMatchObject({ until });
    expect(item?.reason).toBe(
      `waits until ${until}: an earlier controller may have begun an action there that still runs (${sign})`,
    );
    await first.pass(20_000);
    const core = await first.restart();
    await core.pass(LONGEST - 20_001);
    expect(core.calls('create')).toEqual([]);
    // That is what the earlier one had begun.
    core.provider.build('shop-a', { name: 'shop-a', size: 'small' });
    await core.pass(1);
    expect(core.calls('create')).toEqual(life.present === undefined ? ['shop-b', 'shop-c'] : ['shop-b']);
    expect(core.states()['shop-a']).toBe('blocked');
  });

  it.each(['with the controller', 'with its call'] as const)('has left nothing that ends %s', async (ends) => {
    const core = await begin({ ...life, ends });
    expect(core.calls('create')).toEqual(['shop-a', 'shop-b', 'shop-c'].filter((name) => name !== life.present?.[0]));
  });

  it('has left nothing that a later server waits for', async () => {
    const core = await begin(life);
    await core.pass(LONGEST);
    core.source.commit({ [TEMPLATE]: templateText({ ...SHOP, d: 'size: small' }) });
    await core.poll();
    expect(core.calls('create')).toContain('shop-d');
  });
});

it('a server that is there does not count where it is found later: somebody else has built it', async () => {
  const core = await begin({});
  await core.pass(LONGEST);
  core.provider.build('shop-e', { name: 'shop-e' });
  core.source.commit({ [TEMPLATE]: templateText({ ...SHOP, d: 'size: small', e: 'size: small' }) });
  await core.poll();
  expect(core.calls('create')).toContain('shop-d');
});

it('a server that the earlier controller makes in the end is found, also where it was absent a moment ago', async () => {
  const core = await begin({ sign: FILES });
  await core.pass(LONGEST - 1_000);
  core.source.commit({ [TEMPLATE]: templateText({ ...SHOP, d: 'size: small' }) });
  await core.poll();
  expect(core.calls('check').filter((name) => name === 'shop-d')).toHaveLength(1);
  core.provider.build('shop-d', { name: 'shop-d' });
  await core.pass(1_000);
  expect(core.states()['shop-d']).toBe('blocked');
});

it('a check that does not end keeps creates of other servers waiting for 30 s at most', async () => {
  const core = new Core();
  core.provider.lostActionEnds = 'after its deadline';
  core.provider.script = ({ operation, resource }) =>
    operation === 'check' && resource === 'shop-b' ? new Promise(() => undefined) : undefined;
  core.source.commit(shopFiles({ a: 'size: small', b: 'size: small' }));
  await core.poll();
  expect([core.calls('create'), core.waitReason('shop-a')]).toEqual([
    [],
    'waits until shop-b was checked: what is there already would show an earlier controller',
  ]);
  await core.pass(30_000);
  expect(core.calls('create')).toEqual(['shop-a']);
});

it('a restored store begins no action of a service before those begun since the backup are over', async () => {
  const first = await begin({});
  await first.ledger.commit(restoredAt(first.ledger, first.clock.now()));
  const core = await first.restart();
  core.source.commit({ [TEMPLATE]: templateText({ ...SHOP, a: 'size: large', d: '' }) });
  await core.poll();
  expect([core.calls('update'), core.calls('create')]).toEqual([[], []]);
  expect(core.waitReason('shop-d')).toContain('(the store was restored from a backup)');
  await core.pass(LONGEST);
  expect([core.calls('update'), core.calls('create')]).toEqual([['shop-a'], ['shop-d']]);
});

describe('a proxy', () => {
  const fields = { name: 'B1', type: 'client', description: '', fingerprint: '', tenant: '' } as const;
  const by: Client = { ...fields, role: 'proxy', serial: 'B1' };
  const CLIENTS = { 'clients/B1.yaml': 'role: proxy\n', 'clients/B2.yaml': 'role: proxy\ntags: [edge]\n' };

  /** Carries out what is offered first. */
  async function carryOut(core: Core, outcome: 'done' | 'absent'): Promise<string | undefined> {
    const id = core.agent?.actions(by, 1)[0]?.id;
    if (id === undefined) return undefined;
    const claiming = core.agent?.claim(allowed(by), id, null);
    await core.settle();
    const lease = (await claiming)?.lease ?? '';
    const reported = core.agent?.report(by, id, { lease, answer: answerOf(outcome) });
    await core.settle();
    await reported;
    return id;
  }

  async function proxied(shop: Parameters<typeof shopFiles>[0] = { a: 'size: small' }): Promise<Core> {
    const core = new Core({ hasProxied: true, entries: [] });
    core.source.commit({ ...CLIENTS, ...shopFiles(shop) });
    await core.poll();
    return core;
  }

  it.each(['heartbeat', 'report'] as const)(
    'that tells of an unfinished action by a %s shows an earlier controller',
    async (way) => {
      const core = await proxied();
      const id = `shop-a.${core.clock.now() - 3_600_000}.create`;
      const telling = async (): Promise<void> => {
        if (way === 'heartbeat') core.agent?.heartbeat(by, id, 'a lease');
        else await core.agent?.report(by, id, { lease: 'a lease', answer: answerOf('done') });
      };
      await expect(telling()).rejects.toMatchObject({ code: 'conflict' });
      await core.settle();
      expect(await carryOut(core, 'absent')).toMatch(/check$/);
      expect(core.agent?.actions(by, 1)).toEqual([]);
      expect(core.waitReason('shop-a')).toContain(`(a proxy is at work on ${id})`);
      await core.pass(LONGEST);
      expect(await carryOut(core, 'absent')).toMatch(/check$/);
      expect(await carryOut(core, 'done')).toMatch(/create$/);
      expect(core.states()).toEqual({ 'shop-a': 'done' });
    },
  );

  it('creates nothing before the others were checked: one that is there shows an earlier controller', async () => {
    const core = await proxied({ a: 'size: small', b: 'size: small' });
    expect(await carryOut(core, 'absent')).toMatch(/^shop-a\..*check$/);
    expect(core.waitReason('shop-a')).toContain('waits until shop-b was checked');
    expect(await carryOut(core, 'done')).toMatch(/^shop-b\..*check$/);
    expect(core.agent?.actions(by, 10)).toEqual([]);
    expect(core.waitReason('shop-a')).toContain('(shop-b was there already)');
  });

  it('creates a server after a minute, also where another one was not checked', async () => {
    const core = await proxied({ a: 'size: small', b: 'size: small' });
    expect(await carryOut(core, 'absent')).toMatch(/^shop-a\..*check$/);
    await core.pass(59_000);
    expect(core.agent?.actions(by, 10).map(({ resource }) => resource)).toEqual(['shop-b']);
    await core.pass(1_000);
    expect(new Set(core.agent?.actions(by, 10).map(({ resource }) => resource))).toEqual(new Set(['shop-a', 'shop-b']));
  });

  it('creates a server at once where those of another site were not checked', async () => {
    const core = await proxied({ a: 'size: small', b: 'size: small, ProxyTag: edge' });
    expect(await carryOut(core, 'absent')).toMatch(/^shop-a\..*check$/);
    expect(await carryOut(core, 'done')).toMatch(/^shop-a\..*create$/);
  });

  it('that reports late, or again, shows none', async () => {
    const core = await proxied();
    const late = await carryOut(core, 'absent');
    await expect(core.agent?.report(by, late ?? '', { lease: 'x', answer: answerOf('done') })).rejects.toThrow();
    await core.settle();
    expect(await carryOut(core, 'done')).toMatch(/create$/);
  });
});
