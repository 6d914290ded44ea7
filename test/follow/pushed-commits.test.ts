// Commits that this process has pushed are followed without a poll, and whatever is unusual about them is left to one.
import { describe, expect, it } from 'vitest';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { Core } from '../reconcile/core.ts';

const FILES = { 'tree.yaml': 'name: global\ntype: common\n', 'types/role/web.yaml': 'port: 80\n' };

interface Scene {
  readonly core: Core;
  readonly base: string;
}

async function followed(): Promise<Scene> {
  const core = new Core();
  const base = core.source.commit(FILES);
  await core.poll();
  expect(core.current.get()?.commit).toBe(base);
  core.source.fetches = 0;
  return { core, base };
}

/** Announces a commit that was made upon `base`, and says that the branch has it. */
function followPushed({ follower }: Core, commit: string, base: string): Promise<DesiredState> {
  const prepared = { is: 'prepared', base, commits: [commit] } as const;
  return follower.announce(prepared, new Map(), new Map())();
}

/** Lets everything happen, and returns the commit that a waiting one is told, or the reason of its refusal. */
async function told(core: Core, waiting: Promise<DesiredState>): Promise<string> {
  const answer = waiting.then(
    ({ commit }) => commit,
    (error: Error) => error.message,
  );
  await core.settle();
  return await answer;
}

describe('a pushed commit', () => {
  it('is followed without a look at the remote', async () => {
    const { core, base } = await followed();
    const commit = core.source.commit({ 'types/role/web.yaml': 'port: 81\n' });
    core.source.isGone = true;
    expect(await told(core, followPushed(core, commit, base))).toBe(commit);
    expect([core.source.fetches, core.follower.followed?.commit]).toEqual([0, commit]);
    expect(core.follower.notReadyReason).toBe('');
  });

  it('one after the other, too', async () => {
    const { core, base } = await followed();
    const first = core.source.commit({ 'types/role/web.yaml': 'port: 81\n' });
    await told(core, followPushed(core, first, base));
    const second = core.source.commit({ 'types/role/web.yaml': 'port: 82\n' });
    expect(await told(core, followPushed(core, second, first))).toBe(second);
    expect(core.source.fetches).toBe(0);
  });

  it('says nothing to those who wait for the newest commit: it may be another by now', async () => {
    const { core, base } = await followed();
    const commit = core.source.commit({ 'types/role/web.yaml': 'port: 81\n' });
    const theirs = core.source.commit({ 'types/role/web.yaml': 'port: 82\n' });
    const pushed = followPushed(core, commit, base);
    const newest = core.follower.newest();
    expect(await told(core, newest)).toBe(theirs);
    expect([commit, theirs]).toContain((await pushed).commit);
  });

  it('is polled for if the local copy does not have it', async () => {
    const { core, base } = await followed();
    core.source.loseCopy();
    const commit = core.source.commit({ 'types/role/web.yaml': 'port: 81\n' });
    expect(await told(core, followPushed(core, commit, base))).toBe(commit);
    expect(core.source.fetches).toBe(1);
  });

  it('is polled for where the followed head is not its base', async () => {
    const { core, base } = await followed();
    const commit = core.source.commit({ 'types/role/web.yaml': 'port: 81\n' });
    const theirs = core.source.commit({ 'types/role/web.yaml': 'port: 82\n' });
    await core.poll();
    core.source.fetches = 0;
    expect(await told(core, followPushed(core, commit, base))).toBe(theirs);
    expect([core.source.fetches, core.current.get()?.commit]).toEqual([1, theirs]);
  });

  it('is followed after a poll where the store fails once', async () => {
    const { core, base } = await followed();
    const commit = core.source.commit({ 'types/role/web.yaml': 'port: 81\n' });
    core.store.failures.push(new Error('the disk is full'));
    expect(await told(core, followPushed(core, commit, base))).toBe(commit);
    expect(core.source.fetches).toBe(1);
  });

  it('that may not be followed any more, since another process leads, is no error: the lease tells of the loss', async () => {
    const { core, base } = await followed();
    const commit = core.source.commit({ 'types/role/web.yaml': 'port: 81\n' });
    const deposed = new Error('another process leads');
    core.store.failures.push(deposed, deposed);
    core.leads = false;
    expect(await told(core, followPushed(core, commit, base))).toContain(deposed.message);
    expect(core.store.failures).toEqual([]);
    expect(core.lines.filter(({ msg }) => String(msg).includes('could not be followed'))).toEqual([]);
  });

  it('is told of once a minute where the store fails each time', async () => {
    const { core, base } = await followed();
    let head = base;
    for (const port of [81, 82, 83]) {
      const commit = core.source.commit({ 'types/role/web.yaml': `port: ${port}\n` });
      core.store.failures.push(new Error('the disk is full'));
      expect(await told(core, followPushed(core, commit, head))).toBe(commit);
      head = commit;
    }
    const lines = core.lines.filter(({ msg }) =>
      String(msg).startsWith('the pushed commit could not be followed at once'),
    );
    expect(lines).toHaveLength(1);
  });

  it('is refused where the branch was set back meanwhile, by the next poll', async () => {
    const { core, base } = await followed();
    const commit = core.source.commit({ 'types/role/web.yaml': 'port: 81\n' });
    core.source.reset(base);
    expect(await told(core, followPushed(core, commit, base))).toBe(commit);
    expect(await told(core, core.follower.newest())).toMatch(/the history was rewritten/);
    expect([core.current.get()?.commit, core.follower.followed]).toEqual([commit, undefined]);
  });
});
