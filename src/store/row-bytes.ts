// Counts the bytes that the rows of a store take, row by row.
import type { RowKind } from '../model/rows.ts';
import { encodeRow, rowsOf, type Tables } from './store-document.ts';

/** The bytes that a record of the store's files has around a row. */
const FRAME_BYTES = 19;

/** The sizes of all rows. */
export class RowBytes {
  readonly #rows = new Map<RowKind, Map<string, number>>();
  #total = 0;

  /** Counts the rows of `tables`. */
  constructor(tables: Tables) {
    for (const row of rowsOf(tables)) this.set(row.kind, row.name, encodeRow(row));
  }

  /** The bytes of a snapshot of all rows. */
  get total(): number {
    return this.#total;
  }

  /** Notes a row as {@link encodeRow} wrote it, or that it is gone: null. */
  set(kind: RowKind, name: string, json: string | null): void {
    const rows = this.#rows.get(kind) ?? new Map<string, number>();
    this.#rows.set(kind, rows);
    this.#total -= rows.get(name) ?? 0;
    rows.delete(name);
    if (json === null) return;
    const bytes = Buffer.byteLength(json) + FRAME_BYTES;
    rows.set(name, bytes);
    this.#total += bytes;
  }
}
