// Follows one branch of a Git repository: the implementation of Source. It reads from the repository, never writes to it,
// and never checks anything out.
import { type Clock, systemClock } from '../clock.ts';
import { isOid, type ParsedCommit } from '../git/git-object.ts';
import { DamagedCopyError, type ObjectStore, withObjects } from '../git/object-store.ts';
import { verifyChecksums } from '../git/verify-checksums.ts';
import type { Logger } from '../log.ts';
import { compareNames } from '../model/names.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { didYouMean } from '../model/suggest.ts';
import type { RepositoryAccess } from '../settings.ts';
import { isReachable, newCommits } from './ancestry.ts';
import { withDeadline } from './deadline.ts';
import { copyIn, readFollowed, writeFollowed } from './local-copy.ts';
import { fetchVerified } from './quarantine.ts';
import { NO_ACCESS } from './remotes/http-access.ts';
import { createHttpTransport } from './remotes/http-transport.ts';
import { createLocalTransport } from './remotes/local-transport.ts';
import type { Remote } from './remotes/remote.ts';
import { createSmartRemote } from './remotes/smart-remote.ts';
import { createSshRemote } from './remotes/ssh-remote.ts';
import { checkBranch, directorySteps, parseRepositoryUrl } from './repository-url.ts';
import { type SnapshotCounts, SnapshotReader } from './snapshot-reader.ts';
import { type BlobFilter, type Commit, type Source, SourceError } from './source.ts';

export interface SourceLimits {
  /** The largest answer of a remote, in bytes: a clone of the whole branch has to fit. */
  readonly answerBytesMax: number;
  /** How many objects one fetch may bring: those of the whole branch have to fit. */
  readonly objectsMax: number;
  /** How long one fetch may take, in milliseconds. */
  readonly fetchMs: number;
  /** How long a remote may send nothing at all, in milliseconds. */
  readonly silenceMs: number;
  /** Files and directories below the followed directory. */
  readonly entriesMax: number;
  /** A larger file is listed but not read. */
  readonly blobBytesMax: number;
  /** Of all the files that one snapshot reads. */
  readonly snapshotBytesMax: number;
  /** Every fetch adds a pack; beyond this many the local copy is made anew. */
  readonly packsMax: number;
  /** How many commits `isAncestor` looks at. */
  readonly commitsMax: number;
}

export const SOURCE_LIMITS: SourceLimits = {
  answerBytesMax: 1024 * 1024 * 1024,
  objectsMax: 1_000_000,
  fetchMs: 10 * 60 * 1000,
  silenceMs: 60 * 1000,
  entriesMax: 100_000,
  blobBytesMax: 1024 * 1024,
  snapshotBytesMax: 64 * 1024 * 1024,
  packsMax: 200,
  commitsMax: 1_000_000,
};

export interface GitSourceOptions {
  /** A path, `https://` …; see repository-url.ts. */
  readonly url: string;
  /** How an `http(s)://` repository lets Treeline in; default: as anybody. */
  readonly access?: RepositoryAccess;
  readonly branch: string;
  /** Where in the repository the layout starts; `.` is its root. */
  readonly directory: string;
  /** A folder of its own for the local copy; made where it is missing. */
  readonly cache: string;
  readonly limits?: Partial<SourceLimits>;
  readonly clock?: Clock;
  readonly log?: Logger;
}

export interface GitSource extends Source {
  /** Hands out the objects that are here for as long as `work` takes. Damage that it meets is mended by the next fetch. */
  readObjects<Value>(work: (objects: ObjectStore) => Promise<Value>): Promise<Value>;

  /** What the last snapshot cost. */
  readonly counts: SnapshotCounts;
}

const BRANCHES_NAMED_MAX = 10;

/** Returns the source. Asks the repository nothing yet. Throws SourceError where an option can never work. */
export async function createGitSource(options: GitSourceOptions): Promise<GitSource> {
  const limits = { ...SOURCE_LIMITS, ...options.limits };
  checkBranch(options.branch);
  return new BranchSource(options, limits, openRemote(options, limits));
}

class BranchSource implements GitSource {
  readonly #remote: Remote;
  readonly #branch: string;
  readonly #folder: string;
  readonly #copy: string;
  readonly #limits: SourceLimits;
  readonly #clock: Clock;
  readonly #log: Logger | undefined;
  readonly #reader: SnapshotReader;
  #state: 'unchecked' | 'sound' | 'damaged' = 'unchecked';
  /** Fetches come one after the other: they share a folder. */
  #fetching: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();

  constructor(options: GitSourceOptions, limits: SourceLimits, remote: Remote) {
    this.#remote = remote;
    this.#branch = options.branch;
    this.#folder = options.cache;
    this.#copy = copyIn(options.cache);
    this.#limits = limits;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log;
    this.#reader = new SnapshotReader({ ...limits, directory: directorySteps(options.directory) });
  }

  get counts(): SnapshotCounts {
    return this.#reader.counts;
  }

  /** Takes no `known`: every object of the copy was verified when it came, and is hashed again whenever it is read. */
  fetch(): Promise<Commit> {
    const turn = this.#fetching.then(() => this.#remote.secrets.guard(() => this.#fetch()));
    this.#fetching = turn.catch(() => undefined);
    return turn;
  }

  has(commit: string): Promise<boolean> {
    return this.readObjects(async (objects) => isHere(objects, commit));
  }

  snapshot(commit: string, wants: BlobFilter): Promise<Snapshot> {
    return this.readObjects((objects) => this.#reader.read(objects, commitHere(objects, commit), wants));
  }

  describe(commit: string): Promise<Commit> {
    return this.readObjects(async (objects) => {
      const { tree: _, ...description } = commitHere(objects, commit);
      return description;
    });
  }

  isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    return this.readObjects((objects) => {
      const { commit } = commitHere(objects, descendant);
      return isReachable(objects, { ancestor, descendant: commit, commitsMax: this.#limits.commitsMax });
    });
  }

  commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]> {
    return this.readObjects(async (objects) => {
      for (const commit of [from, to]) commitHere(objects, commit);
      const { commitsMax } = this.#limits;
      const commits = await newCommits(objects, { from, to, countMax, commitsMax });
      return commits.map(({ commit, time, message, parents }) => ({ commit, time, message, parents }));
    });
  }

  /** Ends a fetch that is under way, and refuses later ones. What is here can still be read. */
  async close(): Promise<void> {
    this.#closing.abort(new SourceError('the source is closed'));
    await this.#fetching;
  }

  async #fetch(): Promise<Commit> {
    const { packsMax, fetchMs, objectsMax, answerBytesMax: packBytesMax } = this.#limits;
    const { signal } = this.#closing;
    const deadline = { remote: this.#remote, clock: this.#clock, fetchMs, signal };
    const head = this.#pick(await withDeadline(deadline, (ended) => this.#remote.branches(ended)));
    if (await this.#holds(head)) return await this.describe(head);
    const anew = this.#state === 'damaged';
    const commit = await fetchVerified({
      ...deadline,
      folder: this.#folder,
      branch: this.#branch,
      anew,
      packsMax,
      objectsMax,
      packBytesMax,
    });
    this.#state = 'sound';
    this.#log?.info({ repository: this.#remote.name, branch: this.#branch, commit, anew }, 'fetched');
    return await this.describe(commit);
  }

  #pick(branches: ReadonlyMap<string, string>): string {
    const head = branches.get(this.#branch);
    if (head !== undefined) return head;
    const { name } = this.#remote;
    if (branches.size === 0) {
      throw new SourceError(`"${name}" has no commits yet: push the first one to its branch "${this.#branch}"`);
    }
    const names = [...branches.keys()].sort(compareNames);
    const listed = names.slice(0, BRANCHES_NAMED_MAX).join(', ');
    const more = names.length > BRANCHES_NAMED_MAX ? ` and ${names.length - BRANCHES_NAMED_MAX} more` : '';
    const hint = didYouMean(this.#branch, names);
    throw new SourceError(
      `"${name}" has no branch "${this.#branch}"${hint === null ? '' : `; ${hint}`} (its branches: ${listed}${more})`,
    );
  }

  /** True where the head is in a copy that is sound: the branch did not move, or moved back to an older commit. */
  async #holds(head: string): Promise<boolean> {
    if (this.#state === 'damaged') return false;
    try {
      // Once a process; from then on, the hash of every object that is read says more.
      if (this.#state === 'unchecked') await verifyChecksums(this.#copy);
      this.#state = 'sound';
      if (!(await withObjects(this.#copy, async (objects) => objects.has(head)))) return false;
      if ((await readFollowed(this.#copy)) !== head) await writeFollowed(this.#copy, head);
      return true;
    } catch (error) {
      this.#log?.warn({ err: error }, 'the local copy of the repository is damaged, it is fetched anew');
      this.#state = 'damaged';
      return false;
    }
  }

  async readObjects<Value>(work: (objects: ObjectStore) => Promise<Value>): Promise<Value> {
    try {
      return await withObjects(this.#copy, work);
    } catch (error) {
      if (error instanceof DamagedCopyError) this.#state = 'damaged';
      throw error;
    }
  }
}

function openRemote(
  { url, access = NO_ACCESS }: GitSourceOptions,
  { answerBytesMax, objectsMax, silenceMs }: SourceLimits,
): Remote {
  const place = parseRepositoryUrl(url);
  const limits = { packBytesMax: answerBytesMax, objectsMax };
  switch (place.kind) {
    case 'local':
      return createSmartRemote(createLocalTransport({ path: place.path, answerBytesMax }), limits);
    case 'http':
      return createSmartRemote(createHttpTransport({ url: place.url, access, answerBytesMax, silenceMs }), limits);
    case 'ssh':
      return createSshRemote({ url: place.url, ...limits, silenceMs });
  }
}

function commitHere(objects: ObjectStore, commit: string): ParsedCommit {
  if (!isHere(objects, commit)) {
    throw new SourceError(`commit "${commit}" is not here: the branch never had it, or its history was rewritten`);
  }
  return objects.readCommit(commit);
}

function isHere(objects: ObjectStore, commit: string): boolean {
  return isOid(commit) && objects.has(commit);
}
