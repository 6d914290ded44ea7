// Finds receivers: invalid instances whose servers cannot be determined, and paths that are not read. A commit may mean
// them to take over the servers that it removes. ARCHITECTURE.md, "Unreadable files".

import { quoteSome } from '../base/wording.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { instanceAddress } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import { isValidUnit, type Unit } from './unit.ts';

/** Names of undetermined instances, and paths below `stacks/instances` that are not read, with their versions. */
export type Receivers = ReadonlyMap<string, string>;

interface Proposed {
  readonly candidates: ReadonlyMap<string, Unit>;
  readonly catalog: Catalog;
}

/** The followed commit; see Baseline. */
interface Followed {
  readonly units: ReadonlyMap<string, Unit>;
  readonly receivers: Receivers;
  readonly receiversOfPinned: ReadonlyMap<string, Receivers>;
  readonly places: Catalog['places'];
}

const FOLDER = 'stacks/instances';

/** Returns the instances of a commit, then its paths, sorted; the baseline of the next commit keeps them. */
export function receiversIn({ candidates, catalog: { files, places } }: Proposed): Receivers {
  const undetermined = [...candidates.values()].filter(isUndetermined);
  // A link or a file in place of the folder hides all instances.
  const isUnread = (path: string): boolean =>
    path.startsWith(`${FOLDER}/`) ? files.get(path)?.type !== 'stack-instance' : path === FOLDER || path === 'stacks';
  const unread = [...places].filter(([path]) => isUnread(path)).sort(([a], [b]) => compareNames(a, b));
  return new Map([
    ...undetermined.map((unit) => [unit.name, versionOf(unit)] as const),
    ...unread.map(([path, { oid, mode }]) => [shown(path), `${mode} ${oid}`] as const),
  ]);
}

/**
 * Returns a function that returns the receivers for the servers of an instance: undetermined instances that are new or
 * changed since the instance was last at its newest version. If the instance's file was removed, also paths that are
 * new or changed since then, and the path to which this commit moves the file unchanged.
 */
export function newReceivers(proposed: Proposed, baseline: Followed): (instance: string) => readonly string[] {
  const receivers = receiversIn(proposed);
  const moved = newPathsByBlob(proposed.catalog, baseline.places);
  return (instance) => {
    const key = instanceAddress(instance);
    const known = baseline.receiversOfPinned.get(key) ?? baseline.receivers;
    const isGone = !proposed.candidates.has(key);
    const found = [...receivers].filter(([name, version]) => known.get(name) !== version);
    const meant = found.map(([name]) => name).filter((name) => isGone || !name.includes('/'));
    const entry = isGone ? baseline.units.get(key)?.entry : undefined;
    if (entry === undefined) return meant;
    // The newest version of a pinned instance is invalid and differs from the active one.
    const blobs = [entry.oid, baseline.places.get(entry.path)?.oid];
    return [...new Set([...meant, ...blobs.flatMap((oid) => moved.get(oid) ?? [])])];
  };
}

/** Returns the new or changed paths that are not read, by the id of their content. */
function newPathsByBlob(
  { files, places }: Catalog,
  before: Catalog['places'],
): ReadonlyMap<string | undefined, readonly string[]> {
  const paths = new Map<string, string[]>();
  for (const [path, { oid }] of places) {
    if (before.get(path)?.oid === oid || files.get(path)?.type != null) continue;
    const same = paths.get(oid);
    if (same === undefined) paths.set(oid, [shown(path)]);
    else same.push(shown(path));
  }
  return paths;
}

/** Marks paths with a slash: names of instances have none. */
function shown(path: string): string {
  return path.includes('/') ? path : `./${path}`;
}

/** Returns true if the servers of an invalid version of an instance are not known. */
function isUndetermined(unit: Unit): boolean {
  return unit.type === 'stack-instance' && unit.servers.size === 0 && !isValidUnit(unit);
}

/** Returns the ids of the files that determine the servers of an instance: its own, and its template. */
function versionOf({ entry, inputs }: Unit): string {
  const templates = [...inputs].filter(([address]) => address.startsWith('stack-template/'));
  return [entry.oid, ...templates.map(([address, template]) => `${address} ${template?.oid ?? ''}`)].join('\n');
}

/** Returns the reason why removed servers are held. `receivers`: at least one. */
export function undeterminedText(receivers: readonly string[]): string {
  const paths = receivers.filter((receiver) => receiver.includes('/')).length;
  const fault = paths === 0 ? 'wrong' : paths === receivers.length ? 'not read' : 'wrong or not read';
  const [is, it] = receivers.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const remedy = paths === 0 ? 'correct' : paths === receivers.length ? 'rename' : 'correct or rename';
  const reason = `${is} ${fault} in the commit that takes these servers away, and may be what takes them over`;
  return `${quoteSome(receivers)} ${reason}: ${remedy} ${it}, or approve the deletes`;
}
