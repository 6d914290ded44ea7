// Builds the graph of waits from the rows: in the order that decide.ts keeps, but with all needs of a server and not
// only the first. Read-only.

import type { Clock } from '../base/clock.ts';
import { firstHolder, includesSorted } from '../machine/holders.ts';
import { effectiveState } from '../machine/reasons.ts';
import { awayMax, groupOf } from '../machine/rollout.ts';
import { type Stall, type StallGraph, stallsOf } from '../machine/stall.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../machine/suspension.ts';
import type { ServerRow } from '../model/rows.ts';
import { formersInTheWay, holders, isUp, otherSpelling, updatesAreHeld } from './decision-context.ts';
import type { Ledger } from './ledger.ts';

type LedgerReads = Pick<Ledger, 'server' | 'index' | 'read'>;

/** Returns a function that returns the stalls of waiting servers; see {@link stallsOf}. */
export function stallsIn(
  ledger: LedgerReads,
  clock: Pick<Clock, 'now'>,
): (servers: readonly string[]) => readonly Stall[] | undefined {
  return (servers) => stallsOf(servers, stallGraph(ledger, clock.now()));
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
    ownStallOf(server) {
      const row = ledger.server(server);
      if (row === undefined) return undefined;
      if (isStopped(row.instance, ledger, now)) return 'blocked';
      return changes(row) ? rolloutStall(server, row, { ledger, groupStall }) : undefined;
    },
    needsOf: (server) => needsOf(server, ledger),
    isNeeded: (other, server) => {
      const row = ledger.server(server);
      return row?.checked === true && includesSorted(row.wanted?.dependsOn ?? [], other);
    },
  };
}

/** Returns true if no action of an instance starts before a person resumes it. */
function isStopped(instance: string, ledger: LedgerReads, now: number): boolean {
  if (ledger.read('held', instance) !== undefined) return true;
  const keys = [instance, EVERY_INSTANCE];
  return keys.some((key) => suspendedUntil(ledger.read('suspension', key), now) === Number.POSITIVE_INFINITY);
}

/** Returns true if the server exists and waits to be updated or replaced, so that the rollout rules apply to it. */
function changes({ wanted, applied, checked }: ServerRow): boolean {
  return checked && wanted !== null && applied !== null;
}

interface Rollout {
  readonly ledger: LedgerReads;
  readonly groupStall: (server: string, row: ServerRow) => Stall | undefined;
}

function rolloutStall(server: string, row: ServerRow, { ledger, groupStall }: Rollout): Stall | undefined {
  if (!row.gaveUp && updatesAreHeld(row.commit, ledger)) return 'failed';
  if (ledger.index.groupViewOf(server, row).hasFailed) return 'failed';
  // A member that is away already needs no further slot.
  return row.dirty ? undefined : groupStall(server, row);
}

/** Returns the stall of a group whose slots are occupied by members that need a person. */
function slotStall(member: string, row: ServerRow, ledger: LedgerReads): Stall | undefined {
  const away = ledger.index.awayOf(groupOf(row));
  const stalled = [...away].filter((name) => ledger.server(name)?.state === 'blocked').length;
  const { size } = ledger.index.groupViewOf(member, row);
  return stalled >= awayMax(row.policy.maxUnavailable, size) ? 'blocked' : undefined;
}

function* needsOf(server: string, ledger: LedgerReads): Iterable<string | undefined> {
  const row = ledger.server(server);
  // A server that was never checked is checked next, and that waits for no other.
  if (row === undefined || !row.checked) return;
  if (row.wanted === null) {
    const rowOf = (name: string): ServerRow | undefined => ledger.server(name);
    for (const dependent of holders(server, ledger)) yield firstHolder(server, [dependent], rowOf);
    return;
  }
  yield otherSpelling(server, row, ledger);
  yield* formersInTheWay(row, ledger);
  for (const need of row.wanted.dependsOn) yield isUp(ledger.server(need)) ? undefined : need;
}
