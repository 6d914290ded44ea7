// Builds the baseline from the rows alone, for when no copy of the repository has the recorded head any more. It has no
// records, and no objects but the pinned ones.

import { type ActiveVersion, type Baseline, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { unitAddress } from '../desired/unit.ts';
import { instanceAddress, splitAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { Client, StackInstance } from '../model/objects.ts';
import type { Document, HeadRow, PinnedRow } from '../model/rows.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { recordedUnit } from './recorded-unit.ts';

type LedgerReads = Pick<Ledger, 'list' | 'read' | 'server' | 'index'>;

/** Returns what was active. An instance whose file is in no row is protected and retained as its servers' rows say. */
export function recordedBaseline(ledger: LedgerReads, { commit, time }: HeadRow): Baseline {
  const { objects, clients: clientsPinned } = keptObjects(ledger.list('pinned'));
  const units = [...recordedInstances(ledger)].map((name) => {
    const address = instanceAddress(name);
    const pinned = ledger.read('pinned', address);
    const document = ledger.read('active', address) ?? pinned ?? documentOfRows(ledger, name);
    const entry = entryOfRow(document) as Entry<StackInstance>;
    return recordedUnit(ledger, { name, entry, commit: pinned?.commit ?? commit, time });
  });
  const clients = new Map<string, ActiveVersion<Client>>();
  for (const [address, document] of ledger.list('active')) {
    const [type, serial] = splitAddress(address);
    if (type !== 'client') continue;
    clients.set(serial, clientsPinned.get(serial) ?? { entry: entryOfRow(document) as Entry<Client>, commit });
  }
  return {
    ...EMPTY_BASELINE,
    units: new Map(units.map((unit) => [unitAddress(unit), unit])),
    owners: recordedOwners(ledger),
    objects,
    clients,
    // Where the new head has one that cannot be read, the safe answer is that it was there.
    hasHierarchy: true,
  };
}

/** Returns, for every wanted server, the address of the unit that makes it. */
export function recordedOwners(ledger: Pick<Ledger, 'list'>): ReadonlyMap<string, string> {
  const wanted = [...ledger.list('server')].filter(([, row]) => row.wanted !== null);
  return new Map(wanted.map(([name, { instance }]) => [name, instanceAddress(instance)]));
}

/** Returns the pinned objects and clients, from the documents that were recorded with them. */
export function keptObjects(pinned: ReadonlyMap<string, PinnedRow>): Pick<Baseline, 'objects' | 'clients'> {
  const objects = new Map<string, ActiveVersion<unknown>>();
  const clients = new Map<string, ActiveVersion<Client>>();
  for (const [address, row] of pinned) {
    const { commit } = row;
    const [type, name] = splitAddress(address);
    if (commit === null || type === 'stack-instance') continue;
    if (type === 'client') clients.set(name, { entry: entryOfRow(row) as Entry<Client>, commit });
    else objects.set(address, { entry: entryOfRow(row), commit });
  }
  return { objects, clients };
}

/** Returns an entry out of a recorded document. It has no places: its text is not what Git has now. */
export function entryOfRow({ path, oid, object }: Document): Entry<unknown> {
  return { path, oid, object, problems: [], locate: () => ({ line: 1, column: 1 }) };
}

/** All that are active, and all of which a commit wanted servers. */
function recordedInstances(ledger: LedgerReads): ReadonlySet<string> {
  const names = new Set<string>();
  for (const address of ledger.list('active').keys()) {
    const [type, name] = splitAddress(address);
    if (type === 'stack-instance') names.add(name);
  }
  for (const { instance, wanted } of ledger.list('server').values()) if (wanted !== null) names.add(instance);
  return names;
}

/** The rows of an older version hold no file: what keeps servers from being deleted is in the servers' own rows. */
function documentOfRows(ledger: LedgerReads, name: string): Document {
  const policies = ledger.index.serversOf(name).flatMap((server) => ledger.server(server)?.policy ?? []);
  const isProtected = policies.some((policy) => policy.protected);
  const deletion = policies.some((policy) => policy.deletion === 'retain') ? 'retain' : 'delete';
  const object = { name, type: 'stack-instance', protected: isProtected, deletion };
  return { path: `stacks/instances/${name}.yaml`, oid: '', object };
}
