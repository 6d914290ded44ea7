// Reads a working directory as a snapshot, so that the command line can check it before a commit. Uses the file names
// of a commit, and includes files that .gitignore excludes.
import { type Dirent, lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { compareNames } from '../model/names.ts';
import type { Snapshot, SnapshotFile } from '../model/snapshot.ts';
import { blobIdOf, decodePath } from './git-object.ts';
import { type BlobFilter, SOURCE_LIMITS, SourceError, type SourceLimits } from './source.ts';

interface DirectoryOptions {
  /** RFC 3339: the time of the snapshot. Default: the beginning of 1970. */
  readonly time?: string;
  /** Selects the files whose content is in the snapshot; default: all. */
  readonly wants?: BlobFilter;
  /** Directories count as files. */
  readonly limits?: Pick<SourceLimits, 'entriesMax' | 'blobBytesMax'>;
}

const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);
/** Below these folders, a folder of any name is read, as from a commit. */
const OF_OBJECTS = /^(?:types|stacks\/templates|stacks\/instances|clients)\//;
/** The object id of a nested repository, and of a file that is too large to read. */
const UNKNOWN = '0'.repeat(40);
const DEPTH_MAX = 256;

interface DirectoryEntry {
  /** Its name in the snapshot, relative to the directory. */
  readonly path: string;
  /** Its path on this machine. File names are bytes, which need not be UTF-8. */
  readonly place: Buffer;
  readonly kind: 'file' | 'symlink' | 'repository';
}

/**
 * Returns the files below a directory, without `.git`, and without `node_modules` outside the folders of objects. A
 * nested repository is listed as a submodule and not entered. Throws SourceError if the directory does not exist,
 * cannot be read, or contains too many files.
 */
export async function readDirectory(directory: string, options: DirectoryOptions = {}): Promise<Snapshot> {
  const { time = '1970-01-01T00:00:00Z', wants = () => true, limits = SOURCE_LIMITS } = options;
  const files = new Map<string, SnapshotFile>();
  const blobs = new Map<string, Uint8Array>();
  try {
    for (const entry of await listEntries(directory, limits.entriesMax)) {
      const { file, bytes } = readEntry(entry, limits.blobBytesMax);
      files.set(entry.path, file);
      if (bytes !== null && wants(entry.path, file.oid)) blobs.set(file.oid, bytes);
    }
  } catch (error) {
    if (error instanceof SourceError || !(error instanceof Error)) throw error;
    throw new SourceError(`the directory "${directory}" cannot be read: ${error.message}`, { cause: error });
  }
  return { commit: '', time, files, blobs };
}

/** Lists the files that a commit would contain, in Git's order except for names with a common prefix. */
async function listEntries(directory: string, entriesMax: number): Promise<readonly DirectoryEntry[]> {
  const entries: DirectoryEntry[] = [];
  let seen = 0;

  async function walk(folder: Buffer, prefix: string, depth: number): Promise<void> {
    if (depth > DEPTH_MAX) throw new SourceError(`directories are nested deeper than ${DEPTH_MAX} at "${prefix}"`);
    const found = (await readdir(folder, { withFileTypes: true, encoding: 'buffer' }))
      .map((entry) => ({ entry, name: decodePath(entry.name) }))
      .sort((a, b) => compareNames(a.name, b.name));
    if (prefix !== '' && found.some(({ name }) => name === '.git')) {
      entries.push({ path: prefix.slice(0, -1), place: folder, kind: 'repository' });
      return;
    }
    for (const { entry, name } of found) {
      if (SKIPPED.has(name) && !OF_OBJECTS.test(prefix)) continue;
      if (++seen > entriesMax) {
        throw new SourceError(`"${directory}" holds more than ${entriesMax} files and directories: name a smaller one`);
      }
      const path = `${prefix}${name}`;
      const place = Buffer.concat([folder, SLASH, entry.name]);
      const kind = kindOf(entry);
      if (entry.isDirectory()) await walk(place, `${path}/`, depth + 1);
      else if (kind !== null) entries.push({ path, place, kind });
    }
  }

  await walk(Buffer.from(directory), '', 0);
  return entries;
}

const SLASH = Buffer.from('/');

/** Returns null for sockets, pipes and devices, which Git ignores too. */
function kindOf(entry: Dirent<Buffer>): 'file' | 'symlink' | null {
  if (entry.isSymbolicLink()) return 'symlink';
  return entry.isFile() ? 'file' : null;
}

interface ReadEntry {
  readonly file: SnapshotFile;
  readonly bytes: Uint8Array | null;
}

/**
 * Reads synchronously: for thousands of small files, the thread pool costs more than the reading, and a command has no
 * other work.
 */
function readEntry({ place, kind }: DirectoryEntry, blobBytesMax: number): ReadEntry {
  if (kind === 'repository') return { file: { mode: '160000', oid: UNKNOWN }, bytes: null };
  if (kind === 'symlink') {
    const target = readlinkSync(place, { encoding: 'buffer' });
    return { file: { mode: '120000', oid: blobIdOf(target) }, bytes: null };
  }
  const stats = lstatSync(place);
  if (stats.size > blobBytesMax) return { file: { mode: modeOf(stats), oid: UNKNOWN }, bytes: null };
  const bytes = readFileSync(place);
  return { file: { mode: modeOf(stats), oid: blobIdOf(bytes) }, bytes };
}

function modeOf({ mode }: Stats): '100644' | '100755' {
  return (mode & 0o100) === 0 ? '100644' : '100755';
}
