// Finds active objects whose file was replaced: by a link, a submodule or a folder at its path or at a folder above it,
// or by a file with a similar name, such as `web.yml`. Such an object is not removed: the catalog keeps it without
// content and with an error. Instances are held instead; see desired/undetermined.ts.

import { quote } from '../base/wording.ts';
import { addressOf } from '../model/address.ts';
import { type Problem, sortProblems } from '../model/problem.ts';
import type { Catalog, FileEntry, FileType } from './catalog.ts';
import { isOfType, nameEntries } from './name-entries.ts';
import { unreadEntry } from './parse-entry.ts';
import { foldersAbove } from './paths.ts';

/** The path from which an active object was read. */
export interface ActivePath {
  readonly type: FileType;
  readonly name: string;
  readonly path: string;
}

/** Returns the catalog with an entry for every known object that is missing and whose file was replaced. */
export function withUnreadable(catalog: Catalog, known: Iterable<ActivePath>): Catalog {
  const missing = [...known].filter((one) => !isThere(catalog, one));
  if (missing.length === 0) return catalog;
  const unread = unreadByName(catalog);
  const unreadable = new Map<string, FileEntry>();
  for (const one of missing) {
    const place = [one.path, ...foldersAbove(one.path)].find((path) => catalog.places.has(path));
    const path = place ?? unread.get(nameOf(one.path));
    if (path !== undefined) unreadable.set(`${one.type}/${one.name}`, unreadableEntry(one, path, catalog));
  }
  return unreadable.size === 0 ? catalog : withEntries(catalog, unreadable);
}

function isThere({ templates, clients, objects, hierarchy }: Catalog, { type, name }: ActivePath): boolean {
  if (type === 'stack-template') return templates.has(name);
  if (type === 'client') return clients.has(name);
  if (type === 'hierarchy') return hierarchy.oid !== '';
  return type === 'tree' || objects.has(addressOf(type, name));
}

/**
 * The paths that are not read, by folder and name. A file is also listed under each folder above it that ends in
 * `.yaml`.
 */
function unreadByName({ files, places }: Catalog): ReadonlyMap<string, string> {
  const unread = new Map<string, string>();
  for (const path of places.keys()) {
    if (files.get(path)?.type != null) continue;
    for (const folder of foldersAbove(path)) if (folder.endsWith('.yaml')) unread.set(nameOf(folder), folder);
    unread.set(nameOf(path), path);
  }
  return unread;
}

/** Returns `types/role/web` for `web.yaml`, `web.yml`, `.web.yaml` and `web.yaml~` in `types/role/`. */
function nameOf(path: string): string {
  const at = path.lastIndexOf('/') + 1;
  const base = path.slice(at).replace(/^\.(?=[^.])/, '');
  return `${path.slice(0, at)}${base.split('.', 1)[0]}`;
}

const UNTIL_THEN = 'until then the object stays as it is; to remove it, remove this path too';

function unreadableEntry({ type, name }: ActivePath, path: string, { files, places }: Catalog): FileEntry {
  const file = places.get(path);
  const what = file === undefined ? 'a folder' : 'a file that is not read';
  const entry = unreadEntry(path, file?.oid ?? '', {
    code: 'unreadable_object',
    message: `${quote(path)} is ${what}, but an object was there`,
    hint: 'bring the file back',
  });
  const [known] = files.get(path)?.problems ?? [];
  const problems = [known ?? entry.problems].flat().map(({ hint, ...problem }): Problem => {
    return { ...problem, severity: 'error', hint: `${hint === null ? '' : `${hint}; `}${UNTIL_THEN}` };
  });
  return { ...entry, type, name, problems };
}

function withEntries(catalog: Catalog, unreadable: ReadonlyMap<string, FileEntry>): Catalog {
  const entries = [...unreadable.values()];
  const paths = new Set(entries.map(({ path }) => path));
  // The problem of the object replaces the file's own problem, which may be only a warning.
  const others = catalog.problems.filter(({ file }) => !paths.has(file) || catalog.files.get(file)?.type !== null);
  const named = nameEntries(entries);
  const [hierarchy] = entries.filter((entry) => isOfType(entry, 'hierarchy'));
  return {
    ...catalog,
    templates: new Map([...catalog.templates, ...named.templates]),
    clients: new Map([...catalog.clients, ...named.clients]),
    objects: new Map([...catalog.objects, ...named.objects]),
    // The defaults do not replace a file that cannot be read.
    hierarchy: hierarchy ?? catalog.hierarchy,
    unreadable,
    problems: sortProblems([...others, ...entries.flatMap(({ problems }) => problems)]),
    fatal: sortProblems([...catalog.fatal, ...(hierarchy?.problems ?? [])]),
  };
}
