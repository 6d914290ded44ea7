// The last change of a file, compared with what git itself says, in histories with merges, moves back and forth, and limits.
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParsedCommit, TreeEntry } from '../../../src/repository/git/git-object.ts';
import { findLastChanges, type LastChanges } from '../../../src/repository/git/last-change.ts';
import { ObjectReader } from '../../../src/repository/git/object-reader.ts';
import { countRuns } from '../../support/count-runs.ts';
import { createGitRepository, type GitRepository, runGit } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function lastChanges(
  { path }: Pick<GitRepository, 'path'>,
  commit: string,
  { paths, commitsMax = 1000, isOver = () => false }: { paths: string[]; commitsMax?: number; isOver?: () => boolean },
): Promise<LastChanges> {
  const objects = new ObjectReader(path);
  try {
    return await findLastChanges(objects, { commit, paths, commitsMax, isOver });
  } finally {
    objects.close();
  }
}

async function repository(): Promise<GitRepository> {
  return await createGitRepository(join(temporaryDirectory(), 'stacks.git'));
}

describe('the last change of a file', () => {
  it('is the commit that gave it its content, also after it was changed and changed back', async () => {
    const stacks = await repository();
    const first = await stacks.commit({ 'types/a.yaml': 'a: 1\n', 'types/b.yaml': 'b: 1\n' });
    await stacks.commit({ 'types/b.yaml': 'b: 2\n' });
    const back = await stacks.commit({ 'types/b.yaml': 'b: 1\n' });
    const head = await stacks.commit({ 'README.md': 'hello\n' });
    const found = await lastChanges(stacks, head, { paths: ['types/a.yaml', 'types/b.yaml', 'types/c.yaml', 'types'] });
    expect([...found].map(([path, change]) => [path, change?.oid])).toEqual([
      ['types/a.yaml', first],
      ['types/b.yaml', back],
    ]);
    expect(found.get('types/a.yaml')?.time).toBe('2027-01-15T08:00:00Z');
  });

  it('is not known beyond the limits', async () => {
    const stacks = await repository();
    await stacks.commit({ 'a.yaml': 'a: 1\n' });
    for (let index = 0; index < 5; index++) await stacks.commit({ 'b.yaml': `b: ${index}\n` });
    const head = await stacks.git('rev-parse', 'main');
    const paths = ['a.yaml', 'b.yaml'];
    expect((await lastChanges(stacks, head, { paths, commitsMax: 5 })).get('a.yaml')).toBeNull();
    expect((await lastChanges(stacks, head, { paths, commitsMax: 6 })).get('a.yaml')).toMatchObject({
      oid: expect.any(String),
    });
    expect((await lastChanges(stacks, head, { paths, isOver: () => true })).get('b.yaml')).toBeNull();
    expect((await lastChanges(stacks, '0'.repeat(40), { paths })).get('a.yaml')).toBeNull();
  });

  it('is not searched among all parents of one commit', async () => {
    const oid = (number: number): string => number.toString(16).padStart(40, '0');
    const tree = { mode: '100644', name: 'a.yaml' } as const;
    let read = 0;
    const objects = {
      async findCommit(id: string) {
        read += 1;
        const parents = id === oid(1) ? Array.from({ length: 10_000 }, (_, index) => oid(index + 2)) : [];
        return { oid: id, tree: id, parents, time: '2027-01-15T08:00:00Z' } as unknown as ParsedCommit;
      },
      // Every commit has another file.
      readTree: async (id: string) => [{ ...tree, oid: id }] as unknown as readonly TreeEntry[],
    };
    const search = { commit: oid(1), paths: ['a.yaml'], commitsMax: 1_000, isOver: () => read > 100 };
    expect((await findLastChanges(objects, search)).get('a.yaml')).toBeNull();
    expect(read).toBeLessThan(110);
  });

  it('is not known where a shallow clone ends', async () => {
    const stacks = await repository();
    await stacks.commit({ 'a.yaml': 'a: 1\n' });
    await stacks.commit({ 'b.yaml': 'b: 1\n' });
    const head = await stacks.commit({ 'c.yaml': 'c: 1\n' });
    const path = join(temporaryDirectory(), 'shallow.git');
    await runGit(['clone', '-q', '--bare', '--depth=2', `file://${stacks.path}`, path]);
    const found = await lastChanges({ path }, head, { paths: ['a.yaml', 'b.yaml', 'c.yaml'] });
    expect([found.get('a.yaml'), found.get('b.yaml'), found.get('c.yaml')?.oid]).toEqual([null, null, head]);
  });

  it('is what git says, in any history', async () => {
    const step = fc.record({
      file: fc.constantFrom('a', 'dir/b', 'dir/deep/c'),
      content: fc.integer({ min: 0, max: 2 }),
      parents: fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const stacks = await repository();
        const commits = [await stacks.commit({ a: '0', 'dir/b': '0', 'dir/deep/c': '0' })];
        for (const { file, content, parents } of steps) {
          const chosen = [...new Set(parents.map((parent) => commits[parent % commits.length] ?? ''))];
          commits.push(await stacks.commit({ [file]: String(content) }, { parents: chosen }));
        }
        const head = commits.at(-1) ?? '';
        const paths = ['a', 'dir/b', 'dir/deep/c'];
        const found = await lastChanges(stacks, head, { paths });
        for (const path of paths) {
          expect(found.get(path)?.oid).toBe(await stacks.git('log', '-1', '--format=%H', head, '--', path));
        }
      }),
      { numRuns: countRuns(8) },
    );
  }, 60_000);
});
