// Tests that commits which come at once mean what they mean one by one, each brought to rest: whatever comes together, and
// whether or not the controller runs meanwhile, no server is deleted, replaced or made twice that is kept one by one.
import { beforeAll, describe, expect, it } from 'vitest';
import { stepsAfter } from '../../src/follow/commit-steps.ts';
import type { Commit } from '../../src/repository/source.ts';
import { answerOf } from '../reconcile/build.ts';
import { Core } from '../reconcile/core.ts';
import { answering } from '../reconcile/shop.ts';
import type { TextChanges } from '../support/text-repository.ts';
import { TOO_MUCH } from '../support/text-source.ts';
import { A, OTHER, START, servers, TREE } from './two-instances.ts';

const B = 'stacks/instances/b.yaml';
const RETAIN = 'deletion: retain\n';
const PROTECTED = 'protected: true\n';
const WRONG = 'stackTemplate: nowhere\n';

interface Pushed {
  readonly files: TextChanges;
  readonly message: string;
}

/** Commits, oldest first. */
type Story = readonly (TextChanges | Pushed)[];

/** A commit that approves that many deletes. */
function approving(count: number, files: TextChanges = {}): Pushed {
  return { files, message: `Yes\n\nTreeline-Approve-Deletes: ${count}\n` };
}

function isPushed(change: TextChanges | Pushed): change is Pushed {
  return typeof change.files === 'object';
}

function commit({ source }: Core, change: TextChanges | Pushed): string {
  return isPushed(change) ? source.commit(change.files, { message: change.message }) : source.commit(change);
}

/** Expects a hold to last over a restart and to end once it is approved, and returns the controller after that. */
async function goneOnceApproved(core: Core, held: { readonly reason: string; readonly digest: string }): Promise<Core> {
  const after = await core.restart();
  await after.poll();
  expect(after.held('a')).toMatchObject(held);
  await after.approve(held.digest);
  await after.pass(60_000);
  expect(after.calls('delete')).not.toEqual([]);
  return after;
}

/** What becomes of the servers in the end is the same, however the commits come. */
const SAME: Readonly<Record<string, Story>> = {
  'servers are retained, then the file is removed': [{ [A]: servers('x', 2, RETAIN) }, { [A]: null }],
  'servers are retained, one goes, and that is taken back': [
    { [A]: servers('x', 2, RETAIN) },
    { [A]: servers('x', 1, RETAIN) },
    { [A]: servers('x', 1) },
  ],
  'one protects an instance, and another removes it': [{ [A]: servers('x', 2, PROTECTED) }, { [A]: null }],
  'one protects an instance, and another scales it in': [
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: servers('x', 1, PROTECTED) },
  ],
  'an instance is protected, made wrong, and removed': [
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: WRONG },
    { [A]: null },
  ],
  'an instance is protected, and given to one that is not': [
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: null, [B]: servers('x', 2) },
    { [B]: null },
  ],
  'protection is lifted, and a server goes': [
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: servers('x', 2) },
    { [A]: servers('x', 1) },
  ],
  'protection is lifted and set again, and a server goes': [
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: servers('x', 2) },
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: servers('x', 1) },
  ],
  'protection is lifted by a commit that nothing can be taken of': [
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: servers('x', 2), 'tree.yaml': 'name: [\n' },
    { [A]: null, 'tree.yaml': TREE },
  ],
  'servers are retained in a commit that nothing can be taken of': [
    { [A]: servers('x', 2, RETAIN), 'tree.yaml': 'name: [\n' },
    { 'tree.yaml': TREE },
    { [A]: null },
  ],
  'servers are retained in a commit that can never be read': [
    { [A]: servers('x', 2, RETAIN), [TOO_MUCH]: '' },
    { [TOO_MUCH]: null },
    { [A]: null },
  ],
  'servers are retained, and the last commit can never be read': [
    { [A]: servers('x', 2, RETAIN) },
    { [A]: null },
    { [TOO_MUCH]: '' },
  ],
  'servers are retained, and nothing can be taken of the last commit': [
    { [A]: servers('x', 2, RETAIN) },
    { [A]: null },
    { 'tree.yaml': 'name: [\n' },
  ],
  'retained servers are handed over to an instance that is removed': [
    { [A]: servers('x', 2, RETAIN) },
    { [A]: null, [B]: servers('x', 2, RETAIN) },
    { [B]: null },
  ],
  'nothing is left for a moment': [
    { [A]: servers('x', 2, RETAIN) },
    { [A]: null, [OTHER]: null },
    { [OTHER]: servers('other', 1) },
  ],
  'one instance becomes wrong, and then another loses a server': [{ [B]: WRONG }, { [A]: servers('x', 1) }],
  'an instance is renamed, and loses a server': [
    { [A]: null, [B]: servers('x', 2) },
    { [B]: servers('x', 1, RETAIN) },
    { [B]: servers('x', 1) },
  ],
};

/** The same with more servers than may go without a yes. */
const APPROVED: Readonly<Record<string, Story>> = {
  'a trailer comes before what it would approve': [
    approving(3, { 'README.md': 'yes' }),
    { [A]: servers('x', 2) },
    { 'README.md': 'no' },
  ],
  'two commits take more than the trailer of the second': [
    { [A]: servers('x', 2) },
    approving(3, { [OTHER]: servers('other', 2) }),
  ],
  'a trailer approves what its commit and the one before take': [
    { [A]: servers('x', 2) },
    approving(3, { 'README.md': 'yes' }),
    { 'README.md': 'no' },
  ],
};

/** How the commits of a story come. */
interface Way {
  readonly groups: (story: Story) => readonly Story[];
  /** The controller does not run while they come. */
  readonly isDown?: boolean;
}

const WAYS: Readonly<Record<string, Way>> = {
  'in one poll': { groups: (story) => [story] },
  'the first alone': { groups: (story) => [story.slice(0, 1), story.slice(1)] },
  'the last alone': { groups: (story) => [story.slice(0, -1), story.slice(-1)] },
  'all while the controller is down': { groups: (story) => [story], isDown: true },
  'with a restart before each': { groups: (story) => story.map((changes) => [changes]), isDown: true },
};

interface End {
  readonly states: Readonly<Record<string, string>>;
  readonly servers: ReadonlyMap<string, unknown>;
  readonly deleted: readonly string[];
}

/** Plays groups of commits, each brought to rest. */
async function play(start: TextChanges, groups: readonly Story[], isDown = false): Promise<End> {
  let core = new Core();
  core.source.commit(start);
  await core.poll();
  const deleted: string[] = [];
  for (const group of groups) {
    for (const change of group) commit(core, change);
    if (isDown) {
      deleted.push(...core.calls('delete'));
      core = await core.restart();
    }
    await core.poll();
    await core.pass(60_000);
  }
  deleted.push(...core.calls('delete'));
  return { states: core.states(), servers: core.provider.servers, deleted: deleted.sort() };
}

const MANY = { ...START, [A]: servers('x', 5), [OTHER]: servers('other', 5) };

describe.each([
  ...Object.entries(SAME).map(([name, story]) => ({ name, story, start: START })),
  ...Object.entries(APPROVED).map(([name, story]) => ({ name, story, start: MANY })),
])('where $name', ({ story, start }) => {
  let oneByOne: End;
  beforeAll(async () => {
    oneByOne = await play(
      start,
      story.map((changes) => [changes]),
    );
  });

  it.each(Object.entries(WAYS))('the end is that of one by one: %s', async (_way, { groups, isDown }) => {
    expect(await play(start, groups(story), isDown)).toEqual(oneByOne);
  });
});

it('a server that was never made is not counted: at once fewer go, and those may go unasked', async () => {
  const story = [{ [A]: servers('x', 3) }, { [A]: servers('x', 0) }];
  const oneByOne = await play(
    START,
    story.map((changes) => [changes]),
  );
  expect(oneByOne.deleted).toEqual([]);
  expect((await play(START, [story])).deleted).toEqual(['x-1', 'x-2']);
});

it('servers that were never made do not raise the limit of those that may go', async () => {
  const core = new Core({ budget: { percent: 10, least: null, most: 20 } });
  core.source.commit({ ...START, [A]: servers('x', 5) });
  await core.poll();
  core.source.commit({ [OTHER]: servers('other', 60) });
  core.source.commit({ [OTHER]: servers('other', 1), [A]: servers('x', 0) });
  await core.poll();
  await core.pass(60_000);
  expect(core.calls('delete')).toEqual([]);
  expect(core.held('a')?.reason).toMatch(/^over all instances, 5 servers would .*; the limit is 2$/);
});

async function up(): Promise<Core> {
  const core = new Core();
  core.source.commit(START);
  await core.poll();
  expect(core.states()).toEqual({ 'other-1': 'done', 'x-1': 'done', 'x-2': 'done' });
  return core;
}

describe('what a later commit of the same poll takes back', () => {
  it('is not done, not told and not recorded', async () => {
    const core = await up();
    const events = () => core.operator.events(core.order.by, 'a', { after: 0, limit: 100 });
    const [rows, told] = [[...core.ledger.list('server')], await events()];
    const [calls, logged] = [core.provider.calls.length, core.lines.length];
    core.source.commit({ [A]: WRONG });
    core.source.commit({ [A]: null });
    core.source.commit({ [A]: servers('x', 9, '', 'large'), [B]: servers('y', 2) });
    core.source.commit({ 'tree.yaml': 'a: [' });
    const last = core.source.commit({ [A]: servers('x', 2), [B]: null, 'tree.yaml': TREE });
    await core.poll();
    expect(core.current.get()?.commit).toBe(last);
    expect(core.provider.calls).toHaveLength(calls);
    expect([...core.ledger.list('server')]).toEqual(rows);
    expect(core.ledger.list('terminating').size).toBe(0);
    expect(await events()).toEqual(told);
    expect(core.lines.slice(logged).filter(({ level }) => Number(level) > 30)).toEqual([]);
  });

  it('does not hide that the newest commit is wrong: the one before is followed', async () => {
    const core = await up();
    const right = core.source.commit({ [A]: servers('x', 3) });
    const wrong = core.source.commit({ [A]: servers('x', 4), 'tree.yaml': 'a: [' });
    await core.poll();
    expect(core.current.get()?.commit).toBe(right);
    expect(core.current.refused?.commit).toBe(wrong);
    expect(core.ledger.server('x-3')).toMatchObject({ state: 'done', commit: right });
    expect(core.ledger.read('head', 'head')?.commit).toBe(right);
  });
});

describe('how many updates may fail', () => {
  /** Instances of one server each: one that fails stops the others of its instance. */
  function instances(prefix: string, count: number, size = 'small'): TextChanges {
    const names = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    return Object.fromEntries(names.map((name) => [`stacks/instances/${name}.yaml`, servers(name, 1, '', size)]));
  }

  /** Few and many instances; every update fails. */
  async function failing(): Promise<Core> {
    const core = new Core({ concurrency: 1, retry: { attempts: 1 } });
    core.source.commit({ ...START, ...instances('few', 12), ...instances('many', 80) });
    await core.poll();
    answering(core, 'update', async () => answerOf('failed'));
    return core;
  }

  it.each<[name: string, commits: readonly TextChanges[], updates: number, begun: number]>([
    ['two commits want', [instances('few', 12, 'large'), instances('many', 80, 'large')], 92, 6],
    [
      'the last leaves of those that the first wants',
      [{ ...instances('few', 12, 'large'), ...instances('many', 80, 'large') }, instances('many', 80)],
      12,
      4,
    ],
  ])('is a share of those that %s', async (_, commits, updates, begun) => {
    const core = await failing();
    for (const files of commits) core.source.commit(files);
    await core.poll();
    expect([...core.ledger.list('rollout')]).toEqual([[core.current.get()?.commit, { updates }]]);
    expect(core.calls('update')).toHaveLength(begun);
  });

  it('stays, and so does the yes to more, where other updates are wanted and taken back', async () => {
    const core = await failing();
    const first = core.source.commit(instances('few', 12, 'large'));
    await core.poll();
    expect(core.calls('update')).toHaveLength(4);
    answering(core, 'update', () => new Promise(() => undefined));
    await core.approve(core.held(null)?.digest ?? '');
    const recorded = () => [[...core.ledger.list('rollout')], [...core.ledger.list('approval').keys()]];
    const before = recorded();
    expect(before).toEqual([[[first, { updates: 12 }]], [`failures-${first}`]]);
    core.source.commit(instances('few', 12, 'huge'));
    core.source.commit(instances('few', 12, 'large'));
    await core.poll();
    expect(recorded()).toEqual(before);
  });
});

describe('a commit that can never be read', () => {
  it('is not followed, and says why', async () => {
    const core = await up();
    const followed = core.current.get()?.commit;
    const bad = core.source.commit({ [A]: servers('x', 3), [TOO_MUCH]: '' });
    await core.poll();
    expect(core.current.get()?.commit).toBe(followed);
    const message = `commit ${bad} cannot be read: it holds more than is read`;
    expect(core.current.refused?.problems).toMatchObject([{ code: 'unreadable_commit', message }]);
    expect(core.current.refused?.reason).toContain(message);
    expect(core.follower.failure).toBeUndefined();
  });

  it.each(['one by one', 'at once'])('is passed over once a later one takes it back: %s', async (way) => {
    const core = await up();
    core.source.commit({ [A]: servers('x', 3) });
    core.source.commit({ [A]: servers('x', 4), [TOO_MUCH]: '' });
    if (way === 'one by one') await core.poll();
    core.source.commit({ [OTHER]: servers('other', 2) });
    const last = core.source.commit({ [TOO_MUCH]: null });
    await core.poll();
    expect(core.current.get()?.commit).toBe(last);
    expect(core.current.refused).toBeUndefined();
    expect(Object.keys(core.states()).sort()).toEqual(['other-1', 'other-2', 'x-1', 'x-2', 'x-3', 'x-4']);
  });

  it('is passed over on the way to where the layout was moved', async () => {
    const core = await up();
    core.source.commit({ [TOO_MUCH]: '', [`ops/${TOO_MUCH}`]: '' });
    const moved = Object.entries(START).flatMap(([path, text]) => [
      [path, null] as const,
      [`ops/${path}`, text] as const,
    ]);
    const last = core.source.commit({ ...Object.fromEntries(moved), [TOO_MUCH]: null, [`ops/${TOO_MUCH}`]: null });
    core.source.place = { ...core.source.place, directory: 'ops' };
    await core.poll();
    expect(core.current.get()?.commit).toBe(last);
    expect(core.calls('delete')).toEqual([]);
  });

  it('is passed over where the rows are lost and its history is searched', async () => {
    const core = new Core();
    const right = core.source.commit(START);
    core.source.commit({ [TOO_MUCH]: '' });
    const last = core.source.commit({ [A]: WRONG, [TOO_MUCH]: null });
    await core.poll();
    expect(core.current.get()?.commit).toBe(last);
    expect(core.current.get()?.units.get('stack-instance/a')?.commit).toBe(right);
  });

  it('is not taken for a local copy that fails, which nobody passes over', async () => {
    const core = await up();
    const [followed, lost] = [core.current.get()?.commit, core.source.commit({ [A]: servers('x', 3) })];
    core.source.commit({ [A]: servers('x', 2) });
    core.source.forget(lost);
    await core.poll();
    expect(core.current.get()?.commit).toBe(followed);
    expect(core.current.refused).toBeUndefined();
    expect(core.follower.failure).toBeDefined();
  });
});

it.each(['one by one', 'at once'])('a retained server that is wanted again is managed: %s', async (way) => {
  const core = await up();
  answering(core, 'update', () => new Promise(() => undefined));
  core.source.commit({ [A]: servers('x', 2, '', 'middle') });
  await core.poll();
  expect(core.states()).toMatchObject({ 'x-1': 'updating' });
  for (const files of [
    { [A]: servers('x', 2, RETAIN, 'middle') },
    { [A]: null },
    { [A]: servers('x', 2, '', 'large') },
  ]) {
    core.source.commit(files);
    if (way === 'one by one') await core.poll();
  }
  await core.poll();
  const again = await core.restart();
  again.provider.script = () => undefined;
  await again.pass(120_000);
  await again.pass(120_000);
  expect(again.ledger.server('x-1')).toMatchObject({ state: 'done', applied: { properties: { size: 'large' } } });
});

describe('a merge that takes away what a commit that it brings keeps', () => {
  interface Merge {
    /** Commits of others after the followed one, the last of which takes servers away. */
    readonly theirs: readonly (TextChanges | Pushed)[];
    /** What the merge changes, after its first parent. */
    readonly merged: TextChanges;
    readonly message?: string;
    /** More commits after it. */
    readonly later?: readonly TextChanges[];
  }

  /** Pulls what others have pushed into a commit of one's own, and pushes the merge: all comes in one poll. */
  async function pulled({ theirs, merged, message, later = [] }: Merge): Promise<Core> {
    const core = await up();
    const { source } = core;
    const own = source.commit({ 'README.md': 'own' });
    source.reset(core.current.get()?.commit ?? '');
    const other = theirs.map((change) => commit(core, change)).at(-1) ?? '';
    source.commit(merged, { parents: [own, other], ...(message === undefined ? {} : { message }) });
    for (const files of later) source.commit(files);
    await core.poll();
    await core.pass(60_000);
    return core;
  }

  const GONE = { [A]: null };
  const MERGES: Readonly<Record<string, Merge>> = {
    'it is protected': { theirs: [{ [A]: servers('x', 2, PROTECTED) }, GONE], merged: GONE },
    'its servers are retained': { theirs: [{ [A]: servers('x', 2, RETAIN) }, GONE], merged: GONE },
    'it is scaled in': {
      theirs: [{ [A]: servers('x', 2, PROTECTED) }, { [A]: servers('x', 1) }],
      merged: { [A]: servers('x', 1) },
    },
    'it is scaled in, and is protected by the merge too': {
      theirs: [{ [A]: servers('x', 2, PROTECTED) }, { [A]: servers('x', 1, PROTECTED) }],
      merged: { [A]: servers('x', 1, PROTECTED) },
    },
    'its servers are given to another one that is protected': {
      theirs: [{ [A]: null, [B]: servers('x', 2, PROTECTED) }, { [B]: null }],
      merged: GONE,
    },
    'a trailer of theirs approves it': {
      theirs: [{ [A]: servers('x', 2, PROTECTED) }, approving(9, GONE)],
      merged: GONE,
    },
    'a trailer of the merge approves it': {
      theirs: [{ [A]: servers('x', 2, PROTECTED) }, GONE],
      merged: GONE,
      message: approving(9).message,
    },
    'nothing can be taken of the merge, but of the commit after it': {
      theirs: [{ [A]: servers('x', 2, PROTECTED) }, GONE],
      merged: { ...GONE, 'tree.yaml': 'name: [\n' },
      later: [{ 'tree.yaml': TREE }],
    },
    'commits follow that have nothing to do with it': {
      theirs: [{ [A]: servers('x', 2, PROTECTED) }, GONE],
      merged: GONE,
      later: [{ 'README.md': 'one' }, { [OTHER]: servers('other', 2) }],
    },
  };

  it.each(Object.entries(MERGES))('deletes nothing that nobody approves, where %s', async (_, merge) => {
    const core = await pulled(merge);
    expect(core.calls('delete')).toEqual([]);
    const { reason = '', digest = '' } = core.held('a') ?? {};
    expect(reason).toContain('comes with a merge');
    const later = core.source.commit({ 'README.md': 'later' });
    await core.poll();
    expect(core.current.get()?.commit).toBe(later);
    expect(core.held('a')).toMatchObject({ reason, digest });
    const after = await goneOnceApproved(core, { reason, digest });
    expect(after.held('a')).toBeUndefined();
  });

  it.each<[name: string, merge: Merge]>([
    ['what they keep is another one', { theirs: [{ [OTHER]: servers('other', 1, PROTECTED) }, GONE], merged: GONE }],
    [
      'they protect it in a commit that nothing can be taken of',
      {
        theirs: [
          { [A]: servers('x', 2, PROTECTED), 'tree.yaml': 'name: [\n' },
          { ...GONE, 'tree.yaml': TREE },
        ],
        merged: GONE,
      },
    ],
    ['they only take it away', { theirs: [GONE], merged: GONE }],
  ])('deletes it where %s', async (_, merge) => {
    const core = await pulled(merge);
    expect(core.calls('delete')).toEqual(['x-1', 'x-2']);
  });

  it('deletes nothing unasked where it brings more commits than are read', async () => {
    const theirs = Array.from({ length: 1_001 }, (_, number) => ({ 'README.md': `${number}` }));
    const core = await pulled({ theirs: [...theirs, GONE], merged: GONE });
    expect(core.calls('delete')).toEqual([]);
    expect(core.held('a')?.reason).toContain('more commits than are read');
  });
});

describe('a merge that gives servers which a commit that it brings protects to an instance that is not', () => {
  const GIVEN = { [A]: null, [B]: servers('x', 2) };

  /** They protect, and the merge of that hands over. */
  async function given(more = '', theirs = servers('x', 2, PROTECTED)): Promise<Core> {
    const core = await up();
    const { source } = core;
    const followed = core.current.get()?.commit ?? '';
    const other = source.commit({ [A]: theirs });
    source.reset(followed);
    const own = source.commit({ 'README.md': 'own' });
    source.commit({ [A]: null, [B]: servers('x', 2, more) }, { parents: [own, other] });
    return core;
  }

  const ownersIn = (core: Core): readonly (string | undefined)[] =>
    ['x-1', 'x-2'].map((name) => core.ledger.server(name)?.instance);

  const LATER: Readonly<Record<string, readonly TextChanges[]>> = {
    'nothing follows': [],
    'that one is removed next': [{ [B]: null }],
    'that one is removed after another commit': [{ 'README.md': 'later' }, { [B]: null }],
  };

  it.each(
    Object.entries(LATER).flatMap(([name, later]) => [
      { name, later, way: 'at once' },
      { name, later, way: 'one by one' },
    ]),
  )('hands nothing over and deletes nothing before a person approves it, where $name, $way', async ({ later, way }) => {
    const core = await given();
    for (const files of later) {
      if (way === 'one by one') await core.poll();
      core.source.commit(files);
    }
    await core.poll();
    await core.pass(60_000);
    expect(core.calls('delete')).toEqual([]);
    const after = await core.restart();
    await after.poll();
    expect([after.calls('delete'), ownersIn(after)]).toEqual([[], ['a', 'a']]);
    expect(after.held('a')).toMatchObject({ resources: ['x-1', 'x-2'] });
    expect(after.held('a')?.reason).toContain('are given to "b", which is not');
    await after.approve(after.held('a')?.digest ?? '');
    await after.pass(60_000);
    const isRemoved = later.length > 0;
    expect(after.calls('delete')).toEqual(isRemoved ? ['x-1', 'x-2'] : []);
    expect(ownersIn(after)).toEqual(isRemoved ? [undefined, undefined] : ['b', 'b']);
    expect(after.held('a')).toBeUndefined();
  });

  it('hands them over once that one is protected too', async () => {
    const core = await given();
    await core.poll();
    expect(ownersIn(core)).toEqual(['a', 'a']);
    core.source.commit({ [B]: servers('x', 2, PROTECTED) });
    await core.poll();
    expect([ownersIn(core), core.held('a')]).toEqual([['b', 'b'], undefined]);
  });

  it.each([
    ['that one is protected', PROTECTED, servers('x', 2, PROTECTED)],
    ['they only retain its servers', '', servers('x', 2, RETAIN)],
  ])('asks for nothing where %s', async (_, more, theirs) => {
    const core = await given(more, theirs);
    await core.poll();
    expect([ownersIn(core), core.held('a')]).toEqual([['b', 'b'], undefined]);
  });

  it('asks too where a commit before the merge gives them, and the merge leaves it so', async () => {
    const core = await up();
    const { source } = core;
    const followed = core.current.get()?.commit ?? '';
    const other = source.commit({ [A]: servers('x', 2, PROTECTED) });
    source.reset(followed);
    const own = source.commit(GIVEN);
    source.commit({}, { parents: [own, other] });
    source.commit({ [B]: null });
    await core.poll();
    await core.pass(60_000);
    expect([core.calls('delete'), ownersIn(core)]).toEqual([[], ['a', 'a']]);
  });
});

describe("one's own commit takes away what others keep, who have pushed before, and reaches the branch with the merge", () => {
  const TEMPLATE = 'stacks/templates/t.yaml';
  const ONE_LESS = { [TEMPLATE]: START[TEMPLATE]?.replace('<<count>>', '1') ?? '' };
  const GONE = { [A]: null };

  interface Pull {
    readonly own: TextChanges | Pushed;
    readonly theirs: TextChanges;
    /** What the merge has of theirs. */
    readonly merged?: TextChanges;
    readonly later?: readonly TextChanges[];
  }

  const PULLS: Readonly<Record<string, Pull>> = {
    'they protect it, and it was removed': { own: GONE, theirs: { [A]: servers('x', 2, PROTECTED) } },
    'they protect it, and it was scaled in by its template, which is no conflict': {
      own: ONE_LESS,
      theirs: { [A]: servers('x', 2, PROTECTED) },
      merged: { [A]: servers('x', 2, PROTECTED) },
    },
    'they retain its servers, and it was removed': { own: GONE, theirs: { [A]: servers('x', 2, RETAIN) } },
    'they protect it and another, and a trailer approves that both go': {
      own: approving(9, { ...GONE, [OTHER]: null, [B]: servers('new', 1) }),
      theirs: { [A]: servers('x', 2, PROTECTED), [OTHER]: servers('other', 1, PROTECTED) },
    },
    'nothing can be taken of the merge, nor of the commit after it': {
      own: GONE,
      theirs: { [A]: servers('x', 2, PROTECTED) },
      merged: { 'tree.yaml': 'name: [\n' },
      later: [{ 'README.md': 'later' }],
    },
  };

  async function pulled({ own, theirs, merged = {}, later = [] }: Pull, isPolledBetween: boolean): Promise<Core> {
    const core = await up();
    const { source } = core;
    const followed = core.current.get()?.commit ?? '';
    const other = source.commit(theirs);
    if (isPolledBetween) await core.poll();
    source.reset(followed);
    const mine = commit(core, own);
    source.commit(merged, { parents: [mine, other] });
    for (const files of later) source.commit(files);
    await core.poll();
    await core.pass(60_000);
    return core;
  }

  it.each(Object.entries(PULLS))('nothing is deleted where %s', async (_, pull) => {
    expect((await pulled(pull, true)).calls('delete')).toEqual([]);
    const core = await pulled(pull, false);
    expect(core.calls('delete')).toEqual([]);
    const { reason = '', digest = '' } = core.held('a') ?? {};
    expect(reason).toContain('comes with a merge');
    core.source.commit({ 'tree.yaml': TREE, 'README.md': 'last' });
    await goneOnceApproved(core, { reason, digest });
  });

  it('it is deleted where they keep another one', async () => {
    const core = await pulled({ own: GONE, theirs: { [OTHER]: servers('other', 1, PROTECTED) } }, false);
    expect(core.calls('delete')).toEqual(['x-1', 'x-2']);
  });

  it('it is deleted where an earlier merge has brought the protection, and it was lifted since', async () => {
    const core = await up();
    const { source } = core;
    const followed = core.current.get()?.commit ?? '';
    const other = source.commit({ [A]: servers('x', 2, PROTECTED) });
    source.reset(followed);
    const own = source.commit({ 'README.md': 'own' });
    source.commit({ [A]: servers('x', 2, PROTECTED) }, { parents: [own, other] });
    source.commit({ [A]: servers('x', 2) });
    source.commit(GONE);
    await core.poll();
    expect(core.calls('delete')).toEqual(['x-1', 'x-2']);
  });

  it('reads each commit from elsewhere once, however many commits take something away', async () => {
    const core = await up();
    const { source } = core;
    source.commit({ [A]: servers('x', 30), [OTHER]: servers('other', 2) });
    await core.poll();
    const followed = core.current.get()?.commit ?? '';
    const theirs = Array.from({ length: 5 }, (_, number) => source.commit({ 'README.md': `${number}` }));
    source.reset(followed);
    const own = Array.from({ length: 20 }, (_, number) => source.commit({ [A]: servers('x', 29 - number) }));
    source.commit({}, { parents: [own.at(-1) ?? '', theirs.at(-1) ?? ''] });
    const read: string[] = [];
    const snapshot = source.snapshot.bind(source);
    source.snapshot = (oid, ...options) => {
      read.push(oid);
      return snapshot(oid, ...options);
    };
    await core.poll();
    expect(read.filter((oid) => theirs.includes(oid)).sort()).toEqual([...theirs].sort());
  });
});

describe('the steps', () => {
  function child(oid: string, ...parents: readonly string[]): Commit {
    return { oid, time: '2026-11-20T10:00:00Z', author: '', message: '', parents };
  }

  function stepsIn(commits: readonly Commit[], isCut = false): readonly string[] {
    const names = (all: readonly Commit[]): string => all.map(({ oid }) => oid).join(' ');
    return stepsAfter('followed', commits, isCut).map(({ commit: { oid }, brought }) => `${oid}: ${names(brought)}`);
  }

  it.each<[name: string, commits: readonly Commit[], steps: readonly string[]]>([
    ['are the commits of a line', [child('b', 'a'), child('a', 'followed')], ['a: a', 'b: b']],
    [
      'are first parents, each with what it brings',
      [
        child('c', 'b', 's2'),
        child('b', 'a', 's1'),
        child('s2', 's1'),
        child('a', 'followed'),
        child('s1', 'followed'),
      ],
      ['a: a', 'b: b s1', 'c: c s2'],
    ],
    [
      'begin where the followed commit comes in from the side',
      [child('c', 'b'), child('b', 'own', 'followed'), child('own', 'older'), child('older')],
      ['b: b own older', 'c: c'],
    ],
  ])('%s', (_, commits, steps) => {
    expect(stepsIn(commits)).toEqual(steps);
  });

  it('are known where older commits of a merged branch are cut off, and not where the first ones may be', () => {
    const merge = [child('b', 'followed', 's9'), child('s9', 's8')];
    expect(stepsIn(merge, true)).toEqual(['b: b s9']);
    expect(stepsIn([child('c', 'b'), child('b', 'a')], true)).toEqual([]);
  });
});

describe('many commits', () => {
  it('are taken in groups, and nothing that one of them sets is lost', async () => {
    const core = await up();
    core.source.commit({ [A]: servers('x', 2, RETAIN) });
    for (let count = 0; count < 1_100; count += 1) core.source.commit({ 'README.md': `${count}` });
    const last = core.source.commit({ [A]: null });
    await core.poll();
    expect(core.current.get()?.commit).toBe(last);
    expect(core.calls('delete')).toEqual([]);
    expect(Object.keys(core.states())).toEqual(['other-1']);
  });

  it('are held like a rewritten history where the first of them are not read, until that is accepted', async () => {
    const core = await up();
    const followed = core.current.get()?.commit;
    core.source.commit({ [A]: servers('x', 2, PROTECTED) });
    for (let count = 0; count < 10_000; count += 1) core.source.commit({});
    const last = core.source.commit({ [A]: null });
    await core.poll();
    expect(core.current.get()?.commit).toBe(followed);
    expect(core.current.refused).toMatchObject({ commit: last, hold: { kind: 'history' } });
    expect(core.current.refused?.reason).toContain('commits came at once');
    await core.operator.acceptHistory(core.order, last);
    await core.settle();
    expect(core.current.get()?.commit).toBe(last);
  });
});
