// Implements the store: one lowdb document in memory, which an adapter keeps. The embedded one, over a file, is open in
// one process at a time; several may share a database (postgres/). Writes are saved group by group; reads never wait.
import { resolve } from 'node:path';
import { Low } from 'lowdb';
import { type Breathe, breatheBy } from '../base/breathe.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { momentOf, reasonOf } from '../base/wording.ts';
import type { EventPage, EventRange, ListedPage, ListedRange, NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import { CommitQueue, changesToKeep, type Decision, decideGroup, type WaitingCommit } from './commit-queue.ts';
import { refuseNetwork } from './database.ts';
import {
  cutIntoPieces,
  type DocumentAdapter,
  type KeptLine,
  RowReader,
  type SharedChanges,
} from './document-adapter.ts';
import { eventOf, keptEvent, type StoredEvent } from './event-log.ts';
import { makeDirectory } from './files.ts';
import { lockDirectory } from './lock.ts';
import { ALL_EVENTS, type Piece } from './piece.ts';
import type { Row } from './row-json.ts';
import { SqliteAdapter } from './sqlite-adapter.ts';
import type { PrepareOthers, Store } from './store.ts';
import { emptyStoreDocument, rowsOf, type StoreDocument, setRow, type Tables } from './store-document.ts';
import { NotLeading, StoreError } from './store-error.ts';
import { storePath } from './store-file.ts';

/** The log, the clock, and limits that tests lower. */
export interface LowdbStoreOptions {
  readonly log?: Logger | undefined;
  readonly clock?: Clock;
  /** Returns what stands between the store and the adapter, for tests that let it fail. */
  readonly adapting?: ((adapter: DocumentAdapter) => DocumentAdapter) | undefined;
  /** Lets other work run during large commits; default: by the clock. */
  readonly breathe?: Breathe | undefined;
}

/**
 * Opens the store in `directory`, which is made where it is missing. Throws StoreError where another process has it,
 * where its files are damaged, and where they were written by another version.
 */
export async function createLowdbStore(directory: string, options: LowdbStoreOptions = {}): Promise<LowdbStore> {
  const path = resolve(directory);
  await makeDirectory(path);
  refuseNetwork(path);
  const lock = lockDirectory(path);
  try {
    const { clock = systemClock, breathe = breatheBy(clock) } = options;
    const sqlite = new SqliteAdapter({ path: storePath(path), isReadOnly: false, use: 'store' }, breathe);
    return await openStore(path, { ...options, adapter: options.adapting?.(sqlite) ?? sqlite, lock });
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

/**
 * Opens the store that an adapter keeps; the adapter and the lock, if there is one, are released with it. `path` names
 * it in messages. Throws StoreError where it cannot be read.
 */
export async function openStore(
  path: string,
  options: LowdbStoreOptions & { readonly adapter: DocumentAdapter; readonly lock?: Disposable },
): Promise<LowdbStore> {
  const { adapter, lock, log, clock = systemClock } = options;
  const { breathe = breatheBy(clock) } = options;
  const database = new Low<StoreDocument>(adapter, emptyStoreDocument());
  try {
    await database.read();
  } catch (error) {
    await adapter.close();
    throw error;
  }
  return new LowdbStore({ path, adapter, database, lock, log, clock, breathe });
}

interface Parts {
  readonly path: string;
  readonly adapter: DocumentAdapter;
  readonly database: Low<StoreDocument>;
  readonly lock: Disposable | undefined;
  readonly log: Logger | undefined;
  readonly clock: Clock;
  readonly breathe: Breathe;
}

/** What is to be saved of a group of commits. */
interface Plan extends Decision {
  readonly revision: number;
  readonly pieces: AsyncIterable<Piece>;
  readonly events: readonly StoredEvent[];
}

/** What of the document changes at once. */
interface Advance {
  readonly revision: number;
  readonly rowBytes: number;
  readonly rows: readonly Row[];
  readonly events: readonly StoredEvent[];
}

/** A store whose document is in memory. */
export class LowdbStore implements Store {
  readonly #parts: Parts;
  readonly #queue: CommitQueue;
  /** Of rows that other processes have written. */
  readonly #reader: RowReader;
  #prepareOthers: PrepareOthers = async () => async () => undefined;
  #savedBytes = 0;
  #failure: Store['failure'];
  /**
   * A commit was saved that could not be shown: only another start can read it, and nothing may be written meanwhile.
   */
  #unshown: StoreError | undefined;
  #refreshing: PromiseWithResolvers<void> | undefined;
  #writing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#queue = new CommitQueue();
    this.#reader = new RowReader(parts.database.data, parts.path);
  }

  get failure(): Store['failure'] {
    return this.#failure;
  }

  get savedBytes(): number {
    return this.#savedBytes;
  }

  /** The number of the last commit that `read` shows. */
  get revision(): number {
    return this.#document.revision;
  }

  get rowBytes(): number {
    return this.#document.rowBytes;
  }

  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined {
    return this.list(kind).get(name);
  }

  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]> {
    return this.#document.tables[kind];
  }

  async events(instance: string, range: EventRange): Promise<EventPage> {
    return this.#document.events.page(instance, range);
  }

  async listEvents(range: ListedRange): Promise<ListedPage> {
    return this.#document.events.list(range);
  }

  async commit(changes: readonly Change[], events: readonly NewEvent[] = []): Promise<void> {
    if (this.#closing !== undefined) throw new StoreError('The store is closed. Nothing was saved.');
    if (changes.length === 0 && events.length === 0) return;
    const done = this.#queue.add(changes, events);
    this.#writing ??= this.#writeAll();
    await done;
  }

  watchOthers(prepare: PrepareOthers): void {
    this.#prepareOthers = prepare;
  }

  /**
   * Resolves once `read` shows what other processes had committed before the call, where several share the database.
   * Throws StoreError where it cannot be read, and what {@link watchOthers} throws; then `read` is as before.
   */
  async refresh(): Promise<void> {
    if (this.#closing !== undefined) throw new StoreError('The store is closed.');
    this.#refreshing ??= Promise.withResolvers<void>();
    const { promise } = this.#refreshing;
    this.#writing ??= this.#writeAll();
    await promise;
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  get #document(): StoreDocument {
    return this.#parts.database.data;
  }

  async #finish(): Promise<void> {
    using _lock = this.#parts.lock;
    await this.#writing;
    await this.#parts.adapter.close();
  }

  /** Never rejects: what goes wrong is for those who wait, or for the log. */
  async #writeAll(): Promise<void> {
    // Commits of the same turn of the event loop share one write.
    await Promise.resolve();
    while (!this.#queue.isEmpty || this.#refreshing !== undefined) {
      if (this.#refreshing !== undefined) await this.#answerRefresh(this.#refreshing);
      if (!this.#queue.isEmpty) await this.#writeGroup(this.#queue.takeGroup());
    }
    this.#writing = undefined;
  }

  async #answerRefresh({ resolve, reject }: PromiseWithResolvers<void>): Promise<void> {
    // A later call may ask for a later moment.
    this.#refreshing = undefined;
    await this.#readChanges().then(resolve, reject);
  }

  async #writeGroup(group: readonly WaitingCommit[]): Promise<void> {
    try {
      const { accepted, refused } = await this.#save(group);
      for (const { settle } of accepted) settle.resolve();
      if (accepted.length > 0) this.#noteSuccess();
      // Refused last, so that the caller who reads again sees the conflicting change.
      for (const [{ settle }, conflict] of refused) settle.reject(conflict);
    } catch (error) {
      if (error instanceof ServiceError) {
        // What another process has written cannot be shown yet.
        for (const { settle } of group) settle.reject(error);
        return;
      }
      const failure = this.#explainFailure(error);
      const since = this.#failure?.since ?? momentOf(this.#parts.clock.now());
      // Who does not lead may not write; the store could.
      if (!(failure instanceof NotLeading)) this.#failure = { reason: failure.message, since };
      for (const { settle } of group) settle.reject(failure);
    }
  }

  #noteSuccess(): void {
    if (this.#failure) this.#parts.log?.info({ directory: this.#parts.path }, 'the store can be written again');
    this.#failure = undefined;
  }

  /** Saves the commits that find every row as they expect it. Returns which they are. */
  async #save(group: readonly WaitingCommit[]): Promise<Decision> {
    const { adapter } = this.#parts;
    // What the commit that failed has written may be there, and what other processes have.
    if (this.#failure !== undefined) await this.#readChanges();
    const plan = await this.#plan(group);
    if (plan.accepted.length === 0) return plan;
    if (this.#unshown !== undefined) throw this.#unshown;
    if (this.#failure !== undefined) await this.#regain();
    const { bytes, growth } = await adapter.commit(plan.revision, plan.pieces);
    this.#savedBytes += bytes;
    const { revision, events } = plan;
    const rows = plan.accepted.flatMap(({ changes }) => changes);
    await this.#advance({ revision, rowBytes: this.#document.rowBytes + growth, rows, events });
    return plan;
  }

  async #plan(group: readonly WaitingCommit[]): Promise<Plan> {
    const { breathe } = this.#parts;
    const document = this.#document;
    const { accepted, refused } = decideGroup(document.tables, group);
    const events = document.events.number(accepted.flatMap((commit) => commit.events));
    const pieces = cutIntoPieces(this.#linesOf(accepted, events), breathe);
    return { accepted, refused, events, pieces, revision: document.revision + 1 };
  }

  async #readChanges(): Promise<void> {
    const found: Advance[] = [];
    await this.#parts.adapter.readChanges?.(this.#document.revision, async (changes) => {
      found.push(await this.#readOthers(changes));
    });
    // Not within the transaction that read them: to prepare them may take long.
    for (const advance of found) await this.#showOthers(advance);
  }

  async #readOthers({ revision, rowBytes, isWhole, pieces }: SharedChanges): Promise<Advance> {
    if (this.#unshown !== undefined) throw this.#unshown;
    const rows: Row[] = [];
    const events: StoredEvent[] = isWhole ? dropAll(this.#document) : [];
    for await (const piece of pieces) {
      for (const kept of piece.rows) {
        const row = this.#reader.read(kept);
        if (row !== undefined) rows.push(row);
      }
      events.push(...piece.events.map(eventOf));
      await this.#parts.breathe();
    }
    const removed = isWhole ? removeOthers(this.#document, rows) : [];
    return { revision, rowBytes, rows: rows.concat(removed), events };
  }

  /**
   * Rows that did not change stay the very same, so that a commit that expects them is no conflict; not where
   * everything is read.
   */
  async #showOthers(advance: Advance): Promise<void> {
    const changes = changesBy(advance.rows, this.#document.tables);
    const onShown = await this.#prepareOthers(changes);
    let followed: Promise<void> | undefined;
    await this.#advance(advance, () => {
      followed = onShown();
    });
    // The process that wrote the events drops the old ones.
    this.#document.events.takeDropped();
    await followed;
  }

  /** Shows what is saved, and calls `onShown` in the same turn. */
  async #advance({ revision, rowBytes, rows, events }: Advance, onShown?: () => void): Promise<void> {
    const document = this.#document;
    try {
      document.events.add(events);
      // All rows change in one turn, in which their writers are answered: no reader sees half a commit.
      for (const row of rows) setRow(document.tables, row);
      document.rowBytes = rowBytes;
      document.revision = revision;
      onShown?.();
    } catch (error) {
      this.#unshown = unshownError(this.#parts.path, error);
      throw this.#unshown;
    }
  }

  /**
   * After a failure. The commit that failed may be in the file all the same; but nobody saw it, and those who made it
   * were told that nothing was saved. So the document replaces it. Where other processes have seen it, it was read from
   * the database instead.
   */
  async #regain(): Promise<void> {
    const { adapter, database } = this.#parts;
    if (adapter.readChanges !== undefined) return;
    if ((await adapter.revision()) !== this.#document.revision) await database.write();
  }

  *#linesOf(accepted: readonly WaitingCommit[], events: readonly StoredEvent[]): Generator<KeptLine> {
    for (const commit of accepted) for (const rows of changesToKeep(commit)) yield { rows };
    // Before the events that come after them. Where this commit fails, they stay until the next start drops them again.
    for (const event of this.#document.events.takeDropped()) yield { event };
    for (const event of events) yield { event: keptEvent(event) };
  }

  #explainFailure(error: unknown): StoreError {
    if (error instanceof StoreError) return error;
    const { path } = this.#parts;
    return new StoreError(
      `The store in ${path} could not be written: ${reasonOf(error)}. Nothing was saved. Free space on that disk or ` +
        'repair it; Treeline goes on by itself as soon as it can write.',
      { cause: error },
    );
  }
}

/** Returns what drops all events of a document. */
function dropAll({ events }: StoreDocument): StoredEvent[] {
  return Array.from(events.instances, (instance) => ({ instance, event: { dropped: ALL_EVENTS } }));
}

/** Returns what removes the rows of a document that are not among the given ones. */
function removeOthers({ tables }: StoreDocument, rows: readonly Row[]): readonly Row[] {
  const kept = new Set<string>();
  for (const { kind, name } of rows) kept.add(`${kind}/${name}`);
  const removed: Row[] = [];
  for (const { kind, name } of rowsOf(tables)) {
    if (!kept.has(`${kind}/${name}`)) removed.push({ kind, name, value: null });
  }
  return removed;
}

function unshownError(path: string, error: unknown): StoreError {
  return new StoreError(
    `The store in ${path} has saved a commit and failed then: ${reasonOf(error)}. It saves nothing more. ` +
      'Restart Treeline: it reads what was saved.',
    { cause: error },
  );
}

/** Returns rows that were read as changes of those in the tables. A removed row that was never known is none. */
function changesBy(rows: readonly Row[], tables: Tables): readonly Change[] {
  const changes: Change[] = [];
  for (const { kind, name, value } of rows) {
    const expected = tables[kind].get(name);
    if (value !== null || expected !== undefined) changes.push({ kind, name, value, expected } as Change);
  }
  return changes;
}
