// Commits that this process has made and pushed join the local copy without being fetched. The real git looks at the copy.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createGitPublisher } from '../../src/repository/git-publisher.ts';
import { createGitSource, type GitSource } from '../../src/repository/git-source.ts';
import type { PreparedCommits, Publisher } from '../../src/repository/publisher.ts';
import type { SourceLimits } from '../../src/repository/source-limits.ts';
import { createGitRepository, type GitRepository, runGit } from '../support/git-repository.ts';
import { newCommit, prepareWith } from '../support/published-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

interface Scene {
  readonly repository: GitRepository;
  readonly source: GitSource;
  readonly publisher: Publisher;
  readonly base: string;
  /** The local copy. */
  readonly copy: string;
  /** Prepares two commits on a base. */
  prepare(base: string, revision?: number): Promise<PreparedCommits>;
}

const ALL = (): boolean => true;

async function scene(limits: Partial<SourceLimits> = {}): Promise<Scene> {
  const folder = temporaryDirectory();
  const repository = await createGitRepository(join(folder, 'stacks.git'));
  const base = await repository.commit({ 'tree.yaml': 'name: all\n', 'types/role/web.yaml': 'port: 80\n' });
  const place = { url: repository.path, branch: 'main', directory: '.', cache: join(folder, 'cache') };
  const source = await createGitSource({ ...place, limits });
  expect(await source.fetch(null)).toMatchObject({ oid: base });
  const publisher = createGitPublisher({ ...place, source });
  return {
    ...{ repository, source, publisher, base, copy: join(folder, 'cache', 'repository.git') },
    async prepare(on, revision = 1) {
      const prepared = await prepareWith(publisher, on, [
        newCommit({ 'types/role/web.yaml': `port: ${revision}\n` }),
        newCommit({ 'types/role/db.yaml': `port: ${revision}\n`, 'types/role/web.yaml': null }),
      ]);
      source.offer(prepared);
      return prepared;
    },
  };
}

function headOf({ commits }: PreparedCommits): string {
  const head = commits.at(-1);
  if (head === undefined) throw new Error('there is no commit');
  return head;
}

function packsOf(copy: string): readonly string[] {
  return readdirSync(join(copy, 'objects', 'pack')).toSorted();
}

async function expectIntact(copy: string): Promise<void> {
  expect(await runGit(['-C', copy, 'fsck', '--full', '--strict', '--no-progress', '--no-dangling'])).toBe('');
}

describe('commits that were pushed', () => {
  it('are in the copy, whole for git, and read from there', async () => {
    const { source, publisher, base, copy, prepare } = await scene();
    const prepared = await prepare(base);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await source.has(headOf(prepared))).toBe(false);
    expect(await source.adopt(headOf(prepared))).toBe(true);
    expect(await source.commitsBetween(base, headOf(prepared), 10)).toHaveLength(2);
    const { files, blobs } = await source.snapshot(headOf(prepared), ALL);
    expect([...files.keys()]).toEqual(['tree.yaml', 'types/role/db.yaml']);
    expect([...blobs.values()].map(String)).toContain('port: 1\n');
    await expectIntact(copy);
    expect(readFileSync(join(copy, 'refs', 'heads', 'followed'), 'utf8').trim()).toBe(headOf(prepared));
  });

  it('have the index that git makes of their pack', async () => {
    const { base, prepare } = await scene();
    const { pack, index } = await prepare(base);
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'own.pack'), pack);
    await runGit(['init', '--quiet', '--bare', join(folder, 'r.git')]);
    await runGit(['-C', join(folder, 'r.git'), 'index-pack', '-o', join(folder, 'git.idx'), join(folder, 'own.pack')]);
    expect(Buffer.compare(readFileSync(join(folder, 'git.idx')), index)).toBe(0);
  });

  it('one after the other, are what the next fetch builds on', async () => {
    const { repository, source, publisher, base, copy, prepare } = await scene();
    let head = base;
    for (const revision of [1, 2, 3]) {
      const prepared = await prepare(head, revision);
      expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
      head = headOf(prepared);
      expect(await source.adopt(head)).toBe(true);
    }
    const theirs = await repository.commit({ 'types/role/mail.yaml': 'port: 25\n' });
    expect(await source.fetch(head)).toMatchObject({ oid: theirs, parents: [head] });
    expect((await source.snapshot(theirs, ALL)).files.size).toBe(3);
    await expectIntact(copy);
  });

  it('are known to the watch on the branch until another commit comes: setting it back to them is news', async () => {
    const { repository, source, publisher, base, prepare } = await scene();
    const prepared = await prepare(base);
    await publisher.push(prepared);
    expect(source.isOwnHead(headOf(prepared))).toBe(true);
    await source.adopt(headOf(prepared));
    expect(source.isOwnHead(headOf(prepared))).toBe(true);
    const theirs = await repository.commit({ 'types/role/mail.yaml': 'port: 25\n' });
    expect(await source.fetch(base)).toMatchObject({ oid: theirs });
    expect(source.isOwnHead(headOf(prepared))).toBe(false);
  });

  it('are found by a fetch where the answer to the push was lost, and are not fetched', async () => {
    const { repository, source, publisher, base, copy, prepare } = await scene();
    const prepared = await prepare(base);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    // Only the list of branches can still be asked for.
    rmSync(join(repository.path, 'objects', headOf(prepared).slice(0, 2)), { recursive: true });
    expect(await source.fetch(base)).toMatchObject({ oid: headOf(prepared) });
    await expectIntact(copy);
  });

  it('survive a restart', async () => {
    const { repository, source, publisher, base, copy, prepare } = await scene();
    const prepared = await prepare(base);
    await publisher.push(prepared);
    await source.adopt(headOf(prepared));
    await source.close();
    const again = await createGitSource({
      url: repository.path,
      branch: 'main',
      directory: '.',
      cache: join(copy, '..'),
    });
    expect(await again.fetch(null)).toMatchObject({ oid: headOf(prepared) });
    expect(await again.isAncestor(base, headOf(prepared))).toBe(true);
    await again.close();
  });
});

describe('nothing is added to the copy', () => {
  it('of a commit that was never offered, or is not the last of them', async () => {
    const { source, publisher, base, copy, prepare } = await scene();
    const before = packsOf(copy);
    expect(await source.adopt('1'.repeat(40))).toBe(false);
    const prepared = await prepare(base);
    await publisher.push(prepared);
    expect(await source.adopt(prepared.commits[0] ?? '')).toBe(false);
    expect(packsOf(copy)).toEqual(before);
  });

  it('where a rewritten history has replaced the copy, which lacks their base', async () => {
    const { repository, source, base, copy, prepare } = await scene();
    const prepared = await prepare(base);
    const other = await repository.commit({ 'tree.yaml': 'name: other\n' }, { parents: [] });
    rmSync(copy, { recursive: true });
    expect(await source.fetch(null)).toMatchObject({ oid: other });
    const before = packsOf(copy);
    expect(await source.adopt(headOf(prepared))).toBe(false);
    expect(packsOf(copy)).toEqual(before);
  });

  it('where it has as many packs as it may: the next fetch replaces it', async () => {
    const { source, publisher, base, copy, prepare } = await scene({ packsMax: 1 });
    const prepared = await prepare(base);
    await publisher.push(prepared);
    expect(await source.adopt(headOf(prepared))).toBe(false);
    expect(await source.fetch(base)).toMatchObject({ oid: headOf(prepared) });
    expect(packsOf(copy)).toHaveLength(2);
    await expectIntact(copy);
  });

  it('where the copy would have more objects than one fetch may bring: a fetch says so', async () => {
    const { source, publisher, base, prepare } = await scene({ objectsMax: 8 });
    const prepared = await prepare(base);
    await publisher.push(prepared);
    expect(await source.adopt(headOf(prepared))).toBe(false);
    await expect(source.fetch(base)).rejects.toThrow(/objects, and 8 are taken at once/);
  });

  it('where their index cannot be written, and what is left of it makes the copy no worse after a restart', async () => {
    const { repository, source, publisher, base, copy, prepare } = await scene();
    const before = packsOf(copy);
    const prepared = await prepare(base);
    await publisher.push(prepared);
    const sum = Buffer.from(prepared.pack.subarray(-20)).toString('hex');
    const index = join(copy, 'objects', 'pack', `pack-${sum}.idx`);
    mkdirSync(index);
    expect(await source.adopt(headOf(prepared))).toBe(false);
    rmSync(index, { recursive: true });
    await source.close();
    const place = { url: repository.path, branch: 'main', directory: '.', cache: join(copy, '..') };
    const again = await createGitSource(place);
    expect(await again.fetch(null)).toMatchObject({ oid: headOf(prepared) });
    // A damaged copy would have been replaced.
    expect(packsOf(copy)).toEqual(expect.arrayContaining([...before]));
    await expectIntact(copy);
    await again.close();
  });

  it('where it cannot be written, and the next fetch brings them', async () => {
    const { source, publisher, base, copy, prepare } = await scene();
    const prepared = await prepare(base);
    await publisher.push(prepared);
    mkdirSync(join(copy, 'objects', 'pack', 'tmp_own'));
    expect(await source.adopt(headOf(prepared))).toBe(false);
    expect(await source.fetch(base)).toMatchObject({ oid: headOf(prepared) });
    await expectIntact(copy);
  });
});
