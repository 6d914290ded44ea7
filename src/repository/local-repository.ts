// Reads commits of a repository on this machine: bare, a work tree or a linked one, with packs and alternates. It fetches
// nothing, writes nothing, and runs no program that the repository's configuration names.
import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { quote } from '../base/wording.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { findFileChanges } from './find-file-changes.ts';
import { isOid, type ParsedCommit } from './git/git-object.ts';
import { GitFailure } from './git/git-process.ts';
import { commitAt, commonAncestors, hasPath, newCommits } from './git/history.ts';
import { DamagedCopyError, ObjectReader } from './git/object-reader.ts';
import { findGitDirectory } from './remotes/git-directory.ts';
import { SnapshotReader } from './snapshot-reader.ts';
import {
  type AddedOrder,
  type BlobFilter,
  type ChangeLimits,
  type Commit,
  type LastFileChanges,
  type Source,
  SourceError,
} from './source.ts';
import { SOURCE_LIMITS } from './source-limits.ts';

/** A repository that is only read. All methods throw SourceError with advice. */
export interface LocalRepository
  extends Pick<Source, 'has' | 'snapshot' | 'added' | 'describe' | 'commitsBetween' | 'lastChanges'> {
  /** The path from the root of the repository to the layout: '' or one that ends in `/`. */
  readonly prefix: string;
  /** Tells that the clone lacks older commits. */
  readonly isShallow: boolean;

  /** Returns the id of the commit that a revision names, as git reads it: a branch, a tag, an id, `HEAD~1`. */
  resolve(revision: string): Promise<string>;
  /** Returns the best common ancestors of two commits: one, or several where the histories cross. Throws where there is none. */
  findAncestors(base: string, head: string): Promise<readonly string[]>;
  close(): void;
}

/** Returns the repository around a path, which is where the layout begins, also where no commit is checked out there. */
export async function openLocalRepository(path: string): Promise<LocalRepository> {
  const { root, directory } = await findRepository(path);
  const { gitDirectory, commonDirectory } = await findGitDirectory(root);
  return new Repository({ root, gitDirectory, directory, shallow: await shallowCommits(commonDirectory) });
}

interface FoundRepository {
  /** The bare repository, or the work tree. */
  readonly root: string;
  /** From the root to the layout. */
  readonly directory: readonly string[];
}

async function findRepository(path: string): Promise<FoundRepository> {
  const start = await realPath(path);
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git')) || (isBare(folder) && !(await isCommitted(folder)))) {
      return {
        root: folder,
        directory: relative(folder, start)
          .split(sep)
          .filter((step) => step !== ''),
      };
    }
    if (dirname(folder) === folder) throw new SourceError(`there is no Git repository at or above ${path}`);
  }
}

/** The layout may stand in other commits than the one that is checked out: only the part that exists is resolved. */
async function realPath(path: string): Promise<string> {
  if (existsSync(path) || dirname(path) === path) return await realpath(path);
  return join(await realPath(dirname(path)), basename(path));
}

/** Returns true for a folder that looks like a bare repository, or like the inside of .git. */
export function isBare(folder: string): boolean {
  return ['HEAD', 'objects', 'refs'].every((name) => existsSync(join(folder, name)));
}

/**
 * Returns true for a folder that is checked out of the repository around it. What looks like a repository there was written
 * by the author of a commit, who would choose what its branches are.
 */
async function isCommitted(folder: string): Promise<boolean> {
  for (let above = dirname(folder); ; above = dirname(above)) {
    if (existsSync(join(above, '.git'))) {
      const question = { ...(await findGitDirectory(above)), timeoutMs: SOURCE_LIMITS.historyMs };
      return await hasPath(question, 'HEAD', relative(above, folder).split(sep).join('/'));
    }
    if (dirname(above) === above) return false;
  }
}

/** Returns the commits whose parents a shallow clone does not have. */
async function shallowCommits(commonDirectory: string): Promise<ReadonlySet<string>> {
  const file = join(commonDirectory, 'shallow');
  return new Set(existsSync(file) ? (await readFile(file, 'utf8')).split('\n').filter(isOid) : []);
}

interface RepositoryOptions extends FoundRepository {
  readonly gitDirectory: string;
  readonly shallow: ReadonlySet<string>;
}

/** No range between two branches has more commits that matter. */
const RANGE_MAX = 10_000;

class Repository implements LocalRepository {
  readonly prefix: string;
  readonly isShallow: boolean;
  readonly #root: string;
  readonly #shallow: ReadonlySet<string>;
  readonly #objects: ObjectReader;
  readonly #reader: SnapshotReader;
  readonly #directory: readonly string[];

  constructor({ root, gitDirectory, directory, shallow }: RepositoryOptions) {
    this.prefix = directory.map((step) => `${step}/`).join('');
    this.isShallow = shallow.size > 0;
    this.#root = root;
    this.#shallow = shallow;
    this.#objects = new ObjectReader(gitDirectory);
    this.#reader = new SnapshotReader({ ...SOURCE_LIMITS, directory });
    this.#directory = directory;
  }

  async resolve(revision: string): Promise<string> {
    if (!/^[^-\p{Cc}][^\p{Cc}]*$/u.test(revision)) throw new SourceError(`${quote(revision)} is no revision of git`);
    const oid = await this.#query(() => commitAt(this.#question(), revision));
    if (oid === undefined) throw new SourceError(this.#unknownText(revision));
    return oid;
  }

  async findAncestors(base: string, head: string): Promise<readonly string[]> {
    const question = this.#question();
    const found = await this.#query(() => commonAncestors(question, base, head));
    const sides = found.map((from) => [base, head].map((to) => ({ from, to, countMax: RANGE_MAX })));
    // A line that is cut between may hide a nearer ancestor.
    for (const range of this.isShallow ? sides.flat() : []) {
      const commits = await this.#query(() => newCommits(question, range));
      if (commits.some((commit) => this.#shallow.has(commit))) throw new SourceError(this.#shallowText());
    }
    if (found.length > 0) return found;
    if (this.isShallow) throw new SourceError(this.#shallowText());
    throw new SourceError(`${base} and ${head} have no commit in common: their histories are unrelated`);
  }

  has(commit: string): Promise<boolean> {
    return this.#query(() => this.#objects.hasCommit(commit));
  }

  snapshot(commit: string, wants: BlobFilter): Promise<Snapshot> {
    return this.#query(async () => this.#reader.read(this.#objects, await this.#commit(commit), { wants }));
  }

  added({ from, to, select }: AddedOrder): ReturnType<Source['added']> {
    return this.#query(async () => {
      const before = await this.#objects.findCommit(from);
      if (before === undefined) return { files: new Map(), blobs: new Map() };
      return await this.#reader.added(this.#objects, { from: before, to: await this.#commit(to) }, { select });
    });
  }

  describe(commit: string): Promise<Commit> {
    return this.#query(() => this.#commit(commit));
  }

  commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]> {
    return this.#query(async () => {
      const commits: Commit[] = [];
      for (const oid of await newCommits(this.#question(), { from, to, countMax }))
        commits.push(await this.#commit(oid));
      return commits;
    });
  }

  lastChanges(commit: string, paths: readonly string[], limits: ChangeLimits): Promise<LastFileChanges> {
    const search = { commit, paths, directory: this.#directory, clock: systemClock, limits };
    return this.#query(() => findFileChanges(this.#objects, search));
  }

  close(): void {
    this.#objects.close();
  }

  #question(): { readonly gitDirectory: string; readonly timeoutMs: number } {
    return { gitDirectory: this.#objects.gitDirectory, timeoutMs: SOURCE_LIMITS.historyMs };
  }

  async #commit(oid: string): Promise<ParsedCommit> {
    const found = await this.#objects.findCommit(oid);
    if (found === undefined) throw new SourceError(this.#unknownText(oid));
    return found;
  }

  /** An object of the user's own repository is missing for another reason than one of Treeline's copy. */
  async #query<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DamagedCopyError) && !(error instanceof GitFailure)) throw error;
      const advice = 'a clone with --filter lacks files, so clone without it; "git fsck" finds damage';
      throw new SourceError(`${this.#root} cannot be read: an object is missing or damaged; ${advice}`, {
        cause: error,
      });
    }
  }

  #unknownText(revision: string): string {
    const text = `there is no commit ${quote(revision)} in ${this.#root}`;
    if (this.isShallow) return `${text}; ${SHALLOW_ADVICE}`;
    return `${text}: "git fetch" brings the newest commits, such as those of origin/main`;
  }

  #shallowText(): string {
    return `the clone in ${this.#root} is shallow and lacks the commits in which both branches parted; ${SHALLOW_ADVICE}`;
  }
}

const SHALLOW_ADVICE =
  'fetch the whole history: "git fetch --unshallow", or "fetch-depth: 0" (GitHub), "GIT_DEPTH: 0" (GitLab) in a pipeline';
