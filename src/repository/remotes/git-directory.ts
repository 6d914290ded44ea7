// Finds the refs of a local repository: bare, in a work tree's .git, or in the common directory of a linked work tree.
import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isOid } from '../git/git-object.ts';
import { SourceError } from '../source.ts';
import { sha256Refused } from './advertisement.ts';

interface GitDirectory {
  /** The repository's own directory, which has its HEAD. */
  readonly gitDirectory: string;
  /** The directory of refs and objects: differs from the former in linked work trees only. */
  readonly commonDirectory: string;
}

/** See git-config, `extensions.objectFormat`. */
const SHA256 = /^\s*objectformat\s*=\s*"?sha256\b/im;

/**
 * Returns the directories of the repository at an absolute path. Throws SourceError if there is none, access is denied,
 * or it is a SHA-256 repository.
 */
export async function findGitDirectory(path: string): Promise<GitDirectory> {
  const gitDirectory = await ownDirectory(path);
  const common = await contentOf(join(gitDirectory, 'commondir'));
  const commonDirectory = common === undefined ? gitDirectory : resolve(gitDirectory, common.trim());
  if (
    (await readKind(join(gitDirectory, 'HEAD'))) !== 'file' ||
    (await readKind(join(commonDirectory, 'objects'))) !== 'directory'
  ) {
    throw new SourceError(
      `"${path}" is not a Git repository: name a bare repository, or a directory that holds .git ("git init" makes one)`,
    );
  }
  // The advertisement of an empty repository does not show its format.
  if (SHA256.test((await contentOf(join(commonDirectory, 'config'))) ?? '')) throw sha256Refused(path);
  return { gitDirectory, commonDirectory };
}

/**
 * Returns the head of a branch that has a file of its own, which git keeps for every branch until it packs them; undefined
 * otherwise, also where refs are stored in another way.
 */
export async function readBranch(commonDirectory: string, branch: string): Promise<string | undefined> {
  const content = (await contentOf(join(commonDirectory, 'refs', 'heads', branch)))?.trim() ?? '';
  return isOid(content) ? content : undefined;
}

async function ownDirectory(path: string): Promise<string> {
  if ((await readKind(path)) !== 'directory') {
    throw new SourceError(`there is no directory "${path}": check the URL of the repository`);
  }
  const below = join(path, '.git');
  const kind = await readKind(below);
  if (kind === 'directory') return below;
  if (kind === undefined) return path;
  const target = /^gitdir: (.+)$/m.exec((await contentOf(below)) ?? '')?.[1];
  if (target === undefined) throw new SourceError(`"${below}" does not say where its repository is`);
  return resolve(path, target);
}

async function readKind(path: string): Promise<'file' | 'directory' | undefined> {
  const found = await orUndefined(path, stat(path));
  if (found === undefined) return undefined;
  return found.isDirectory() ? 'directory' : 'file';
}

function contentOf(path: string): Promise<string | undefined> {
  return orUndefined(path, readFile(path, 'utf8'));
}

async function orUndefined<Value>(path: string, read: Promise<Value>): Promise<Value | undefined> {
  try {
    return await read;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return undefined;
    const advice = code === 'EACCES' ? 'allow the user that runs Treeline to read it' : 'check the path';
    throw new SourceError(`"${path}" cannot be read (${String(code)}): ${advice}`, { cause: error });
  }
}
