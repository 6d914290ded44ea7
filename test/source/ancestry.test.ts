// A long history, read as it is: what a clone of it would cost is no matter here.
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { withObjects } from '../../src/git/object-store.ts';
import { isReachable, newCommits } from '../../src/source/ancestry.ts';
import { createGitRepository, runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const COMMITS = 30_000;
const PARENTS = 12_000;

it('goes back through 30,000 commits within seconds, whatever the answer', async () => {
  const repository = await createGitRepository(join(temporaryDirectory(), 'long.git'));
  const first = await repository.commit({ a: '1' });
  const line = Array.from({ length: COMMITS }, (_, n) => {
    const parent = n === 0 ? `from ${first}\n` : '';
    return `commit refs/heads/main\ncommitter T <t@example.org> ${1_800_000_001 + n} +0000\ndata 1\nx\n${parent}\n`;
  });
  await runGit(['-C', repository.path, 'fast-import', '--quiet'], Buffer.from(line.join('')));
  const unrelated = await repository.commit({ b: '1' }, { branch: 'other', parents: [] });
  await repository.git('repack', '-adq');
  const descendant = await repository.git('rev-parse', 'main');

  await withObjects(repository.path, async (objects) => {
    const started = performance.now();
    const ask = (ancestor: string) => isReachable(objects, { ancestor, descendant, commitsMax: 2 * COMMITS });
    expect(await ask(first)).toBe(true);
    expect(await ask(unrelated)).toBe(false);
    expect(performance.now() - started).toBeLessThan(15_000);
    const limited = isReachable(objects, { ancestor: first, descendant, commitsMax: COMMITS / 2 });
    await expect(limited).rejects.toThrow(/no answer within 15000 commits/);
  });
});

it('finds what is new behind thousands of parents, and gives others their turn meanwhile', async () => {
  const repository = await createGitRepository(join(temporaryDirectory(), 'wide.git'));
  const from = await repository.commit({ a: '1' });
  const roots = Array.from({ length: PARENTS }, (_, n) => {
    return `reset refs/heads/r\n\ncommit refs/heads/r\nmark :${n + 1}\ncommitter T <t@example.org> ${1_700_000_000 + n} +0000\ndata 1\nx\n\n`;
  });
  const merges = Array.from({ length: PARENTS }, (_, n) => `merge :${n + 1}\n`).join('');
  const merge = `commit refs/heads/main\ncommitter T <t@example.org> 1900000000 +0000\ndata 1\nx\nfrom ${from}\n${merges}\n`;
  await runGit(['-C', repository.path, 'fast-import', '--quiet'], Buffer.from(roots.join('') + merge));
  await repository.git('repack', '-adq');
  const to = await repository.git('rev-parse', 'main');

  await withObjects(repository.path, async (objects) => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const found = await newCommits(objects, { from, to, countMax: 3, commitsMax: 10 * PARENTS });
    delay.disable();
    expect(found.map(({ time }) => Date.parse(time) / 1000)).toEqual([
      1_900_000_000,
      1_700_000_000 + PARENTS - 1,
      1_700_000_000 + PARENTS - 2,
    ]);
    expect(delay.max / 1e6).toBeLessThan(400);
  });
});
