// Edits files of a tree: creates the blobs and the directories above them, and leaves all other entries unchanged.
// Independent of the content of files.
import { invariant } from '../../base/invariant.ts';
import { GitError } from './git-process.ts';
import type { NewObjects } from './new-objects.ts';
import { isDirectory, joinTree, type RawEntry } from './tree-bytes.ts';

/** The path of an edit, or a parent of it, is an object of another kind. */
export class EditConflictError extends GitError {}

interface TreeEdit {
  /** From the root of the repository; never empty. */
  readonly steps: readonly string[];
  /** Null removes the file. */
  readonly text: string | null;
}

/** The edits at one path and below it. */
interface TreeChange {
  /** The new content of the file; null removes it; undefined: unchanged. */
  text: string | null | undefined;
  readonly below: Map<string, TreeChange>;
}

/** A directory during the edit. */
interface Directory {
  readonly objects: NewObjects;
  /** Its path, for messages. */
  readonly path: string;
  /** By name, byte for byte; see {@link keyOf}. */
  readonly entries: Map<string, RawEntry>;
}

const DIRECTORY_MODE = '40000';
const FILE_MODE = '100644';
const EXECUTABLE_MODE = '100755';
const STEPS_MAX = 64;
const STEP_BYTES_MAX = 255;
/** Control characters, and path separators of any system. */
const UNSAFE = /[\p{Cc}/\\]/u;
/** Names that some file system treats as `.git`, as in `git fsck`: other case, NTFS short names and variants. */
const GIT_DIRECTORY = /^(\.git|git~\d+)[. ]*(:.*)?$/i;
/** The characters that HFS+ ignores in comparisons. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Returns the tree after the edits. A file keeps its executable bit; a directory without files is removed; removing a
 * missing file changes nothing. Throws EditConflictError.
 */
export async function editTree(objects: NewObjects, tree: string, edits: readonly TreeEdit[]): Promise<string> {
  const root: TreeChange = { text: undefined, below: new Map() };
  for (const edit of edits) addEdit(root, edit);
  const changed = await changeDirectory(objects, { oid: tree, change: root, path: '' });
  return changed ?? objects.make('tree', Buffer.alloc(0));
}

function addEdit(root: TreeChange, { steps, text }: TreeEdit): void {
  invariant(steps.length > 0 && steps.length <= STEPS_MAX, `"${steps.join('/')}" has a sensible number of steps`);
  invariant(text === null || text.isWellFormed(), 'a text can be written as UTF-8');
  let change = root;
  for (const step of steps) {
    checkStep(step);
    const next = change.below.get(step) ?? { text: undefined, below: new Map() };
    change.below.set(step, next);
    change = next;
  }
  change.text = text;
}

/** Git accepts any bytes, and a checkout of such a tree would write outside of its directory. */
function checkStep(step: string): void {
  const isSafe = step !== '' && step !== '.' && step !== '..' && step.isWellFormed() && !UNSAFE.test(step);
  invariant(isSafe && Buffer.byteLength(step) <= STEP_BYTES_MAX, `${JSON.stringify(step)} can be a name in a tree`);
  invariant(!GIT_DIRECTORY.test(step.replace(IGNORED_BY_HFS, '')), `${JSON.stringify(step)} is not Git's directory`);
}

/** Returns the changed directory, undefined if it is empty. Without an oid, it does not exist yet. */
async function changeDirectory(
  objects: NewObjects,
  { oid, change, path }: { readonly oid: string | undefined; readonly change: TreeChange; readonly path: string },
): Promise<string | undefined> {
  const before = oid === undefined ? [] : await objects.entriesOf(oid);
  const entries = new Map(before.map((entry) => [keyOf(entry.name), entry]));
  for (const [step, next] of change.below) await changeEntry({ objects, path, entries }, step, next);
  if (entries.size === 0) return undefined;
  // Not encoded again: an old tool's encoding would get another id.
  const isSame = entries.size === before.length && before.every((entry) => entries.get(keyOf(entry.name)) === entry);
  return oid !== undefined && isSame ? oid : objects.make('tree', joinTree(entries.values()));
}

async function changeEntry(directory: Directory, step: string, { text, below }: TreeChange): Promise<void> {
  const { objects, entries } = directory;
  const path = `${directory.path}${step}`;
  const name = Buffer.from(step);
  if (text === null) removeFile(directory, { name, path });
  else if (text !== undefined) writeFile(directory, { name, path, text });
  if (below.size === 0) return;
  const found = entries.get(keyOf(name));
  if (found !== undefined && !isDirectory(found)) throw inTheWay(path, found, 'a directory');
  const oid = await changeDirectory(objects, { oid: found?.oid, change: { text: undefined, below }, path: `${path}/` });
  if (oid === undefined) entries.delete(keyOf(name));
  else if (oid !== found?.oid) entries.set(keyOf(name), { mode: DIRECTORY_MODE, name, oid });
}

interface TreePosition {
  readonly name: Buffer;
  readonly path: string;
}

function removeFile({ entries }: Directory, { name, path }: TreePosition): void {
  const found = entries.get(keyOf(name));
  if (found !== undefined && isDirectory(found)) throw inTheWay(path, found, 'a file');
  entries.delete(keyOf(name));
}

function writeFile(
  { objects, entries }: Directory,
  { name, path, text }: TreePosition & { readonly text: string },
): void {
  const found = entries.get(keyOf(name));
  const mode = found === undefined ? FILE_MODE : modeOfFile(found);
  if (found !== undefined && mode === undefined) throw inTheWay(path, found, 'a file');
  const oid = objects.make('blob', Buffer.from(text));
  if (oid !== found?.oid) entries.set(keyOf(name), { mode: mode ?? FILE_MODE, name, oid });
}

/** Returns undefined if the entry is not a file. */
function modeOfFile({ mode }: RawEntry): string | undefined {
  const bits = Number.parseInt(mode, 8);
  if ((bits & 0o170000) !== 0o100000) return undefined;
  return (bits & 0o100) === 0 ? FILE_MODE : EXECUTABLE_MODE;
}

function inTheWay(path: string, { mode }: RawEntry, wanted: string): EditConflictError {
  const kinds: Readonly<Record<string, string>> = { '120000': 'a symbolic link', '160000': 'a submodule' };
  const found = isDirectory({ mode }) ? 'a directory' : (kinds[mode] ?? 'a file');
  return new EditConflictError(
    `the repository has ${found} at "${path}", where ${wanted} would have to be: remove it there by a commit of your own`,
  );
}

/** Names are bytes: one character per byte. */
function keyOf(name: Buffer): string {
  return name.toString('latin1');
}
