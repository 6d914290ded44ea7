// Tests the triggers of a poll: the interval, and the watch on a branch.
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { createBranchWatch, createPollTimer } from '../../src/repository/triggers.ts';
import { createGitRepository, type GitRepository } from '../support/git-repository.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

describe('the poll timer', () => {
  it('fires at its pace until it is stopped', async () => {
    const clock = new ManualClock();
    let polls = 0;
    const timer = createPollTimer(30, clock);
    timer.start(() => polls++);
    clock.advance(29);
    expect(polls).toBe(0);
    clock.advance(1);
    clock.advance(30);
    expect(polls).toBe(2);
    await timer.stop();
    clock.advance(100);
    expect(polls).toBe(2);
  });

  it('goes on after a look that threw, and has one pace when started twice', () => {
    const clock = new ManualClock();
    let looks = 0;
    const timer = createPollTimer(30, clock);
    timer.start(() => {
      looks++;
      throw new Error('from the look');
    });
    expect(() => clock.advance(30)).toThrow('from the look');
    timer.start(() => looks++);
    clock.advance(30);
    clock.advance(30);
    expect(looks).toBe(3);
  });
});

describe('the branch watch', () => {
  /** Returns a function that resolves once the watch fires for what `act` does; repeats it until it does. */
  function watching(path: string): (act: () => Promise<unknown>) => Promise<void> {
    let looks = 0;
    const watch = createBranchWatch({ path, branch: 'main' });
    watch.start(() => looks++);
    onTestFinished(() => watch.stop());
    return async (act) => {
      const before = looks;
      await vi.waitFor(
        async () => {
          await act();
          await vi.waitFor(() => expect(looks).toBeGreaterThan(before), { timeout: 500, interval: 5 });
        },
        { timeout: 20_000, interval: 0 },
      );
    };
  }

  async function repositoryAt(name: string, bare: boolean): Promise<GitRepository> {
    const repository = await createGitRepository(join(temporaryDirectory(), name), { bare });
    await repository.commit({ a: '1' });
    return repository;
  }

  it.each([
    ['bare', 'stacks.git', true],
    ['with a work tree', 'work tree', false],
  ])('fires for commits in a repository %s', async (_, name, bare) => {
    const repository = await repositoryAt(name, bare);
    const expectTrigger = watching(repository.path);
    let n = 0;
    await expectTrigger(() => repository.commit({ a: `${n++}` }));
    await expectTrigger(() => repository.commit({ a: `${n++}` }));
  });

  it('fires for commits in a linked work tree', async () => {
    const repository = await repositoryAt('main tree', false);
    await repository.git('branch', 'other');
    const linked = `${repository.path}-linked`;
    await repository.git('worktree', 'add', '--quiet', linked, 'other');
    const expectTrigger = watching(linked);
    let n = 0;
    await expectTrigger(() => repository.commit({ a: `${n++}` }));
  });

  it('fires for refs that are packed, and for a branch that appears', async () => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'empty.git'));
    const expectTrigger = watching(repository.path);
    let n = 0;
    await expectTrigger(() => repository.commit({ a: `${n++}` }));
    await expectTrigger(async () => {
      await repository.commit({ a: `${n++}` });
      await repository.git('pack-refs', '--all');
    });
  });

  it('says so where there is nothing to watch, and stops all the same', async () => {
    const path = join(temporaryDirectory(), 'gone.git');
    const lines: string[] = [];
    const log = createLog('warn', { write: (line) => lines.push(line) });
    const watch = createBranchWatch({ path, branch: 'main', log });
    watch.start(() => undefined);
    await watch.stop();
    expect(lines.join('')).toContain('cannot be watched, polling continues');
  });
});
