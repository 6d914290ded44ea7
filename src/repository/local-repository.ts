// Reads commits of a repository on this machine: bare, a work tree or a linked one, with packs and alternates. It does
// not fetch, does not write to the repository (a merge is created in a temporary one), and runs no program from the
// repository's configuration. Git gets the directory of the repository and never searches for one, because a commit
// may contain a folder that looks like a bare repository.
import { existsSync, rmSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import { quote } from '../base/wording.ts';
import { isCommitId } from '../model/names.ts';
import { decodePath } from './git-object.ts';
import { HistoryReader, splitFields } from './history-reader.ts';
import { OFFLINE } from './local-copy.ts';
import type { DamagedObjectError } from './object-reader.ts';
import { checkGitVersion, Git, type GitError, GitFailure } from './run-git.ts';
import { SOURCE_LIMITS, SourceError } from './source.ts';

/** A merge commit. Only the {@link LocalRepository} that created it can read it, until it is closed. */
export interface MergeCommit {
  readonly commit: string;
  /** Paths below the prefix that git cannot merge. The commit has conflict markers in them. */
  readonly conflicts: readonly string[];
}

const GIT_MIN = '2.34';
/** The first version with `git merge-tree --write-tree`. */
const MERGE_GIT_MIN = '2.38';
const MERGED_BY = {
  GIT_AUTHOR_NAME: 'Treeline',
  GIT_AUTHOR_EMAIL: '',
  GIT_COMMITTER_NAME: 'Treeline',
  GIT_COMMITTER_EMAIL: '',
};
const SHALLOW_ADVICE =
  'fetch the whole history: "git fetch --unshallow", or "fetch-depth: 0" (GitHub), "GIT_DEPTH: 0" (GitLab) in a pipeline';

/** Returns the repository around a path, which is the directory of the layout. The path need not be checked out. */
export async function openLocalRepository(path: string): Promise<LocalRepository> {
  await checkGitVersion(GIT_MIN);
  const { root, directory } = await findRepository(path);
  const git = await openGit(root);
  const shallow = join(await commonDirectoryOf(git), 'shallow');
  const lines = existsSync(shallow) ? (await readFile(shallow, 'utf8')).split('\n') : [];
  return new LocalRepository({ root, git, directory, shallow: new Set(lines.filter(isCommitId)) });
}

/**
 * Returns the directory with the refs of the repository at a path, which its work trees share. Throws SourceError.
 */
export async function findCommonDirectory(path: string): Promise<string> {
  return await commonDirectoryOf(await openGit(path));
}

/** Returns the branches of the repository at a path. Throws SourceError if there is none. */
export async function listBranches(path: string): Promise<readonly string[]> {
  const git = await openGit(path);
  const printed = await git.text(['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads']);
  return printed.split('\n').filter((name) => name !== '');
}

/** Returns true for a folder that looks like a bare repository, or like the inside of .git. */
export function isBare(folder: string): boolean {
  return ['HEAD', 'objects', 'refs'].every((name) => existsSync(join(folder, name)));
}

/** Returns git for the repository at a path. Throws SourceError if there is none. */
async function openGit(path: string): Promise<Git> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new SourceError(`there is no directory "${path}": check the URL of the repository`);
  }
  const below = join(path, '.git');
  const git = new Git({ directory: existsSync(below) ? below : path, environment: OFFLINE });
  try {
    // In a linked work tree, .git is a file that names the directory.
    return new Git({ directory: await git.text(['rev-parse', '--absolute-git-dir']), environment: OFFLINE });
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const advice = 'name a bare repository, or a directory that contains .git, which this user may read';
    throw new SourceError(`"${path}" is not a Git repository: ${advice} (git: ${error.complaint})`, { cause: error });
  }
}

async function commonDirectoryOf(git: Git): Promise<string> {
  return await git.text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
}

interface FoundRepository {
  /** The bare repository, or the work tree. */
  readonly root: string;
  /** The path from the root to the layout; `.` for the root. */
  readonly directory: string;
}

async function findRepository(path: string): Promise<FoundRepository> {
  const start = await realPath(path);
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git')) || (isBare(folder) && !(await isCommitted(folder)))) {
      return { root: folder, directory: relative(folder, start).split(sep).join('/') || '.' };
    }
    if (dirname(folder) === folder) throw new SourceError(`there is no Git repository at or above ${path}`);
  }
}

/** Resolves the part of a path that exists, because the layout may be only in other commits. */
async function realPath(path: string): Promise<string> {
  if (existsSync(path) || dirname(path) === path) return await realpath(path);
  return join(await realPath(dirname(path)), basename(path));
}

/** Returns true for a folder that is committed: the author of the commit controls its content. */
async function isCommitted(folder: string): Promise<boolean> {
  for (let above = dirname(folder); ; above = dirname(above)) {
    if (existsSync(join(above, '.git'))) {
      const name = `HEAD:${relative(above, folder).split(sep).join('/')}`;
      return (await revisionIn(await openGit(above), name)) !== undefined;
    }
    if (dirname(above) === above) return false;
  }
}

async function revisionIn(git: Git, name: string): Promise<string | undefined> {
  try {
    return await git.text(['rev-parse', '--verify', '--quiet', '--end-of-options', name]);
  } catch (error) {
    if (error instanceof GitFailure && error.code !== null) return undefined;
    throw error;
  }
}

interface RepositoryOptions extends FoundRepository {
  readonly git: Git;
  /** The commits whose parents are missing in a shallow clone. */
  readonly shallow: ReadonlySet<string>;
}

/** A read-only repository. All methods throw SourceError with advice. */
export class LocalRepository extends HistoryReader implements Disposable {
  /** True if the clone lacks older commits. */
  readonly isShallow: boolean;
  readonly #options: RepositoryOptions;
  /** The repository of the merge commit. Its alternates are the objects of the read repository. */
  #mergeFolder: string | undefined;

  constructor(options: RepositoryOptions) {
    super({ ...options, limits: SOURCE_LIMITS });
    this.#options = options;
    this.isShallow = options.shallow.size > 0;
  }

  /** Returns the commit id of a revision in git's notation: a branch, a tag, an id, `HEAD~1`. */
  async resolve(revision: string): Promise<string> {
    if (!/^[^-\p{Cc}][^\p{Cc}]*$/u.test(revision)) throw new SourceError(`${quote(revision)} is not a git revision`);
    const oid = await revisionIn(this.#options.git, `${revision}^{commit}`);
    if (oid === undefined) throw this.missing(revision);
    return oid;
  }

  /**
   * Merges head into base like `git merge`, without writing to the repository. Throws if the histories are unrelated or
   * the clone is shallow.
   */
  async merge(base: string, head: string): Promise<MergeCommit> {
    await checkGitVersion(MERGE_GIT_MIN);
    if (this.isShallow) throw new SourceError(`the clone in ${this.#options.root} is shallow; ${SHALLOW_ADVICE}`);
    if (!(await this.areRelated(base, head)))
      throw new SourceError(`${base} and ${head} have no commit in common: their histories are unrelated`);
    const git = await this.#openMergeFolder(base);
    const [tree, ...paths] = await this.#mergeTree(git, base, head);
    const args = ['commit-tree', tree ?? '', '-p', base, '-p', head, '-m', 'merge'];
    const conflicts = paths.flatMap((path) => (path.startsWith(this.prefix) ? [path.slice(this.prefix.length)] : []));
    return { commit: await git.text(args), conflicts };
  }

  /**
   * Creates an empty repository that git can write to, and reads from there from now on. It does not use this
   * repository's configuration.
   */
  async #openMergeFolder(base: string): Promise<Git> {
    const shared = await commonDirectoryOf(this.#options.git);
    const folder = await mkdtemp(join(tmpdir(), 'treeline-merge-'));
    this.#mergeFolder = folder;
    const format = base.length === 64 ? 'sha256' : 'sha1';
    await new Git({}).run(['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, folder]);
    await mkdir(join(folder, 'objects/info'), { recursive: true });
    await writeFile(join(folder, 'objects/info/alternates'), `${join(shared, 'objects')}\n`);
    const git = new Git({ directory: folder, environment: { ...OFFLINE, ...MERGED_BY } });
    this.objects.close();
    this.objects = this.readerOf(git);
    return git;
  }

  [Symbol.dispose](): void {
    this.objects.close();
    if (this.#mergeFolder !== undefined) rmSync(this.#mergeFolder, { recursive: true, force: true });
  }

  protected override isCut(commit: string): boolean {
    return this.#options.shallow.has(commit);
  }

  protected explainDamage(error: DamagedObjectError): GitError {
    const advice = 'a clone with --filter lacks files, so clone without it; "git fsck" finds damage';
    const text = `${this.#options.root} cannot be read: an object is missing or damaged; ${advice}`;
    return new SourceError(text, { cause: error });
  }

  protected missing(revision: string): GitError {
    const advice = this.isShallow
      ? `; ${SHALLOW_ADVICE}`
      : ': "git fetch" brings the newest commits, such as those of origin/main';
    return new SourceError(`there is no commit ${quote(revision)} in ${this.#options.root}${advice}`);
  }

  /** Returns the tree of a merge, then the paths with conflicts. Git's exit code is 1 if there are conflicts. */
  async #mergeTree(git: Git, base: string, head: string): Promise<readonly string[]> {
    const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', base, head];
    const output = await git.run(args).catch((error: unknown) => {
      if (error instanceof GitFailure && error.code === 1) return error.output;
      throw error instanceof GitFailure ? this.objects.damage(error.message, error) : error;
    });
    return [...new Set(splitFields(output).map((field) => decodePath(field)))].filter((field) => field !== '');
  }
}
