// Describes what a recovery found, and what resuming it would do. docs/concepts.md, recovery.
import { isBeingRemoved, isConverged } from '../../machine/existence.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { compareNames } from '../../model/names.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { RecoveredInstance, RecoveredServers, Recovery } from '../answers.ts';
import type { Scope } from '../scope.ts';
import type { RowsAtMoment } from '../views.ts';

/** Returns the recovery that is not over, with the servers that a client sees; null if there is none. */
export function recoveryIn(rows: RowsAtMoment, scope: Scope): Recovery | null {
  const row = rows.read('recovery', RECOVERY);
  if (row === undefined) return null;
  const byInstance = new Map<string, Map<keyof RecoveredServers, string[]>>();
  for (const name of [...rows.list('server').keys()].sort(compareNames)) {
    const server = scope.seesServer(name) ? rows.server(name) : undefined;
    if (server === undefined) continue;
    const found = byInstance.get(server.instance) ?? new Map<keyof RecoveredServers, string[]>();
    byInstance.set(server.instance, found);
    found.set(groupOf(server), [...(found.get(groupOf(server)) ?? []), name]);
  }
  const instances = [...byInstance.keys()].sort(compareNames).map((instance): RecoveredInstance => {
    const named = Object.fromEntries(byInstance.get(instance) ?? []);
    return { instance, isHeld: rows.read('held', instance) !== undefined, ...NO_SERVERS, ...named };
  });
  return { ...row, instances };
}

const NO_SERVERS: RecoveredServers = {
  found: [],
  drifted: [],
  waiting: [],
  unchecked: [],
  create: [],
  update: [],
  replace: [],
  delete: [],
};

function groupOf(row: ServerRow): keyof RecoveredServers {
  const { wanted, state, applied, checked, replacing } = row;
  if (wanted === null) return isBeingRemoved(row) ? 'delete' : 'found';
  if (state === 'blocked') return 'waiting';
  if (state === 'unknown') return 'unchecked';
  if (applied === null) return checked ? 'create' : 'unchecked';
  if (state === 'drifted') return 'drifted';
  if (replacing) return 'replace';
  return isConverged(row) ? 'found' : 'update';
}
