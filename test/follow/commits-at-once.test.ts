// Tests that protection, retention and approvals keep their meaning however many commits arrive together: one by one, each
// brought to rest, in one poll, in groups, and with restarts.
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { firstParentLine } from '../../src/follow/first-parents.ts';
import type { Commit } from '../../src/repository/source.ts';
import { Core } from '../reconcile/core.ts';
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

/** What becomes of the servers in the end is the same, however the commits come. */
const SAME: Readonly<Record<string, Story>> = {
  'servers are retained, then the file is removed': [{ [A]: servers('x', 2, RETAIN) }, { [A]: null }],
  'a commit protects an instance, and another removes it': [{ [A]: servers('x', 2, PROTECTED) }, { [A]: null }],
  'a commit ends protection, and another removes a server': [
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: servers('x', 2) },
    { [A]: servers('x', 1) },
  ],
  'a commit that cannot be followed ends protection': [
    { [A]: servers('x', 2, PROTECTED) },
    { [A]: servers('x', 2), 'tree.yaml': 'name: [\n' },
    { [A]: null, 'tree.yaml': TREE },
  ],
  'servers are retained in a commit that can never be read': [
    { [A]: servers('x', 2, RETAIN), [TOO_MUCH]: '' },
    { [TOO_MUCH]: null },
    { [A]: null },
  ],
  'retained servers are handed over to an instance that is removed': [
    { [A]: servers('x', 2, RETAIN) },
    { [A]: null, [B]: servers('x', 2, RETAIN) },
    { [B]: null },
  ],
};

/** How the commits of a story come. */
interface Way {
  readonly groups: (story: Story) => readonly Story[];
  /** The controller does not run while they come. */
  readonly isDown?: boolean;
}

const WAYS: Readonly<Record<string, Way>> = {
  'all commits in one poll': { groups: (story) => [story] },
  'the first commit alone': { groups: (story) => [story.slice(0, 1), story.slice(1)] },
  'the last commit alone': { groups: (story) => [story.slice(0, -1), story.slice(-1)] },
  'all commits while the controller is down': { groups: (story) => [story], isDown: true },
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
  await core.follow(start);
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

describe.each(Object.entries(SAME))('if %s', (_name, story) => {
  let oneByOne: End;
  beforeAll(async () => {
    oneByOne = await play(
      START,
      story.map((changes) => [changes]),
    );
  });

  it.each(Object.entries(WAYS))('the result is the same as one by one: %s', async (_way, { groups, isDown }) => {
    expect(await play(START, groups(story), isDown)).toEqual(oneByOne);
  });
});

describe('a trailer', () => {
  const MANY = { ...START, [A]: servers('x', 5), [OTHER]: servers('other', 5) };
  const LESS = { [A]: servers('x', 2) };

  it.each<[name: string, story: Story, deleted: number]>([
    ['approves deletes of the same push', [approving(3, { 'README.md': 'yes' }), LESS], 3],
    ['counts from every commit of the push, and the largest number wins', [approving(3, LESS), approving(1)], 3],
    ['approves nothing if more servers would be deleted', [approving(2, LESS)], 0],
    ['covers all deletes', [LESS, approving(3, { [OTHER]: servers('other', 2) })], 0],
  ])('%s', async (_name, story, deleted) => {
    expect((await play(MANY, [story])).deleted).toHaveLength(deleted);
  });

  it.each<[name: string, isDown: boolean]>([
    ['and not with a later commit', false],
    ['and not after a restart', true],
  ])('counts once, %s', async (_name, isDown) => {
    const end = await play(MANY, [[approving(3, { 'README.md': 'yes' })], [LESS]], isDown);
    expect(end.deleted).toEqual([]);
  });

  it('of a commit that cannot be followed counts with its correction', async () => {
    const story = [approving(3, { ...LESS, 'tree.yaml': 'name: [\n' }), { 'tree.yaml': TREE }];
    const groups = [[story], story.map((change) => [change])];
    for (const group of groups) expect((await play(MANY, group)).deleted).toHaveLength(3);
  });
});

it('servers that were never created do not raise the delete budget', async () => {
  const core = await Core.following(
    { ...START, [A]: servers('x', 5) },
    { budget: { percent: 10, least: null, most: 20 } },
  );
  core.source.commit({ [OTHER]: servers('other', 60) });
  await core.follow({ [OTHER]: servers('other', 1), [A]: servers('x', 0) });
  await core.pass(60_000);
  expect(core.calls('delete')).toEqual([]);
  expect(core.held('a')?.reason).toMatch(/^over all instances, 5 servers would .*; the limit is 2$/);
});

async function up(): Promise<Core> {
  const core = await Core.following(START);
  expect(core.states()).toEqual({ 'other-1': 'done', 'x-1': 'done', 'x-2': 'done' });
  return core;
}

describe('a change that a later commit of the same poll reverts', () => {
  it('has no effect, no event and no row', async () => {
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

  it('does not hide that the newest commit cannot be followed', async () => {
    const core = await up();
    const followed = core.current.get()?.commit;
    core.source.commit({ [A]: servers('x', 3) });
    const wrong = core.source.commit({ [A]: servers('x', 4), 'tree.yaml': 'a: [' });
    await core.poll();
    expect(core.current.get()?.commit).toBe(followed);
    expect(core.current.refused?.commit).toBe(wrong);
    expect(core.ledger.server('x-3')).toBeUndefined();
  });
});

describe('a commit that can never be read', () => {
  it('is not followed, and names the reason', async () => {
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

  it('makes one event together with its row, also after a restart', async () => {
    const core = await up();
    const saved = vi.spyOn(core.store, 'commit');
    const commit = core.source.commit({ [TOO_MUCH]: '' });
    await core.poll();
    const withEvents = saved.mock.calls.filter(([, events]) => events !== undefined && events.length > 0);
    expect(withEvents.map(([changes]) => changes.map(({ kind, name }) => [kind, name]))).toEqual([
      [['commit', commit]],
    ]);
    const again = await core.restart();
    await again.poll();
    const { events } = await again.ledger.listEvents({ after: 0, limit: 100 });
    expect(events.filter(({ event }) => event.to === 'Not followed').map(({ event }) => event.commit)).toEqual([
      commit,
    ]);
  });

  it.each(['one by one', 'at once'])('is skipped when a later commit reverts it: %s', async (way) => {
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

  it('is distinguished from a failing local copy', async () => {
    const core = await up();
    const [followed, lost] = [core.current.get()?.commit, core.source.commit({ [A]: servers('x', 3) })];
    core.source.commit({ [A]: servers('x', 1) });
    core.source.forget(lost);
    await core.poll();
    expect(core.current.get()?.commit).toBe(followed);
    expect(core.current.refused).toBeUndefined();
    expect(core.follower.failure).toBeDefined();
  });
});

describe('a merge whose first parent removes what the followed commit keeps', () => {
  const GONE = { [A]: null };

  interface Pull {
    readonly own: TextChanges | Pushed;
    readonly theirs: TextChanges;
    /** What the merge has of theirs. */
    readonly merged?: TextChanges;
    readonly later?: readonly TextChanges[];
  }

  const PULLS: Readonly<Record<string, Pull>> = {
    'the followed commit protects a removed instance': { own: GONE, theirs: { [A]: servers('x', 2, PROTECTED) } },
    'the followed commit protects two instances, and a trailer approves both deletes': {
      own: approving(9, { ...GONE, [OTHER]: null, [B]: servers('new', 1) }),
      theirs: { [A]: servers('x', 2, PROTECTED), [OTHER]: servers('other', 1, PROTECTED) },
    },
    'neither the merge nor the commit after it can be followed': {
      own: GONE,
      theirs: { [A]: servers('x', 2, PROTECTED) },
      merged: { 'tree.yaml': 'name: [\n' },
      later: [{ 'README.md': 'later' }],
    },
  };

  async function pulled({ own, theirs, merged = {}, later = [] }: Pull): Promise<Core> {
    const core = await up();
    const { source } = core;
    const followed = core.current.get()?.commit ?? '';
    const other = source.commit(theirs);
    await core.poll();
    source.reset(followed);
    const mine = commit(core, own);
    source.commit(merged, { parents: [mine, other] });
    for (const files of later) source.commit(files);
    await core.poll();
    await core.pass(60_000);
    return core;
  }

  it.each(Object.entries(PULLS))('deletes nothing when %s', async (_, pull) => {
    expect((await pulled(pull)).calls('delete')).toEqual([]);
  });

  it('deletes the servers when the followed commit keeps another instance', async () => {
    const core = await pulled({ own: GONE, theirs: { [OTHER]: servers('other', 1, PROTECTED) } });
    expect(core.calls('delete')).toEqual(['x-1', 'x-2']);
  });
});

describe('the chain of first parents', () => {
  function child(oid: string, ...parents: readonly string[]): Commit {
    return { oid, time: '2026-11-20T10:00:00Z', author: '', message: '', parents };
  }

  it.each<[name: string, commits: readonly Commit[], line: readonly string[]]>([
    [
      'has no commits of a merged branch',
      [
        child('c', 'b', 's2'),
        child('b', 'a', 's1'),
        child('s2', 's1'),
        child('a', 'followed'),
        child('s1', 'followed'),
      ],
      ['c', 'b', 'a'],
    ],
    [
      'ends at the merge of the followed commit',
      [child('c', 'b'), child('b', 'own', 'followed'), child('own', 'older'), child('older')],
      ['c', 'b'],
    ],
    ['is empty if the oldest commits are missing', [child('c', 'b'), child('b', 'a')], []],
  ])('%s', (_, commits, line) => {
    expect(firstParentLine(commits, 'followed').map(({ oid }) => oid)).toEqual(line);
  });
});

describe('an instance with unknown protection', () => {
  const IDLE_MAX = 99;

  async function removedAfter(idle: number, more: string): Promise<Core> {
    const core = await up();
    core.source.commit({ [A]: servers('x', 2, more) });
    core.source.commit({ [A]: null });
    for (let count = 0; count < idle; count += 1) core.source.commit({ 'README.md': `${count}` });
    await core.poll();
    await core.pass(60_000);
    return core;
  }

  it('is not held if one of the 100 commits before the newest has all its servers', async () => {
    const core = await removedAfter(IDLE_MAX, RETAIN);
    expect(core.calls('delete')).toEqual([]);
    expect(Object.keys(core.states())).toEqual(['other-1']);
  });

  it('is held beyond 100 commits until a user approves, despite later commits, trailers and a restart', async () => {
    const core = await removedAfter(IDLE_MAX + 1, RETAIN);
    const digest = core.held('a')?.digest;
    expect(core.held('a')?.reason).toContain('more than 100 commits came at once');
    const again = await core.restart();
    again.source.commit({ 'README.md': 'yes' }, { message: approving(9).message });
    await again.poll();
    await again.pass(60_000);
    expect(again.calls('delete')).toEqual([]);
    expect(again.held('a')?.digest).toBe(digest);
    await again.approve(digest ?? '');
    await again.pass(60_000);
    expect(again.calls('delete')).toEqual(['x-1', 'x-2']);
  });

  it('stays protected beyond 100 commits if its active version is protected', async () => {
    const core = await Core.following({ ...START, [A]: servers('x', 2, PROTECTED) });
    core.source.commit({ [A]: null });
    for (let count = 0; count <= IDLE_MAX + 1; count += 1) core.source.commit({ 'README.md': `${count}` });
    await core.poll();
    expect(core.current.get()?.problems.map(({ code }) => code)).toContain('protected_instance');
    expect(core.held('a')).toBeUndefined();
  });

  it('is held after a rewritten history was accepted', async () => {
    const core = await up();
    const first = core.current.get()?.commit ?? '';
    await core.follow({ 'README.md': 'old' });
    core.source.reset(first);
    const last = core.source.commit({ [A]: servers('x', 1) });
    await core.poll();
    await core.operator.acceptHistory(core.order, last);
    await core.settle();
    await core.pass(60_000);
    expect(core.current.get()?.commit).toBe(last);
    expect(core.held('a')?.reason).toContain('accepted without the commits in between');
    expect(core.calls('delete')).toEqual([]);
  });
});
