// Who waits for whom, as the rows tell it: the same order as decide.ts keeps, but of all that a server waits for and not only
// of the first. Reads, and changes nothing.

import type { Clock } from '../clock.ts';
import { firstHolder, includesSorted } from '../machine/holders.ts';
import { awayMax, groupOf } from '../machine/rollout.ts';
import { type Stall, type StallGraph, stallsOf } from '../machine/stall.ts';
import { effectiveState } from '../machine/stuck.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../machine/suspension.ts';
import type { ServerRow } from '../model/rows.ts';
import { holders, isUp, otherSpelling, updatesAreHeld } from './decision-context.ts';
import type { Ledger } from './ledger.ts';

type Recorded = Pick<Ledger, 'server' | 'index' | 'read'>;

/** Returns a function that tells the stalls of waiting servers; see {@link stallsOf}. */
export function stallsIn(
  ledger: Recorded,
  clock: Pick<Clock, 'now'>,
): (servers: readonly string[]) => readonly Stall[] | undefined {
  return (servers) => stallsOf(servers, stallGraph(ledger, clock.now()));
}

/** Returns the graph over all recorded servers at `now`, milliseconds since 1970. */
export function stallGraph(ledger: Recorded, now: number): StallGraph {
  const groups = new Map<string, Stall | undefined>();

  /** Asked for once a group: each of its members would look at all that are away. */
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

/** Whether no action of an instance starts before a person says so. */
function isStopped(instance: string, ledger: Recorded, now: number): boolean {
  if (ledger.read('held', instance) !== undefined) return true;
  const keys = [instance, EVERY_INSTANCE];
  return keys.some((key) => suspendedUntil(ledger.read('suspension', key), now) === Number.POSITIVE_INFINITY);
}

/** It is there and waits to be updated or replaced, so that the rules of a roll-out are for it. */
function changes({ wanted, applied, checked }: ServerRow): boolean {
  return checked && wanted !== null && applied !== null;
}

interface Rollout {
  readonly ledger: Recorded;
  readonly groupStall: (server: string, row: ServerRow) => Stall | undefined;
}

function rolloutStall(server: string, row: ServerRow, { ledger, groupStall }: Rollout): Stall | undefined {
  if (!row.gaveUp && updatesAreHeld(row.commit, ledger)) return 'failed';
  if (ledger.index.groupViewOf(server, row).hasFailed) return 'failed';
  // Who is away already takes no further slot.
  return row.dirty ? undefined : groupStall(server, row);
}

/** The slots of a group are taken by members that a person has to see to. */
function slotStall(member: string, row: ServerRow, { server, index }: Recorded): Stall | undefined {
  const away = index.awayOf(groupOf(row));
  const stalled = [...away].filter((name) => server(name)?.state === 'blocked').length;
  const { size } = index.groupViewOf(member, row);
  return stalled >= awayMax(row.policy.maxUnavailable, size) ? 'blocked' : undefined;
}

function* needsOf(server: string, ledger: Recorded): Iterable<string | undefined> {
  const row = ledger.server(server);
  // A server that was never seen is only checked next, and that waits for nobody.
  if (row === undefined || !row.checked) return;
  if (row.wanted === null) {
    const rowOf = (name: string): ServerRow | undefined => ledger.server(name);
    for (const dependent of holders(server, ledger)) yield firstHolder(server, [dependent], rowOf);
    return;
  }
  yield otherSpelling(server, row, ledger);
  for (const need of row.wanted.dependsOn) yield isUp(ledger.server(need)) ? undefined : need;
}
