// A repository that a source follows over a network which can fail, and what must hold whenever it does: the local copy
// keeps its head and its objects, and the next fetch that works makes up for it.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createGitSource, type GitSourceOptions } from '../../src/repository/git-source.ts';
import { SourceError } from '../../src/repository/source.ts';
import { type GitHttpServer, type GitHttpServerOptions, startGitHttpServer } from './git-http-server.ts';
import { createGitRepository, type GitRepository, runGit } from './git-repository.ts';
import { prepareOnce } from './prepared-folder.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export type FollowedRepository = Awaited<ReturnType<typeof followRepository>>;

const OLD_FILES = { 'tree.yaml': 'name: all\n', keep: 'kept' };

/** A repository with two commits, and a local copy that has the first. */
const copyCommits = prepareOnce(async (folder) => {
  const repository = await createGitRepository(join(folder, 'stacks.git'));
  const old = await repository.commit(OLD_FILES);
  const place = { url: repository.path, branch: 'main', directory: '.', cache: join(folder, 'cache') };
  const source = await createGitSource(place);
  expect((await source.fetch(null)).oid).toBe(old);
  await source.close();
  return { old, head: await repository.commit(noise()) };
});

/** Returns a repository with two commits, of which the first is here already. `reach` says how the source gets to it. */
export async function followRepository(
  reach: (repository: GitRepository) => Promise<Partial<GitSourceOptions> & { readonly url: string }>,
) {
  const folder = temporaryDirectory();
  const cache = join(folder, 'cache');
  const { old, head } = await copyCommits(folder);
  const repository = await createGitRepository(join(folder, 'stacks.git'));
  const source = await createGitSource({ branch: 'main', directory: '.', cache, ...(await reach(repository)) });
  const copy = join(cache, 'repository.git');

  async function expectIntact(commit: string): Promise<void> {
    expect(await runGit(['-C', copy, 'fsck', '--full', '--no-dangling', '--no-progress'])).toBe('');
    const left = await readdir(copy, { recursive: true });
    expect(left.filter((path) => /\.lock$|(^|\/)tmp_/.test(path))).toEqual([]);
    const { files, blobs } = await source.snapshot(commit, () => true);
    expect(Buffer.from(blobs.get(files.get('keep')?.oid ?? '') ?? '').toString()).toBe('kept');
  }

  return {
    repository,
    source,
    old,
    head,
    /** Fetches in vain: the message fits, and nothing changed. */
    async expectFailure(message: RegExp | string): Promise<SourceError> {
      const error: unknown = await source.fetch(old).then(
        () => undefined,
        (reason) => reason,
      );
      if (!(error instanceof SourceError)) throw error ?? new Error('the fetch succeeded');
      expect(error.message).toMatch(message);
      expect(await runGit(['-C', copy, 'rev-parse', 'refs/treeline/head'])).toBe(old);
      await expectIntact(old);
      return error;
    },
    /** Fetches the head, and everything is right. */
    async expectSuccess(): Promise<void> {
      expect((await source.fetch(old)).oid).toBe(head);
      await expectIntact(head);
      expect((await readdir(cache)).sort()).toEqual(['git.config', 'repository.git']);
    },
  };
}

/** Returns a repository that is followed over HTTP. */
export async function followOverHttp(
  options: Partial<GitSourceOptions> = {},
  serverOptions: Omit<GitHttpServerOptions, 'repository'> = {},
) {
  const { promise, resolve } = Promise.withResolvers<GitHttpServer>();
  const followed = await followRepository(async ({ path }) => {
    const server = await startGitHttpServer({ repository: path, ...serverOptions });
    resolve(server);
    return { url: server.url, ...options };
  });
  return { ...followed, server: await promise };
}

/** Files whose content does not compress, so that the middle of the answer is the middle of one of them. */
function noise(): Record<string, string> {
  const text = (n: number): string => Array.from({ length: 300 }, (_, i) => Math.sin(n * 97 + i)).join('');
  return Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`f${n}`, text(n)]));
}
