// Implements Source: follows one branch of a Git repository. It only reads from the repository, and checks nothing out.
import type { Logger } from '../base/log.ts';
import type { FollowedPlace } from '../model/rows.ts';
import type { RepositoryAccess } from '../model/settings.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { ParsedCommit } from './git-object.ts';
import { HistoryReader } from './history-reader.ts';
import { isDamage, LocalCopy } from './local-copy.ts';
import { DamagedObjectError, type ObjectReader } from './object-reader.ts';
import type { PushOutcome } from './publisher.ts';
import { type PushOrder, Remote } from './remote.ts';
import { directorySteps } from './repository-url.ts';
import { checkGitVersion, GitError } from './run-git.ts';
import {
  type BlobFilter,
  type ChangeLimits,
  type Commit,
  type LastFileChanges,
  SOURCE_LIMITS,
  type Source,
  type SourceLimits,
} from './source.ts';

/** The branch to follow, and where its local copy is. */
export interface GitSourceOptions {
  /** A path, `https://` …; see repository-url.ts. */
  readonly url: string;
  /** Access to an `http(s)://` repository; default: anonymous. */
  readonly access?: RepositoryAccess;
  readonly branch: string;
  /** The directory of the layout in the repository; `.` is its root. */
  readonly directory: string;
  /** An absolute path of a directory for the local copy only; created if missing. */
  readonly cache: string;
  readonly limits?: Partial<SourceLimits>;
  readonly log?: Logger;
}

/**
 * Returns the source. Sends no request yet. Throws SourceError for an invalid option, or if git is missing or too old.
 */
export async function createGitSource(options: GitSourceOptions): Promise<GitSource> {
  const source = new GitSource(options);
  await checkGitVersion(GIT_MIN);
  return source;
}

/** Of the git that fetches and pushes. */
const GIT_MIN = '2.34';

/** Follows a branch, and pushes from its local copy. */
export class GitSource implements Source {
  readonly place: FollowedPlace;
  /** New objects are written into it before they are pushed. */
  readonly copy: LocalCopy;
  readonly #remote: Remote;
  readonly #branch: string;
  readonly #log: Logger | undefined;
  readonly #reader: HistoryReader;
  /** What changes the copy runs one after the other. */
  #working: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  #isDamaged = false;
  /** The head of the copy; undefined: not known yet. */
  #head: ParsedCommit | undefined;
  #followed: string | null = null;
  #protected: string | null = null;

  constructor({ url, access, branch, directory, cache, log, limits: lowered }: GitSourceOptions) {
    const limits = { ...SOURCE_LIMITS, ...lowered };
    this.copy = new LocalCopy({ folder: cache, log });
    this.#remote = new Remote({ url, access, branch, configFile: `${cache}/git.config`, limits });
    this.#branch = branch;
    this.#log = log;
    this.#reader = new HistoryReader({ objects: this.copy.objects, directory, limits, missing });
    this.place = { url: this.#remote.name, branch, directory: directorySteps(directory).join('/') || '.' };
  }

  fetch(followed: string | null, ended?: AbortSignal): Promise<Commit> {
    const signal = ended === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, ended]);
    this.#followed = followed ?? this.#followed;
    return this.#alone(async () => withoutTree(await this.#fetch(signal)));
  }

  /** Pushes a commit of the local copy. */
  push(order: Omit<PushOrder, 'directory'>): Promise<PushOutcome> {
    return this.#remote.push({ ...order, directory: this.copy.path });
  }

  has(commit: string): Promise<boolean> {
    return this.readObjects(() => this.#reader.has(commit));
  }

  snapshot(commit: string, wants: BlobFilter, directory?: string): Promise<Snapshot> {
    return this.readObjects(() => this.#reader.snapshot(commit, wants, directory));
  }

  describe(commit: string): Promise<Commit> {
    return this.readObjects(async () => withoutTree(await this.#reader.describe(commit)));
  }

  isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    return this.readObjects(() => this.#reader.isAncestor(ancestor, descendant));
  }

  commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]> {
    return this.readObjects(() => this.#reader.commitsBetween(from, to, countMax));
  }

  lastChanges(commit: string, paths: readonly string[], limits: ChangeLimits): Promise<LastFileChanges> {
    return this.readObjects(() => this.#reader.lastChanges(commit, paths, limits));
  }

  /** Returns the result of `work` on the objects of the local copy. The next fetch repairs damage that it finds. */
  async readObjects<Value>(work: (objects: ObjectReader) => Promise<Value>): Promise<Value> {
    try {
      return await work(this.copy.objects);
    } catch (error) {
      if (!(error instanceof DamagedObjectError)) throw error;
      this.#isDamaged = true;
      const text = `the local copy of the repository is damaged: ${error.message}; the next poll fetches it again`;
      throw new DamagedObjectError(text, { cause: error });
    }
  }

  /** Ends a running fetch, and refuses later ones. The local copy can still be read. */
  async close(): Promise<void> {
    this.#closing.abort(new GitError('the source is closed'));
    await this.#working;
    this.copy.objects.close();
  }

  #alone<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#working.then(work);
    this.#working = done.catch(() => undefined);
    return done;
  }

  async #fetch(signal: AbortSignal): Promise<ParsedCommit> {
    const oid = await this.#remote.head(signal);
    await this.copy.open(oid);
    this.#head ??= await this.#orDamaged(() => this.copy.head());
    if (this.#head?.oid === oid && !this.#isDamaged) return this.#head;
    await this.#fetchInto(oid, signal);
    const head = await this.readObjects(() => this.copy.head());
    const isUnmoved = head?.oid === this.#head?.oid && head?.oid !== oid;
    if (head === undefined || isUnmoved) throw this.#notFetched(oid);
    await this.#protectFollowed(head.oid);
    this.#head = head;
    this.#log?.info({ repository: this.#remote.name, branch: this.#branch, commit: head.oid }, 'fetched');
    await this.copy.collectGarbage();
    return head;
  }

  /** Git refuses a shallow update without an error. */
  #notFetched(oid: string): GitError {
    const advice = 'it is a shallow clone and lacks older commits: run "git fetch --unshallow" in it';
    return new GitError(`"${this.#remote.name}" does not provide commit ${oid} with its history: ${advice}`);
  }

  async #fetchInto(oid: string, signal: AbortSignal): Promise<void> {
    try {
      if (!this.#isDamaged) return await this.#remote.fetch(this.copy.path, signal);
    } catch (error) {
      await this.copy.clean();
      // A remote that is damaged looks the same: then the fetch into a new copy fails too, and nothing changes.
      if (!isDamage(error)) throw error;
    }
    this.#log?.warn(
      { repository: this.#remote.name },
      'the local copy of the repository is damaged, it is fetched again',
    );
    const fetch = (directory: string): Promise<void> => this.#remote.fetch(directory, signal);
    await this.copy.renew(fetch, { oid, followed: this.#followed });
    this.#isDamaged = false;
  }

  /** After a rewritten history, nothing else in the copy refers to the followed commit. */
  async #protectFollowed(head: string): Promise<void> {
    const followed = this.#followed;
    if (followed === null || followed === this.#protected) return;
    await this.readObjects(async () => {
      if (await this.#reader.isAncestor(followed, head)) return;
      await this.copy.protect(followed);
      this.#protected = followed;
    });
  }

  async #orDamaged<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DamagedObjectError) && !isDamage(error)) throw error;
      this.#isDamaged = true;
      return undefined;
    }
  }
}

function missing(commit: string): GitError {
  return new GitError(`commit "${commit}" is not here: the branch never had it, or its history was rewritten`);
}

function withoutTree({ tree: _, ...commit }: ParsedCommit): Commit {
  return commit;
}
