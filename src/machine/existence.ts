// Tells which servers may exist under a row's name, and whether they match the wanted spec. Pure.
// docs/concepts.md, the delete budget.

import type { ServerRow } from '../model/rows.ts';
import { needsNoAction } from './difference.ts';

/** Returns true if Treeline created or adopted the server, or began a create and no check has found it absent since. */
export function mayBeThere({ applied, mayExist }: ServerRow): boolean {
  return applied !== null || mayExist;
}

/**
 * Returns true if the server was created or adopted, or if a create runs or its outcome is lost. A failed create does
 * not count: nobody has used that server.
 */
export function isMade({ provider, applied, action }: ServerRow): boolean {
  return provider !== null && (applied !== null || action?.operation === 'create');
}

/** Returns true if the existing server is known to match the wanted spec, so that no action is needed. */
export function isConverged({ wanted, applied, replacing, dirty, observed }: ServerRow): boolean {
  if (wanted === null || applied === null || replacing || dirty || observed !== undefined) return false;
  return needsNoAction(wanted, applied);
}

/**
 * Returns true if the server is to be deleted, for good or for a replacement. Only a created server can be; a retained
 * one is not, and a protected one is blocked instead of replaced.
 */
export function isBeingRemoved(row: ServerRow): boolean {
  const { wanted, applied, replacing, policy } = row;
  const isGoing = wanted === null ? policy.deletion === 'delete' : replacing && applied !== null && !policy.protected;
  return isGoing && isMade(row);
}
