// Objects that cannot be read, over restarts, over a lost store, and where somebody writes beside them.
import { describe, expect, it } from 'vitest';
import { desiredAfter } from '../../src/service/write/check-edits.ts';
import { deleteInstanceDraft, putInstanceDraft } from '../../src/service/write/drafts.ts';
import { linkTo } from '../catalog/snapshots.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';
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

/** Another controller on the same branch and servers, without a single row. */
async function withLostStore(core: Core): Promise<Core> {
  const { source, clock } = core;
  const next = new Core({}, { rows: new Map(), servers: new Map(), source, clock });
  await next.settle();
  return next;
}

function checked({ reader, operator }: Core) {
  return {
    statuses: Object.fromEntries(reader.instances().map(({ name }) => [name, reader.status(name)])),
    records: ['farm-a', 'shop-a'].map((name) => reader.record(name)),
    problems: operator.problems().problems,
  };
}

const UNREADABLE: readonly (readonly [what: string, changes: TextChanges])[] = [
  ['an instance is a link', { [SHOP]: linkTo('x') }],
  ['an instance ends in .yml', { [SHOP]: null, 'stacks/instances/shop.yml': 'stackTemplate: t\n' }],
  ['an instance is hidden', { [SHOP]: null, 'stacks/instances/.shop.yaml': 'stackTemplate: t\n' }],
  ['an instance is a backup', { [SHOP]: null, [`${SHOP}.bak`]: 'stackTemplate: t\n' }],
  ['an instance is a folder', { [SHOP]: null, [`${SHOP}/x`]: '' }],
  [
    'the instances are a submodule',
    { [SHOP]: null, 'stacks/instances/farm.yaml': null, 'stacks/instances': linkTo('x') },
  ],
  ['the layer of all is a link', { 'types/common/global.yaml': linkTo('x') }],
  ['the types are a link', { 'types/common/global.yaml': null, types: linkTo('x', '160000') }],
  ['the template has a blank in its name', { 'stacks/templates/t.yaml': null, 'stacks/templates/t .yaml': '' }],
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

  it('a lost store finds what was in force in the history', async () => {
    const core = await started();
    core.source.commit(changes);
    core.source.commit({ README: 'x' });
    await core.poll();
    const before = checked(core);
    const next = await withLostStore(core);
    expect(checked(next).statuses).toEqual({ ...before.statuses });
    expect(checked(next).problems).toEqual(before.problems);
    expect(Object.keys(next.states())).toEqual(Object.keys(core.states()));
  });
});

const LAYER = 'types/common/global.yaml';
const TYPES_A_LINK = { [LAYER]: null, types: linkTo('x') };

it.each<[string, readonly TextChanges[]]>([
  [
    'in a folder that a link stands for now',
    [
      { [LAYER]: null, [`${LAYER}/x`]: '' },
      { [`${LAYER}/x`]: null, types: linkTo('x') },
    ],
  ],
  ['and was wrong before', [{ [LAYER]: 'ntp: [' }, { [LAYER]: linkTo('x') }]],
  ['in a folder that a link stands for now, and was wrong before', [{ [LAYER]: 'ntp: [' }, TYPES_A_LINK]],
  [
    'and the commit before was not taken',
    [
      { 'tree.yaml': 'name: 1\n', [LAYER]: 'ntp: b\n' },
      { ...TYPES_A_LINK, 'tree.yaml': FILES['tree.yaml'] },
    ],
  ],
])('a lost store finds what cannot be read %s', async (_what, commits) => {
  const core = await started();
  for (const changes of commits) {
    core.source.commit(changes);
    await core.poll();
  }
  const lost = await withLostStore(core);
  expect(checked(lost).records).toMatchObject([{ ntp: 'a' }, { ntp: 'a' }]);
  expect(checked(lost).problems).toEqual(checked(core).problems);
});

describe('a write', () => {
  function followed(changes: TextChanges) {
    const repository = new TextRepository();
    repository.commit(FILES);
    return repository.commit(changes);
  }

  it.each(UNREADABLE)('beside it is judged with it in place, where %s', (_what, changes) => {
    const desired = followed(changes);
    const draft = putInstanceDraft('new', { stackTemplate: 'o' }, { force: true });
    const edits = [{ path: 'stacks/templates/o.yaml', text: 'resources: {}\n' }, ...draft.edits(desired)];
    const after = desiredAfter(desired, edits, draft).desired;
    expect(after.problems).toEqual(desired.problems);
    expect(after.owners).toEqual(desired.owners);
  });

  it('to it, or of its removal, is for somebody with git', () => {
    for (const [, changes] of UNREADABLE.slice(0, 4)) {
      const desired = followed(changes);
      const put = putInstanceDraft('shop', { stackTemplate: 't', description: 'x' }, { force: true });
      expect(() => put.edits(desired)).toThrow(/by hand, with git/);
      expect(() => deleteInstanceDraft('shop', () => false).edits(desired)).toThrow(/by hand, with git/);
    }
  });

  it('that removes an object is refused where another spelling would stand for it then', () => {
    const desired = followed({ 'stacks/instances/shop.yml': '' });
    const draft = deleteInstanceDraft('shop', () => false);
    expect(() => desiredAfter(desired, draft.edits(desired), draft)).toThrow(/in use|not read/);
  });
});

it('a lost store takes no version of an instance from a commit in which a layer could not be read', async () => {
  const core = new Core();
  const common = 'types/common/global.yaml';
  core.source.commit(FILES);
  core.source.commit({ [common]: null, 'types/common': linkTo('x') });
  core.source.commit({ 'stacks/instances/late.yaml': 'stackTemplate: t\n' });
  core.source.commit({ 'stacks/instances/late.yaml': 'stackTemplate: nope\n' });
  core.source.commit({ 'types/common': null, [common]: 'ntp: b\n' });
  await core.poll();
  expect(core.reader.status('late')).toBe('Invalid');
  expect(core.states()).toEqual({ 'farm-a': 'done', 'shop-a': 'done' });
  expect(core.reader.record('shop-a')).toMatchObject({ ntp: 'b' });
});

it('a lost store knows in an older commit a layer that neither that one nor the newest has readable', async () => {
  const core = new Core();
  const common = 'types/common/global.yaml';
  const stray = 'types/common/global .yaml';
  const late = 'stacks/instances/late.yaml';
  core.source.commit(FILES);
  core.source.commit({ [common]: null, [stray]: 'ntp: b\n' });
  core.source.commit({ [late]: 'stackTemplate: t\n' });
  core.source.commit({ [late]: null, 'stacks/instances/.late.yaml': 'stackTemplate: t\n' });
  core.source.commit({ [common]: 'ntp: c\n', [stray]: null });
  core.source.commit({ [common]: null, [stray]: 'ntp: c\n' });
  await core.poll();
  expect(core.states()).toEqual({ 'farm-a': 'done', 'shop-a': 'done' });
  expect(core.reader.record('shop-a')).toMatchObject({ ntp: 'c' });
});
