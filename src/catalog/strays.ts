// Finds paths that stand in place of objects, and since which commit. It is used where no record tells what was in
// force.
import type { Snapshot } from '../model/snapshot.ts';
import type { Catalog } from './catalog.ts';
import { isObjectPath, placePath } from './paths.ts';
import { addressesAt, isNearLayout } from './stray-identity.ts';

/** Something that may stand where an object was. */
export interface Stray {
  readonly path: string;
  /** `<type>/<name>`; null: it may stand for everything below it, as a link in place of a folder does. */
  readonly address: string | null;
}

/** Returns what may stand where an object was, of those objects that the catalog does not have. */
export function straysIn({ places }: Catalog): readonly Stray[] {
  return straysAmong(places, filesIn(places));
}

function straysAmong(places: Snapshot['files'], { proper }: FileAddresses): readonly Stray[] {
  const strays: Stray[] = [];
  for (const [path, { mode }] of places) {
    if (!isNearLayout(path)) continue;
    for (const [address, place] of addressesAt(path)) {
      if (!proper.has(address)) strays.push({ path: place, address });
    }
    const isLink = mode === '120000' || mode === '160000';
    const isInLayout = isObjectPath(placePath(path, '100644'));
    const hasExtension = path.slice(path.lastIndexOf('/') + 1).includes('.');
    if (isLink || (!isInLayout && !hasExtension)) strays.push({ path, address: null });
  }
  return strays;
}

/**
 * Returns those that stand there in another commit too, and whether it has an object in place of one that does not. Where
 * that commit has a folder in place of a link, what stands for objects in this folder comes to them.
 */
export function straysLeft(
  strays: readonly Stray[],
  files: Snapshot['files'],
): { readonly left: readonly Stray[]; readonly isFound: boolean } {
  const known = filesIn(files);
  const { proper, meant, folders } = known;
  const isObject = ({ path, address }: Stray): boolean => (address === null ? folders.has(path) : proper.has(address));
  const isStray = ({ path, address }: Stray): boolean => (address === null ? files.has(path) : meant.has(address));
  const opened = new Set(strays.filter((stray) => stray.address === null && isObject(stray)).map(({ path }) => path));
  const inner = opened.size === 0 ? [] : straysAmong(files, known).filter(({ path }) => isBelow(path, opened));
  return {
    left: [...strays.filter((stray) => !isObject(stray) && isStray(stray)), ...inner],
    isFound: strays.some(isObject),
  };
}

function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    if (folders.has(path.slice(0, at))) return true;
  }
  return false;
}

interface FileAddresses {
  /** Addresses of the files that are read. */
  readonly proper: ReadonlySet<string>;
  /** Addresses of everything that is meant to be an object. */
  readonly meant: ReadonlySet<string>;
  readonly folders: ReadonlySet<string>;
}

function filesIn(files: Snapshot['files']): FileAddresses {
  const proper = new Set<string>();
  const meant = new Set<string>();
  const folders = new Set<string>();
  for (const [path, { mode }] of files) {
    if (!isNearLayout(path)) continue;
    const placed = placePath(path, mode);
    if (isObjectPath(placed)) proper.add(`${placed.type}/${placed.name}`);
    for (const [address] of addressesAt(path)) meant.add(address);
    for (
      let at = path.lastIndexOf('/');
      at > 0 && !folders.has(path.slice(0, at));
      at = path.lastIndexOf('/', at - 1)
    ) {
      folders.add(path.slice(0, at));
    }
  }
  return { proper, meant, folders };
}
