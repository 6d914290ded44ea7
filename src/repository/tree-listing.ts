// Lists the files of a commit below one directory. Reads only trees that the previous listing did not have: a commit
// that changes one file costs the trees above it.
import { posix } from 'node:path';
import { systemTurns } from '../base/slices.ts';
import type { FileMode, SnapshotFile } from '../model/snapshot.ts';
import { DIRECTORY_MODE, type TreeEntry } from './git/git-object.ts';
import type { ObjectReader } from './git/object-reader.ts';
import { ContentError } from './source.ts';

/** The entries of trees by the tree's id. The same id always has the same entries. */
export type KnownTrees = ReadonlyMap<string, readonly TreeEntry[]>;

interface TreeListing {
  /** By path relative to the directory. */
  readonly files: ReadonlyMap<string, SnapshotFile>;
  /** All trees of this listing, for reuse by the next one. */
  readonly trees: KnownTrees;
  /** Number of trees that were read and not reused. */
  readonly treesRead: number;
}

interface ListingOptions {
  /** The commit's own tree. */
  readonly root: string;
  /** The path segments from the root to the directory; none for the root itself. */
  readonly directory: readonly string[];
  readonly known: KnownTrees;
  /** Limit for files and directories together: nested trees of a few objects can list an astronomical number. */
  readonly entriesMax: number;
}

const DEPTH_MAX = 256;
/** No system opens a longer path. A tree can hold a name of megabytes, which each path below would repeat. */
const PATH_LENGTH_MAX = 4096;
/** Limit for all paths together, in characters: for 100,000 files, paths of some 300 characters. */
const PATHS_LENGTH_MAX = 32 * 1024 * 1024;

/**
 * Returns the files below a directory, none if the commit has no such directory. Throws DamagedCopyError if a tree is
 * missing or malformed, ContentError if there are more than `entriesMax` files and directories, or if their paths are
 * too long. Yields to other work meanwhile.
 */
export async function listFiles(
  objects: Pick<ObjectReader, 'readTree'>,
  options: ListingOptions,
): Promise<TreeListing> {
  const files = new Map<string, SnapshotFile>();
  const trees = new Map<string, readonly TreeEntry[]>();
  let treesRead = 0;
  let entries = 0;
  let pathsLength = 0;

  async function entriesOf(oid: string): Promise<readonly TreeEntry[]> {
    const known = trees.get(oid) ?? options.known.get(oid);
    if (known === undefined) treesRead++;
    const found = known ?? (await objects.readTree(oid, options.entriesMax));
    trees.set(oid, found);
    return found;
  }

  async function walk(oid: string, prefix: string, depth: number): Promise<void> {
    if (depth > DEPTH_MAX) throw new ContentError(`directories are nested deeper than ${DEPTH_MAX} at "${prefix}"`);
    for (const entry of await entriesOf(oid)) {
      if (++entries > options.entriesMax) throw tooMany(options);
      if (systemTurns.isOver()) await systemTurns.next();
      pathsLength += prefix.length + entry.name.length;
      if (prefix.length + entry.name.length > PATH_LENGTH_MAX) throw tooLong(prefix.length + entry.name.length);
      if (pathsLength > PATHS_LENGTH_MAX) throw tooManyCharacters(options);
      const path = `${prefix}${entry.name}`;
      if (entry.mode === DIRECTORY_MODE) await walk(entry.oid, `${path}/`, depth + 1);
      else addFile(files, path, { oid: entry.oid, mode: entry.mode });
    }
  }

  let start: string | undefined = options.root;
  for (const name of options.directory) {
    if (start === undefined) break;
    const entries: readonly TreeEntry[] = await entriesOf(start);
    start = entries.find((entry) => entry.name === name && entry.mode === DIRECTORY_MODE)?.oid;
  }
  if (start !== undefined) await walk(start, '', 0);
  return { files, trees, treesRead };
}

interface AddedOptions extends Pick<ListingOptions, 'directory' | 'entriesMax'> {
  /** The trees of two commits. */
  readonly before: string;
  readonly after: string;
}

/**
 * Returns the files at paths where the commit before has none, of the whole tree, by path relative to the directory. Reads
 * only folders that differ, and nothing beyond `entriesMax` of their entries. Throws DamagedCopyError if a tree is missing.
 */
export async function listAdded(
  objects: Pick<ObjectReader, 'readTree'>,
  { before, after, directory, entriesMax }: AddedOptions,
): Promise<TreeListing['files']> {
  const files = new Map<string, SnapshotFile>();
  const root = `/${directory.join('/')}`;
  let entries = 0;
  let pathsLength = 0;

  async function walk(old: string | undefined, oid: string, prefix: string): Promise<void> {
    const known = new Map(
      old === undefined ? [] : (await objects.readTree(old, entriesMax)).map((one) => [one.name, one]),
    );
    for (const { name, mode, oid: found } of await objects.readTree(oid, entriesMax)) {
      const path = `${prefix}/${name}`;
      pathsLength += path.length;
      if (++entries > entriesMax || pathsLength > PATHS_LENGTH_MAX || path.length > PATH_LENGTH_MAX) return;
      if (systemTurns.isOver()) await systemTurns.next();
      const was = known.get(name);
      const isFolder = was?.mode === DIRECTORY_MODE;
      if (mode !== DIRECTORY_MODE) {
        if (was === undefined || isFolder) files.set(posix.relative(root, path), { oid: found, mode });
      } else if (!isFolder || was.oid !== found) await walk(isFolder ? was.oid : undefined, found, path);
    }
  }

  if (before !== after) await walk(before, after, '');
  return files;
}

function addFile(files: Map<string, SnapshotFile>, path: string, file: { oid: string; mode: FileMode }): void {
  if (files.has(path)) throw new ContentError(`a tree lists "${path}" twice: "git fsck" in the repository says where`);
  files.set(path, file);
}

function tooLong(length: number): ContentError {
  return new ContentError(`a path has ${length} characters: at most ${PATH_LENGTH_MAX} are read, shorten it`);
}

function tooManyCharacters(options: ListingOptions): ContentError {
  return new ContentError(
    `the paths of ${placeOf(options)} have more than ${PATHS_LENGTH_MAX} characters together: follow a directory of it`,
  );
}

function placeOf({ directory }: ListingOptions): string {
  return directory.length === 0 ? 'the repository' : `"${directory.join('/')}"`;
}

function tooMany(options: ListingOptions): ContentError {
  const { entriesMax } = options;
  return new ContentError(
    `${placeOf(options)} holds more than ${entriesMax} files and directories: follow a directory of it that holds the stacks alone`,
  );
}
