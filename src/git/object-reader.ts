// The objects of a bare repository, read through git. Every object that it hands out was hashed first, so that what a disk
// or a remote got wrong is noticed and never believed.
import { setImmediate } from 'node:timers/promises';
import { CatFile, CatFileFailure } from './cat-file.ts';
import type { ObjectAnswer } from './cat-file-answers.ts';
import {
  type GitObject,
  isOid,
  type ObjectType,
  oidOf,
  type ParsedCommit,
  parseCommit,
  type TreeEntry,
  treeEntries,
} from './git-object.ts';
import { GitError } from './git-process.ts';

/** Somebody committed what nobody can read in time. Fetched anew, it would be the same. */
export class LargeObjectError extends GitError {}

/** The local copy lacks something or holds something wrong. It is thrown away and fetched anew at the next fetch. */
export class DamagedCopyError extends GitError {}

/** No larger object is read: more than any commit, any directory of 100,000 files, and any file that is read. */
const OBJECT_BYTES_MAX = 32 * 1024 * 1024;
/** Other work gets its turn after so many entries of a tree. */
const ENTRIES_A_TURN = 5000;

export class ObjectReader {
  readonly gitDirectory: string;
  readonly #contents: CatFile;
  readonly #sizes: CatFile;

  /** Begins nothing before it is asked. A repository that is not there has no objects. */
  constructor(gitDirectory: string) {
    this.gitDirectory = gitDirectory;
    this.#contents = new CatFile({ gitDirectory, mode: '--batch', bytesMax: OBJECT_BYTES_MAX });
    this.#sizes = new CatFile({ gitDirectory, mode: '--batch-check', bytesMax: 0 });
  }

  /** How often the packs were opened, by a process each. */
  get openedCount(): number {
    return this.#contents.startedCount + this.#sizes.startedCount;
  }

  /** Returns an object's size in bytes. Throws DamagedCopyError where it is not there. */
  async sizeOf(oid: string): Promise<number> {
    return ((await ask(this.#sizes, oid)) ?? missing(oid)).size;
  }

  /**
   * Returns an object of the expected type. Throws DamagedCopyError where it is not there, or is not what its id says;
   * LargeObjectError where it is too large to be read.
   */
  async read(oid: string, type: ObjectType): Promise<GitObject> {
    const object = hashed(oid, (await ask(this.#contents, oid)) ?? missing(oid));
    if (object.type !== type) throw damageOf(oid, `it is a ${object.type} where a ${type} belongs`);
    return object;
  }

  /**
   * Returns a tree's entries in Git's order, and stops with the first one beyond `countMax`: a megabyte can hold a hundred
   * thousand in a pack. Other work gets its turn meanwhile. Throws like {@link read}.
   */
  async readTree(oid: string, countMax: number): Promise<readonly TreeEntry[]> {
    const { bytes } = await this.read(oid, 'tree');
    const entries: TreeEntry[] = [];
    try {
      for (const entry of treeEntries(bytes)) {
        if (entries.push(entry) > countMax) break;
        if (entries.length % ENTRIES_A_TURN === 0) await setImmediate();
      }
    } catch (error) {
      throw damageOf(oid, error);
    }
    return entries;
  }

  /** Returns what a commit says of itself. Throws like {@link read}. */
  async readCommit(oid: string): Promise<ParsedCommit> {
    return commitIn(oid, await this.read(oid, 'commit'));
  }

  /** Tells whether a commit is there, and reads none of it: a stranger may have named it. */
  async hasCommit(oid: string): Promise<boolean> {
    return (await ask(this.#sizes, oid))?.type === 'commit';
  }

  /** Returns what a commit says of itself, undefined where it is not there. Throws like {@link read}. */
  async findCommit(oid: string): Promise<ParsedCommit | undefined> {
    const answer = await ask(this.#contents, oid);
    return answer?.type === 'commit' ? commitIn(oid, hashed(oid, answer)) : undefined;
  }

  /** Ends the processes once they have answered what they were asked. What is asked later begins new ones. */
  close(): void {
    this.#contents.close();
    this.#sizes.close();
  }
}

async function ask(catFile: CatFile, oid: string): Promise<ObjectAnswer | undefined> {
  try {
    return isOid(oid) ? await catFile.ask(oid) : undefined;
  } catch (error) {
    throw error instanceof CatFileFailure ? damageOf(oid, error) : error;
  }
}

function hashed(oid: string, { type, size, bytes }: ObjectAnswer): GitObject {
  if (bytes === null) throw new LargeObjectError(`object ${oid} is too large to be read: it has ${size} bytes`);
  if (oidOf({ type, bytes }) !== oid) throw damageOf(oid, 'its content does not hash to its id');
  return { type, bytes };
}

function commitIn(oid: string, { bytes }: GitObject): ParsedCommit {
  try {
    return parseCommit(oid, bytes);
  } catch (error) {
    throw damageOf(oid, error);
  }
}

function missing(oid: string): never {
  throw damageOf(oid, 'it is not there');
}

/** Returns the error for an object of the local copy that is not as it has to be. */
export function damageOf(oid: string, cause: unknown): DamagedCopyError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new DamagedCopyError(
    `the local copy of the repository is damaged at object ${oid}: ${reason}; it is fetched anew at the next look`,
    { cause },
  );
}
