// Defines the document that the embedded store holds in memory: a table of rows for each kind, the events, and the number
// of the last commit.
import { isMap } from '../model/json.ts';
import type { RowKind, Rows } from '../model/rows.ts';
import { decodeEvent, EventLog, encodeEvent, type StoredEvent } from './event-log.ts';

/** The rows by kind and name. */
export type Tables = { readonly [Kind in RowKind]: Map<string, Rows[Kind]> };

/** Everything that a store holds. */
export interface StoreDocument {
  /** The number of the last group of commits that `tables` holds; 0 before the first. */
  sequence: number;
  readonly tables: Tables;
  readonly events: EventLog;
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
    events: new EventLog(),
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
      commitStatus: new Map(),
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

/** Returns every line of a snapshot, as JSON: all rows, then all events. */
export function* encodedLines({ tables, events }: StoreDocument): Generator<string> {
  for (const row of rowsOf(tables)) yield encodeRow(row);
  for (const event of events.stored()) yield encodeEvent(event);
}

/** Returns how many lines {@link encodedLines} returns. */
export function countLines({ tables, events }: StoreDocument): number {
  return countRows(tables) + events.lines;
}

/** Returns a row or an event from the parsed JSON of its line; undefined for anything else. */
export function decodeLine(tables: Tables, json: unknown): Row | StoredEvent | undefined {
  return decodeEvent(json) ?? decodeRow(tables, json);
}

/** Adds lines that were read from a file. */
export function restoreLines({ tables, events }: StoreDocument, lines: readonly (Row | StoredEvent)[]): void {
  const told: StoredEvent[] = [];
  for (const line of lines) {
    if ('event' in line) told.push(line);
    else setRow(tables, line);
  }
  events.restore(told);
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
function decodeRow(tables: Tables, json: unknown): Row | undefined {
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
