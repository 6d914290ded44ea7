// Turns a commit of the local copy into a snapshot. Keeps the trees of the last one, so that the next costs what changed.
import { setImmediate } from 'node:timers/promises';
import type { Snapshot, SnapshotFile } from '../model/snapshot.ts';
import type { ParsedCommit } from './git-object.ts';
import type { ObjectStore } from './object-store.ts';
import type { BlobFilter } from './source.ts';
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
}

/** Other work gets its turn after so many files. */
const FILES_A_TURN = 500;

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

  /** Returns the snapshot with the blobs that `wants` asks for. Throws like {@link listFiles}. */
  async read(objects: ObjectStore, commit: ParsedCommit, wants: BlobFilter): Promise<Snapshot> {
    const { directory, entriesMax } = this.#options;
    const listing = listFiles(objects, { root: commit.tree, directory, known: this.#known, entriesMax });
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
    let looked = 0;
    for (const [path, { oid, mode }] of files) {
      if (++looked % FILES_A_TURN === 0) await setImmediate();
      const isFile = mode === '100644' || mode === '100755';
      if (!isFile || blobs.has(oid) || !wants(path, oid)) continue;
      if (objects.sizeOf(oid) <= this.#options.blobBytesMax) blobs.set(oid, objects.read(oid, 'blob').bytes);
    }
    return blobs;
  }
}
