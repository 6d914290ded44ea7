// Loads the catalog of a snapshot: parses files that changed, reuses the others, and finds mistakes that involve
// several files.

import type { Breathe } from '../base/breathe.ts';
import { type Entry, isValidEntry, type ProblemText, problemAt } from '../model/entry.ts';
import { compareNames } from '../model/names.ts';
import type { Hierarchy, TreeNode } from '../model/objects.ts';
import { isError, sortProblems } from '../model/problem.ts';
import { LAYOUT_BYTES_MAX, type Snapshot } from '../model/snapshot.ts';
import type { Catalog, FileEntry } from './catalog.ts';
import { DEFAULT_HIERARCHY } from './hierarchy.ts';
import { isOfType, nameEntries } from './name-entries.ts';
import { type PlacedFile, readEntry } from './parse-entry.ts';
import { HIERARCHY_FILE, isReadPath, placePath, TREE_FILE } from './paths.ts';
import { checkTreeLevels } from './tree.ts';

/** The most files in the layout. Other files of the repository do not count. */
export const FILES_MAX = 20_000;

/** Entries of files that were parsed ahead, by path. An entry is used only if its object id is that of the snapshot. */
export type ParsedFiles = ReadonlyMap<string, FileEntry>;

const NO_FILES: ParsedFiles = new Map();

/**
 * Returns the catalog of a commit. If `previous` has a file with the same path and content, its entry is reused, so an
 * unchanged file remains the same JavaScript object. Apart from that the result does not depend on `previous`, and it
 * never depends on `parsedFiles`.
 */
export function loadCatalog(snapshot: Snapshot, previous?: Catalog, parsedFiles: ParsedFiles = NO_FILES): Catalog {
  const layout = findLayout(snapshot);
  if (layout.length > FILES_MAX) return refuseSize(snapshot, tooManyFiles(layout.length));
  const files = new Map<string, FileEntry>();
  let parsed = 0;
  for (const file of layout) {
    const known = reusable(previous, file);
    const entry = known ?? sameIn(parsedFiles, file) ?? readEntry(file, snapshot.blobs.get(file.oid));
    files.set(file.path, entry);
    if (known === undefined && entry.text !== null) parsed++;
  }
  const bytes = countBytes(files);
  if (bytes > LAYOUT_BYTES_MAX) return refuseSize(snapshot, tooManyBytes(bytes));
  return assemble(snapshot, files, parsed);
}

/** Parses the files that {@link loadCatalog} would parse, and lets other work run between two files. */
export async function parseFiles(
  snapshot: Snapshot,
  previous: Catalog | undefined,
  { parsedFiles = NO_FILES, breathe }: { readonly parsedFiles?: ParsedFiles | undefined; readonly breathe: Breathe },
): Promise<ParsedFiles> {
  const layout = findLayout(snapshot);
  if (layout.length > FILES_MAX) return NO_FILES;
  const files = new Map(parsedFiles);
  for (const file of layout) {
    if ((reusable(previous, file) ?? sameIn(files, file)) !== undefined) continue;
    files.set(file.path, readEntry(file, snapshot.blobs.get(file.oid)));
    await breathe();
  }
  return files;
}

/** Returns the filter for the next snapshot: true for a file of the layout whose content is in neither argument. */
export function wantsBlob(previous?: Catalog, parsedFiles?: ParsedFiles): (path: string, oid: string) => boolean {
  return (path, oid) => {
    const placed = placePath(path, '100644');
    if (!isReadPath(placed)) return false;
    return (reusable(previous, { path, oid, placed }) ?? sameIn(parsedFiles, { path, oid, placed })) === undefined;
  };
}

/** Returns the files of the layout in the order of their paths, so that no answer depends on the order in Git. */
function findLayout(snapshot: Snapshot): readonly PlacedFile[] {
  const layout: PlacedFile[] = [];
  for (const [path, { oid, mode }] of snapshot.files) {
    const placed = placePath(path, mode);
    if (placed !== undefined) layout.push({ path, oid, placed });
  }
  return layout.sort((a, b) => compareNames(a.path, b.path));
}

function reusable(previous: Catalog | undefined, file: PlacedFile): FileEntry | undefined {
  const known = sameIn(previous?.files, file);
  // An entry without text was not read.
  return known?.text === null ? undefined : known;
}

function sameIn(files: ParsedFiles | undefined, { path, oid, placed }: PlacedFile): FileEntry | undefined {
  const known = files?.get(path);
  // A link may have the object id of a file.
  return known?.oid === oid && isReadPath(placed) ? known : undefined;
}

function assemble(snapshot: Snapshot, files: ReadonlyMap<string, FileEntry>, parsed: number): Catalog {
  const { problems, ...named } = nameEntries(files.values());
  const hierarchy = findHierarchy(files);
  const tree = findTree(files, hierarchy);
  const all = [...files.values()].flatMap((entry) => entry.problems);
  const sorted = sortProblems([...all, ...problems, ...tree.problems]);
  return {
    commit: snapshot.commit,
    time: snapshot.time,
    ...named,
    tree,
    hierarchy,
    files,
    places: snapshot.files,
    unreadable: new Map(),
    problems: sorted,
    fatal: sortProblems([...tree.problems, ...hierarchy.problems]).filter(isError),
    parsed,
  };
}

const FILE_START = { line: 1, column: 1 };

/** One object for all commits without the file: units that read it see that it is unchanged. */
const NO_HIERARCHY: Entry<Hierarchy> = {
  path: HIERARCHY_FILE,
  oid: '',
  object: DEFAULT_HIERARCHY,
  problems: [],
  locate: () => FILE_START,
};

function findHierarchy(files: ReadonlyMap<string, FileEntry>): Entry<Hierarchy> {
  const entry = files.get(HIERARCHY_FILE);
  if (entry === undefined) return NO_HIERARCHY;
  // A file that cannot be read is not the same as no file: the defaults do not replace it.
  return isOfType(entry, 'hierarchy') ? entry : { ...entry, object: null };
}

function findTree(files: ReadonlyMap<string, FileEntry>, hierarchy: Entry<Hierarchy>): Entry<TreeNode> {
  const entry = files.get(TREE_FILE);
  if (entry === undefined) return noTree(files);
  if (!isOfType(entry, 'tree')) return { ...entry, object: null };
  // The levels can be compared only if both files are valid.
  if (!isValidEntry(entry) || !isValidEntry(hierarchy)) return entry;
  const problems = checkTreeLevels(entry, hierarchy.object.order);
  return problems.length === 0 ? entry : { ...entry, problems: [...entry.problems, ...problems] };
}

function noTree(files: ReadonlyMap<string, FileEntry>): Entry<TreeNode> {
  const entry: Entry<TreeNode> = { ...NO_HIERARCHY, path: TREE_FILE, object: null };
  const missing = problemAt(entry, '', {
    code: 'tree_missing',
    message: `there is no ${TREE_FILE}`,
    hint: files.has('tree.yml')
      ? `rename tree.yml to ${TREE_FILE}`
      : 'add it with at least "name:" and "type: common"; if the layout is in a folder, name that folder ' +
        '(treeline validate DIR, repository.directory)',
  });
  return { ...entry, problems: [missing] };
}

/** Returns the bytes of all files, counting each content once, as a read of the whole commit does. */
function countBytes(files: ReadonlyMap<string, FileEntry>): number {
  const counted = new Set<string>();
  let bytes = 0;
  for (const entry of files.values()) {
    if (!counted.has(entry.oid)) bytes += entry.bytes;
    counted.add(entry.oid);
  }
  return bytes;
}

function tooManyFiles(count: number): ProblemText {
  const message = `the layout has ${count} files, and at most ${FILES_MAX} are read`;
  return { code: 'too_many_files', message, hint: 'split the repository' };
}

function tooManyBytes(bytes: number): ProblemText {
  const message = `the files of the layout have ${bytes} bytes together, and at most ${LAYOUT_BYTES_MAX} are read`;
  return { code: 'too_many_bytes', message, hint: 'split the repository, or take large values out of it' };
}

/** Returns an empty catalog with the problem: such a commit is refused as a whole. */
function refuseSize(snapshot: Snapshot, text: ProblemText): Catalog {
  const problem = problemAt({ ...NO_HIERARCHY, path: '.' }, '', text);
  const empty = assemble({ ...snapshot, files: new Map() }, new Map(), 0);
  return { ...empty, problems: [problem], fatal: [problem] };
}
