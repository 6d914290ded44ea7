// Creates Git objects with isomorphic-git, which encodes, hashes and compresses them. Keeps them in memory until `save`
// writes them into a repository as loose objects.
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inflateSync } from 'node:zlib';
import type { CommitObject } from 'isomorphic-git';
import { reasonOf } from '../base/wording.ts';
import { GitError } from './run-git.ts';

/** An entry of a tree. */
export interface TreeEntry {
  /** Octal: `100644`, `40000`. */
  readonly mode: string;
  readonly name: string;
  readonly oid: string;
}

/** The directory in the virtual file system for isomorphic-git. */
const GIT_DIRECTORY = 'git';
/** The number of concurrent file writes. */
const WRITERS = 8;

/** New SHA-1 objects. The caller checks names and persons in them, because isomorphic-git accepts anything. */
export class LooseObjects {
  /** The compressed objects, by their path below `objects`. */
  readonly #files = new Map<string, Uint8Array>();

  async blob(text: string): Promise<string> {
    const { writeBlob } = await import('isomorphic-git');
    return await writeBlob({ ...this.#place, blob: Buffer.from(text) });
  }

  async tree(entries: Iterable<TreeEntry>): Promise<string> {
    const { writeTree } = await import('isomorphic-git');
    const tree = Array.from(entries, ({ mode, name, oid }) => ({ mode, path: name, oid, type: typeOf(mode) }));
    return await writeTree({ ...this.#place, tree });
  }

  /** Returns true for an object of this instance. */
  has(oid: string): boolean {
    return this.#files.has(pathOf(oid));
  }

  /** Returns the id of a tree with these entries, without creating it. */
  async treeId(entries: Iterable<TreeEntry>): Promise<string> {
    return await new LooseObjects().tree(entries);
  }

  /** Creates a commit; `sign` gets its bytes and returns its signature. */
  async commit(content: CommitObject, sign?: (bytes: Buffer) => Promise<string>): Promise<string> {
    const { writeCommit } = await import('isomorphic-git');
    if (sign === undefined) return await writeCommit({ ...this.#place, commit: content });
    const unsigned = new LooseObjects();
    const bytes = unsigned.#bytesOf(await writeCommit({ ...unsigned.#place, commit: content }));
    return await writeCommit({ ...this.#place, commit: { ...content, gpgsig: await sign(bytes) } });
  }

  /** Writes all objects into a repository. Throws GitError; objects that were written before are harmless. */
  async save(gitDirectory: string): Promise<void> {
    const files = this.#files.entries();
    const write = async (): Promise<void> => {
      for (const [path, bytes] of files) await writeOnce(join(gitDirectory, 'objects', path), bytes);
    };
    try {
      await Promise.all(Array.from({ length: WRITERS }, write));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      throw new GitError(`the local copy ${gitDirectory} cannot be written: ${reasonOf(error)}`, { cause: error });
    }
  }

  #bytesOf(oid: string): Buffer {
    const stored = inflateSync(this.#files.get(pathOf(oid)) ?? Buffer.alloc(0));
    return stored.subarray(stored.indexOf(0) + 1);
  }

  /** The virtual file system for isomorphic-git, with only the objects. */
  get #place() {
    const missing = (path: string): Promise<never> => {
      return Promise.reject(Object.assign(new Error(`there is no file ${path}`), { code: 'ENOENT' }));
    };
    const writeFile = async (path: string, bytes: Uint8Array): Promise<void> => {
      this.#files.set(path.slice(`${GIT_DIRECTORY}/objects/`.length), bytes);
    };
    const none = { mkdir: missing, rmdir: missing, unlink: missing, readdir: missing, readlink: missing };
    const promises = { ...none, symlink: missing, readFile: missing, stat: missing, lstat: missing, writeFile };
    return { fs: { promises }, gitdir: GIT_DIRECTORY } as const;
  }
}

function typeOf(mode: string): 'blob' | 'tree' | 'commit' {
  if (mode === '160000') return 'commit';
  return mode === '40000' ? 'tree' : 'blob';
}

function pathOf(oid: string): string {
  return `${oid.slice(0, 2)}/${oid.slice(2)}`;
}

/** Keeps an existing object, unless a crash emptied it. */
async function writeOnce(path: string, bytes: Uint8Array): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && found.size > 0) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // "git gc" removes files with this prefix.
  const temporary = join(dirname(path), `tmp_obj_${randomUUID()}`);
  try {
    // Not synced: the remote gets the objects, and a copy that a crash damaged is fetched again.
    await writeFile(temporary, bytes, { flag: 'wx', mode: 0o400 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
