// Builds the graph of waits from the rows alone, because a standby has only these. Read-only.

import type { Clock } from '../../base/clock.ts';
import {
  breakingCommand,
  type Cycle,
  cycleOf,
  cycleReason,
  findStalls,
  type Stall,
  type WaitGraph,
} from '../../machine/chain.ts';
import { isWaiting, orderWait } from '../../machine/needs.ts';
import { effectiveState } from '../../machine/reasons.ts';
import { awayMax, groupOf } from '../../machine/rollout.ts';
import type { Wait } from '../../machine/wait.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { Ledger } from '../ledger.ts';
import { RecordedNeeds } from '../passes/decision-context.ts';

type LedgerReads = Pick<Ledger, 'server' | 'index' | 'read'>;

/** Returns a function that returns the stalls of waiting servers; see {@link findStalls}. */
export function stallsIn(
  ledger: LedgerReads,
  clock: Pick<Clock, 'now'>,
): (servers: readonly string[]) => readonly Stall[] | undefined {
  return (servers) => findStalls(servers, waitGraph(ledger, clock.now()));
}

/**
 * Returns a text about the cycle in which a server waits, and the command that breaks it; undefined if there is no
 * cycle. `now`: milliseconds since 1970.
 */
export function cycleWords(
  server: string,
  ledger: LedgerReads,
  now: number,
): { readonly reason: string; readonly action: string } | undefined {
  const cycle = cycleOf(server, waitGraph(ledger, now));
  return cycle && { reason: cycleReason(cycle), action: breakingCommand(cycle) };
}

/** The most servers from which cycles are searched. */
const STARTS_MAX = 1_000;

/** Returns the cycles of waits, each once. Dependencies alone form no cycle, because admission refuses that. */
export function findCycles(ledger: LedgerReads & Pick<Ledger, 'list'>, now: number): readonly Cycle[] {
  const graph = waitGraph(ledger, now);
  const found = new Map<string, Cycle>();
  const mayBegin = ({ state, applied }: ServerRow): boolean => isWaiting(state) && applied !== null;
  const starts = ledger
    .list('server')
    .entries()
    .filter(([, row]) => mayBegin(row));
  for (const [server] of starts.take(STARTS_MAX)) {
    const cycle = cycleOf(server, graph);
    if (cycle !== undefined) found.set(cycle[0].server, cycle);
  }
  return [...found.values()];
}

/** Returns the graph over all recorded servers at `now`, milliseconds since 1970. */
function waitGraph(ledger: LedgerReads, now: number): WaitGraph {
  const waits = new Map<string, Wait | undefined>();
  const occupied = new Map<string, boolean>();

  function waitOf(server: string): Wait | undefined {
    const row = ledger.server(server);
    if (row === undefined || waits.has(server)) return waits.get(server);
    const wait = orderWait(row, new RecordedNeeds(server, { ledger, now }));
    waits.set(server, wait);
    return wait;
  }

  return {
    stateOf(server) {
      const row = ledger.server(server);
      return row && effectiveState(row);
    },
    waitOf,
    groupOf(server) {
      const row = ledger.server(server);
      if (row === undefined) return { away: [], hasFailed: false };
      const { hasFailed } = ledger.index.groupViewOf(server, row);
      return { away: ledger.index.awayOf(groupOf(row)), hasFailed };
    },
    isOccupied(server) {
      const row = ledger.server(server);
      if (row === undefined) return false;
      const group = groupOf(row);
      const isAll = occupied.get(group) ?? isOccupied(server, row, ledger);
      occupied.set(group, isAll);
      return isAll;
    },
  };
}

function isOccupied(member: string, row: ServerRow, ledger: LedgerReads): boolean {
  const away = [...ledger.index.awayOf(groupOf(row))].flatMap((name) => ledger.server(name) ?? []);
  const blocked = away.filter((one) => effectiveState(one) === 'blocked');
  return blocked.length >= awayMax(row.policy.maxUnavailable, ledger.index.groupViewOf(member, row).size);
}
