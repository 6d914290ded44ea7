// Defines what keeps lowdb's document in a database, and what all such adapters share: a document is cut into pieces
// that the database takes one by one, and read from those that it holds.
import type { Breathe } from '../base/breathe.ts';
import { isMap, parseJson } from '../model/json.ts';
import type { Spec } from '../model/spec.ts';
import { eventOf, keptEvent } from './event-log.ts';
import { type Piece, ROW_FRAME_BYTES, type Saved } from './piece.ts';
import { decodeRow, type KeptRow, keptRows, type Row, WANTED_KIND } from './row-json.ts';
import { isRowKind, rowsOf, type StoreDocument, setRow } from './store-document.ts';
import { newerVersion } from './store-error.ts';

/** About how many characters of JSON a piece of a commit has. */
const COMMIT_PIECE_LENGTH = 1024 * 1024;

/** Keeps lowdb's document: an adapter of lowdb, with a commit of what changes. */
export interface DocumentAdapter {
  /** Returns what is kept: an empty document where nothing is yet. */
  read(): Promise<StoreDocument>;
  /** Replaces all that is kept. */
  write(document: StoreDocument): Promise<void>;
  /**
   * Saves all pieces or none, as the commit of that number, one more than the last. Resolves once they would survive a
   * power cut. Where it throws, nothing was saved, or `revision` is at least the given one.
   *
   * Throws StoreError if another process that shares the database has committed since: read its changes first.
   */
  commit(revision: number, pieces: AsyncIterable<Piece>): Promise<Saved>;
  /**
   * The number of the last commit that is kept. It may be one more than that of the last that `commit` has resolved
   * for, if a disk failed.
   */
  revision(): Promise<number>;
  /**
   * Calls `show` with what other processes have committed after that revision, as of one moment, if they have. An
   * adapter whose database belongs to one process does not have this.
   */
  readChanges?(since: number, show: (changes: SharedChanges) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** What is in a database and was committed after a revision. */
export interface SharedChanges {
  /** The newest commit among them. */
  readonly revision: number;
  /** Bytes that all rows take after it. */
  readonly rowBytes: number;
  /** These are all rows and events that there are: what was removed since may have left no mark. */
  readonly isWhole: boolean;
  /**
   * The newest of each row; one without a value was removed. Events come in the order of their ids, after what drops
   * older ones.
   */
  readonly pieces: AsyncIterable<Piece>;
}

/** One line of a document: what is kept of a row, or of an event. */
export type KeptLine = { readonly rows: readonly KeptRow[] } | { readonly event: Piece['events'][number] };

/** Yields lines in pieces of a commit, each made once the one before was taken. */
export async function* cutIntoPieces(lines: Iterator<KeptLine>, breathe: Breathe): AsyncGenerator<Piece> {
  for (let isLast = false; !isLast; ) {
    const rows: KeptRow[] = [];
    const events: Piece['events'][number][] = [];
    isLast = fill(lines, { rows, events });
    await breathe();
    yield { rows, events };
  }
}

/** Fills a piece, and returns true where nothing comes after it. */
function fill(
  lines: Iterator<KeptLine>,
  piece: { readonly rows: KeptRow[]; readonly events: Piece['events'][number][] },
): boolean {
  let length = 0;
  for (;;) {
    const { done, value } = lines.next();
    if (done === true) return true;
    if ('rows' in value) piece.rows.push(...value.rows);
    else piece.events.push(value.event);
    const kept = 'rows' in value ? value.rows : [value.event];
    for (const [, , json] of kept) length += json?.length ?? 0;
    if (length > COMMIT_PIECE_LENGTH) return false;
  }
}

/** Yields everything that a document holds. */
export function* linesToKeep({ tables, events }: StoreDocument): Generator<KeptLine> {
  for (const row of rowsOf(tables)) yield { rows: keptRows(row, undefined) };
  for (const event of events.stored()) yield { event: keptEvent(event) };
}

/** Adds what a database holds to a document. */
export class DocumentReader {
  readonly #document: StoreDocument;
  readonly #rows: RowReader;

  constructor(document: StoreDocument, path: string) {
    this.#document = document;
    this.#rows = new RowReader(document, path);
  }

  add({ rows, events }: Piece): void {
    for (const row of rows) this.#addRow(row);
    this.#document.events.add(events.map(eventOf));
  }

  #addRow(kept: KeptRow): void {
    const document = this.#document;
    const [kind, name, value] = kept;
    document.rowBytes += Buffer.byteLength(`${kind}${name}${value}`) + ROW_FRAME_BYTES;
    const row = this.#rows.read(kept);
    if (row !== undefined) setRow(document.tables, row);
  }
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
