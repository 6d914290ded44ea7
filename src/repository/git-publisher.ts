// Implements Publisher: pushes commits to a branch of the followed repository. Creates them in memory; locking, hooks
// and the decision are left to git on the remote. See docs/decisions/0026-pushing.md.
import { type Clock, systemClock } from '../base/clock.ts';
import { invariant } from '../base/invariant.ts';
import { systemTurns } from '../base/slices.ts';
import type { RepositoryAccess } from '../model/settings.ts';
import { EditConflictError, editTree } from './git/edit-tree.ts';
import { checkPerson, encodeCommit, type Person } from './git/encode-commit.ts';
import { encodePack } from './git/encode-pack.ts';
import { NewObjects, TreeCache } from './git/new-objects.ts';
import type { ObjectReader } from './git/object-reader.ts';
import type { GitSource } from './git-source.ts';
import type { NewCommit, NotPublished, PreparedCommits, Publisher } from './publisher.ts';
import { openTransport } from './remotes/open-transport.ts';
import { SmartPusher } from './remotes/smart-pusher.ts';
import { checkBranch, directorySteps } from './repository-url.ts';
import { SourceError } from './source.ts';

interface PublisherLimits {
  /** The maximum size of a remote's answer, in bytes: all its refs have to fit. */
  readonly answerBytesMax: number;
  /** How long one push may take, in milliseconds, hooks included. */
  readonly pushMs: number;
  /** How long a remote may be silent, connecting included, in milliseconds. */
  readonly silenceMs: number;
}

const PUBLISHER_LIMITS: PublisherLimits = {
  answerBytesMax: 64 * 1024 * 1024,
  pushMs: 60 * 1000,
  silenceMs: 15 * 1000,
};

/** The repository to push to, and the committer. */
export interface GitPublisherOptions {
  /** As in the options of the source; so are the next three. */
  readonly url: string;
  readonly access?: RepositoryAccess;
  readonly branch: string;
  readonly directory: string;
  /** The source whose local copy holds the base commits. */
  readonly source: Pick<GitSource, 'readObjects'>;
  /** The committer, independent of the author. */
  readonly committer?: Person;
  readonly limits?: Partial<PublisherLimits>;
  readonly clock?: Clock;
}

/** The maximum size of the trees that are kept for the next commits. */
const TREE_BYTES_MAX = 8 * 1024 * 1024;
const COMMITTER: Person = { name: 'Treeline', email: 'treeline@localhost' };

/** Returns the publisher. Sends no request yet. Throws SourceError for an invalid option. */
export function createGitPublisher(options: GitPublisherOptions): Publisher {
  const { source, committer = COMMITTER, clock = systemClock } = options;
  const limits = { ...PUBLISHER_LIMITS, ...options.limits };
  const directory = directorySteps(options.directory);
  const pusher = new SmartPusher(openTransport(options, limits));
  const trees = new TreeCache(TREE_BYTES_MAX);
  checkBranch(options.branch);
  checkPerson(committer);
  return {
    async prepare(base, commits) {
      const seconds = Math.floor(clock.now() / 1000);
      try {
        return await source.readObjects(async (objects) => {
          const prepared = await prepareCommits(objects, { base, commits, directory, committer, seconds, trees });
          if (prepared !== undefined) return prepared;
          throw new SourceError(`commit "${base}" is not here: nothing can be built on it`);
        });
      } catch (error) {
        if (error instanceof EditConflictError) return { is: 'refused', reason: error.message };
        return notSent(error);
      }
    },
    async push(prepared, branch = options.branch) {
      const { base, commits, pack } = prepared;
      checkBranch(branch);
      const commit = commits.at(-1) ?? base;
      const old = branch === options.branch ? base : null;
      const late = new AbortController();
      const seconds = limits.pushMs / 1000;
      const cancel = clock.after(limits.pushMs, () =>
        late.abort(new SourceError(`"${pusher.name}" did not answer within ${seconds} s`)),
      );
      try {
        return await pusher.push({ branch, old, commit, pack, signal: late.signal });
      } catch (error) {
        return notSent(error);
      } finally {
        cancel();
      }
    },
  };
}

/** Returns the outcome for a failure before anything was sent. Rethrows other errors. */
function notSent(error: unknown): NotPublished {
  if (!(error instanceof SourceError)) throw error;
  return { is: 'not sent', reason: error.message };
}

interface CommitOrder {
  /** A commit of the local copy. */
  readonly base: string;
  readonly commits: readonly NewCommit[];
  /** The path segments from the repository's root to the layout's directory. */
  readonly directory: readonly string[];
  readonly committer: Person;
  /** Seconds since 1970, the time of all commits. */
  readonly seconds: number;
  /** Trees of earlier commits. */
  readonly trees: TreeCache;
}

/**
 * Returns the commits with all their new objects; undefined if the base is missing. Throws DamagedCopyError, and like
 * {@link editTree}.
 */
export async function prepareCommits(present: ObjectReader, order: CommitOrder): Promise<PreparedCommits | undefined> {
  const { base, commits, directory, committer, seconds, trees } = order;
  invariant(commits.length > 0, 'there is something to commit');
  const parent = await present.findCommit(base);
  if (parent === undefined) return undefined;
  const objects = new NewObjects(present, trees);
  const made: string[] = [];
  let { tree } = parent;
  for (const { author, message, edits } of commits) {
    const changes = edits.map(({ path, text }) => ({ steps: [...directory, ...path.split('/')], text }));
    tree = await editTree(objects, tree, changes);
    const before = made.at(-1) ?? base;
    made.push(objects.make('commit', encodeCommit({ tree, parent: before, author, committer, seconds, message })));
    // A large directory takes a while.
    if (systemTurns.isOver()) await systemTurns.next();
  }
  return { is: 'prepared', base, commits: made, ...encodePack(objects.made) };
}
