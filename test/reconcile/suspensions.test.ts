// Tests when a suspension ends, and where it goes with the servers of its instance.
import { describe, expect, it } from 'vitest';
import type { TextChanges } from '../support/text-repository.ts';
import { at } from './build.ts';
import { Core } from './core.ts';
import { shopFiles, TEMPLATE } from './shop.ts';

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

describe('goes with the servers of its instance', () => {
  const A = 'stacks/instances/a.yaml';
  const B = 'stacks/instances/b.yaml';

  function text(prefix: string, count: number, size = 'small'): string {
    return `stackTemplate: t\nparameters: { prefix: ${prefix}, count: "${count}", size: ${size} }\n`;
  }

  const FILES = {
    ...shopFiles({}),
    [TEMPLATE]: `parameters: { prefix: z, count: "0", size: small, start: "1" }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", index_start: "<<start>>", resource_def: { properties: { name: "<<prefix>>-<<index>>", size: "<<size>>" } } }
`,
    [A]: text('x', 2),
    [B]: text('y', 1),
  };

  /** An instance with one server, of this name. */
  function one(name: string): string {
    const [prefix = '', index = ''] = name.split('-');
    return `stackTemplate: t\nparameters: { prefix: ${prefix}, count: "1", start: "${index}" }\n`;
  }

  /** `a` has two servers and is suspended. */
  async function suspended(): Promise<Core> {
    const core = new Core();
    core.source.commit(FILES);
    await core.poll();
    await core.operator.suspend({ ...core.order, reason: 'sale' }, { instance: 'a', until: null });
    return core;
  }

  it.each<[name: string, taker: string, commits: readonly TextChanges[]]>([
    ['to the file that it is renamed to', 'c', [{ [A]: null, 'stacks/instances/c.yaml': text('x', 2, 'large') }]],
    ['to another instance', 'b', [{ [A]: null, [B]: text('x', 2, 'large') }]],
    ['to another instance by two commits that come at once', 'b', [{ [A]: null }, { [B]: text('x', 2, 'large') }]],
    [
      'through a third one',
      'c',
      [
        { [A]: null, [B]: text('x', 2) },
        { [B]: null, 'stacks/instances/c.yaml': text('x', 2, 'large') },
      ],
    ],
  ])('%s, until a person resumes that', async (_, taker, commits) => {
    let core = await suspended();
    for (const files of commits) core.source.commit(files);
    await core.poll();
    await core.pass(60_000);
    core = await core.restart();
    await core.pass(3_600_000);
    expect(core.ledger.list('suspension').get(taker)).toMatchObject({ by: 'A1', reason: 'sale', until: null });
    expect(core.ledger.list('suspension').has('a')).toBe(false);
    expect(core.reader.status(taker)).toBe('Suspended');
    expect([core.calls('update'), core.calls('delete')]).toEqual([[], []]);
    await core.operator.resume(core.order, taker);
    await core.settle();
    expect(core.calls('update')).toEqual(['x-1', 'x-2']);
  });

  it('where only one server goes, and stays where the others are; both say why', async () => {
    const core = await suspended();
    core.source.commit({ [A]: text('x', 1), 'stacks/instances/c.yaml': one('x-2') });
    await core.poll();
    expect([...core.ledger.list('suspension').keys()].sort()).toEqual(['a', 'c']);
    const { waiting } = core.operator.why(core.order.by, 'c');
    expect(waiting[0]?.reason).toContain('suspended a, and servers of a came here: sale');
    const { events } = await core.operator.events(core.order.by, 'c', { after: 0, limit: 100 });
    expect(events.map(({ reason }) => reason)).toContain('until it is resumed; it came with servers of a');
  });

  it('with its end; the suspension of the taker stays where it lasts longer', async () => {
    const core = await suspended();
    const until = at(core.clock.now() + 3_600_000);
    await core.operator.suspend(core.order, { instance: 'a', until });
    core.source.commit({ [A]: null, [B]: text('x', 2, 'large') });
    await core.poll();
    expect(core.ledger.read('suspension', 'b')).toMatchObject({ until });
    await core.operator.suspend(core.order, { instance: 'b', until: null });
    core.source.commit({ [A]: text('x', 1), [B]: one('x-2') });
    await core.poll();
    await core.operator.suspend(core.order, { instance: 'a', until });
    core.source.commit({ [A]: null, [B]: text('x', 2, 'large') });
    await core.poll();
    expect(core.ledger.read('suspension', 'b')).toMatchObject({ until: null });
  });

  it.each<[name: string, count: number, isHeld: boolean]>([
    ['which is gone', 1, false],
    ['whose deletes are held', 5, true],
  ])('to an instance whose file is that of one %s, though its servers have other names', async (_, count, isHeld) => {
    const core = new Core();
    const named = `stackTemplate: named\nparameters: { count: "${count}" }\n`;
    const template =
      'parameters: { count: "0" }\nresources: { s: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: {} } } } }\n';
    core.source.commit({ ...FILES, [A]: named, 'stacks/templates/named.yaml': template });
    await core.poll();
    await core.operator.suspend(core.order, { instance: 'a', until: null });
    core.source.commit({ [A]: null, 'stacks/instances/c.yaml': named });
    await core.poll();
    const held = core.held('a');
    expect(held !== undefined).toBe(isHeld);
    if (held !== undefined) await core.approve(held.digest);
    await core.pass(60_000);
    expect([...core.ledger.list('suspension').keys()].sort()).toEqual(['a', 'c']);
    expect(core.states()).toMatchObject({ 'a-s-1': 'marked for delete', 'c-s-1': 'pending' });
  });

  it('not where it is over, and not to an instance that takes the name of a forgotten server', async () => {
    const core = await suspended();
    await core.operator.suspend(core.order, { instance: 'a', until: at(core.clock.now() + 1_000) });
    await core.pass(2_000);
    core.source.commit({ [A]: null, [B]: text('x', 2) });
    await core.poll();
    expect(core.ledger.list('suspension').has('b')).toBe(false);
    await core.operator.suspend(core.order, { instance: 'b', until: null });
    core.source.commit({ [B]: `${text('x', 2)}deletion: retain\n` });
    core.source.commit({ [B]: null });
    core.source.commit({ 'stacks/instances/c.yaml': text('x', 2, 'large') });
    await core.poll();
    expect(core.ledger.list('suspension').has('c')).toBe(false);
  });
});

describe('ends with its instance, although one of the same name comes back', () => {
  const A = 'stacks/instances/a.yaml';
  const RETAIN = 'deletion: retain\n';
  const some = (count: number, more = ''): string => `stackTemplate: t\nparameters: { count: "${count}" }\n${more}`;

  it.each<[name: string, made: string, wanted: string, end: Readonly<Record<string, string>>]>([
    ['that has no servers', some(0), some(0), {}],
    ['none of whose servers was made', some(0), some(2), { 'a-s-1': 'done', 'a-s-2': 'done' }],
    ['whose servers are retained', some(2, RETAIN), some(2, RETAIN), { 'a-s-1': 'blocked', 'a-s-2': 'blocked' }],
  ])('%s', async (_, made, wanted, end) => {
    async function play(way: 'at once' | 'one by one'): Promise<Core> {
      const core = new Core();
      const template =
        'parameters: { count: "0" }\nresources: { s: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: {} } } } }\n';
      core.source.commit({ ...shopFiles({}), [TEMPLATE]: template, [A]: made });
      await core.poll();
      await core.operator.suspend(core.order, { instance: 'a', until: null });
      if (wanted !== made) core.source.commit({ [A]: wanted });
      await core.poll();
      core.source.commit({ [A]: null });
      if (way === 'one by one') await core.poll();
      core.source.commit({ [A]: wanted });
      await core.poll();
      await core.pass(60_000);
      return core;
    }

    for (const way of ['one by one', 'at once'] as const) {
      const core = await play(way);
      expect(core.states(), way).toEqual(end);
      expect([...core.ledger.list('suspension').keys()], way).toEqual([]);
    }
  });

  it('and goes on where a server of it is to be deleted first', async () => {
    const core = new Core();
    core.source.commit(shopFiles({ web: 'name: web' }));
    await core.poll();
    await core.operator.suspend(core.order, { instance: 'shop', until: null });
    const { 'stacks/instances/shop.yaml': text = '' } = shopFiles({});
    core.source.commit({ 'stacks/instances/shop.yaml': null });
    core.source.commit({ 'stacks/instances/shop.yaml': text });
    await core.poll();
    expect([...core.ledger.list('suspension').keys()]).toEqual(['shop']);
    expect(core.calls('delete')).toEqual([]);
  });
});
