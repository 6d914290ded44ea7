// Builds an instance from its rows, for when no commit that can be read has its active version. The rows tell what is wanted
// of its servers, but not their records.
import type { Unit } from '../desired/unit.ts';
import { unitOfServers } from '../desired/unit-of-servers.ts';
import type { WantedServer } from '../model/spec.ts';
import type { Ledger } from '../reconcile/ledger.ts';

interface Lost extends Pick<Unit, 'name' | 'commit' | 'time'> {
  /** Its file, as it was recorded: it tells whether the instance is protected. */
  readonly entry: Unit['entry'];
}

/** Returns the instance with the servers that the rows want of it, and without nodes. */
export function recordedUnit(ledger: Pick<Ledger, 'server' | 'index'>, { name, entry, commit, time }: Lost): Unit {
  const servers = new Map<string, WantedServer>();
  for (const server of ledger.index.serversOf(name)) {
    const row = ledger.server(server);
    if (row === undefined || row.wanted === null) continue;
    const { instance, key, index, policy, wanted: spec } = row;
    servers.set(server, { name: server, instance, key, index, policy, spec });
  }
  return unitOfServers({ name, entry, commit, time }, servers);
}
