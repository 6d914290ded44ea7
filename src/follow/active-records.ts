// Returns the records of servers, for calls to providers.
import { nodeAtMoment } from '../desired/node-records.ts';
import type { NodeRecord } from '../model/record.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { CurrentState } from './current-state.ts';

/** Returns a function from a server to its record. It throws where nothing is active, or the server has none. */
export function activeRecords(current: CurrentState, rows: Ledger): (server: string) => NodeRecord {
  return (server) => {
    const desired = current.get();
    const node = desired && nodeAtMoment({ desired, rows }, server);
    if (node === undefined) throw new Error(`no active unit has the server "${server}"`);
    return node.record();
  };
}
