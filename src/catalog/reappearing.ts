// Finds files of instances that a commit takes away among the files that it adds under other names: the same or nearly, as
// git counts renames. Where the name makes an instance, it is a hand-over and not looked at. ARCHITECTURE.md, "Unreadable files".

import { compareNames } from '../model/names.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Catalog } from './catalog.ts';
import { isObjectPath, placePath } from './paths.ts';

/** The least share of the larger file that both have, as in git. */
const SIMILAR_MIN = 0.5;
/** How many of the added files are read, and how many of those that are gone and were not read before. */
const READ_MAX = { added: 50, gone: 10 };
/** Limit for what is compared for one commit, in characters of the smaller file of each pair. */
const COMPARED_MAX = 16 * 1024 * 1024;

/** The commit before, and the active units. */
interface Earlier {
  readonly catalog: Pick<Catalog, 'files' | 'unreadable' | 'places'>;
  readonly units: ReadonlyMap<string, FormerFile & { readonly entry: FormerPath }>;
}

interface FormerFile {
  readonly type: string | null;
  readonly name: string;
}

interface FormerPath {
  readonly path: string;
  readonly oid: string;
}

/** A file of an instance that a commit does not have any more. */
export interface GoneFile {
  readonly name: string;
  readonly oid: string;
  /** Null: it was not read, as a file with a wrong name. Undefined: only its id counts. */
  readonly text: string | null | undefined;
}

/** Returns the files that were of instances, or stood for them unread, and are not among the files of a commit. */
export function goneFiles({ catalog, units }: Earlier, files: Snapshot['files']): readonly GoneFile[] {
  const gone: GoneFile[] = [];
  const visit = ({ type, name, path, oid, text }: FormerFile & FormerPath & Pick<GoneFile, 'text'>): void => {
    if (type === 'stack-instance' && oid !== '' && !files.has(path)) gone.push({ name, oid, text });
  };
  for (const item of catalog.files.values()) visit(item);
  for (const entry of catalog.unreadable.values()) if (isFile(catalog.places.get(entry.path))) visit(entry);
  for (const {
    type,
    name,
    entry: { path, oid },
  } of units.values())
    visit({ type, name, path, oid, text: undefined });
  return gone;
}

/** Returns the ids of the blobs to read: of added files, those first that are called like an instance whose file is gone. */
export function blobsToCompare(gone: readonly GoneFile[], added: Snapshot['files']): readonly string[] {
  const names = new Set(gone.map(({ name }) => name));
  const ranked = candidatesAmong(added).map(([path, { oid }]) => {
    const [stem = ''] = path
      .slice(path.lastIndexOf('/') + 1)
      .split('.')
      .filter(Boolean);
    return { path, oid, rank: names.has(stem) ? 0 : 1 };
  });
  ranked.sort((a, b) => a.rank - b.rank || compareNames(a.path, b.path));
  const unread = gone.filter(({ text }) => text === null).slice(0, READ_MAX.gone);
  return [...new Set([...ranked.slice(0, READ_MAX.added), ...unread].map(({ oid }) => oid))];
}

/** Returns the paths of the added files in which a file that is gone appears again. */
export function reappearing(
  gone: readonly GoneFile[],
  { files, blobs }: Pick<Snapshot, 'files' | 'blobs'>,
): ReadonlySet<string> {
  const moved = new Set([...files.keys()].map(instanceAt));
  const left = gone.filter(({ name }) => !moved.has(name));
  const ids = new Set(left.map(({ oid }) => oid));
  const found = new Set<string>();
  const others: Compared[] = [];
  for (const [path, { oid }] of candidatesAmong(files)) {
    if (ids.has(oid)) found.add(path);
    else others.push({ path, text: textOf(blobs.get(oid)) });
  }
  let compared = 0;
  for (const { oid, text } of left) {
    const old: Compared = { path: '', text: text === null ? textOf(blobs.get(oid)) : evened(text ?? '') };
    for (const other of others) {
      const smaller = Math.min(old.text.length, other.text.length);
      const larger = Math.max(old.text.length, other.text.length);
      if (smaller === 0 || smaller < SIMILAR_MIN * larger || found.has(other.path)) continue;
      compared += smaller;
      if (compared > COMPARED_MAX) return found;
      if (sharedPart(old, other) >= SIMILAR_MIN) found.add(other.path);
    }
  }
  return found;
}

function candidatesAmong(added: Snapshot['files']): readonly (readonly [string, { readonly oid: string }])[] {
  return [...added].filter(([path, file]) => isFile(file) && instanceAt(path) === undefined);
}

function isFile(file: { readonly mode: string } | undefined): boolean {
  return file?.mode === '100644' || file?.mode === '100755';
}

/** Returns the name of the instance that a path makes; undefined if it makes none. */
function instanceAt(path: string): string | undefined {
  const placed = placePath(path, '100644');
  return isObjectPath(placed) && placed.type === 'stack-instance' ? placed.name : undefined;
}

/** Returns a text; an empty one for no file, and for a binary one: like git, by a zero in its first 8,000 bytes. */
function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined || bytes.subarray(0, 8_000).includes(0) ? '' : evened(Buffer.from(bytes).toString());
}

/** Returns a text in which every line has the same end, also the last one. */
function evened(text: string): string {
  const even = text.replaceAll('\r\n', '\n');
  return even === '' || even.endsWith('\n') ? even : `${even}\n`;
}

interface Compared {
  readonly path: string;
  readonly text: string;
  /** How often each piece occurs: a line with its end, of a long one 64 characters each. Counted when they are needed. */
  counts?: ReadonlyMap<string, number>;
}

/**
 * Returns which part of the larger text the two have in common, from 0 to 1, as git estimates it: the lines of the one that
 * are in the other, wherever. Line endings do not count.
 */
export function similarity(a: string, b: string): number {
  return sharedPart({ path: '', text: evened(a) }, { path: '', text: evened(b) });
}

function sharedPart(a: Compared, b: Compared): number {
  a.counts ??= countsIn(a.text);
  b.counts ??= countsIn(b.text);
  const larger = Math.max(a.text.length, b.text.length);
  let shared = 0;
  for (const [piece, count] of a.counts) shared += piece.length * Math.min(count, b.counts.get(piece) ?? 0);
  return larger === 0 ? 1 : shared / larger;
}

function countsIn(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [piece] of text.matchAll(/[^\n]{0,63}\n|[^\n]{1,64}/g)) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  return counts;
}
