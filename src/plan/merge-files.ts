// Merges the file lists of two commits: the version of head where only head changed a file since both parted, else that
// of base. Contents are compared by their ids and never merged. docs/pull-requests.md.
import { placePath } from '../catalog/paths.ts';
import { compareNames } from '../model/names.ts';
import type { Snapshot, SnapshotFile } from '../model/snapshot.ts';

type Files = Snapshot['files'];

/** The file lists of the commits of a merge. */
interface FilesToMerge {
  /** Of the merge base. */
  readonly ancestor: Files;
  readonly base: Files;
  readonly head: Files;
}

/** The files after a merge. */
interface MergedFiles {
  readonly files: Files;
  /** Paths of the layout that both sides changed, to different content; they keep the version of base. Sorted. */
  readonly conflicts: readonly string[];
}

/** Returns the files after a merge. */
export function mergeFiles({ ancestor, base, head }: FilesToMerge): MergedFiles {
  const files = new Map(base);
  const conflicts = new Set<string>();
  const added: string[] = [];
  for (const path of new Set([...base.keys(), ...head.keys()])) {
    const side = changedSide({ ancestor: ancestor.get(path), base: base.get(path), head: head.get(path) });
    if (side === 'both' && isPlaced(path, base.get(path) ?? head.get(path))) conflicts.add(path);
    if (side !== 'head') continue;
    const file = head.get(path);
    if (file === undefined) files.delete(path);
    else files.set(path, file);
    if (file !== undefined && !base.has(path)) added.push(path);
  }
  const folders = added.length === 0 ? new Set<string>() : foldersOf(files);
  for (const path of added) {
    if (!folders.has(path) && !parentsOf(path).some((folder) => files.has(folder))) continue;
    files.delete(path);
    if (isPlaced(path, head.get(path))) conflicts.add(path);
  }
  return { files, conflicts: [...conflicts].sort(compareNames) };
}

/** A version that no commit has: both sides have changed it. */
const UNKNOWN: SnapshotFile = { oid: '', mode: '100644' };

/**
 * Returns the files of a merge base that stands for two, as git makes it where histories cross: a file that both have
 * changed since they parted is of neither side.
 */
export function mergeAncestors({ ancestor, base, head }: FilesToMerge): Files {
  const files = new Map<string, SnapshotFile>();
  for (const path of new Set([...base.keys(), ...head.keys()])) {
    const versions = { ancestor: ancestor.get(path), base: base.get(path), head: head.get(path) };
    const side = changedSide(versions);
    const file = side === 'both' ? UNKNOWN : versions[side === 'head' ? 'head' : 'base'];
    if (file !== undefined) files.set(path, file);
  }
  return files;
}

interface Versions {
  readonly ancestor: SnapshotFile | undefined;
  readonly base: SnapshotFile | undefined;
  readonly head: SnapshotFile | undefined;
}

/** Returns which side changed a file; `none` also where both did so equally. */
function changedSide({ ancestor, base, head }: Versions): 'none' | 'base' | 'head' | 'both' {
  if (isSameFile(base, head)) return 'none';
  if (isSameFile(ancestor, base)) return 'head';
  return isSameFile(ancestor, head) ? 'base' : 'both';
}

function isSameFile(a: SnapshotFile | undefined, b: SnapshotFile | undefined): boolean {
  return a?.oid === b?.oid && a?.mode === b?.mode;
}

/** Other files have no effect, so it does not matter how they are merged. */
function isPlaced(path: string, file: SnapshotFile | undefined): boolean {
  return file !== undefined && placePath(path, file.mode) !== undefined;
}

function foldersOf(files: Files): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const path of files.keys()) for (const folder of parentsOf(path)) folders.add(folder);
  return folders;
}

function parentsOf(path: string): readonly string[] {
  const parents: string[] = [];
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) parents.push(path.slice(0, at));
  return parents;
}
