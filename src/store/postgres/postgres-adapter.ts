// Keeps lowdb's document in a PostgreSQL database, which several processes share. Each commit is one transaction that
// locks the row of the state first, so commits come one after the other, and their revisions are seen in order.
import { type Breathe, breatheBy } from '../../base/breathe.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { reasonOf } from '../../base/wording.ts';
import {
  cutIntoPieces,
  type DocumentAdapter,
  DocumentReader,
  linesToKeep,
  type SharedChanges,
} from '../document-adapter.ts';
import { type LowdbStore, type LowdbStoreOptions, openStore } from '../lowdb-store.ts';
import { ALL_EVENTS, type KeptEvent, type Piece, ROW_FRAME_BYTES, type Saved } from '../piece.ts';
import type { KeptRow } from '../row-json.ts';
import { emptyStoreDocument, type StoreDocument } from '../store-document.ts';
import { NotLeading, StoreError } from '../store-error.ts';
import { DatabaseConnections, type DatabaseOptions, type RunStatement } from './connection.ts';
import { type CommitLease, limitCommits } from './lease.ts';
import { requireSchema } from './migrate.ts';
import { databaseError, LostCommit } from './postgres-error.ts';
import {
  CHANGED_EVENTS,
  CHANGED_ROWS,
  CLOSE_LINES,
  DROP_EVENTS,
  END_LEASES,
  FENCE,
  FINISH,
  fetchLines,
  LEASE,
  LOCKED_STATE,
  NO_BYTES,
  REMOVE_EVENTS,
  REMOVE_ROWS,
  SAVE_EVENTS,
  SAVE_ROWS,
  STATE,
  TERM,
} from './statements.ts';

/** About how many characters are fetched at once. */
const BATCH_LENGTH = 256 * 1024;
const BATCH_COUNT_MAX = 2_000;
const FIRST_BATCH_COUNT = 100;
/** How often the outcome of a commit is looked up whose connection was lost. */
const LOOK_UPS_MAX = 8;

/**
 * As of every store, and the lease of the process that may commit. Without one, which is for `treeline store restore`
 * and tests, every process may commit, and nothing fences it.
 */
export interface PostgresStoreOptions extends LowdbStoreOptions {
  readonly lease?: CommitLease | undefined;
}

/** Opens the store in a database whose tables are there. Throws StoreError where it cannot be read. */
export async function openPostgresStore(
  database: DatabaseOptions,
  options: PostgresStoreOptions = {},
): Promise<LowdbStore> {
  const { clock = systemClock, breathe = breatheBy(clock as Clock) } = options;
  const postgres = new PostgresAdapter(database, breathe, options);
  const adapter = options.adapting?.(postgres) ?? postgres;
  return await openStore(postgres.name, { ...options, adapter });
}

/** What the database says of itself. */
interface State {
  readonly revision: number;
  readonly bytes: number;
  /** Made with the tables. */
  readonly installation: string;
  /** That of the last process that took the lease. */
  readonly fencing: number;
  /** Marks up to this commit may be gone. */
  readonly forgotten: number;
}

/** A database with the tables of a store. */
export class PostgresAdapter implements DocumentAdapter {
  readonly #connections: DatabaseConnections;
  readonly #breathe: Breathe;
  readonly #lease: CommitLease | undefined;
  #installation: string | undefined;
  /**
   * The fencing numbers under which the last commits were made that this process has read or written, by their
   * revisions.
   */
  #terms: ReadonlyMap<number, number> = new Map();

  constructor(options: DatabaseOptions, breathe: Breathe, { lease }: Pick<PostgresStoreOptions, 'lease'> = {}) {
    const limits = lease === undefined ? options.limits : limitCommits(lease.leaseSeconds, options.limits);
    this.#connections = new DatabaseConnections({ ...options, ...(limits === undefined ? {} : { limits }) });
    this.#breathe = breathe;
    this.#lease = lease;
  }

  /** How messages name the database. */
  get name(): string {
    return this.#connections.name;
  }

  async read(): Promise<StoreDocument> {
    const document = emptyStoreDocument();
    const reader = new DocumentReader(document, this.name);
    await this.#connections.read(async (run) => {
      await requireSchema(run, this.#connections.address);
      const state = await this.#readState(run, STATE);
      const bytes = { read: 0 };
      for await (const piece of this.#readPieces(run, { since: 0, last: state.revision, bytes })) {
        reader.add(piece);
        await this.#breathe();
      }
      if (bytes.read !== state.bytes) {
        throw this.#damaged(`its rows take ${bytes.read} bytes, and ${state.bytes} were written`);
      }
      document.revision = state.revision;
      document.rowBytes = state.bytes;
      this.#terms = new Map([[state.revision, await readTerm(run, state.revision)]]);
    });
    return document;
  }

  /** The document gets the number of a commit that comes after all others. Without a lease, nobody else may hold it. */
  async write(document: StoreDocument): Promise<void> {
    const lines = cutIntoPieces(linesToKeep(document), this.#breathe);
    const fencing = this.#requireLead();
    await this.#connections.write(async (run) => {
      if (this.#lease === undefined) await this.#endLeases(run);
      const state = await this.#readState(run, LOCKED_STATE);
      this.#requireFencing(state, fencing);
      const revision = Math.max(state.revision, document.revision) + 1;
      await run(REMOVE_ROWS, [revision]);
      await run(REMOVE_EVENTS, [revision, ALL_EVENTS]);
      await run(NO_BYTES);
      await this.#save(run, revision, lines);
      document.revision = revision;
    });
  }

  async commit(revision: number, pieces: AsyncIterable<Piece>): Promise<Saved> {
    let saved: Saved = { bytes: 0, growth: 0 };
    const fencing = this.#requireLead();
    let term = fencing ?? 0;
    try {
      await this.#connections.write(async (run) => {
        const state = await this.#readState(run, LOCKED_STATE);
        this.#requireFencing(state, fencing);
        if (state.revision < revision - 1) throw this.#setBack(state.revision, revision - 1);
        if (state.revision >= revision) throw this.#changed(state.revision, revision - 1);
        term = fencing ?? (await readTerm(run, revision));
        saved = await this.#save(run, revision, pieces);
      });
    } catch (error) {
      if (error instanceof NotLeading || !(error instanceof StoreError)) throw error;
      if (!(error instanceof LostCommit)) throw notSaved(error);
      if (!(await this.#isCommitted(revision, term))) throw notSaved(error);
    }
    this.#terms = new Map([[revision, term]]);
    return saved;
  }

  revision(): Promise<number> {
    return this.#connections.read(async (run) => (await this.#readState(run, STATE)).revision);
  }

  async readChanges(since: number, show: (changes: SharedChanges) => Promise<void>): Promise<void> {
    await this.#connections.read(async (run) => {
      const state = await this.#readState(run, STATE);
      if (state.revision < since) throw this.#setBack(state.revision, since);
      const changes = await this.#changes(run, since, state);
      if (state.revision > since) await show(changes);
    });
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Returns the fencing number that this process leads with; undefined where nobody has to lead. */
  #requireLead(): number | undefined {
    const fencing = this.#lease?.fencing;
    if (this.#lease === undefined || fencing !== undefined) return fencing;
    throw new NotLeading(`This process does not lead, so it may not change ${this.name}. Nothing was saved.`);
  }

  /** The lock on the state is held: nobody takes the lease before this transaction ends. */
  #requireFencing({ fencing: there }: State, fencing: number | undefined): void {
    if (this.#requireLead() === fencing && (fencing === undefined || there === fencing)) return;
    throw new NotLeading(
      `Another process leads ${this.name} with the fencing number ${there}; this one had ${fencing}. Nothing was saved.`,
    );
  }

  /** Also a leader that hangs at present may not commit any more. Throws StoreError where one leads. */
  async #endLeases(run: RunStatement): Promise<void> {
    const [[fencing] = []] = await run(END_LEASES);
    if (fencing !== undefined) await run(FENCE, [fencing]);
    else {
      const [[holder] = []] = await run(LEASE);
      throw databaseError(this.#connections.address, {
        why: `is in use: the replica "${holder}" leads`,
        remedy: 'Stop all replicas first. Nothing was changed.',
      });
    }
  }

  /**
   * Throws StoreError if another leader made the commit `since` than this process has seen: the database was set back,
   * and has new commits.
   */
  async #changes(run: RunStatement, since: number, { revision, bytes, forgotten }: State): Promise<SharedChanges> {
    const term = await readTerm(run, since);
    if (term !== (this.#terms.get(since) ?? term)) throw this.#setBack(revision, since);
    this.#terms = new Map([
      [since, term],
      [revision, await readTerm(run, revision)],
    ]);
    const isWhole = since < forgotten;
    const range = { since: isWhole ? 0 : since, last: revision, bytes: { read: 0 } };
    return { revision, rowBytes: bytes, isWhole, pieces: this.#readPieces(run, range) };
  }

  /**
   * Yields what is newer than a revision, and counts the bytes of its rows. Throws StoreError where a line is not as it
   * was written.
   */
  async *#readPieces(
    run: RunStatement,
    { since, last, bytes }: { readonly since: number; readonly last: number; readonly bytes: { read: number } },
  ): AsyncGenerator<Piece> {
    for await (const lines of readLines(run, CHANGED_ROWS, since)) {
      const rows: KeptRow[] = [];
      for (const [kind, name, value, revision] of lines) {
        const row: KeptRow = [readName(kind), readName(name), value as string | null];
        this.#checkRevision(`the row of the ${row[0]} "${row[1]}"`, Number(revision), last);
        if (value !== null) bytes.read += bytesOf(String(kind), String(name), String(value));
        rows.push(row);
      }
      await this.#breathe();
      yield { rows, events: [] };
    }
    for await (const lines of readLines(run, CHANGED_EVENTS, since)) {
      const events: KeptEvent[] = [];
      for (const [instance, id, value, revision] of lines) {
        const row: KeptEvent = [readName(instance), Number(id), value as string | null];
        this.#checkRevision(`the event ${row[1]} of "${row[0]}"`, Number(revision), last);
        events.push(row);
      }
      await this.#breathe();
      yield { rows: [], events };
    }
  }

  #checkRevision(what: string, revision: number, last: number): void {
    if (revision > last) throw this.#damaged(`${what} is of commit ${revision}, and the last commit is ${last}`);
  }

  /** Writes all pieces of a commit. The lock on the state is held. */
  async #save(run: RunStatement, revision: number, pieces: AsyncIterable<Piece>): Promise<Saved> {
    const saved = { bytes: 0, growth: 0 };
    for await (const piece of pieces) {
      const { rows, events, dropped, bytes, growth } = encodePiece(piece);
      if (rows.keys.length > 0) {
        const [[before] = []] = await run(SAVE_ROWS, [rows.groups, rows.keys, rows.values, revision]);
        saved.growth += growth - Number(before);
      }
      if (dropped.keys.length > 0) await run(DROP_EVENTS, [dropped.groups, dropped.keys]);
      if (events.keys.length > 0) {
        await run(SAVE_EVENTS, [events.groups, events.keys, events.values, revision]);
      }
      saved.bytes += bytes;
    }
    const finished = await run(FINISH, [revision, saved.growth]);
    if (finished.length !== 1)
      throw this.#damaged(`it is beyond commit ${revision} although no other process could commit`);
    return saved;
  }

  /** Returns true if a commit is there whose connection was lost. Throws StoreError if that cannot be read. */
  async #isCommitted(revision: number, term: number): Promise<boolean> {
    let reason = '';
    for (let count = 0; count < LOOK_UPS_MAX; count++) {
      if (count > 0) await this.#connections.pause();
      try {
        return await this.#connections.write(async (run) => {
          // A transaction that has not ended at the server still has the lock.
          const state = await this.#readState(run, LOCKED_STATE);
          return state.revision >= revision && (await readTerm(run, revision)) === term;
        });
      } catch (error) {
        reason = reasonOf(error);
      }
    }
    throw new StoreError(
      `${reason} The connection was lost during a commit. Whether it was saved shows before the next one, when the database can be read.`,
    );
  }

  async #readState(run: RunStatement, statement: string): Promise<State> {
    const [[revision, bytes, installation, fencing, forgotten] = []] = await run(statement);
    const state: State = {
      revision: Number(revision),
      bytes: Number(bytes),
      installation: String(installation),
      fencing: Number(fencing),
      forgotten: Number(forgotten),
    };
    this.#installation ??= state.installation;
    if (this.#installation === state.installation) return state;
    throw databaseError(this.#connections.address, {
      why: 'is another one than at the start: it has the rows of another installation',
      remedy: 'Restart Treeline if that is meant; otherwise correct the URL.',
    });
  }

  #changed(there: number, known: number): StoreError {
    return databaseError(this.#connections.address, {
      why: `has the commit ${there} of another process, and this one has read the commit ${known}`,
      remedy: 'It is read before the next commit.',
    });
  }

  #setBack(there: number, known: number): StoreError {
    return databaseError(this.#connections.address, {
      why:
        there < known
          ? `was set back: its last commit is ${there}, and this process has seen ${known}`
          : `was set back: its commit ${known} is another one than this process has seen`,
      remedy: 'Restart Treeline, so that it reads what is there.',
    });
  }

  #damaged(what: string): StoreError {
    return databaseError(this.#connections.address, {
      why: `is damaged: ${what}`,
      remedy: 'It was whole when it was written, so look at who else writes to the schema treeline. Restore a backup.',
    });
  }
}

function notSaved(error: Error): StoreError {
  return new StoreError(`${error.message} Nothing was saved.`, { cause: error });
}

/** Returns the fencing number of the leader that made a commit; 0: none has led yet. */
async function readTerm(run: RunStatement, revision: number): Promise<number> {
  const [[fencing = 0] = []] = await run(TERM, [revision]);
  return Number(fencing);
}

/** Yields the lines of a cursor, so many at once that they are about as long as a batch. */
async function* readLines(
  run: RunStatement,
  cursor: string,
  since: number,
): AsyncGenerator<readonly (readonly unknown[])[]> {
  await run(cursor, [since]);
  for (let count = FIRST_BATCH_COUNT; ; ) {
    const lines = await run(fetchLines(count));
    if (lines.length > 0) yield lines;
    if (lines.length < count) break;
    const length = lines.reduce((sum, [, , value]) => sum + String(value).length, 1);
    count = Math.max(1, Math.min(BATCH_COUNT_MAX, Math.floor((BATCH_LENGTH * count) / length)));
  }
  await run(CLOSE_LINES);
}

/** Lines as the columns of a statement. */
interface Columns {
  readonly groups: string[];
  readonly keys: (string | number)[];
  readonly values: (string | null)[];
}

function emptyColumns(): Columns {
  return { groups: [], keys: [], values: [] };
}

function addLine(columns: Columns, line: KeptRow | KeptEvent): void {
  const [group, key, value] = line;
  columns.groups.push(writeName(group));
  columns.keys.push(typeof key === 'number' ? key : writeName(key));
  columns.values.push(value);
}

/** Returns the lines of a piece as columns, with the last of each row and the greatest mark of each instance. */
function encodePiece(piece: Piece): { rows: Columns; events: Columns; dropped: Columns } & Saved {
  const [rows, events, dropped] = [emptyColumns(), emptyColumns(), emptyColumns()];
  const lastRows = new Map<string, KeptRow>();
  const marks = new Map<string, KeptEvent>();
  let bytes = 0;
  let growth = 0;
  for (const row of piece.rows) lastRows.set(`${row[0]}/${row[1]}`, row);
  for (const row of lastRows.values()) {
    addLine(rows, row);
    const length = bytesOf(writeName(row[0]), writeName(row[1]), row[2] ?? '');
    bytes += length;
    if (row[2] !== null) growth += length;
  }
  for (const event of piece.events) {
    const [instance, id, value] = event;
    bytes += (value?.length ?? 0) + ROW_FRAME_BYTES;
    if (value !== null) addLine(events, event);
    else if (id > (marks.get(instance)?.[1] ?? 0)) marks.set(instance, event);
  }
  for (const mark of marks.values()) {
    addLine(dropped, mark);
    addLine(events, mark);
  }
  return { rows, events, dropped, bytes, growth };
}

/** Counts what SAVE_ROWS counts. */
function bytesOf(kind: string, name: string, value: string): number {
  return Buffer.byteLength(`${kind}${name}${value}`) + ROW_FRAME_BYTES;
}

/**
 * Returns a name as text of PostgreSQL, which has no NUL and no half of a surrogate pair. Ordinary names stay as they
 * are.
 */
function writeName(name: string): string {
  return name.replaceAll(/[\\\0]|\p{Surrogate}/gu, (character) =>
    character === '\\' ? '\\\\' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns the name that {@link writeName} wrote. */
function readName(text: unknown): string {
  return String(text).replaceAll(/\\(?:\\|u([0-9a-f]{4}))/g, (_all, code: string | undefined) =>
    code === undefined ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
