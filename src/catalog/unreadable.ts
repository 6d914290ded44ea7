// Finds objects that were active and cannot be read any more, because a link, a submodule, a folder or another
// spelling stands in their place. Such an object is not removed: the catalog has it without content and with an error.

import { quote } from '../base/wording.ts';
import { addressOf } from '../model/address.ts';
import { type Problem, sortProblems } from '../model/problem.ts';
import type { Catalog, FileEntry, FileType } from './catalog.ts';
import { isOfType, nameEntries } from './name-entries.ts';
import { unreadEntry } from './parse-entry.ts';
import { foldersAbove } from './paths.ts';
import { type Address, addressesAt, isCopy } from './strays.ts';

/** The path from which an active object was read. */
export interface ActivePath {
  readonly type: FileType;
  readonly name: string;
  readonly path: string;
}

/**
 * Returns the catalog with an entry for every known object that it lacks and that something stands for: its `object` is
 * null, and its error says why. Only where nothing is there at all, an object was removed.
 */
export function withUnreadable(catalog: Catalog, known: Iterable<ActivePath>): Catalog {
  const missing = [...known].filter((one) => !isThere(catalog, one));
  if (missing.length === 0) return catalog;
  const strays = straysIn(catalog);
  const unreadable = new Map<string, FileEntry>();
  for (const one of missing) {
    const place = placeOf(one, catalog, strays);
    if (place !== undefined) unreadable.set(`${one.type}/${one.name}`, unreadableEntry(one, place, catalog));
  }
  return unreadable.size === 0 ? catalog : withEntries(catalog, unreadable);
}

function isThere({ templates, instances, clients, objects, hierarchy }: Catalog, { type, name }: ActivePath): boolean {
  if (type === 'stack-template') return templates.has(name);
  if (type === 'stack-instance') return instances.has(name);
  if (type === 'client') return clients.has(name);
  if (type === 'hierarchy') return hierarchy.oid !== '';
  return type === 'tree' || objects.has(addressOf(type, name));
}

/** The paths that are meant to be an object, by its address. */
function straysIn({ places }: Catalog): ReadonlyMap<Address, readonly string[]> {
  const strays = new Map<Address, string[]>();
  for (const path of places.keys()) {
    for (const [address, place] of addressesAt(path)) {
      const known = strays.get(address);
      if (known === undefined) strays.set(address, [place]);
      else known.push(place);
    }
  }
  return strays;
}

/** At the object's own path first, then in place of a folder that it lay in, then wherever it is meant to be. */
function placeOf(
  { type, name, path }: ActivePath,
  { places }: Catalog,
  strays: ReadonlyMap<Address, readonly string[]>,
): string | undefined {
  const meant = (strays.get(addressOf(type, name)) ?? []).filter((place) => !isCopy(place) || isBeside(place, path));
  if (places.has(path) || meant.includes(path)) return path;
  return foldersAbove(path).find((folder) => places.has(folder)) ?? meant.toSorted()[0];
}

function isBeside(place: string, path: string): boolean {
  return place.slice(0, place.lastIndexOf('/') + 1) === path.slice(0, path.lastIndexOf('/') + 1);
}

const UNTIL_THEN = 'until then what was there stays as it is; to remove that, remove this too';

function unreadableEntry({ type, name }: ActivePath, path: string, { files, places }: Catalog): FileEntry {
  const file = places.get(path);
  const what = file === undefined ? 'a folder' : 'a file that is not read';
  const entry = unreadEntry(path, file?.oid ?? '', {
    code: 'unreadable_object',
    message: `${quote(path)} is ${what}, and an object stood there`,
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
  // The problem of such a file by itself, perhaps a warning, is replaced by the one of the object.
  const others = catalog.problems.filter(({ file }) => !paths.has(file) || catalog.files.get(file)?.type !== null);
  const named = nameEntries(entries);
  const [hierarchy] = entries.filter((entry) => isOfType(entry, 'hierarchy'));
  return {
    ...catalog,
    templates: new Map([...catalog.templates, ...named.templates]),
    instances: new Map([...catalog.instances, ...named.instances]),
    clients: new Map([...catalog.clients, ...named.clients]),
    objects: new Map([...catalog.objects, ...named.objects]),
    // The defaults do not stand in for a file that cannot be read.
    hierarchy: hierarchy ?? catalog.hierarchy,
    unreadable,
    problems: sortProblems([...others, ...entries.flatMap(({ problems }) => problems)]),
    fatal: sortProblems([...catalog.fatal, ...(hierarchy?.problems ?? [])]),
  };
}
