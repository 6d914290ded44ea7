// Builds the graph of what servers need from the rows, with all needs of a server: the loop knows one wait of each, and none
// before its first pass. Read-only.

import type { Clock } from '../../base/clock.ts';
import { includesSorted } from '../../machine/holders.ts';
import { neededServers, ownWait } from '../../machine/needs.ts';
import { effectiveState } from '../../machine/reasons.ts';
import { awayMax, groupOf } from '../../machine/rollout.ts';
import { findStalls, type Stall, type StallGraph } from '../../machine/stall.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { Ledger } from '../ledger.ts';
import { RecordedNeeds } from '../passes/decision-context.ts';

type LedgerReads = Pick<Ledger, 'server' | 'index' | 'read'>;

/** Returns a function that returns the stalls of waiting servers; see {@link findStalls}. */
export function stallsIn(
  ledger: LedgerReads,
  clock: Pick<Clock, 'now'>,
): (servers: readonly string[]) => readonly Stall[] | undefined {
  return (servers) => findStalls(servers, stallGraph(ledger, clock.now()));
}

/** Returns the graph over all recorded servers at `now`, milliseconds since 1970. */
function stallGraph(ledger: LedgerReads, now: number): StallGraph {
  const groups = new Map<string, Stall | undefined>();

  /** Cached by group: otherwise each member would read all members that are away. */
  function groupStall(server: string, row: ServerRow): Stall | undefined {
    const group = groupOf(row);
    if (!groups.has(group)) groups.set(group, slotStall(server, row, ledger));
    return groups.get(group);
  }

  return {
    stateOf(server) {
      const row = ledger.server(server);
      return row && effectiveState(row);
    },
    judgeStall(server) {
      const row = ledger.server(server);
      const wait = row && ownWait(row, new RecordedNeeds(server, { ledger, now }));
      if (row === undefined || wait === undefined) return undefined;
      if (wait.kind === 'instance') return 'blocked';
      const hasFailed = wait.kind !== 'slot' || ledger.index.groupViewOf(server, row).hasFailed;
      return hasFailed ? 'failed' : groupStall(server, row);
    },
    needsOf(server) {
      const row = ledger.server(server);
      return row === undefined ? [] : neededServers(row, new RecordedNeeds(server, { ledger, now }));
    },
    isNeeded(other, server) {
      const row = ledger.server(server);
      return row?.checked === true && includesSorted(row.wanted?.dependsOn ?? [], other);
    },
  };
}

/** Returns the stall of a group whose slots are occupied by members that need a person. */
function slotStall(member: string, row: ServerRow, ledger: LedgerReads): Stall | undefined {
  const away = ledger.index.awayOf(groupOf(row));
  const stalled = [...away].filter((name) => ledger.server(name)?.state === 'blocked').length;
  const { size } = ledger.index.groupViewOf(member, row);
  return stalled >= awayMax(row.policy.maxUnavailable, size) ? 'blocked' : undefined;
}
