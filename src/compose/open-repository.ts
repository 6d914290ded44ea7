// Opens the repository that is followed: the parts that fetch it, publish to it, and notice that its branch moved.
import { join } from 'node:path';
import type { Settings } from '../model/settings.ts';
import { createBranchWatch } from '../source/branch-watch.ts';
import { createGitPublisher } from '../source/git-publisher.ts';
import { createGitSource, type GitSource } from '../source/git-source.ts';
import { createPollTimer } from '../source/poll-timer.ts';
import type { Publisher } from '../source/publisher.ts';
import { parseRepositoryUrl } from '../source/repository-url.ts';
import type { Source, Trigger } from '../source/source.ts';
import type { SharedParts } from './shared-parts.ts';

/** The parts that reach the repository. */
interface Repository {
  readonly source: Source;
  readonly publisher: Publisher;
  readonly triggers: readonly Trigger[];
}

/** Returns the parts that reach the repository of the settings, and has git start meanwhile. `opened` closes them. */
export async function openRepository(
  { repository, store }: Pick<Settings, 'repository' | 'store'>,
  { log, clock, opened }: Omit<SharedParts, 'adapting'>,
): Promise<Repository> {
  const { url, access, branch, directory } = repository;
  // The directory of the local copy.
  const cache = join(store.directory, 'repository');
  const place = { url, access, branch, directory, cache, clock };
  const source = opened.adopt(await createGitSource({ ...place, log }), (it: GitSource) => it.close());
  source.prepare();
  const triggers = triggersOf(repository, { log, clock, source });
  return { source, publisher: createGitPublisher({ ...place, source }), triggers };
}

/** A local repository is watched and also polled: a lost hint costs time, never a commit. */
function triggersOf(
  { url, branch, pollSeconds }: Settings['repository'],
  { log, clock, source }: Pick<SharedParts, 'log' | 'clock'> & { readonly source: GitSource },
): Trigger[] {
  const poll = createPollTimer(pollSeconds * 1000, clock);
  const parsed = parseRepositoryUrl(url);
  if (parsed.kind !== 'local') return [poll];
  const isKnown = (head: string): boolean => source.isOwnHead(head);
  return [poll, createBranchWatch({ path: parsed.path, branch, isKnown, log })];
}
