// A long history, read as it is: what a clone of it would cost is no matter here.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isReachable } from '../../src/source/ancestry.ts';
import { withObjects } from '../../src/source/object-store.ts';
import { createGitRepository, runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const COMMITS = 30_000;

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
