// Reads the objects of a bare repository through git. Hashes every object before it returns it, so that damage by a
// disk or a remote is detected.
import { systemTurns } from '../../base/slices.ts';
import { CatFile, CatFileFailure } from './cat-file.ts';
import type { ObjectAnswer } from './cat-file-answers.ts';
import { freeBytes } from './free-bytes.ts';
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
import { ContentError, GitError } from './git-process.ts';

/** The local copy lacks an object or holds an invalid one. The next fetch replaces it. */
export class DamagedCopyError extends GitError {}

/**
 * Larger objects are refused: the limit exceeds any commit, any directory of 100,000 files, and any file that is read.
 */
const OBJECT_BYTES_MAX = 32 * 1024 * 1024;
/** A larger commit gives its memory back as soon as it is parsed. */
const FREED_BYTES_MIN = 1024 * 1024;

/** Reads and verifies the objects of one repository. */
export class ObjectReader {
  readonly gitDirectory: string;
  readonly #contents: CatFile;
  readonly #sizes: CatFile;

  /** Starts no process before the first request. A missing repository has no objects. */
  constructor(gitDirectory: string) {
    this.gitDirectory = gitDirectory;
    this.#contents = new CatFile({ gitDirectory, mode: '--batch', bytesMax: OBJECT_BYTES_MAX });
    this.#sizes = new CatFile({ gitDirectory, mode: '--batch-check', bytesMax: 0 });
  }

  /** Number of processes started to read the packs. */
  get openedCount(): number {
    return this.#contents.startedCount + this.#sizes.startedCount;
  }

  /** Starts the processes, so that the first requests do not wait for that. */
  prepare(): void {
    this.#contents.prepare();
    this.#sizes.prepare();
  }

  /** Returns an object's size in bytes. Throws DamagedCopyError if it is missing. */
  async sizeOf(oid: string): Promise<number> {
    return ((await readFrom(this.#sizes, oid)) ?? missing(oid)).size;
  }

  /**
   * Returns an object of the expected type. Throws DamagedCopyError if it is missing, or does not match its id;
   * ContentError if it is too large.
   */
  async read(oid: string, type: ObjectType): Promise<GitObject> {
    const object = hashed(oid, (await readFrom(this.#contents, oid)) ?? missing(oid));
    if (object.type !== type) throw damageOf(oid, `it is a ${object.type} where a ${type} belongs`);
    return object;
  }

  /**
   * Returns a tree's entries in Git's order, and stops with the first one beyond `countMax`: a megabyte can hold a
   * hundred thousand in a pack. Yields to other work meanwhile. Throws like {@link read}.
   */
  async readTree(oid: string, countMax: number): Promise<readonly TreeEntry[]> {
    const { bytes } = await this.read(oid, 'tree');
    const entries: TreeEntry[] = [];
    try {
      for (const entry of treeEntries(bytes)) {
        if (entries.push(entry) > countMax) break;
        if (systemTurns.isOver()) await systemTurns.next();
      }
    } catch (error) {
      throw damageOf(oid, error);
    }
    return entries;
  }

  /** Returns the metadata of a commit. Throws like {@link read}. */
  async readCommit(oid: string): Promise<ParsedCommit> {
    return commitIn(oid, await this.read(oid, 'commit'));
  }

  /** Returns true if a commit exists, without reading it: its id may come from an untrusted client. */
  async hasCommit(oid: string): Promise<boolean> {
    return (await readFrom(this.#sizes, oid))?.type === 'commit';
  }

  /** Returns the metadata of a commit, undefined if it is missing. Throws like {@link read}. */
  async findCommit(oid: string): Promise<ParsedCommit | undefined> {
    const answer = await readFrom(this.#contents, oid);
    return answer?.type === 'commit' ? commitIn(oid, hashed(oid, answer)) : undefined;
  }

  /** Ends the processes after their open requests. Later requests start new ones. */
  close(): void {
    this.#contents.close();
    this.#sizes.close();
  }
}

async function readFrom(catFile: CatFile, oid: string): Promise<ObjectAnswer | undefined> {
  try {
    return isOid(oid) ? await catFile.read(oid) : undefined;
  } catch (error) {
    throw error instanceof CatFileFailure ? damageOf(oid, error) : error;
  }
}

function hashed(oid: string, { type, size, bytes }: ObjectAnswer): GitObject {
  if (bytes === null) throw new ContentError(`object ${oid} is too large to be read: it has ${size} bytes`);
  if (oidOf({ type, bytes }) !== oid) throw damageOf(oid, 'its content does not hash to its id');
  return { type, bytes };
}

/** Ends the life of the bytes: a parsed commit keeps nothing of them. */
function commitIn(oid: string, { bytes }: GitObject): ParsedCommit {
  try {
    return parseCommit(oid, bytes);
  } catch (error) {
    throw damageOf(oid, error);
  } finally {
    // A history of large commits would else hold as many as are read between two garbage collections.
    if (bytes.length >= FREED_BYTES_MIN) freeBytes(bytes);
  }
}

function missing(oid: string): never {
  throw damageOf(oid, 'it is not there');
}

/** Returns the error for an invalid object of the local copy. */
function damageOf(oid: string, cause: unknown): DamagedCopyError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new DamagedCopyError(
    `the local copy of the repository is damaged at object ${oid}: ${reason}; it is fetched again at the next look`,
    { cause },
  );
}
