// Builds the facts of rows about deletes, for tests that judge them.

import type { DeletionFacts } from '../../src/desired/deletions.ts';
import type { Removal } from '../../src/machine/removals.ts';

/** Facts of a desired state in which every server is recorded, nothing was deleted and nothing is approved; the limit is 2. */
export function deletionFacts(fields: Partial<DeletionFacts> = {}): DeletionFacts {
  return {
    limit: 2,
    recent: 0,
    isRecent: () => false,
    underWay: new Map(),
    isContinued: () => true,
    incarnationOf: () => 1,
    isApproved: () => false,
    heldBefore: new Map(),
    approvedCount: 0,
    ...fields,
  };
}

/** Removals of servers in their first incarnation. */
export function removalsOf(...servers: readonly string[]): Removal[] {
  return servers.map((server) => ({ server, incarnation: 1 }));
}
