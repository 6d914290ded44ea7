// Reads a commit of the local copy as a snapshot. Keeps the trees of the last one, so that the cost is proportional to
// the changes.
import { systemTurns } from '../base/slices.ts';
import type { Snapshot, SnapshotFile } from '../model/snapshot.ts';
import type { ParsedCommit } from './git/git-object.ts';
import type { ObjectReader } from './git/object-reader.ts';
import { type AddedOrder, type BlobFilter, ContentError } from './source.ts';
import { type KnownTrees, listAdded, listFiles } from './tree-listing.ts';

/** The cost of a snapshot. */
export interface SnapshotCounts {
  readonly treesRead: number;
  readonly blobsRead: number;
}

interface SnapshotReaderOptions {
  /** The path segments from the repository's root to the directory whose files are listed. */
  readonly directory: readonly string[];
  /** Limit for files and directories below the directory. */
  readonly entriesMax: number;
  /** A larger file is listed without its content. */
  readonly blobBytesMax: number;
  /** Limit for all files that are read. */
  readonly snapshotBytesMax: number;
}

interface SnapshotOrder {
  readonly wants: BlobFilter;
  /** Left out: the directory of the options. */
  readonly directory?: readonly string[] | undefined;
}

/** Concurrent requests for objects. */
const ASKED_AT_ONCE = 1000;

/** Reads commits as snapshots, one after the other. */
export class SnapshotReader {
  readonly #options: SnapshotReaderOptions;
  #known: KnownTrees = new Map();
  #counts: SnapshotCounts = { treesRead: 0, blobsRead: 0 };

  constructor(options: SnapshotReaderOptions) {
    this.#options = options;
  }

  /** The cost of the last complete snapshot. */
  get counts(): SnapshotCounts {
    return this.#counts;
  }

  /**
   * Returns the snapshot with the blobs that `wants` selects, below `directory`. Throws like {@link listFiles}, and
   * ContentError if their total size exceeds `snapshotBytesMax`.
   */
  async read(
    objects: ObjectReader,
    commit: ParsedCommit,
    { wants, directory = this.#options.directory }: SnapshotOrder,
  ): Promise<Snapshot> {
    const { entriesMax } = this.#options;
    const listing = await listFiles(objects, { root: commit.tree, directory, known: this.#known, entriesMax });
    const blobs = await this.#readBlobs(objects, await selectWanted(listing.files, wants));
    this.#known = listing.trees;
    this.#counts = { treesRead: listing.treesRead, blobsRead: blobs.size };
    return { commit: commit.oid, time: commit.time, files: listing.files, blobs };
  }

  /** Returns what {@link Source.added} says, of two commits. */
  async added(
    objects: ObjectReader,
    { from, to }: { readonly from: ParsedCommit; readonly to: ParsedCommit },
    { select, directory = this.#options.directory }: Pick<AddedOrder, 'select'> & Pick<SnapshotOrder, 'directory'>,
  ): Promise<Pick<Snapshot, 'files' | 'blobs'>> {
    const { entriesMax } = this.#options;
    const files = await listAdded(objects, { before: from.tree, after: to.tree, directory, entriesMax });
    return { files, blobs: await this.#readBlobs(objects, select(files)) };
  }

  /** A file that is too large is listed without content; the stage that needs it reports it. */
  async #readBlobs(objects: ObjectReader, wanted: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const { blobBytesMax, snapshotBytesMax } = this.#options;
    const sized = await inParts(wanted, async (oid) => ({
      oid,
      bytes: await objects.sizeOf(oid),
    }));
    const readable = sized.filter(({ bytes }) => bytes <= blobBytesMax);
    if (readable.reduce((sum, { bytes }) => sum + bytes, 0) > snapshotBytesMax) throw tooMuch(this.#options);
    return new Map(await inParts(readable, async ({ oid }) => [oid, (await objects.read(oid, 'blob')).bytes] as const));
  }
}

/** Returns the ids of the wanted files, each once. */
async function selectWanted(files: ReadonlyMap<string, SnapshotFile>, wants: BlobFilter): Promise<readonly string[]> {
  const wanted = new Set<string>();
  for (const [path, { oid, mode }] of files) {
    if (systemTurns.isOver()) await systemTurns.next();
    const isFile = mode === '100644' || mode === '100755';
    if (isFile && !wanted.has(oid) && wants(path, oid)) wanted.add(oid);
  }
  return [...wanted];
}

/** Returns the result of `read` for each item, in order, with limited concurrency. */
async function inParts<From, To>(all: readonly From[], read: (one: From) => Promise<To>): Promise<readonly To[]> {
  const made: To[] = [];
  for (let at = 0; at < all.length; at += ASKED_AT_ONCE) {
    made.push(...(await Promise.all(all.slice(at, at + ASKED_AT_ONCE).map(read))));
  }
  return made;
}

function tooMuch({ directory, snapshotBytesMax }: SnapshotReaderOptions): ContentError {
  const place = directory.length === 0 ? 'the repository' : `"${directory.join('/')}"`;
  return new ContentError(`the stacks in ${place} have more than ${snapshotBytesMax} bytes together: divide them`);
}
