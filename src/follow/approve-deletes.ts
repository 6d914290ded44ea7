// An administrator's word that an instance goes: noted before anything is pushed, so that the commit that follows is not
// held. It is for the servers that are there now, and for no others.

import { isMade } from '../machine/existence.ts';
import { deletesDigest } from '../machine/hold-digests.ts';
import { momentOf } from '../model/moment.ts';
import type { Ledger } from '../reconcile/ledger.ts';

/** Notes the approval; it holds for a while, for the commit to come. No pass and no other commit runs meanwhile. */
export async function approveDeletes(
  ledger: Ledger,
  { instance, by, now }: { readonly instance: string; readonly by: string; readonly now: number },
): Promise<void> {
  const underWay = ledger.index.openRemovals().get(instance);
  const removals = ledger.index.serversOf(instance).flatMap((server) => {
    const row = ledger.server(server);
    const goes = row !== undefined && row.wanted !== null && row.policy.deletion === 'delete' && isMade(row);
    return row !== undefined && (goes || underWay?.has(server)) ? [{ server, incarnation: row.incarnation }] : [];
  });
  if (removals.length === 0) return;
  const name = deletesDigest(removals);
  const value = { what: 'requested delete', by, reason: `delete of ${instance}`, time: momentOf(now) } as const;
  await ledger.commit([{ kind: 'approval', name, value, expected: ledger.read('approval', name) }]);
}
