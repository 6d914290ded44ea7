// Defines the document that lowdb holds in memory, a table of rows for each kind, and what keeps it in a database.
import type { Breathe } from '../base/breathe.ts';
import type { EventRange, ListedEvent, ListedPage } from '../model/instance-event.ts';
import type { RowKind, Rows } from '../model/rows.ts';
import { type KeptRow, ROW_KINDS, type Row, readRow } from './row-json.ts';

/** The rows by kind and name. */
export type Tables = { readonly [Kind in RowKind]: Map<string, Rows[Kind]> };

/** An event as it is kept: all but its id and instance are JSON. */
export type KeptEvent = readonly [id: number, instance: string, value: string];

/** Commits that are saved in one transaction. */
export interface Batch {
  /** The commit before it. */
  readonly since: number;
  readonly revision: number;
  readonly rows: readonly KeptRow[];
  /** By id, which is greater than all that are kept. */
  readonly events: readonly KeptEvent[];
  /** Old events are removed too. */
  readonly isTrim: boolean;
}

/** Everything that a store holds in memory. */
export interface StoreDocument {
  /** The number of the last batch that `tables` holds; 0 before the first. */
  revision: number;
  /** The id of the newest event; 0 before the first. */
  lastEvent: number;
  readonly tables: Tables;
  /** What lowdb's `write` saves. `tables` shows it afterwards. */
  unsaved: Batch | undefined;
}

/** A document, and the events that its database keeps. */
export interface WholeStore {
  readonly document: StoreDocument;
  readonly events: readonly ListedEvent[];
}

/** An adapter of lowdb that saves changes, and keeps events beside the document. */
export interface DocumentAdapter {
  /** Returns the document of the database, which is empty at first. */
  read(): Promise<StoreDocument>;
  /**
   * Saves `document.unsaved`, all of it or nothing. Resolves once it would survive a power cut. Throws if the last
   * commit that is kept is not `since`.
   */
  write(document: StoreDocument): Promise<void>;
  /** See Store.events. */
  events(range: EventRange): Promise<ListedPage>;
  /**
   * Returns what other processes have committed after that revision, as of one moment; undefined: nothing. An
   * adapter whose database belongs to one process does not have this.
   */
  readChanges?(since: number): Promise<SharedChanges | undefined>;
  close(): Promise<void>;
}

/** What was committed to a database after a revision. */
export interface SharedChanges {
  /** The newest commit among them. */
  readonly revision: number;
  readonly lastEvent: number;
  /** These are all rows that there are: what was removed since may have left no mark. */
  readonly isWhole: boolean;
  /** The newest of each row; one without a value was removed. */
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

/** Reads rows into the tables, and lets other work run meanwhile. `path` names their database in messages. */
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

/** Returns how many rows all tables hold together. */
export function countRows(tables: Tables): number {
  return Object.values(tables).reduce((sum, table) => sum + table.size, 0);
}
