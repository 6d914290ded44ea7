// Implements Publisher: writes commits into the local copy, and pushes them to a branch of the followed repository.
// Git on the remote locks, runs hooks and decides. See ARCHITECTURE.md, "Git".
import { type Clock, systemClock } from '../base/clock.ts';
import type { GitSource } from './git-source.ts';
import type { NotPublished, PreparedCommits, Publisher } from './publisher.ts';
import { checkBranch, directorySteps } from './repository-url.ts';
import { GitError } from './run-git.ts';
import type { Signatures } from './source.ts';
import { type CommitOrder, type Person, writeCommits } from './write-commits.ts';

/** The followed source, and the options of commits. */
export interface GitPublisherOptions {
  /** The source whose local copy has the base commits and receives the new ones. */
  readonly source: Pick<GitSource, 'copy' | 'push' | 'place'>;
  /** Returns the signature of the bytes of a commit; default: commits are not signed. */
  readonly sign?: CommitOrder['sign'];
  /** Checks our commits before the push; default: no check. */
  readonly signatures?: Signatures | undefined;
  readonly clock?: Clock;
}

const COMMITTER: Person = { name: 'Treeline', email: 'treeline@localhost' };

/** Returns the publisher. Sends no request yet. Throws SourceError for an invalid option. */
export function createGitPublisher(options: GitPublisherOptions): Publisher {
  const { source, sign, signatures, clock = systemClock } = options;
  const { branch: followed } = source.place;
  const directory = directorySteps(source.place.directory);
  return {
    async prepare(base, commits) {
      const seconds = Math.floor(clock.now() / 1000);
      const order = { objects: source.copy.objects, base, commits, directory, committer: COMMITTER, seconds, sign };
      const written = await writeCommits(order);
      return written.is === 'prepared' && signatures !== undefined ? await checkOwn(written, signatures) : written;
    },
    async push({ base, commits }, branch = followed) {
      checkBranch(branch);
      return await source.push({ branch, old: branch === followed ? base : null, commit: commits.at(-1) ?? base });
    },
  };
}

/** Checks our commits, because a commit that is refused after its push would block the branch. */
async function checkOwn(written: PreparedCommits, signatures: Signatures): Promise<PreparedCommits | NotPublished> {
  try {
    const bad = await signatures.firstBad(written.commits);
    if (bad === undefined) return written;
    const advice = 'add the public key of repository.sign to repository.verify.allowedSigners';
    return { is: 'refused', reason: `${bad.reason}: ${advice}` };
  } catch (error) {
    if (error instanceof GitError) return { is: 'not sent', reason: error.message };
    throw error;
  }
}
