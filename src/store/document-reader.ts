// Reads the lines of the store's files into a document: rows, changed fields of rows, and events.
import type { RowKind, Rows } from '../model/rows.ts';
import { decodeEvent, type StoredEvent } from './event-log.ts';
import { bytesOfRow, type ChangedRow, decodeRow, growthBy, hasOtherSpec, type Row, withChanges } from './row-json.ts';
import { SharedValues } from './shared-values.ts';
import { isRowKind, type StoreDocument, setRow } from './store-document.ts';

/** The content of one line of the journal. */
export type Line = Row | ChangedRow | StoredEvent;

/** Adds lines to a document, in their order. Equal parts of its rows are kept once. */
export class DocumentReader {
  readonly document: StoreDocument;
  readonly #shared = new SharedValues();

  constructor(document: StoreDocument) {
    this.document = document;
  }

  /** Returns what a line of the journal says, from its parsed JSON; undefined for anything else, such as a newer kind. */
  decode(json: unknown): Line | undefined {
    const line = this.#decode(json);
    // What waits for the last record of its group is kept compactly already.
    return line === undefined || 'event' in line || 'changed' in line ? line : this.#shared.share(line);
  }

  /** Adds a line of a snapshot, which has `bytes` and holds a whole row or an event. Returns false for anything else. */
  addWhole(json: unknown, bytes: number): boolean {
    const line = this.#decode(json);
    if (line === undefined || 'changed' in line) return false;
    if ('event' in line) {
      this.document.events.restore([line]);
      return true;
    }
    const row = this.#shared.share(line);
    setRow(this.document.tables, row);
    // A spec that was written twice by an older version, or was not known to be equal, is written once from now on.
    this.document.rowBytes += hasOtherSpec(line) ? bytesOfRow(row) : bytes;
    return true;
  }

  /** Adds a line of the journal. Returns false, and adds nothing, if it changes a row that is not there. */
  add(line: Line): boolean {
    const { document } = this;
    if ('event' in line) {
      document.events.restore([line]);
      return true;
    }
    const { kind, name } = line;
    const before: Rows[RowKind] | undefined = document.tables[kind].get(name);
    if ('value' in line) {
      document.rowBytes += sizeOf(line) - sizeOf({ kind, name, value: before ?? null });
      setRow(document.tables, line);
      return true;
    }
    if (before === undefined) return false;
    this.#change(line, before);
    return true;
  }

  #change(line: ChangedRow, before: Rows[RowKind]): void {
    const { document } = this;
    const { kind, name } = line;
    const row = { kind, name, value: withChanges(line, before) };
    if (!('wanted' in line.changed) && !hasOtherSpec(row)) {
      setRow(document.tables, row);
      document.rowBytes += growthBy(line, before);
      return;
    }
    const shared = this.#shared.share(row);
    setRow(document.tables, shared);
    document.rowBytes += sizeOf(shared) - sizeOf({ kind, name, value: before });
  }

  #decode(json: unknown): Line | undefined {
    return decodeEvent(json) ?? decodeRow(json, (kind): kind is RowKind => isRowKind(this.document.tables, kind));
  }
}

function sizeOf(row: Row): number {
  return row.value === null ? 0 : bytesOfRow(row);
}
