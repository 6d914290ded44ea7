// Finds what stops a server from its next action, apart from time and capacity: other servers, the rollout of its
// commit and group, an operator. decide.ts uses it to decide, chain.ts to follow waits. Pure.
import type { ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';
import { groupOf, ignoresOrder } from './rollout.ts';
import type { Wait, WaitOfKind } from './wait.ts';

/** A wait for the row of another server. */
type ServerWait = WaitOfKind<'dependency' | 'holder'>;

/** The facts about a server's needs. They depend only on the rows. */
export interface Needs {
  /**
   * Until when no action of the instance may start, milliseconds since 1970; infinity: until an operator resumes it.
   */
  readonly stoppedUntil: number | undefined;
  /** Returns a dependency of this server that is not up: neither done nor drifted. */
  readonly unmetDependency: (row: ServerRow) => string | undefined;
  /** Returns a server that still needs this one, which is to be deleted. */
  readonly holder: () => string | undefined;
  /** Returns true if too many updates of the row's commit have failed, so that no further one starts. */
  readonly updatesAreHeld: (row: ServerRow) => boolean;
  /**
   * Returns true if the group has a free slot, the time from which it has one, or false if another member has to change
   * first.
   */
  readonly hasSlot: (row: ServerRow) => boolean | number;
}

const WAITING: ReadonlySet<State> = new Set(['pending', 'marked for delete']);

/** Returns true if a server in this state waits to begin an action. */
export function isWaiting(state: State): boolean {
  return WAITING.has(state);
}

/** Returns the wait of a server for a dependency, or of an unwanted server for one that still needs it. */
export function serverWait(row: ServerRow, needs: Needs): ServerWait | undefined {
  if (ignoresOrder(row)) return undefined;
  const server = row.wanted === null ? needs.holder() : needs.unmetDependency(row);
  return server === undefined ? undefined : { kind: row.wanted === null ? 'holder' : 'dependency', server };
}

/** Returns the wait of an update or a replacement for the rollout of its commit, or for a slot of its group. */
export function rolloutWait(row: ServerRow, needs: Needs): Wait | undefined {
  if (needs.updatesAreHeld(row)) return { kind: 'failures', commit: row.commit };
  const slot = needs.hasSlot(row);
  if (slot === true) return undefined;
  return { kind: 'slot', group: groupOf(row), until: slot === false ? undefined : slot };
}

/** Returns the wait for the end of the suspension or hold of its instance. */
export function stopWait({ instance }: ServerRow, { stoppedUntil }: Needs): WaitOfKind<'instance'> | undefined {
  return stoppedUntil === undefined ? undefined : { kind: 'instance', instance, until: stoppedUntil };
}

/**
 * Returns the wait of a server that has not begun, as far as it follows from the rows: for another server, an operator,
 * or its rollout. The rules of rollouts apply only to servers that exist.
 */
export function orderWait(row: ServerRow, needs: Needs): Wait | undefined {
  const { state, checked, wanted, applied } = row;
  if (!checked || !isWaiting(state)) return undefined;
  const other = serverWait(row, needs) ?? stopWait(row, needs);
  if (other !== undefined) return other;
  return wanted === null || applied === null ? undefined : rolloutWait(row, needs);
}
