// Implements Source: follows one branch of a Git repository. It only reads the repository, and checks out no files.
import type { Logger } from '../base/log.ts';
import type { FollowedPlace } from '../model/rows.ts';
import type { RepositoryAccess } from '../model/settings.ts';
import { HistoryReader } from './history-reader.ts';
import { copyIn, isDamage, LocalCopy } from './local-copy.ts';
import { DamagedObjectError } from './object-reader.ts';
import type { PushOutcome } from './publisher.ts';
import { type PushOrder, Remote } from './remote.ts';
import { directorySteps } from './repository-url.ts';
import { checkGitVersion, GitError } from './run-git.ts';
import { type Commit, SOURCE_LIMITS, type Source, type SourceLimits } from './source.ts';

/** The branch to follow, and its local copy. */
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

/** The minimum version of git for fetching and pushing. */
const GIT_MIN = '2.34';

/** Follows a branch, and pushes from its local copy. */
export class GitSource extends HistoryReader implements Source {
  readonly place: FollowedPlace;
  /** The local copy. New objects are written into it before a push. */
  readonly copy: LocalCopy;
  readonly #remote: Remote;
  readonly #branch: string;
  readonly #log: Logger | undefined;
  /** Serialises the changes of the copy. */
  #working: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  #isDamaged = false;
  /** The head of the copy; undefined while unknown. */
  #head: Commit | undefined;
  #followed: string | null = null;
  #protected: string | null = null;

  constructor({ url, access, branch, directory, cache, log, limits: lowered }: GitSourceOptions) {
    const limits = { ...SOURCE_LIMITS, ...lowered };
    super({ git: copyIn(cache), directory, limits });
    this.copy = new LocalCopy({ folder: cache, objects: this.objects, log });
    this.#remote = new Remote({ url, access, branch, configFile: `${cache}/git.config`, limits });
    this.#branch = branch;
    this.#log = log;
    this.place = { url: this.#remote.name, branch, directory: directorySteps(directory).join('/') || '.' };
  }

  fetch(followed: string | null, ended?: AbortSignal): Promise<Commit> {
    const signal = ended === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, ended]);
    this.#followed = followed ?? this.#followed;
    return this.#alone(() => this.#fetch(signal));
  }

  /** Pushes a commit of the local copy. */
  push(order: PushOrder): Promise<PushOutcome> {
    return this.#remote.push(this.copy.path, order);
  }

  protected missing(commit: string): GitError {
    if (commit === this.#head?.oid) return this.objects.damage(`it lacks the newest commit ${commit}`);
    return new GitError(`commit "${commit}" is not here: the branch never had it, or its history was rewritten`);
  }

  /** Marks the copy as damaged, so that the next fetch repairs it. */
  protected explainDamage(error: DamagedObjectError): GitError {
    this.#isDamaged = true;
    const text = `the local copy of the repository is damaged: ${error.message}; the next poll fetches it again`;
    return new DamagedObjectError(text, { cause: error });
  }

  /** Ends a running fetch, and refuses later ones. The local copy can still be read. */
  async close(): Promise<void> {
    this.#closing.abort(new GitError('the source is closed'));
    await this.#working;
    this.objects.close();
  }

  #alone<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#working.then(work);
    this.#working = done.catch(() => undefined);
    return done;
  }

  async #fetch(signal: AbortSignal): Promise<Commit> {
    const oid = await this.#remote.head(signal);
    await this.copy.open(oid);
    this.#head ??= await this.copy.head().catch((error: unknown) => {
      // It is fetched again.
      if (error instanceof DamagedObjectError) return undefined;
      throw error;
    });
    if (this.#head?.oid === oid && !this.#isDamaged) return this.#head;
    await this.#fetchInto(oid, signal);
    const head = await this.copy.head();
    const isUnmoved = head?.oid === this.#head?.oid && head?.oid !== oid;
    if (head === undefined || isUnmoved) throw this.#notFetched(oid);
    await this.#protectFollowed(head.oid);
    this.#head = head;
    this.#log?.info({ repository: this.#remote.name, branch: this.#branch, commit: head.oid }, 'fetched');
    await this.copy.collectGarbage();
    return head;
  }

  /** Returns the error for a commit that git did not fetch. Git refuses a shallow update without an error. */
  #notFetched(oid: string): GitError {
    const advice = 'it is a shallow clone and lacks older commits: run "git fetch --unshallow" in it';
    return new GitError(`"${this.#remote.name}" does not provide commit ${oid} with its history: ${advice}`);
  }

  async #fetchInto(oid: string, signal: AbortSignal): Promise<void> {
    try {
      if (!this.#isDamaged) return await this.#remote.fetch(this.copy.path, signal);
    } catch (error) {
      await this.copy.clean();
      // A damaged remote gives the same error. Then the fetch into a new copy fails too, and the old copy stays.
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

  /** Keeps the followed commit after a rewritten history, because no other ref of the copy contains it. */
  async #protectFollowed(head: string): Promise<void> {
    const followed = this.#followed;
    if (followed === null || followed === this.#protected) return;
    if (await this.isAncestor(followed, head)) return;
    await this.copy.protect(followed);
    this.#protected = followed;
  }
}
