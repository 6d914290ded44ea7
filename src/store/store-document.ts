// Defines the document that the embedded store holds in memory: a table of rows for each kind, the events, and the
// number of the last commit.
import type { RowKind, Rows } from '../model/rows.ts';
import { EventLog } from './event-log.ts';
import { ROW_KINDS, type Row } from './row-json.ts';

/** The rows by kind and name. */
export type Tables = { readonly [Kind in RowKind]: Map<string, Rows[Kind]> };

/** Everything that a store holds. */
export interface StoreDocument {
  /** The number of the last group of commits that `tables` holds; 0 before the first. */
  revision: number;
  /** Bytes that all rows of `tables` take where they are kept. */
  rowBytes: number;
  /** Replaced as a whole where many rows change at once. */
  tables: Tables;
  readonly events: EventLog;
}

/** Returns a document without rows. */
export function emptyStoreDocument(): StoreDocument {
  return {
    revision: 0,
    rowBytes: 0,
    events: new EventLog(),
    tables: Object.fromEntries(ROW_KINDS.map((kind) => [kind, new Map()])) as unknown as Tables,
  };
}

/** Writes a row into its table, or removes it. */
export function setRow<Kind extends RowKind>(tables: Tables, { kind, name, value }: Row<Kind>): void {
  const table: Map<string, Rows[Kind]> = tables[kind];
  if (value === null) table.delete(name);
  else table.set(name, value);
}

/** Returns every row of every table. */
export function* rowsOf(tables: Tables): Generator<Row> {
  for (const kind of Object.keys(tables)) {
    if (!isRowKind(tables, kind)) continue;
    for (const [name, value] of tables[kind]) yield { kind, name, value };
  }
}

/** Returns how many rows all tables hold together. */
export function countRows(tables: Tables): number {
  return Object.values(tables).reduce((sum, table) => sum + table.size, 0);
}

/** Returns true if there is a table of that kind. */
export function isRowKind(tables: Tables, kind: string): kind is RowKind {
  return Object.hasOwn(tables, kind);
}
