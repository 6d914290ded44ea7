// Accounts for rows that were lost, or are older than what was done since. Pure. docs/decisions/0006-recovery.md.
import { recoveryChange } from '../machine/recovery.ts';
import type { Change } from '../model/rows.ts';
import type { Store } from '../store/store.ts';

/** How rows were lost. */
export interface LostRows {
  /** For an operator. */
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** See RecoveryCause. */
  readonly runsMs: number;
}

/**
 * Returns the changes that begin a recovery. Servers may have been replaced since, with the incarnation numbers that
 * come next: with a number that none of them can have, a provider does not mistake an action for one that it has
 * carried out. What was approved may have been used.
 */
export function recoverRows(store: Pick<Store, 'list'>, lost: LostRows): readonly Change[] {
  const servers = [...store.list('server')].map(([name, expected]): Change => {
    const value = { ...expected, incarnation: Math.max(expected.incarnation + 1, lost.now) };
    return { kind: 'server', name, value, expected };
  });
  const approvals = [...store.list('approval')].map(
    ([name, expected]): Change => ({ kind: 'approval', name, value: null, expected }),
  );
  return [...servers, ...approvals, recoveryChange(store, { cause: 'store', ...lost })];
}
