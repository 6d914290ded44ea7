// Gives new incarnation numbers to the servers of a restored backup. Pure.
//
// After the backup was made, servers may have been replaced, with the numbers that come next in it. A new number that none of
// them can have keeps a provider from mistaking an action for one that it has seen. Holds and approvals name incarnations, so
// their digests are computed again.

import { deletesDigest } from '../machine/hold-digests.ts';
import { removalName } from '../machine/removals.ts';
import type { Change, HeldRow, ServerRow } from '../model/rows.ts';
import { beginningChanges } from '../reconcile/passes/earlier-controller.ts';
import type { Store } from '../store/store.ts';

type Read = Pick<Store, 'list'>;

/** Returns the changes. `now`: milliseconds since 1970. */
export function renewIncarnations(store: Read, now: number): readonly Change[] {
  const servers = new Map(
    [...store.list('server')].map(([name, row]) => [name, { ...row, incarnation: Math.max(row.incarnation + 1, now) }]),
  );
  const changes: Change[] = [...servers].map(([name, value]) => ({
    ...{ kind: 'server', name, value },
    expected: store.list('server').get(name),
  }));
  for (const [name, held] of store.list('held')) {
    // Where it is over other incarnations by now, it is judged again in any case.
    if (digestOver(held, store.list('server')) !== held.digest) continue;
    const digest = digestOver(held, servers);
    changes.push({ kind: 'held', name, value: { ...held, digest }, expected: held });
    const approval = store.list('approval').get(held.digest);
    if (approval === undefined) continue;
    changes.push({ kind: 'approval', name: held.digest, value: null, expected: approval });
    changes.push({ kind: 'approval', name: digest, value: approval, expected: undefined });
  }
  return [...changes, ...renewedRemovals(store, servers)];
}

/** Returns the changes that note when a backup was restored: what was begun since it was made may still run. */
export function restoredAt(store: Read, now: number): readonly Change[] {
  return beginningChanges(store, now, 'the store was restored from a backup');
}

/** A delete that has begun counts as that of the incarnation which it is of by now. */
function renewedRemovals(store: Read, servers: ReadonlyMap<string, ServerRow>): readonly Change[] {
  return [...store.list('server')].flatMap(([server, { incarnation }]): Change[] => {
    const name = removalName({ server, incarnation });
    const removal = store.list('removal').get(name);
    if (removal === undefined) return [];
    const renewed = removalName({ server, incarnation: servers.get(server)?.incarnation ?? incarnation });
    return [
      { kind: 'removal', name, value: null, expected: removal },
      { kind: 'removal', name: renewed, value: removal, expected: undefined },
    ];
  });
}

function digestOver(held: HeldRow, rows: ReadonlyMap<string, ServerRow>): string {
  return deletesDigest(held.servers.map((server) => ({ server, incarnation: rows.get(server)?.incarnation ?? 0 })));
}
