// Tells what may exist under a server's name, and whether it is what is wanted. Pure.
// docs/concepts.md, the delete budget.

import type { ServerRow } from '../model/rows.ts';
import { needsNoAction } from './difference.ts';

/** Returns true where Treeline made or adopted the server, or began to make it and no check has found it absent since. */
export function mayBeThere({ applied, mayExist }: ServerRow): boolean {
  return applied !== null || mayExist;
}

/**
 * Returns true where a server was made or adopted, or a create of it runs or its outcome is lost. What a provider failed
 * to create does not count: nobody has ever used it.
 */
export function isMade({ provider, applied, action }: ServerRow): boolean {
  return provider !== null && (applied !== null || action?.operation === 'create');
}

/**
 * Returns true where what is there is known to be what is wanted, so that no action has to follow.
 */
export function isConverged({ wanted, applied, replacing, dirty }: ServerRow): boolean {
  return wanted !== null && applied !== null && !replacing && !dirty && needsNoAction(wanted, applied);
}

/**
 * Returns true where the server is to be deleted, for good or to be replaced. Only what was made can be, what is retained
 * is not, and a protected server is blocked instead of replaced.
 */
export function isBeingRemoved(row: ServerRow): boolean {
  const { wanted, applied, replacing, policy } = row;
  const isGoing = wanted === null ? policy.deletion === 'delete' : replacing && applied !== null && !policy.protected;
  return isGoing && isMade(row);
}
