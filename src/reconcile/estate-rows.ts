// The rows that an estate should have beside its servers': the head, what is behind it, what is leaving. Pure.
import { entryAt } from '../estate/draw.ts';
import type { Estate, Standing } from '../estate/estate.ts';
import { type Unit, unitKey } from '../estate/unit.ts';
import type { Entry } from '../model/entry.ts';
import { isMap } from '../model/json.ts';
import type { ActiveRow, BehindRow, Document, HeadRow, LeavingRow, NodeRow, ServerRow } from '../model/recorded.ts';
import type { Store } from '../store/store.ts';

export const HEAD = 'head';

/** Returns the one row of the followed commit. */
export function headRow({ commit, time }: Estate): ReadonlyMap<string, HeadRow> {
  return new Map([[HEAD, { commit, time }]]);
}

/** Returns what is not in force at the followed commit's version, by `<type>/<name>`. */
export function behindRows(estate: Estate): ReadonlyMap<string, BehindRow> {
  const rows = new Map<string, BehindRow>();
  for (const [address, { entry, commit }] of estate.objects) {
    if (entryAt(estate.catalog, address) !== entry) rows.set(address, { commit, ...documentOf(entry) });
  }
  for (const [serial, { entry, commit }] of estate.clients) {
    if (estate.catalog.clients.get(serial) !== entry) rows.set(`client/${serial}`, { commit, ...documentOf(entry) });
  }
  for (const [key, unit] of estate.units) {
    // Also where its file is gone and it stays all the same: held, protected, or waiting to hand a server over.
    if (estate.candidates.get(key) !== unit)
      rows.set(addressOf(unit), { commit: unit.commit, ...documentOf(unit.entry) });
  }
  for (const [key, candidate] of estate.candidates) {
    if (estate.units.has(key) || candidate.kind === 'clientcert') continue;
    rows.set(addressOf(candidate), { commit: null, ...documentOf(candidate.entry) });
  }
  return rows;
}

/** Returns the documents of all active instances and clients, by `<type>/<name>`. One whose file is the same keeps its row. */
export function activeRows(
  { units, clients }: Pick<Estate, 'units' | 'clients'>,
  recorded: ReadonlyMap<string, ActiveRow>,
): ReadonlyMap<string, ActiveRow> {
  const rows = new Map<string, ActiveRow>();
  const add = (address: string, entry: Entry<unknown>): void => {
    const known = recorded.get(address);
    const isSame = known !== undefined && known.oid === entry.oid && known.path === entry.path;
    rows.set(address, isSame ? known : documentOf(entry));
  };
  for (const unit of units.values()) if (unit.kind === 'instance') add(addressOf(unit), unit.entry);
  for (const [serial, { entry }] of clients) add(`client/${serial}`, entry);
  return rows;
}

/** Returns a row for every hand-written clientcert: its time stays as long as its content does. */
export function nodeRows(estate: Estate, recorded: ReadonlyMap<string, NodeRow>): ReadonlyMap<string, NodeRow> {
  const rows = new Map<string, NodeRow>();
  for (const unit of estate.units.values()) {
    if (unit.kind !== 'clientcert') continue;
    const known = recorded.get(unit.name);
    const { oid } = unit.entry;
    rows.set(unit.name, known?.oid === oid ? known : { oid, updated: estate.time });
  }
  return rows;
}

interface Leaving {
  readonly estate: Estate;
  readonly before: Standing | undefined;
}

/** Returns the instances that are in force no more and still have servers, by name. `after` tells rows that change now. */
export function leavingRows(
  store: Pick<Store, 'read' | 'list'>,
  { estate, before }: Leaving,
  after: (server: string) => ServerRow | undefined,
): ReadonlyMap<string, LeavingRow> {
  const remaining = new Set([...store.list('server')].map(([name, row]) => (after(name) ?? row).instance));
  const rows = new Map<string, LeavingRow>();
  for (const name of remaining) {
    const key = unitKey({ kind: 'instance', name });
    if (estate.units.has(key)) continue;
    const entry = before?.units.get(key)?.entry ?? store.read('behind', `stack-instance/${name}`);
    const row = store.read('leaving', name) ?? (entry === undefined ? undefined : documentOf(entry));
    if (row !== undefined) rows.set(name, row);
  }
  return rows;
}

/** A unit's address as an object: `stack-instance/<name>` or `clientcert/<name>`. */
function addressOf({ kind, name }: Unit): string {
  return kind === 'instance' ? `stack-instance/${name}` : `clientcert/${name}`;
}

function documentOf({ path, oid, object }: Pick<Entry<unknown>, 'path' | 'oid' | 'object'>): Document {
  return { path, oid, object: isMap(object) ? object : {} };
}
