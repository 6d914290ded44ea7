// Files that are new, not read as stack instances, and may be meant as such. Where it is known which active object a
// file stands for, see unreadable.ts.
import { instanceAddress } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Catalog } from './catalog.ts';
import { withoutUnseen } from './stray-identity.ts';

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
    const isLink = mode === '120000' || mode === '160000';
    const meant = gone.has(oid) ? path : type == null ? placeMeant(path, isLink, catalog) : undefined;
    if (meant !== undefined && !stands.has(meant)) found.add(meant);
  }
  // So that nobody takes a file in the root for the name of an instance.
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
function placeMeant(path: string, isLink: boolean, { instances, unreadable }: Catalog): string | undefined {
  const steps = path.split('/');
  const seen = steps.map(withoutUnseen);
  const [top, folder] = seen.map((step) => step.toLowerCase());
  if (top !== 'stacks' || folder === 'templates') return undefined;
  if (isLink && folder === 'instances' && steps.length > 2) return path;
  const names = seen.map((step, index) => (index === 0 ? undefined : MEANT_NAME.exec(step)?.[1]));
  const at = names.findIndex((name) => name !== undefined);
  const name = names[at] ?? '';
  const isRead = instances.has(name) && !unreadable.has(instanceAddress(name));
  return at === -1 || isRead ? undefined : steps.slice(0, at + 1).join('/');
}
