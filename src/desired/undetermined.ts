// Finds invalid instances whose servers cannot be determined, and unread files that may be meant as instances. Any
// server that the same commit removes may be meant for one of them. ARCHITECTURE.md, "Unreadable files".

import { quoteSome } from '../base/wording.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { newUnreadInstances } from '../catalog/strays.ts';
import { isValidUnit, type Unit } from './unit.ts';

/** The versions of the files of undetermined instances, by unit key. */
export type Undetermined = ReadonlyMap<string, string>;

/** Returns true if an invalid version of an instance does not tell which servers it would make. */
function isUndetermined(unit: Unit): boolean {
  return unit.type === 'stack-instance' && unit.servers.size === 0 && !isValidUnit(unit);
}

/** Returns all undetermined instances; the baseline of the next commit keeps them. */
export function undeterminedIn(candidates: ReadonlyMap<string, Unit>): Undetermined {
  const undetermined = new Map<string, string>();
  for (const [key, unit] of candidates) {
    if (isUndetermined(unit)) undetermined.set(key, versionOf(unit));
  }
  return undetermined;
}

interface Proposed {
  readonly candidates: ReadonlyMap<string, Unit>;
  readonly catalog: Catalog;
  /** Paths of new files in which instances that are gone appear again; see reappearing.ts. */
  readonly reappearing?: ReadonlySet<string> | undefined;
}

/** The active state and the followed commit that a new commit is compared with. */
interface Followed {
  readonly units: ReadonlyMap<string, Unit>;
  readonly undetermined: Undetermined;
  readonly places: Catalog['places'];
}

/**
 * Returns the names of instances that became undetermined or have other files since, and the paths of unread files that
 * may be meant as instances and are new or changed.
 */
export function newlyUndetermined(
  { candidates, catalog, reappearing = new Set() }: Proposed,
  { units, undetermined, places }: Followed,
): readonly string[] {
  const wrong: string[] = [];
  for (const [key, unit] of candidates) {
    if (isNewlyUndetermined(key, unit, undetermined)) wrong.push(unit.name);
  }
  const active = [...units.values()].filter(({ type }) => type === 'stack-instance');
  const instances = new Map(active.map(({ name, entry }) => [name, entry]));
  return [...wrong, ...newUnreadInstances(catalog, { places, instances, reappearing })];
}

function isNewlyUndetermined(key: string, unit: Unit, known: Undetermined): boolean {
  return isUndetermined(unit) && known.get(key) !== versionOf(unit);
}

/**
 * Returns the reason for which the servers that a commit removes are held. `receivers`: names of undetermined instances
 * and paths of unread files, at least one.
 */
export function undeterminedText(receivers: readonly string[]): string {
  const paths = receivers.filter((receiver) => receiver.includes('/')).length;
  const fault = paths === 0 ? 'wrong' : paths === receivers.length ? 'not read' : 'wrong or not read';
  const [is, it] = receivers.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const remedy = paths === 0 ? 'correct' : paths === receivers.length ? 'rename' : 'correct or rename';
  const reason = `${is} ${fault} in the commit that takes these servers away, and may be what takes them over`;
  return `${quoteSome(receivers)} ${reason}: ${remedy} ${it}, or approve the deletes`;
}

/** Returns the ids of the files that determine the servers of an instance: its own, and its template. */
function versionOf({ entry, inputs }: Unit): string {
  const templates = [...inputs].filter(([address]) => address.startsWith('stack-template/'));
  return [entry.oid, ...templates.map(([address, template]) => `${address} ${template?.oid ?? ''}`)].join('\n');
}
