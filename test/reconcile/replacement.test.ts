// Servers that their provider can only change by building them anew: each is a delete, and counts as one.

import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';

function templateText(size: string, pace: string): string {
  return `parameters: { count: "1" }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", ${pace}resource_def: { properties: { size: ${size} } } }
`;
}

const TEMPLATE = 'stacks/templates/t.yaml';

function files(counts: Readonly<Record<string, number>>, size = 'small', pace = ''): Readonly<Record<string, string>> {
  const instances = Object.entries(counts).map(([name, count]) => [
    `stacks/instances/${name}.yaml`,
    `stackTemplate: t\nparameters: { count: "${count}" }\n`,
  ]);
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'clients/A1.yaml': 'role: administrator\n',
    [TEMPLATE]: templateText(size, pace),
    ...Object.fromEntries(instances),
  };
}

/** Makes the provider answer every update with "replace". */
function replaceAll(core: Core): void {
  core.provider.script = ({ operation }): Promise<Answer> | undefined =>
    operation === 'update' ? Promise.resolve(answerOf('replace', { message: 'another disk is needed' })) : undefined;
}

/** A desired state that is up, whose provider replaces instead of updating. */
async function up(counts: Readonly<Record<string, number>>, options: CoreOptions = {}, pace = ''): Promise<Core> {
  const core = await Core.following(files(counts, 'small', pace), options);
  expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  replaceAll(core);
  return core;
}

/** A commit that wants every server large. */
async function enlarge(core: Core, pace = ''): Promise<void> {
  await core.follow({ [TEMPLATE]: templateText('large', pace) });
}

function sizesIn(core: Core): Readonly<Record<string, unknown>> {
  const rows = [...core.ledger.list('server')];
  return Object.fromEntries(rows.map(([name, { applied }]) => [name, applied?.properties.size ?? 'gone']).sort());
}

function isLarge(core: Core): boolean {
  return Object.values(sizesIn(core)).every((size) => size === 'large');
}

describe('a server that must be replaced', () => {
  it('is deleted, then created as a new incarnation, and counts as one server', async () => {
    const core = await up({ shop: 1 });
    const before = core.ledger.server('shop-s-1');
    await enlarge(core);
    const changes = core.provider.calls.filter(({ operation }) => operation !== 'check').slice(-3);
    expect(changes.map(({ operation }) => operation)).toEqual(['update', 'delete', 'create']);
    expect(sizesIn(core)).toEqual({ 'shop-s-1': 'large' });
    expect(core.ledger.server('shop-s-1')).toMatchObject({
      state: 'done',
      replacing: false,
      dirty: false,
      incarnation: (before?.incarnation ?? 0) + 1,
    });
    expect([...core.ledger.list('removal').keys()]).toEqual([`shop-s-1/${before?.incarnation}`]);
    const actions = core.provider.calls.filter(({ operation }) => operation === 'create').map(({ action }) => action);
    expect(new Set(actions).size).toBe(2);
  });
});

describe('a replacement that was approved before its instance was protected', () => {
  const shopText = (more: string): string => `stackTemplate: t\nparameters: { count: "4" }\n${more}`;

  it('needs another approval after the protection ended', async () => {
    const core = await up({ shop: 4 });
    await core.operator.suspend(core.order, { instance: 'shop', until: null });
    for (const number of [1, 2, 3, 4]) await core.operator.replace(core.order, `shop-s-${number}`);
    await core.settle();
    await core.follow({ 'stacks/instances/shop.yaml': shopText('protected: true\n') });
    await core.pass(60_000);
    await core.follow({ 'stacks/instances/shop.yaml': shopText('') });
    await core.operator.resume(core.order, 'shop');
    await core.settle();
    for (let pass = 0; pass < 3; pass += 1) await core.pass(60_000);
    expect(core.calls('delete')).toEqual([]);
    const { digest = '', resources } = core.held('shop') ?? {};
    expect(resources).toHaveLength(4);
    await core.approve(digest);
    expect(core.calls('delete')).toHaveLength(4);
  });
});

describe('replacements beyond the budget', () => {
  it('are held per instance until an operator approves', async () => {
    const core = await up({ a: 1, b: 1, c: 1, d: 1 });
    await enlarge(core);
    // Nothing was deleted: that all four are to be replaced was known before the first began.
    expect(core.calls('delete')).toEqual([]);
    expect(core.operator.held().map(({ instance, resources }) => [instance, resources])).toEqual([
      ['a', ['a-s-1']],
      ['b', ['b-s-1']],
      ['c', ['c-s-1']],
      ['d', ['d-s-1']],
    ]);
    for (const instance of ['a', 'b', 'c', 'd']) expect(core.reader.status(instance)).toBe('Awaiting approval');
    for (const instance of ['a', 'b', 'c', 'd']) await core.approve(core.held(instance)?.digest ?? '');
    expect(isLarge(core)).toBe(true);
    expect(core.operator.held()).toEqual([]);
    expect(core.ledger.list('removal').size).toBe(0);
  });
});
