// A real Git repository for tests, filled by `git fast-import`, so that bare ones and ones with a work tree are written in the
// same way. A work tree's files are not touched. Tests make thousands of commits, and a process takes longer to start than a
// reference to read: a commit starts git once.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FileMode } from '../../src/model/snapshot.ts';

/** A file's content; null removes the file. With mode `160000` the content is the submodule's commit. */
export type FileChange = string | Uint8Array | null | { readonly mode: FileMode; readonly content: string };
export type FileChanges = Readonly<Record<string, FileChange>>;

/** Returns the files of a folder that the layout knows, with their texts. */
export function yamlFilesIn(folder: string): Readonly<Record<string, string>> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.yaml'));
  return Object.fromEntries(paths.sort().map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

export interface CommitOptions {
  /** Default `main`. */
  readonly branch?: string;
  readonly message?: string;
  /** First parent first; default: the branch's head, if it has one. Other parents than that head make a force push. */
  readonly parents?: readonly string[];
  /** Seconds since 1970; default 1,800,000,000 and one more with every commit. */
  readonly seconds?: number;
}

export type GitRepository = Awaited<ReturnType<typeof createGitRepository>>;

const ENVIRONMENT = {
  PATH: process.env.PATH ?? '',
  HOME: tmpdir(),
  LC_ALL: 'C',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.org',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.org',
};

/** Makes an empty repository at `path` whose first branch is `main`; bare unless told otherwise. */
export async function createGitRepository(path: string, { bare = true } = {}) {
  const directory = bare ? path : join(path, '.git');
  writeEmptyRepository(directory, bare);
  /** Runs git in the repository and returns its trimmed output. Throws with git's own words if it fails. */
  const git = (...args: readonly string[]): Promise<string> => runGit(['-C', path, ...args]);
  let seconds = 1_800_000_000;
  /** Returns the object id of the newest commit of a branch. Throws if the branch is not there. */
  const head = async (branch = 'main'): Promise<string> =>
    looseReference(directory, branch) ?? (await git('rev-parse', `refs/heads/${branch}`));
  return {
    /** What a user would name: the bare repository, or the work tree. */
    path,
    git,
    head,
    /** Adds one commit and returns its object id. */
    async commit(changes: FileChanges, options: CommitOptions = {}): Promise<string> {
      const branch = options.branch ?? 'main';
      const parents = options.parents ?? (await headsOf(git, directory, branch));
      const made = { branch, parents, message: options.message ?? 'change', seconds: options.seconds ?? seconds++ };
      await runGit(['-C', path, 'fast-import', '--quiet', '--force'], importOf(changes, made));
      return await head(branch);
    },
  };
}

/** Runs the system's git with no configuration but the repository's own. */
export async function runGit(
  args: readonly string[],
  input: Uint8Array = new Uint8Array(),
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { ...ENVIRONMENT, ...environment };
  const running = promisify(execFile)('git', args, { env, maxBuffer: 2 ** 30 });
  // Git does not always read to the end; its exit code tells what happened.
  running.child.stdin?.on('error', () => undefined);
  running.child.stdin?.end(input);
  const { stdout } = await running.catch(({ code, stderr }) => {
    throw new Error(`git ${args.join(' ')} ended with ${code}: ${stderr}`);
  });
  return stdout.trim();
}

/** Writes what `git init` writes, without the samples of hooks. Git is never to collect garbage while a test runs. */
function writeEmptyRepository(directory: string, bare: boolean): void {
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'hooks', 'info']) {
    mkdirSync(join(directory, folder), { recursive: true });
  }
  writeFileSync(join(directory, 'HEAD'), 'ref: refs/heads/main\n');
  const core = `[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = ${bare}\n`;
  writeFileSync(join(directory, 'config'), `${core}${bare ? '' : '\tlogallrefupdates = true\n'}[gc]\n\tauto = 0\n`);
}

/** Returns the commit of a branch that has a file of its own; undefined if it has none, as a packed one. */
function looseReference(directory: string, branch: string): string | undefined {
  const file = join(directory, 'refs/heads', branch);
  const text = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return /^[0-9a-f]{40}$/.test(text) ? text : undefined;
}

async function headsOf(git: GitRepository['git'], directory: string, branch: string): Promise<readonly string[]> {
  const loose = looseReference(directory, branch);
  if (loose !== undefined) return [loose];
  if (!existsSync(join(directory, 'packed-refs'))) return [];
  const head = await git('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`);
  return head === '' ? [] : [head];
}

/** Parents that are named replace the branch's own commits. */
function importOf(changes: FileChanges, options: Required<CommitOptions>): Buffer {
  return Buffer.concat([Buffer.from(`reset refs/heads/${options.branch}\n\n`), commitOf(changes, options)]);
}

function commitOf(changes: FileChanges, options: Required<CommitOptions>): Buffer {
  const parts: (string | Uint8Array)[] = [
    `commit refs/heads/${options.branch}\n`,
    `committer Test <test@example.org> ${options.seconds} +0000\n`,
    ...data(options.message),
    ...options.parents.map((parent, index) => `${index === 0 ? 'from' : 'merge'} ${parent}\n`),
  ];
  for (const [path, change] of Object.entries(changes)) parts.push(...fileCommand(path, change));
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

function fileCommand(path: string, change: FileChange): readonly (string | Uint8Array)[] {
  if (change === null) return [`D ${path}\n`];
  if (typeof change === 'string' || change instanceof Uint8Array) return [`M 100644 inline ${path}\n`, ...data(change)];
  if (change.mode === '160000') return [`M 160000 ${change.content} ${path}\n`];
  return [`M ${change.mode} inline ${path}\n`, ...data(change.content)];
}

function data(content: string | Uint8Array): readonly (string | Uint8Array)[] {
  return [`data ${Buffer.byteLength(content)}\n`, content, '\n'];
}
