// Tells from a server's row which provider entry is responsible for it where that changes from one entry to another.
// Pure; reconcile/decision-context.ts chooses the entry.
import type { ServerRow } from '../model/rows.ts';

/** Returns true if the replaced server is gone: the entry that matches now creates the next one. */
export function isHandedOn({ replacing, applied, mayExist, checked }: ServerRow): boolean {
  return replacing && applied === null && !mayExist && checked;
}

/**
 * Returns true if a person asked to adopt the server: the entry that matches now is to look for it. An unwanted server is
 * not adopted any more: the entry that created it deletes it.
 */
export function isBeingAdopted({ adopting, state, wanted }: ServerRow): boolean {
  return adopting && state !== 'unknown' && wanted !== null;
}

/** Returns true if a person had the server replaced: the entry that created it deletes it, and finds it absent. */
export function isReplacedOnRequest(row: ServerRow): boolean {
  const { replacing, applied, mayExist, approved } = row;
  return isLeftoverReplaced(row) || (replacing && (applied === null ? !mayExist : approved));
}

/**
 * Returns true if a person had a server replaced that was never made, but that a failed create may have left with another
 * entry or at another site: it is deleted there before it is created. The approval ends with that delete.
 */
export function isLeftoverReplaced({ replacing, applied, mayExist, approved }: ServerRow): boolean {
  return replacing && applied === null && mayExist && approved;
}
