// Implements Source: follows one branch of a Git repository. It only reads from the repository, and checks nothing out.
import { type Clock, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { FollowedPlace } from '../model/rows.ts';
import type { RepositoryAccess } from '../model/settings.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { withDeadline } from './deadline.ts';
import { findFileChanges } from './find-file-changes.ts';
import { descriptionOf, FollowedCopy } from './followed-copy.ts';
import { isOid, type ParsedCommit } from './git/git-object.ts';
import { commonAncestors, type HistoryQuestion, isReachable, LastLine, newCommits } from './git/history.ts';
import type { ObjectReader } from './git/object-reader.ts';
import { headOfBranch } from './head-of-branch.ts';
import { copyFailure } from './local-copy.ts';
import type { PreparedCommits } from './publisher.ts';
import { fetchVerified } from './quarantine.ts';
import { openTransport } from './remotes/open-transport.ts';
import { SmartRemote } from './remotes/smart-remote.ts';
import { checkBranch, directorySteps } from './repository-url.ts';
import { type SnapshotCounts, SnapshotReader } from './snapshot-reader.ts';
import {
  type AddedOrder,
  type BlobFilter,
  type ChangeLimits,
  type Commit,
  type LastFileChanges,
  type Source,
  SourceError,
} from './source.ts';
import { SOURCE_LIMITS, type SourceLimits } from './source-limits.ts';

/** The branch to follow, and where its local copy is. */
export interface GitSourceOptions {
  /** A path, `https://` …; see repository-url.ts. */
  readonly url: string;
  /** Access to an `http(s)://` repository; default: anonymous. */
  readonly access?: RepositoryAccess;
  readonly branch: string;
  /** The directory of the layout in the repository; `.` is its root. */
  readonly directory: string;
  /** A directory for the local copy only; created if missing. */
  readonly cache: string;
  readonly limits?: Partial<SourceLimits>;
  readonly clock?: Clock;
  readonly log?: Logger;
}

/** A source with access to its local copy. */
export interface GitSource extends Source {
  /** Provides the objects of the local copy while `work` runs. The next fetch repairs damage that it finds. */
  readObjects<Value>(work: (objects: ObjectReader) => Promise<Value>): Promise<Value>;

  /**
   * Starts git for the local copy, if there is one: while the process is small, that takes least, and git is there when the
   * first commit is read. Where that is not within a minute, git ends again.
   */
  prepare(): void;

  /** Returns true if a commit is the branch's head as it was fetched last, or the last of the offered commits. */
  isOwnHead(commit: string): boolean;

  /** The cost of the last snapshot. */
  readonly counts: SnapshotCounts;
}

/** Returns the source. Sends no request yet. Throws SourceError for an invalid option. */
export async function createGitSource(options: GitSourceOptions): Promise<GitSource> {
  const limits = { ...SOURCE_LIMITS, ...options.limits };
  checkBranch(options.branch);
  const { objectsMax, answerBytesMax: packBytesMax } = limits;
  const remote = new SmartRemote(openTransport(options, limits), { objectsMax, packBytesMax });
  return new BranchSource(options, limits, remote);
}

class BranchSource implements GitSource {
  readonly place: FollowedPlace;
  readonly #remote: SmartRemote;
  readonly #branch: string;
  readonly #folder: string;
  readonly #copy: FollowedCopy;
  readonly #limits: SourceLimits;
  readonly #clock: Clock;
  readonly #log: Logger | undefined;
  readonly #reader: SnapshotReader;
  readonly #line = new LastLine();
  readonly #directory: readonly string[];
  /** Fetches run one after the other: they share a directory. */
  #fetching: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();

  constructor(options: GitSourceOptions, limits: SourceLimits, remote: SmartRemote) {
    this.#remote = remote;
    this.#branch = options.branch;
    this.#folder = options.cache;
    this.#clock = options.clock ?? systemClock;
    this.#copy = new FollowedCopy({
      clock: this.#clock,
      ...{ folder: options.cache, packsMax: limits.packsMax, log: options.log },
      ...{ objectsMax: limits.objectsMax, packBytesMax: limits.answerBytesMax },
    });
    this.#limits = limits;
    this.#log = options.log;
    this.#directory = directorySteps(options.directory);
    this.place = { url: remote.name, branch: options.branch, directory: this.#directory.join('/') || '.' };
    this.#reader = new SnapshotReader({ ...limits, directory: this.#directory });
  }

  get counts(): SnapshotCounts {
    return this.#reader.counts;
  }

  /** Ignores `known`: every object of the copy was verified on arrival, and is hashed again on each read. */
  fetch(_known: string | null, ended?: AbortSignal): Promise<Commit> {
    const signal = ended === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, ended]);
    const fetch = this.#fetching
      .then(() => this.#remote.secrets.guard(() => this.#fetch(signal)))
      .catch((error: unknown) => {
        throw copyFailure(this.#folder, error);
      });
    this.#fetching = fetch.catch(() => undefined);
    return fetch;
  }

  prepare(): void {
    this.#copy.objects.prepare();
  }

  offer(prepared: PreparedCommits): void {
    this.#copy.offer(prepared);
  }

  isOwnHead(commit: string): boolean {
    return this.#copy.isOwnHead(commit);
  }

  adopt(commit: string): Promise<boolean> {
    const adopt = this.#fetching.then(async () => (await this.#copy.adopt(commit)) !== undefined);
    this.#fetching = adopt;
    return adopt;
  }

  has(commit: string): Promise<boolean> {
    return this.readObjects(async (objects) => isOid(commit) && (await objects.hasCommit(commit)));
  }

  snapshot(commit: string, wants: BlobFilter, directory?: string): Promise<Snapshot> {
    const steps = directory === undefined ? undefined : directorySteps(directory);
    return this.readObjects(async (objects) =>
      this.#reader.read(objects, await commitHere(objects, commit), { wants, directory: steps }),
    );
  }

  added({ from, to, directory, select }: AddedOrder): ReturnType<Source['added']> {
    const steps = directory === undefined ? undefined : directorySteps(directory);
    return this.readObjects(async (objects) => {
      const before = await objects.findCommit(from);
      if (before === undefined) return { files: new Map(), blobs: new Map() };
      const commits = { from: before, to: await commitHere(objects, to) };
      return await this.#reader.added(objects, commits, { select, directory: steps });
    });
  }

  describe(commit: string): Promise<Commit> {
    return this.readObjects(async (objects) => descriptionOf(await commitHere(objects, commit)));
  }

  isAncestor(ancestor: string, descendant: string, forReader = false): Promise<boolean> {
    return this.#copy.read(forReader, async (objects) => {
      // A client may ask for any commit: what is not here costs one look.
      if (forReader && !(await objects.hasCommit(ancestor))) return false;
      const newest = await commitHere(objects, descendant);
      if ((await this.#line.between(objects, ancestor, newest)) !== undefined) return true;
      // The copy holds whole histories: a commit outside of it is no ancestor of one inside.
      if (!(await objects.hasCommit(ancestor))) return false;
      return await isReachable(this.#question(), { ancestor, descendant });
    });
  }

  isRelated(a: string, b: string): Promise<boolean> {
    return this.readObjects(async () => (await commonAncestors(this.#question(), a, b)).length > 0);
  }

  commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]> {
    return this.readObjects(async (objects) => {
      await commitHere(objects, from);
      const line = await this.#line.between(objects, from, await commitHere(objects, to));
      if (line !== undefined) return line.slice(0, countMax).map(descriptionOf);
      const commits: Commit[] = [];
      for (const commit of await newCommits(this.#question(), { from, to, countMax })) {
        commits.push(descriptionOf(await objects.readCommit(commit)));
      }
      return commits;
    });
  }

  lastChanges(commit: string, paths: readonly string[], limits: ChangeLimits): Promise<LastFileChanges> {
    return this.#copy.read(true, (objects) =>
      findFileChanges(objects, { commit, paths, directory: this.#directory, clock: this.#clock, limits }),
    );
  }

  /** Ends a running fetch, and refuses later ones. The local copy can still be read. */
  async close(): Promise<void> {
    this.#closing.abort(new SourceError('the source is closed'));
    await this.#fetching;
    this.#copy.objects.close();
    this.#copy.closeForReaders();
  }

  #question(): HistoryQuestion {
    return { gitDirectory: this.#copy.path, timeoutMs: this.#limits.historyMs };
  }

  async #fetch(signal: AbortSignal): Promise<Commit> {
    const { packsMax, fetchMs, objectsMax, answerBytesMax: packBytesMax } = this.#limits;
    const deadline = { remote: this.#remote, clock: this.#clock, fetchMs, signal };
    const branches = await withDeadline(deadline, (ended) =>
      this.#remote.branches({ branch: this.#branch, signal: ended }),
    );
    const head = headOfBranch(branches, this.#branch, this.#remote.name);
    const here = (await this.#copy.find(head)) ?? (await this.#copy.adopt(head));
    if (here !== undefined) return here;
    const anew = this.#copy.isDamaged;
    const commit = await fetchVerified({
      ...deadline,
      objects: this.#copy.objects,
      folder: this.#folder,
      head,
      anew,
      packsMax,
      objectsMax,
      packBytesMax,
    });
    // The copy may be another one now.
    this.#copy.closeForReaders();
    this.#log?.info({ repository: this.#remote.name, branch: this.#branch, commit: commit.oid, anew }, 'fetched');
    return this.#copy.fetched(commit);
  }

  readObjects<Value>(work: (objects: ObjectReader) => Promise<Value>): Promise<Value> {
    return this.#copy.read(false, work);
  }
}

async function commitHere(objects: ObjectReader, commit: string): Promise<ParsedCommit> {
  const found = await objects.findCommit(commit);
  if (found !== undefined) return found;
  throw new SourceError(`commit "${commit}" is not here: the branch never had it, or its history was rewritten`);
}
