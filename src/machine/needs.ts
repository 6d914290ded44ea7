// Finds what keeps a server from its next action, apart from time and capacity: other servers, the rollout of its commit and
// group, a person. decide.ts waits for the first of these; a stall looks at all of them. Pure.
import type { ServerRow } from '../model/rows.ts';
import { groupOf } from './rollout.ts';
import type { Wait, WaitOfKind } from './wait.ts';

/** A wait for the row of another server. */
type ServerWait = WaitOfKind<'dependency' | 'holder'>;

/** Servers that are looked at one after the other; undefined for each that is not in the way. */
export type ServersInTheWay = Iterable<string | undefined>;

/** The facts about a server's needs. They follow from the rows alone, whoever reads them. */
export interface Needs {
  /** Until when no action of its instance may start, milliseconds since 1970; infinity: until a person resumes it. */
  readonly stoppedUntil: number | undefined;
  /** Returns the dependencies of this server that are not up. */
  readonly unmetDependencies: (row: ServerRow) => ServersInTheWay;
  /** Returns the servers that still need this one, which is to be deleted. */
  readonly holders: () => ServersInTheWay;
  /** Returns true if too many updates of the row's commit have failed, so that no further one starts. */
  readonly updatesAreHeld: (row: ServerRow) => boolean;
  /**
   * Returns true if its group has a free slot, the time from which on it has one, or false if another member has to
   * change first.
   */
  readonly hasSlot: (row: ServerRow) => boolean | number;
}

/** Returns the wait for the first of these servers; undefined if none is in the way. */
export function firstWait(kind: ServerWait['kind'], servers: ServersInTheWay): ServerWait | undefined {
  for (const server of servers) if (server !== undefined) return { kind, server };
  return undefined;
}

/** Returns the wait of an update or a replacement for the rollout of its commit, or for a slot of its group. */
export function rolloutWait(row: ServerRow, needs: Needs): Wait | undefined {
  if (needs.updatesAreHeld(row)) return { kind: 'failures', commit: row.commit };
  const slot = needs.hasSlot(row);
  if (slot === true) return undefined;
  const group = groupOf(row);
  return row.dirty
    ? { kind: 'failed member', group }
    : { kind: 'slot', group, until: slot === false ? undefined : slot };
}

/** Returns the wait for the end of the suspension or hold of its instance. */
export function stopWait({ instance }: ServerRow, { stoppedUntil }: Needs): WaitOfKind<'instance'> | undefined {
  return stoppedUntil === undefined ? undefined : { kind: 'instance', instance, until: stoppedUntil };
}

/** Yields all servers that have to change before a waiting server goes on. One that was never checked is checked next. */
export function* neededServers(row: ServerRow, needs: Needs): Generator<string | undefined> {
  if (!row.checked) return;
  if (row.wanted === null) {
    yield* needs.holders();
    return;
  }
  yield* needs.unmetDependencies(row);
}

/**
 * Returns the wait of a waiting server that is for no other server and that only a person or the end of a failure ends: the
 * rules of rollouts concern servers that exist.
 */
export function ownWait(row: ServerRow, needs: Needs): Wait | undefined {
  const stop = stopWait(row, needs);
  if (stop?.until === Number.POSITIVE_INFINITY) return stop;
  const isChanged = row.checked && row.wanted !== null && row.applied !== null;
  return isChanged ? rolloutWait(row, needs) : undefined;
}
