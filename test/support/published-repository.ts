// A repository that a publisher pushes to, however it is reached, and what must hold in it afterwards.
import { join } from 'node:path';
import { expect } from 'vitest';
import { createGitPublisher } from '../../src/repository/git-publisher.ts';
import { createGitSource, type GitSource, type GitSourceOptions } from '../../src/repository/git-source.ts';
import type { NewCommit, PreparedCommits, Publisher, PushOutcome } from '../../src/repository/publisher.ts';
import { createGitRepository, type FileChanges, type GitRepository, runGit } from './git-repository.ts';
import { ManualClock } from './manual-clock.ts';
import { prepareOnce } from './prepared-folder.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface PublishedRepository {
  readonly repository: GitRepository;
  readonly source: GitSource;
  readonly publisher: Publisher;
  /** The folder of the local copy. */
  readonly cache: string;
  /** The commit that is here. */
  readonly base: string;
  /** Stands still at {@link NOW}. */
  readonly clock: ManualClock;
  /** Prepares one commit on the base that writes a file `new`. */
  prepare(): Promise<PreparedCommits>;
  /** Where a branch is, empty where there is none. */
  headOf(branch?: string): Promise<string>;
  /** Everything that git can check is right. */
  expectIntact(): Promise<void>;
}

/** What a push comes to, with the reason where there is one. */
export interface Ending {
  readonly is: PushOutcome['is'];
  readonly message: string;
}

type Options = Partial<GitSourceOptions> & { readonly url: string };
export type Reach = (repository: GitRepository) => Options | Promise<Options>;

export interface PublishedOptions {
  readonly bare?: boolean;
  readonly files?: FileChanges;
}

export const NOW = '2026-11-20T10:13:56Z';
const OLD_FILES: FileChanges = { 'tree.yaml': 'name: all\n', 'stacks/instances/shop.yaml': 'template: web\n' };

/** Returns a commit to be made. */
export function newCommit(edits: Readonly<Record<string, string | null>>, message = 'Write'): NewCommit {
  const author = { name: 'Deploy robot', email: '0A1B@clients.example' };
  return { author, message, edits: Object.entries(edits).map(([path, text]) => ({ path, text })) };
}

/** Makes a repository with one commit, and a local copy that has it. Returns the commit. */
async function fillWith(folder: string, { bare, files }: Required<PublishedOptions>): Promise<string> {
  const repository = await createGitRepository(join(folder, 'stacks.git'), { bare });
  const base = await repository.commit(files);
  const place = { branch: 'main', directory: '.', cache: join(folder, 'cache') };
  const source = await createGitSource({ url: repository.path, ...place });
  await source.fetch(null);
  await source.close();
  return base;
}

const copyCommit = prepareOnce((folder) => fillWith(folder, { bare: true, files: OLD_FILES }));

/** Returns a repository with one commit, which is here too. `reach` says how the publisher gets to it. */
export async function publishTo(
  reach: Reach = ({ path }) => ({ url: path }),
  { bare = true, files = OLD_FILES }: PublishedOptions = {},
): Promise<PublishedRepository> {
  const folder = temporaryDirectory();
  const cache = join(folder, 'cache');
  const base = files === OLD_FILES && bare ? await copyCommit(folder) : await fillWith(folder, { bare, files });
  const repository = await createGitRepository(join(folder, 'stacks.git'), { bare });
  const clock = new ManualClock(Date.parse(NOW));
  const place = { branch: 'main', directory: '.', cache };
  const source = await createGitSource({ ...place, ...(await reach(repository)) });
  const publisher = createGitPublisher({ source, clock, branch: 'main', directory: '.' });
  return {
    ...{ repository, source, publisher, cache, base, clock },
    prepare: () => prepareWith(publisher, base, [newCommit({ new: 'text\n' })]),
    headOf: (branch = 'main') => repository.git('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`),
    async expectIntact() {
      expect(
        await runGit(['-C', repository.path, 'fsck', '--full', '--strict', '--no-progress', '--no-dangling']),
      ).toBe('');
    },
  };
}

/** Prepares commits, which has to succeed. */
export async function prepareWith(
  publisher: Publisher,
  base: string,
  commits: readonly NewCommit[],
): Promise<PreparedCommits> {
  const prepared = await publisher.prepare(base, commits);
  if (prepared.is === 'prepared') return prepared;
  throw new Error(`${prepared.is}: ${prepared.reason}`);
}

/** Waits for a push and returns how it ended. */
export async function endingOf(push: Promise<PushOutcome>): Promise<Ending> {
  const outcome = await push;
  return { is: outcome.is, message: 'reason' in outcome ? outcome.reason : '' };
}
