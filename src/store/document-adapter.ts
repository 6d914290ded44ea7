// Defines what keeps lowdb's document in a database, and reads rows as databases keep them.
import type { Breathe } from '../base/breathe.ts';
import type { ListedPage, ListedRange } from '../model/instance-event.ts';
import { isMap, parseJson } from '../model/json.ts';
import type { Spec } from '../model/spec.ts';
import { decodeRow, type KeptRow, type Row, WANTED_KIND } from './row-json.ts';
import { isRowKind, type StoreDocument, setRow } from './store-document.ts';
import { newerVersion } from './store-error.ts';

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
  events(range: ListedRange): Promise<ListedPage>;
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

/**
 * Reads rows as they are kept. Those of one row come in the order of their kinds: the wanted spec of a server, then the
 * server.
 */
export class RowReader {
  readonly #document: Pick<StoreDocument, 'tables'>;
  readonly #path: string;
  readonly #wanted = new Map<string, Spec>();

  /**
   * A wanted spec that is not among the rows is that of the server in `document`. `path` names the database in
   * messages.
   */
  constructor(document: Pick<StoreDocument, 'tables'>, path: string) {
    this.#document = document;
    this.#path = path;
  }

  /** Adds rows to the document. Other work runs meanwhile. */
  async add(rows: readonly KeptRow[], breathe: Breathe): Promise<void> {
    for (const kept of rows) {
      const row = this.read(kept);
      if (row !== undefined) setRow(this.#document.tables, row);
      await breathe();
    }
  }

  /**
   * Returns the row; undefined for a wanted spec, which becomes a part of its server. Throws StoreError for one of
   * another version.
   */
  read([kind, name, value]: KeptRow): Row | undefined {
    const fields = parseJson(value ?? 'null');
    if (kind === WANTED_KIND) {
      if (isMap(fields)) this.#wanted.set(name, fields as unknown as Spec);
      return undefined;
    }
    const { tables } = this.#document;
    if (!isRowKind(tables, kind)) throw newerVersion(this.#path, `rows of a kind it does not know, "${kind}"`);
    if (value === null) return { kind, name, value };
    const wanted = (kind === 'server' && (this.#wanted.get(name) ?? tables.server.get(name)?.wanted)) || undefined;
    this.#wanted.delete(name);
    return { kind, name, value: decodeRow(kind, fields, wanted) };
  }
}
