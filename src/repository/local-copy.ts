// The bare repository with the fetched objects. It is only a cache: if git reports damage, a new one is fetched and
// replaces it. Only one process uses a directory at a time.
import { existsSync, renameSync } from 'node:fs';
import { appendFile, chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '../base/log.ts';
import { reasonOf } from '../base/wording.ts';
import type { ObjectReader } from './object-reader.ts';
import { HEAD_REF } from './remote.ts';
import { Git, GitError, GitFailure } from './run-git.ts';
import type { Commit } from './source.ts';

interface LocalCopyOptions {
  /** A directory that only the copy uses; created if missing. */
  readonly folder: string;
  /** Reads the objects of {@link copyIn}. */
  readonly objects: ObjectReader;
  readonly log: Logger | undefined;
}

/**
 * The ref that keeps the followed commit after the branch was rewritten. The copy may be the only place with that
 * commit.
 */
const FOLLOWED_REF = 'refs/treeline/followed';
/** Prevents fetching on demand, which would run programs from a repository's configuration. */
export const OFFLINE: Readonly<Record<string, string>> = {
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: '',
  // Not for commands that use a remote, because hooks of a local remote would inherit it.
  GIT_LITERAL_PATHSPECS: '1',
};
/** Names of locks and unfinished files of git. */
const LEFT_BEHIND = /\.lock$|^tmp_|^\.tmp-|^packed-refs\.new$/;
const GC_MS = 10 * 60 * 1000;
/** The number of head updates between two runs of `git gc --auto`. */
const GC_UPDATES = 50;

/**
 * Findings of `git fsck` that do not matter: names and times in the form of old tools, and findings about checkouts,
 * which Treeline does not do.
 */
const TOLERATED: readonly string[] = [
  ...['badDate', 'badDateOverflow', 'badTimezone', 'zeroPaddedDate', 'missingSpaceBeforeDate'],
  ...['badEmail', 'badName', 'missingEmail', 'missingNameBeforeEmail', 'missingSpaceBeforeEmail', 'multipleAuthors'],
  ...['zeroPaddedFilemode', 'nulInCommit', 'hasDotgit', 'gitmodulesBlob', 'gitmodulesLarge', 'gitmodulesMissing'],
  ...['gitmodulesName', 'gitmodulesPath', 'gitmodulesSymlink', 'gitmodulesUpdate', 'gitmodulesUrl'],
];

/**
 * The configuration of the copy. Objects are synced to disk, because the copy may be the only place with the followed
 * commit.
 */
const CONFIG = `[core]
	sharedRepository = 0600
	hooksPath = /dev/null
	logAllRefUpdates = false
	fsync = committed
	bigFileThreshold = 1m
[pack]
	threads = 1
[gc]
	autoDetach = false
[fetch]
	fsckObjects = true
[fetch "fsck"]
${TOLERATED.map((finding) => `\t${finding} = ignore\n`).join('')}`;

/** Returns git for the local copy in a folder. */
export function copyIn(folder: string): Git {
  return new Git({ directory: join(resolve(folder), 'repository.git'), environment: OFFLINE });
}

/** The local copy of one branch. Callers must not run its methods concurrently, except those of {@link objects}. */
export class LocalCopy {
  readonly path: string;
  readonly objects: ObjectReader;
  readonly #folder: string;
  readonly #log: Logger | undefined;
  #updates = 0;
  #isOpen = false;

  constructor({ folder, objects, log }: LocalCopyOptions) {
    this.#folder = resolve(folder);
    this.path = join(this.#folder, 'repository.git');
    this.objects = objects;
    this.#log = log;
  }

  /** Prepares the copy: creates it with the id format of `oid`, or removes leftovers of a killed git. */
  async open(oid: string): Promise<void> {
    if (this.#isOpen && existsSync(this.path)) return;
    this.objects.close();
    await this.#inFolder(async () => {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await chmod(this.#folder, 0o700);
      if (existsSync(this.path)) await this.clean();
      else await rename(await this.#create('fresh.git', oid), this.path);
      await chmod(this.path, 0o700);
    });
    this.#isOpen = true;
  }

  /** Removes locks and unfinished files. No git may write to the copy then. */
  async clean(): Promise<void> {
    const found = await readdir(this.path, { recursive: true, withFileTypes: true });
    const left = found.filter(({ name }) => LEFT_BEHIND.test(name));
    await Promise.all(left.map(({ parentPath, name }) => rm(join(parentPath, name), { recursive: true, force: true })));
  }

  /** Returns the last fetched commit; undefined if there is none. Throws DamagedObjectError. */
  head(): Promise<Commit | undefined> {
    return this.objects.findCommit(HEAD_REF);
  }

  /** Protects a commit and its history from pruning, if the copy has it. */
  async protect(followed: string): Promise<void> {
    if (!(await this.objects.hasCommit(followed))) return;
    await this.objects.git.run(['update-ref', FOLLOWED_REF, followed]);
  }

  /** Packs loose objects from time to time. A failure costs only space. */
  async collectGarbage(): Promise<void> {
    this.#updates += 1;
    if (this.#updates % GC_UPDATES !== 0) return;
    try {
      await this.objects.git.run(['gc', '--auto', '--quiet'], { timeoutMs: GC_MS, endsWithParent: true });
      // Otherwise the reader would keep deleted packs open.
      this.objects.close();
    } catch (error) {
      this.#log?.warn({ err: error }, 'git gc failed in the local copy of the repository');
      await this.clean();
    }
  }

  /**
   * Replaces the copy by a new one, which `fetch` fills. Throws GitError and keeps the old copy if the new one lacks
   * the followed commit.
   */
  async renew(
    fetch: (directory: string) => Promise<void>,
    { oid, followed }: { oid: string; followed: string | null },
  ) {
    const fresh = await this.#inFolder(() => this.#create('fresh.git', oid));
    try {
      await fetch(fresh);
      await this.#keepFollowed(fresh, followed);
    } catch (error) {
      await rm(fresh, { recursive: true, force: true });
      throw error;
    }
    await this.#inFolder(async () => {
      const old = join(this.#folder, 'old.git');
      await rm(old, { recursive: true, force: true });
      this.objects.close();
      // Synchronous, so that no other code of this process runs while the copy is missing.
      renameSync(this.path, old);
      renameSync(fresh, this.path);
      await rm(old, { recursive: true, force: true });
    });
  }

  async #keepFollowed(directory: string, followed: string | null): Promise<void> {
    if (followed === null) return;
    try {
      await new Git({ directory, environment: OFFLINE }).run(['update-ref', FOLLOWED_REF, followed]);
    } catch (error) {
      throw error instanceof GitFailure ? this.#lacks(followed, error) : error;
    }
  }

  async #create(name: string, oid: string): Promise<string> {
    const path = join(this.#folder, name);
    await rm(path, { recursive: true, force: true });
    const format = oid.length === 64 ? ['--object-format=sha256'] : [];
    await new Git({}).run(['init', '--quiet', '--bare', '--template=', '--shared=0600', ...format, '--', path]);
    await appendFile(join(path, 'config'), CONFIG);
    return path;
  }

  #lacks(followed: string, cause: Error): GitError {
    const text = `the local copy of the repository is damaged, and the branch no longer has the followed commit ${followed}`;
    return new GitError(`${text}: restore ${this.path} from a backup, or delete it to go on without that commit`, {
      cause,
    });
  }

  /** Adds advice to errors of the file system. */
  async #inFolder<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      const advice = 'free space on that disk or repair it; it is tried again';
      const text = `the local copy of the repository in ${this.#folder} cannot be written: ${reasonOf(error)}`;
      throw new GitError(`${text}: ${advice}`, { cause: error });
    }
  }
}

/** Returns true for an error with git's report of a damaged repository, local or remote. */
export function isDamage(error: unknown): boolean {
  return error instanceof GitError && DAMAGE.test(error.message);
}

const DAMAGE = new RegExp(
  [
    'bad object',
    'corrupt',
    'does not match index',
    'unable to read',
    'inflate',
    'missing (?:blob|tree|commit)',
    'fatal: not a git repository',
    'did not send all necessary',
    'bad config',
    'broken (?:ref|link)',
    'invalid sha1 pointer',
    'does not point to a valid object',
    'mismatched algorithms',
    'loose object',
  ].join('|'),
  'i',
);
