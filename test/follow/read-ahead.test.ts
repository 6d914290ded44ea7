// Tests that whatever commits that come at once need of git is read before the exclusive section, in which passes and operations
// wait, that they are judged in it all the same, and that nothing is read again and again.
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../../src/model/snapshot.ts';
import { answerOf } from '../reconcile/build.ts';
import { Core, type CoreOptions } from '../reconcile/core.ts';
import { answering } from '../reconcile/shop.ts';
import { A, OTHER, START, servers, TREE } from './two-instances.ts';

const PROTECTED = 'protected: true\n';

/** `a` with two servers and `other` with one, all of them made. */
async function up(options: CoreOptions = {}): Promise<Core> {
  const core = new Core(options);
  core.source.commit(START);
  await core.poll();
  expect(core.states()).toEqual({ 'other-1': 'done', 'x-1': 'done', 'x-2': 'done' });
  return core;
}

/** What is read of the branch. */
interface Reads {
  /** The commits, in order. */
  readonly snapshots: readonly string[];
  /** As `commit-1 commit-2`, in order. */
  readonly added: readonly string[];
}

interface Watching {
  /** Awaited before a commit is read. */
  readonly before?: (commit: string) => Promise<void> | undefined;
  readonly beforeAdded?: () => Promise<void>;
  readonly change?: (snapshot: Snapshot) => Snapshot;
}

function watchReads({ source }: Core, { before, beforeAdded, change = (same) => same }: Watching = {}): Reads {
  const reads = { snapshots: [] as string[], added: [] as string[] };
  const [snapshot, added] = [source.snapshot.bind(source), source.added.bind(source)];
  source.snapshot = async (commit, ...options) => {
    reads.snapshots.push(commit);
    await before?.(commit);
    return change(await snapshot(commit, ...options));
  };
  source.added = async (order) => {
    reads.added.push(`${order.from} ${order.to}`);
    await beforeAdded?.();
    return await added(order);
  };
  return reads;
}

describe('git that hangs at the second of three commits', () => {
  it('holds up no pass and no operation, and following goes on once it answers', async () => {
    const core = await up();
    answering(core, 'update', async () => answerOf('retryable'));
    core.source.commit({ [OTHER]: servers('other', 1, '', 'large') });
    await core.poll();
    const tries = core.calls('update').length;
    core.source.commit({ [A]: servers('x', 3) });
    const second = core.source.commit({ [A]: servers('x', 4) });
    const third = core.source.commit({ [A]: servers('x', 5) });
    const hanging = Promise.withResolvers<void>();
    watchReads(core, { before: (commit) => (commit === second ? hanging.promise : undefined) });
    await core.poll();
    await core.operator.suspend(core.order, { instance: 'a', until: null });
    await core.pass(60_000);
    expect(core.calls('update').length).toBeGreaterThan(tries);
    expect(core.ledger.list('suspension').has('a')).toBe(true);
    expect(core.current.get()?.commit).not.toBe(third);
    hanging.resolve();
    await core.settle();
    expect(core.current.get()?.commit).toBe(third);
    expect(Object.keys(core.states())).toContain('x-5');
  });
});

describe('what happens while commits are read', () => {
  it('counts, and what has to be read for it holds up nothing either', async () => {
    const core = await up();
    const update = Promise.withResolvers<void>();
    answering(core, 'update', async () => {
      await update.promise;
      return answerOf('replace');
    });
    core.source.commit({ [OTHER]: servers('other', 1, '', 'large') });
    await core.poll();
    const followed = core.current.get()?.commit;
    const first = core.source.commit({ [A]: null });
    const second = core.source.commit({ 'README.md': 'later' });
    const [reading, adding] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const reads = watchReads(core, {
      before: (commit) => (commit === second ? reading.promise : undefined),
      beforeAdded: () => (reads.added.length > 1 ? adding.promise : Promise.resolve()),
    });
    await core.poll();
    expect(core.calls('delete')).toEqual([]);
    update.resolve();
    await core.settle();
    // The replacement is one of the two that may go unasked.
    expect(core.calls('delete')).toEqual(['other-1']);
    reading.resolve();
    await core.settle();
    expect(reads.added).toEqual([`${followed} ${first}`, `${first} ${second}`]);
    await core.operator.suspend(core.order, { instance: 'other', until: null });
    expect(core.current.get()?.commit).toBe(followed);
    adding.resolve();
    await core.settle();
    expect(core.current.get()?.commit).toBe(second);
    expect(core.calls('delete')).toEqual(['other-1']);
    expect(core.held('a')).toMatchObject({ kind: 'deletes', resources: ['x-1', 'x-2'] });
  });
});

describe('commits that are read', () => {
  it('are read once, also where the last one is not followed', async () => {
    const core = await up();
    const reads = watchReads(core);
    const commits = [3, 4, 5].map((count) => core.source.commit({ [A]: servers('x', count) }));
    commits.push(core.source.commit({ 'tree.yaml': 'name: [\n' }));
    await core.poll();
    expect(core.current.get()?.commit).toBe(commits[2]);
    expect(reads.snapshots).toEqual(commits);
  });

  it('are followed before more are read where they are large', async () => {
    const core = await up();
    core.source.commit({ [A]: servers('x', 2, 'deletion: retain\n') });
    const large = core.source.commit({ 'README.md': 'large' });
    const last = core.source.commit({ [A]: null });
    const blob = ['f'.repeat(40), new Uint8Array(200_000_000)] as const;
    watchReads(core, {
      change: (snapshot) =>
        snapshot.commit === large ? { ...snapshot, blobs: new Map([...snapshot.blobs, blob]) } : snapshot,
    });
    core.lines.length = 0;
    await core.poll();
    const followed = core.lines.filter(({ msg }) => msg === 'commit followed').map(({ commit }) => commit);
    expect(followed).toEqual([large, last]);
    expect(core.calls('delete')).toEqual([]);
  });
});

describe('commits that are not followed', () => {
  it('are derived once each while others come after them', async () => {
    const core = await up();
    const reads = watchReads(core);
    const wrong: string[] = [];
    for (let count = 0; count < 10; count += 1) {
      wrong.push(core.source.commit({ 'tree.yaml': `name: [ ${count}\n` }));
      await core.poll();
      expect(core.current.refused?.commit).toBe(wrong.at(-1));
    }
    expect(reads.snapshots).toEqual(wrong);
    const right = core.source.commit({ 'tree.yaml': TREE });
    await core.poll();
    expect(core.current.get()?.commit).toBe(right);
    expect(reads.snapshots).toEqual([...wrong, right]);
  });

  it.each([1, 999, 1_500])('keep what a merge among %i of them brings', async (later) => {
    const core = await up();
    const { source } = core;
    const followed = core.current.get()?.commit ?? '';
    const own = source.commit({ 'README.md': 'own' });
    source.reset(followed);
    source.commit({ [A]: servers('x', 2, PROTECTED) });
    const theirs = source.commit({ [A]: null });
    const merge = source.commit({ [A]: null, 'tree.yaml': 'name: [\n' }, { parents: [own, theirs] });
    await core.poll();
    expect(core.current.refused?.commit).toBe(merge);
    for (let count = 1; count < later; count += 1) source.commit({ 'README.md': `${count}` });
    source.commit({ 'tree.yaml': TREE });
    await core.poll();
    await core.pass(60_000);
    expect(core.current.refused).toBeUndefined();
    expect(core.calls('delete')).toEqual([]);
    expect(core.held('a')?.reason).toContain('comes with a merge');
  });

  it('are derived again once a person accepts that one leaves nothing, while a later one is fetched', async () => {
    const core = await up({ budget: { percent: 0, least: 3, most: 3 } });
    const { source } = core;
    const empty = source.commit({ [A]: null, [OTHER]: null });
    await core.poll();
    const { digest = '' } = core.held(null) ?? {};
    expect(digest).toContain(empty);
    const [fetch, fetching] = [source.fetch.bind(source), Promise.withResolvers<void>()];
    source.fetch = async () => {
      await fetching.promise;
      return await fetch();
    };
    const later = source.commit({ 'README.md': 'later' });
    await core.poll();
    await core.approve(digest);
    fetching.resolve();
    await core.settle();
    await core.pass(60_000);
    expect(core.current.get()?.commit).toBe(later);
    expect(core.states()).toEqual({});
  });
});
