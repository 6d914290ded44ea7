// Finds paths that are not read and stand in place of objects: another spelling of the extension, blanks in the name, a
// folder in another case, a hidden or backup copy, a link. Three questions are asked of them: which objects a commit may
// have where no record tells what was in force, since which commit, and which new files may be meant as instances.
// unreadable.ts asks the same of the objects that were active.
import { instanceAddress } from '../model/address.ts';
import { compareNames, isPlainTypeName } from '../model/names.ts';
import { canonicalSerial } from '../model/serial.ts';
import type { FileMode, Snapshot } from '../model/snapshot.ts';
import type { Catalog, FileType } from './catalog.ts';
import { FOLDERS, foldersAbove, isLink, isObjectPath, placePath } from './paths.ts';

/** `<type>/<name>`; `tree/tree` and `hierarchy/hierarchy` for those two. */
export type Address = `${FileType}/${string}`;

/** `global.yaml`, and the names under which it is hidden or kept: `.global.yaml`, `global.yaml~`, `global.yaml.bak`. */
const FILE_NAME = /^\.?([^.].*?)\.ya?ml(?:~|\.bak)?$/i;
/** One slip in `.yaml`: a letter or digit too many, one missing, another one, or two in each other's place; and `.yml` with one too many. */
const SLIP =
  /^\.?([^.].*?)\.(?:[a-z0-9]yaml|y[a-z0-9]aml|ya[a-z0-9]ml|yam[a-z0-9]l|yaml[a-z0-9]|yml[a-z0-9]|aml|yal|yam|[a-z0-9]aml|y[a-z0-9]ml|ya[a-z0-9]l|yam[a-z0-9]|ayml|ymal|yalm)$/i;
const COPY_NAME = /(?:^|\/)\s*\.[^/]*$|(?:~|\.bak)\s*$/i;

/** Invisible characters of a name: blanks and format characters. */
const UNSEEN = /[\s\p{Cf}]/gu;

/** Returns the address of the object that a file, link or folder at a path is meant to be, or undefined. */
function addressMeant(path: string): Address | undefined {
  const steps = withoutUnseen(path).split('/');
  // No object's name begins with a dot.
  const base = steps.pop() ?? '';
  const stem = (FILE_NAME.exec(base) ?? SLIP.exec(base))?.[1];
  if (stem === undefined) return undefined;
  const type = typeMeant(steps.map((step) => step.toLowerCase()));
  if (type === 'client') return `client/${canonicalSerial(stem) ?? stem}`;
  if (type !== undefined) return `${type}/${stem}`;
  const root = stem.toLowerCase();
  return steps.length === 0 && (root === 'tree' || root === 'hierarchy') ? `${root}/${root}` : undefined;
}

/** Returns a path without its invisible characters. */
function withoutUnseen(path: string): string {
  return path.replaceAll(UNSEEN, '');
}

/** Returns true for the name of a hidden or backup copy: such a copy stands for the object only in the folder where that was. */
export function isCopy(path: string): boolean {
  return COPY_NAME.test(path);
}

function typeMeant(steps: readonly string[]): FileType | undefined {
  const folder = steps.join('/');
  const [, type] = FOLDERS.find(([known]) => folder === known || folder.startsWith(`${known}/`)) ?? [];
  if (type !== undefined) return type;
  const [first, second = ''] = steps;
  return first === 'types' && isPlainTypeName(second) ? second : undefined;
}

/** Returns true for a path in or beside the layout that may stand for an object of it, or for a folder of them. */
function isNearLayout(path: string): boolean {
  const first = withoutUnseen(path.split('/', 1)[0] ?? '').toLowerCase();
  return (
    first === 'types' ||
    first === 'stacks' ||
    first === 'clients' ||
    /^\.?(?:tree|hierarchy)\.ya?ml(?:~|\.bak)?$/.test(first)
  );
}

/** Yields the addresses that a path is meant to be: its own, and those of the folders that it lies in. */
export function* addressesAt(path: string): Generator<readonly [address: Address, place: string]> {
  const own = addressMeant(path);
  if (own !== undefined) yield [own, path];
  if (!/\.ya?ml\s*\//i.test(path)) return;
  for (const folder of foldersAbove(path)) {
    const address = addressMeant(folder);
    if (address !== undefined) yield [address, folder];
  }
}

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
    const isInLayout = isObjectPath(placePath(path, '100644'));
    const hasExtension = path.slice(path.lastIndexOf('/') + 1).includes('.');
    if (isLink(mode) || (!isInLayout && !hasExtension)) strays.push({ path, address: null });
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
  // What is a link in that commit may have it.
  const isStray = ({ path, address }: Stray): boolean =>
    (address === null ? files.has(path) : meant.has(address)) || foldersAbove(path).some((folder) => files.has(folder));
  const opened = new Set(strays.filter((stray) => stray.address === null && isObject(stray)).map(({ path }) => path));
  const inner =
    opened.size === 0
      ? []
      : straysAmong(files, known).filter(({ path }) => foldersAbove(path).some((folder) => opened.has(folder)));
  return {
    left: [...strays.filter((stray) => !isObject(stray) && isStray(stray)), ...inner],
    isFound: strays.some(isObject),
  };
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

/** `c` of `c.yml`, `.c.yaml`, `c.yaml~`, `c.yaml.txt`, `c.yamll`; no match for `README.md`, `.gitkeep` and `.yamllint`. */
const MEANT_NAME = /^\.?(.+?)\.ya?ml[a-z0-9]?(?![a-z0-9])/i;

interface Earlier {
  /** The places of the commit before. */
  readonly places: Snapshot['files'];
  /** The files of the active instances, by name. */
  readonly instances: ReadonlyMap<string, { readonly path: string; readonly oid: string }>;
  /** See reappearing.ts. */
  readonly reappearing: ReadonlySet<string>;
}

/**
 * Returns the paths of such files, sorted. A file counts for its name, below `stacks` but not where templates are, unless
 * an instance of that name is read; or, in any place, for the content of an instance that is not there any more. A path in
 * the root begins with `./`.
 */
export function newUnreadInstances(catalog: Catalog, before: Earlier): readonly string[] {
  const { files, places, unreadable } = catalog;
  const gone = contentsGone(catalog, before);
  const stands = new Set([...unreadable.values()].map(({ path }) => path));
  const found = new Set([...before.reappearing].filter((path) => !stands.has(path)));
  for (const [path, { oid, mode }] of places) {
    const type = files.get(path)?.type;
    const known = before.places.get(path);
    if (type === 'stack-instance' || (known?.oid === oid && known.mode === mode)) continue;
    const meant = gone.has(oid) ? path : type == null ? placeMeant(path, mode, catalog) : undefined;
    if (meant !== undefined && !stands.has(meant)) found.add(meant);
  }
  // So that a file in the root is not taken for the name of an instance.
  return [...found].map((path) => (path.includes('/') ? path : `./${path}`)).sort(compareNames);
}

/** The object ids of instances that are not there any more: of the active version, and of the one before this commit. */
function contentsGone({ instances }: Catalog, before: Earlier): ReadonlySet<string> {
  const gone = [...before.instances].filter(([name]) => !instances.has(name)).map(([, file]) => file);
  return new Set(gone.flatMap(({ path, oid }) => [oid, before.places.get(path)?.oid ?? oid]));
}

/**
 * Returns the path, or the folder in it, whose name is one for an instance, where no instance of that name is read. A link
 * may stand for a folder of instances, whatever its name.
 */
function placeMeant(path: string, mode: FileMode, { instances, unreadable }: Catalog): string | undefined {
  const steps = path.split('/');
  const seen = steps.map(withoutUnseen);
  const [top, folder] = seen.map((step) => step.toLowerCase());
  if (top !== 'stacks' || folder === 'templates') return undefined;
  if (isLink(mode) && folder === 'instances' && steps.length > 2) return path;
  const names = seen.map((step, index) => (index === 0 ? undefined : MEANT_NAME.exec(step)?.[1]));
  const at = names.findIndex((name) => name !== undefined);
  const name = names[at] ?? '';
  const isRead = instances.has(name) && !unreadable.has(instanceAddress(name));
  return at === -1 || isRead ? undefined : steps.slice(0, at + 1).join('/');
}
