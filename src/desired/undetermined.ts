// Finds invalid instances whose servers cannot be determined, and paths below stacks/instances that are not read.
// Servers that the same commit removes may be meant for one of them. ARCHITECTURE.md, "Unreadable files".

import { quoteSome } from '../base/wording.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { compareNames } from '../model/names.ts';
import { isValidUnit, type Unit } from './unit.ts';

/** The versions of the files of undetermined instances, by unit key. */
export type Undetermined = ReadonlyMap<string, string>;

/** Returns true if the servers of an invalid version of an instance are not known. */
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
}

/** The followed commit that a new commit is compared with. */
interface Followed {
  readonly undetermined: Undetermined;
  readonly places: Catalog['places'];
}

/** What may be meant to take over the servers that a commit removes. */
export interface Receivers {
  /** Names of instances that became undetermined or have other files since: of all servers. */
  readonly undetermined: readonly string[];
  /** Paths that are new or changed and not read: of the servers of an instance whose file is gone. */
  readonly unread: readonly string[];
}

/** Returns what a commit adds that may be meant as an instance. */
export function receiversIn({ candidates, catalog }: Proposed, { undetermined, places }: Followed): Receivers {
  const wrong: string[] = [];
  for (const [key, unit] of candidates) {
    if (isNewlyUndetermined(key, unit, undetermined)) wrong.push(unit.name);
  }
  return { undetermined: wrong, unread: newUnread(catalog, places) };
}

const FOLDER = 'stacks/instances';

/** Returns the paths, sorted. A link or a file in place of the folder hides all instances. */
function newUnread({ files, places }: Catalog, before: Catalog['places']): readonly string[] {
  const isUnread = (path: string): boolean =>
    path.startsWith(`${FOLDER}/`) ? files.get(path)?.type !== 'stack-instance' : path === FOLDER || path === 'stacks';
  const found = [...places].filter(([path, { oid, mode }]) => {
    if (!isUnread(path)) return false;
    const known = before.get(path);
    return known?.oid !== oid || known.mode !== mode;
  });
  return found.map(([path]) => path).sort(compareNames);
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
