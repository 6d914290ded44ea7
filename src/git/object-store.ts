// The objects of the local copy, over all its packs. Every object that it hands out was hashed first, so that what a disk
// or a remote got wrong is noticed and never believed.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { GitError } from './git-error.ts';
import {
  type GitObject,
  type ObjectType,
  oidOf,
  type ParsedCommit,
  parseCommit,
  type TreeEntry,
  treeEntries,
} from './git-object.ts';
import { ObjectTooLargeError, Pack } from './pack.ts';

/** Somebody committed what nobody can read in time. Fetched anew, it would be the same. */
export class LargeObjectError extends GitError {}

/** The local copy lacks something or holds something wrong. It is thrown away and fetched anew at the next fetch. */
export class DamagedCopyError extends GitError {}

/**
 * No larger object is inflated: more than any commit, any directory of `entriesMax` files, and any file that is read.
 * Inflating it takes a tenth of a second, in which nobody is answered.
 */
const OBJECT_BYTES_MAX = 32 * 1024 * 1024;
/** Other work gets its turn after so many entries of a tree. */
const ENTRIES_A_TURN = 5000;

export class ObjectStore {
  readonly packs: readonly Pack[];

  /** The caller closes the packs; see {@link withObjects}. */
  constructor(packs: readonly Pack[]) {
    this.packs = packs;
  }

  /** How many objects there are; one in several packs counts in each. */
  get count(): number {
    return this.packs.reduce((sum, { index }) => sum + index.count, 0);
  }

  /** The size of all packs, their indexes left out. */
  get bytes(): number {
    return this.packs.reduce((sum, pack) => sum + pack.bytes, 0);
  }

  has(oid: string): boolean {
    return this.packs.some((pack) => pack.index.offsetOf(oid) !== undefined);
  }

  /** Returns an object's size in bytes. Throws DamagedCopyError where it is not there. */
  sizeOf(oid: string): number {
    return this.#lookAt(oid, (pack, offset) => pack.sizeAt(offset));
  }

  /**
   * Returns an object of the expected type. Throws DamagedCopyError where it is not there, or is not what its id says;
   * LargeObjectError where it is too large to be read.
   */
  read(oid: string, type?: ObjectType): GitObject {
    return this.#lookAt(oid, (pack, offset) => {
      const object = pack.objectAt(offset, OBJECT_BYTES_MAX);
      if (oidOf(object) !== oid) throw new Error('its content does not hash to its id');
      if (type !== undefined && object.type !== type) throw new Error(`it is a ${object.type} where a ${type} belongs`);
      return object;
    });
  }

  /**
   * Returns a tree's entries in Git's order, and stops with the first one beyond `countMax`: a megabyte can hold a hundred
   * thousand in a pack. Other work gets its turn meanwhile. Throws like {@link read}.
   */
  async readTree(oid: string, countMax: number): Promise<readonly TreeEntry[]> {
    const { bytes } = this.read(oid, 'tree');
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

  readCommit(oid: string): ParsedCommit {
    const { bytes } = this.read(oid, 'commit');
    return asDamage(oid, () => parseCommit(oid, bytes));
  }

  #lookAt<Value>(oid: string, look: (pack: Pack, offset: number) => Value): Value {
    return asDamage(oid, () => {
      for (const pack of this.packs) {
        const offset = pack.index.offsetOf(oid);
        if (offset !== undefined) return look(pack, offset);
      }
      throw new Error('it is not there');
    });
  }
}

/**
 * Opens all packs of a bare repository, hands them to `work`, and closes them. Nothing is kept afterwards: a process
 * that follows a large repository for weeks holds none of it in memory. A repository that is not there has no objects.
 */
export async function withObjects<Value>(
  gitDirectory: string,
  work: (objects: ObjectStore) => Promise<Value>,
): Promise<Value> {
  const packs: Pack[] = [];
  try {
    for (const base of packBases(gitDirectory)) packs.push(openPack(base));
    // The large pack of the first fetch holds most of what is asked for.
    packs.sort((a, b) => b.index.count - a.index.count);
    return await work(new ObjectStore(packs));
  } finally {
    for (const pack of packs) pack.close();
  }
}

/** Lists the packs of a bare repository as paths without their endings, sorted. */
export function packBases(gitDirectory: string): readonly string[] {
  const folder = join(gitDirectory, 'objects', 'pack');
  return namesIn(folder)
    .filter((name) => name.endsWith('.idx'))
    .map((name) => join(folder, name.slice(0, -'.idx'.length)))
    .sort();
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw new GitError(`the local copy of the repository cannot be read: ${folder}`, { cause: error });
  }
}

function openPack(base: string): Pack {
  try {
    return new Pack(base);
  } catch (error) {
    throw new DamagedCopyError(`the local copy of the repository is damaged: ${base}.pack cannot be opened`, {
      cause: error,
    });
  }
}

function asDamage<Value>(oid: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw damageOf(oid, error);
  }
}

function damageOf(oid: string, error: unknown): GitError {
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof ObjectTooLargeError) {
    return new LargeObjectError(`object ${oid} is too large to be read: ${reason}`, { cause: error });
  }
  return new DamagedCopyError(
    `the local copy of the repository is damaged at object ${oid}: ${reason}; it is fetched anew at the next look`,
    { cause: error },
  );
}
