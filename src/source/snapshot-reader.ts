// Turns a commit of the local copy into a snapshot. Keeps the trees of the last one, so that the next costs what changed.
import { setImmediate } from 'node:timers/promises';
import type { ParsedCommit } from '../git/git-object.ts';
import { LargeObjectError, type ObjectStore } from '../git/object-store.ts';
import type { Snapshot, SnapshotFile } from '../model/snapshot.ts';
import { type BlobFilter, SourceError } from './source.ts';
import { type KnownTrees, listFiles } from './tree-listing.ts';

/** What a snapshot cost. */
export interface SnapshotCounts {
  readonly treesRead: number;
  readonly blobsRead: number;
}

export interface SnapshotReaderOptions {
  /** The steps from the repository's root to the directory whose files are listed. */
  readonly directory: readonly string[];
  /** Files and directories below the directory. */
  readonly entriesMax: number;
  /** A larger file is listed, but its content is left out. */
  readonly blobBytesMax: number;
  /** Of all files that are read. */
  readonly snapshotBytesMax: number;
}

/** Other work gets its turn after so many bytes; looking at a file costs like reading some more. */
const BYTES_A_TURN = 1024 * 1024;
const FILE_COST_BYTES = 2048;

export class SnapshotReader {
  readonly #options: SnapshotReaderOptions;
  #known: KnownTrees = new Map();
  #counts: SnapshotCounts = { treesRead: 0, blobsRead: 0 };

  constructor(options: SnapshotReaderOptions) {
    this.#options = options;
  }

  /** Of the last snapshot that was read whole. */
  get counts(): SnapshotCounts {
    return this.#counts;
  }

  /**
   * Returns the snapshot with the blobs that `wants` asks for. Throws like {@link listFiles}, and SourceError where there
   * is more to read than `snapshotBytesMax`.
   */
  async read(objects: ObjectStore, commit: ParsedCommit, wants: BlobFilter): Promise<Snapshot> {
    const { directory, entriesMax } = this.#options;
    const listing = await listFiles(objects, { root: commit.tree, directory, known: this.#known, entriesMax });
    const blobs = await this.#readBlobs(objects, listing.files, wants);
    this.#known = listing.trees;
    this.#counts = { treesRead: listing.treesRead, blobsRead: blobs.size };
    return { commit: commit.commit, time: commit.time, files: listing.files, blobs };
  }

  async #readBlobs(
    objects: ObjectStore,
    files: ReadonlyMap<string, SnapshotFile>,
    wants: BlobFilter,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const blobs = new Map<string, Uint8Array>();
    let work = 0;
    let bytesRead = 0;
    for (const [path, { oid, mode }] of files) {
      work += FILE_COST_BYTES;
      if (work >= BYTES_A_TURN) {
        await setImmediate();
        work = 0;
      }
      const isFile = mode === '100644' || mode === '100755';
      if (!isFile || blobs.has(oid) || !wants(path, oid)) continue;
      const bytes = this.#readBlob(objects, oid);
      if (bytes === undefined) continue;
      blobs.set(oid, bytes);
      work += bytes.length;
      bytesRead += bytes.length;
      if (bytesRead > this.#options.snapshotBytesMax) throw tooMuch(this.#options);
    }
    return blobs;
  }

  /** Returns undefined for a file that is too large: it is listed, and whoever needs it says so. */
  #readBlob(objects: ObjectStore, oid: string): Uint8Array | undefined {
    if (objects.sizeOf(oid) > this.#options.blobBytesMax) return undefined;
    try {
      return objects.read(oid, 'blob').bytes;
    } catch (error) {
      // Small itself, and made of something that is not.
      if (error instanceof LargeObjectError) return undefined;
      throw error;
    }
  }
}

function tooMuch({ directory, snapshotBytesMax }: SnapshotReaderOptions): SourceError {
  const place = directory.length === 0 ? 'the repository' : `"${directory.join('/')}"`;
  return new SourceError(`the stacks in ${place} have more than ${snapshotBytesMax} bytes together: divide them`);
}
