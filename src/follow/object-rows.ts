// Computes the rows of a desired state other than those of servers: the head, pinned objects, terminating instances.
// Pure.

import type { Baseline, DesiredState } from '../desired/desired-state.ts';
import { entryAtAddress } from '../desired/tracked-reads.ts';
import { isSameVersion, isValidUnit } from '../desired/unit.ts';
import { addressOf, instanceAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import { isMap } from '../model/json.ts';
import type { Document, FollowedPlace, HeadRow, NodeRow, PinnedRow, TerminatingRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';

/** The name of the one row of the kind `head`. */
export const HEAD = 'head';

/** Returns the one row of the followed commit. */
export function headRow(
  { commit, time }: Pick<DesiredState, 'commit' | 'time'>,
  place: FollowedPlace,
): ReadonlyMap<string, HeadRow> {
  return new Map([[HEAD, { commit, time, place }]]);
}

/** Returns the objects that are not at the version of the followed commit, by `<type>/<name>`. */
export function pinnedRows(desired: DesiredState): ReadonlyMap<string, PinnedRow> {
  const rows = new Map<string, PinnedRow>();
  for (const [address, { entry, commit }] of desired.objects) {
    if (entryAtAddress(desired.catalog, address) !== entry) rows.set(address, { commit, ...documentOf(entry) });
  }
  for (const [serial, { entry, commit }] of desired.clients) {
    if (desired.catalog.clients.get(serial) !== entry)
      rows.set(addressOf('client', serial), { commit, ...documentOf(entry) });
  }
  for (const [address, unit] of desired.units) {
    const newest = desired.candidates.get(address);
    // A unit whose file is gone is pinned, too: it is held, protected, or waits to hand a server over. A held unit is
    // not pinned if a later commit has restored its version.
    if (newest !== undefined && isValidUnit(newest) && isSameVersion(newest, unit)) continue;
    const loss = desired.losses.get(address);
    rows.set(address, { commit: unit.commit, ...documentOf(unit.entry), ...(loss === undefined ? {} : { loss }) });
  }
  for (const [address, candidate] of desired.candidates) {
    if (desired.units.has(address) || candidate.type === 'clientcert') continue;
    rows.set(address, { commit: null, ...documentOf(candidate.entry) });
  }
  return rows;
}

/** Returns a row for every hand-written clientcert. Its time stays until its content changes. */
export function nodeRows(
  { units, time }: Pick<DesiredState, 'units' | 'time'>,
  recorded: ReadonlyMap<string, NodeRow>,
): ReadonlyMap<string, NodeRow> {
  const rows = new Map<string, NodeRow>();
  for (const unit of units.values()) {
    if (unit.type !== 'clientcert') continue;
    const known = recorded.get(unit.name);
    const { oid } = unit.entry;
    rows.set(unit.name, known?.oid === oid ? known : { oid, updated: time });
  }
  return rows;
}

interface Terminating {
  readonly desired: DesiredState;
  readonly before: Baseline | undefined;
}

/**
 * Returns the instances that are no longer active but still have servers, by name. `recorded`: all instances with
 * servers.
 */
export function terminatingRows(
  store: Pick<Store, 'read'>,
  { desired, before }: Terminating,
  recorded: ReadonlySet<string>,
): ReadonlyMap<string, TerminatingRow> {
  const rows = new Map<string, TerminatingRow>();
  for (const name of recorded) {
    const key = instanceAddress(name);
    if (desired.units.has(key)) continue;
    const entry = before?.units.get(key)?.entry ?? store.read('pinned', key);
    const row = store.read('terminating', name) ?? (entry === undefined ? undefined : documentOf(entry));
    if (row !== undefined) rows.set(name, row);
  }
  return rows;
}

function documentOf({ path, oid, object }: Pick<Entry<unknown>, 'path' | 'oid' | 'object'>): Document {
  return { path, oid, object: isMap(object) ? object : {} };
}
