// Objects that cannot be read, over restarts, over a lost store, and where somebody writes beside them.
import { describe, expect, it } from 'vitest';
import { linkTo } from '../catalog/snapshots.ts';
import type { TextChanges } from '../support/text-repository.ts';
import { Core } from './core.ts';

const SHOP = 'stacks/instances/shop.yaml';
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'hierarchy.yaml': 'merge: { packages: unique }\n',
  'clients/A1.yaml': 'role: administrator\n',
  'types/common/global.yaml': 'ntp: a\n',
  'stacks/templates/t.yaml': 'resources: { a: { type: "Platform::Server", properties: {} } }\n',
  [SHOP]: 'stackTemplate: t\n',
  'stacks/instances/farm.yaml': 'stackTemplate: t\n',
};

async function started(): Promise<Core> {
  const core = new Core({ budget: { percent: 100, least: 100, most: 100 } });
  core.source.commit(FILES);
  await core.poll();
  expect(core.states()).toEqual({ 'farm-a': 'done', 'shop-a': 'done' });
  return core;
}

function checked({ reader, operator }: Core) {
  return {
    statuses: Object.fromEntries(reader.instances().map(({ name }) => [name, reader.status(name)])),
    records: ['farm-a', 'shop-a'].map((name) => reader.record(name)),
    problems: operator.problems().problems,
  };
}

const UNREADABLE: readonly (readonly [what: string, changes: TextChanges])[] = [
  ['the layer of all is a link', { 'types/common/global.yaml': linkTo('x') }],
  ['the types are a link', { 'types/common/global.yaml': null, types: linkTo('x', '160000') }],
  ['the template ends in .yml', { 'stacks/templates/t.yaml': null, 'stacks/templates/t.yml': '' }],
];

describe.each(UNREADABLE)('where %s', (_what, changes) => {
  it('nothing is deleted, and the answers are the same after a restart and after another commit', async () => {
    const core = await started();
    const { records } = checked(core);
    core.source.commit(changes);
    await core.poll();
    const before = checked(core);
    expect(before.records).toEqual(records);
    expect(Object.values(before.statuses)).toContain('Invalid');
    const again = await core.restart();
    expect(checked(again)).toEqual(before);
    again.source.commit({ 'types/zone/z.yaml': 'a: 1\n', README: 'x' });
    await again.poll();
    await again.pass(3_600_000);
    expect(checked(again).statuses).toEqual(before.statuses);
    expect(again.calls('delete')).toEqual([]);
    expect(again.states()).toEqual({ 'farm-a': 'done', 'shop-a': 'done' });
  });
});
