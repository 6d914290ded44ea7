// Defines lowdb's document in memory (a table of rows for each kind), and the contract of adapters that save it.
import type { Breathe } from '../base/breathe.ts';
import type { EventRange, ListedEvent, ListedPage } from '../model/instance-event.ts';
import type { RowKind, Rows } from '../model/rows.ts';
import { type KeptRow, ROW_KINDS, type Row, readRow } from './row-json.ts';

/** The rows by kind and name. */
export type Tables = { readonly [Kind in RowKind]: Map<string, Rows[Kind]> };

/** An event in a database: everything except id and instance is JSON. */
export type KeptEvent = readonly [id: number, instance: string, value: string];

/** Commits that are saved in one transaction. */
export interface Batch {
  /** The number of the commit before the batch. */
  readonly since: number;
  readonly revision: number;
  readonly rows: readonly KeptRow[];
  /** Sorted by id. All ids are greater than those of kept events. */
  readonly events: readonly KeptEvent[];
  /** True if the batch also removes old events. */
  readonly isTrim: boolean;
}

/** The content of a store in memory. */
export interface StoreDocument {
  /** The number of the last batch in `tables`; 0 before the first. */
  revision: number;
  /** The id of the newest event; 0 before the first. */
  lastEvent: number;
  readonly tables: Tables;
  /** The batch that lowdb's `write` saves. `tables` contains it afterwards. */
  unsaved: Batch | undefined;
}

/** A document and the events of its database. */
export interface WholeStore {
  readonly document: StoreDocument;
  readonly events: readonly ListedEvent[];
}

/** An adapter of lowdb that saves changes and keeps events outside the document. */
export interface DocumentAdapter {
  /** Resolves with the document of the database, which is empty at first. */
  read(): Promise<StoreDocument>;
  /**
   * Saves `document.unsaved` atomically. Resolves when it would survive a power cut. Throws if the last commit of the
   * database is not `since`.
   */
  write(document: StoreDocument): Promise<void>;
  /** See Store.events. */
  events(range: EventRange): Promise<ListedPage>;
  /**
   * Resolves with a consistent set of other processes' commits after that revision; undefined if there are none. Absent
   * if the database belongs to one process.
   */
  readChanges?(since: number): Promise<SharedChanges | undefined>;
  close(): Promise<void>;
}

/** The commits of a database after a revision. */
export interface SharedChanges {
  /** The newest commit among them. */
  readonly revision: number;
  readonly lastEvent: number;
  /** True if `rows` has all rows of the database, because marks of removed rows may be missing. */
  readonly isWhole: boolean;
  /** The newest version of each row; a row without a value was removed. */
  readonly rows: readonly KeptRow[];
}

/** Returns a document without rows. */
export function emptyStoreDocument(): StoreDocument {
  return {
    revision: 0,
    lastEvent: 0,
    tables: Object.fromEntries(ROW_KINDS.map((kind) => [kind, new Map()])) as unknown as Tables,
    unsaved: undefined,
  };
}

/** Writes a row into its table, or removes it. */
export function setRow<Kind extends RowKind>(tables: Tables, { kind, name, value }: Row<Kind>): void {
  const table: Map<string, Rows[Kind]> = tables[kind];
  if (value === null) table.delete(name);
  else table.set(name, value);
}

/** Reads rows into the tables, and lets other work run meanwhile. `path`: the database in messages. */
export async function readRows(
  tables: Tables,
  rows: readonly KeptRow[],
  { path, breathe }: { readonly path: string; readonly breathe: Breathe },
): Promise<void> {
  for (const row of rows) {
    setRow(tables, readRow(row, path));
    await breathe();
  }
}

/** Returns every row of every table. */
export function* rowsOf(tables: Tables): Generator<Row> {
  for (const kind of ROW_KINDS) {
    for (const [name, value] of tables[kind]) yield { kind, name, value };
  }
}

/** Returns the number of rows of all tables. */
export function countRows(tables: Tables): number {
  return Object.values(tables).reduce((sum, table) => sum + table.size, 0);
}
