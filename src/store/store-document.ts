// Defines the document that the embedded store holds in memory: a table of rows for each kind, and the number of the
// last commit.
import { isMap } from '../model/json.ts';
import type { RowKind, Rows } from '../model/rows.ts';

/** The rows by kind and name. */
export type Tables = { readonly [Kind in RowKind]: Map<string, Rows[Kind]> };

/** Everything that a store holds. */
export interface StoreDocument {
  /** The number of the last group of commits that `tables` holds; 0 before the first. */
  sequence: number;
  readonly tables: Tables;
}

/** One row as it is written, or its removal where `value` is null. */
export interface Row<Kind extends RowKind = RowKind> {
  readonly kind: Kind;
  readonly name: string;
  readonly value: Rows[Kind] | null;
}

/** Returns a document without rows. */
export function emptyStoreDocument(): StoreDocument {
  return {
    sequence: 0,
    tables: {
      head: new Map(),
      pinned: new Map(),
      active: new Map(),
      terminating: new Map(),
      node: new Map(),
      held: new Map(),
      approval: new Map(),
      removal: new Map(),
      suspension: new Map(),
      rollout: new Map(),
      server: new Map(),
    },
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

/** Returns a row as JSON: `["server","web-1",{…}]`, or with null for a removal. */
export function encodeRow({ kind, name, value }: Row): string {
  return JSON.stringify([kind, name, value]);
}

/** Returns the row that {@link encodeRow} wrote, from its parsed JSON; undefined for anything else, such as a newer kind. */
export function decodeRow(tables: Tables, json: unknown): Row | undefined {
  if (!Array.isArray(json) || json.length !== 3) return undefined;
  const [kind, name, value]: unknown[] = json;
  if (typeof kind !== 'string' || !isRowKind(tables, kind) || typeof name !== 'string') return undefined;
  if (value !== null && !isMap(value)) return undefined;
  // The checksum around it vouches that this is what encodeRow was given.
  return { kind, name, value: value as Rows[RowKind] | null };
}

function isRowKind(tables: Tables, kind: string): kind is RowKind {
  return Object.hasOwn(tables, kind);
}
