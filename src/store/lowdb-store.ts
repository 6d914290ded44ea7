// Implements the store: one lowdb document in memory, which an adapter saves. Only one process opens the file of the
// embedded store; several may share a database (postgres/). Commits are saved in groups; reads never wait.
import { resolve } from 'node:path';
import { Low } from 'lowdb';
import { type Breathe, breatheBy } from '../base/breathe.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { invariant } from '../base/invariant.ts';
import type { Logger } from '../base/log.ts';
import { reasonOf, toRfc3339 } from '../base/wording.ts';
import type { EventRange, ListedPage, NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import { refuseNetwork } from './database.ts';
import { EVENTS_A_TRIM, keptEvents } from './event-table.ts';
import { makeDirectory } from './files.ts';
import { lockDirectory } from './lock.ts';
import { type KeptRow, keptRow, type Row, readRow } from './row-json.ts';
import { SqliteAdapter } from './sqlite-adapter.ts';
import type { Store } from './store.ts';
import {
  type DocumentAdapter,
  emptyStoreDocument,
  rowsOf,
  type SharedChanges,
  type StoreDocument,
  setRow,
  type Tables,
} from './store-document.ts';
import { NotLeading, StoreError } from './store-error.ts';
import { storePath } from './store-file.ts';

/** The log, the clock, and limits for tests. */
export interface LowdbStoreOptions {
  readonly log?: Logger | undefined;
  readonly clock?: Clock;
  /** Lets other work run while many rows are read or encoded; default: by the clock. */
  readonly breathe?: Breathe | undefined;
  /** Called with the duration of each save, in milliseconds. */
  readonly onSaved?: ((ms: number) => void) | undefined;
}

/**
 * Opens the store in `directory`, which is created if missing. Throws StoreError if another process uses it, if its
 * files are damaged, or if another version wrote them.
 */
export async function createLowdbStore(directory: string, options: LowdbStoreOptions = {}): Promise<LowdbStore> {
  const path = resolve(directory);
  await makeDirectory(path);
  refuseNetwork(path);
  const lock = lockDirectory(path);
  try {
    const { clock = systemClock, breathe = breatheBy(clock) } = options;
    const adapter = new SqliteAdapter({ path: storePath(path), isReadOnly: false, use: 'store' }, breathe);
    return await openStore(path, { ...options, adapter, lock });
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

/**
 * Opens the store of an adapter. Closing it closes the adapter and releases the lock, if any. `path`: its name in
 * messages. Throws StoreError if it cannot be read.
 */
export async function openStore(
  path: string,
  options: LowdbStoreOptions & { readonly adapter: DocumentAdapter; readonly lock?: Disposable },
): Promise<LowdbStore> {
  const { adapter, clock = systemClock, breathe = breatheBy(clock) } = options;
  const database = new Low<StoreDocument>(adapter, emptyStoreDocument());
  try {
    await database.read();
  } catch (error) {
    await adapter.close();
    throw error;
  }
  return new LowdbStore({ ...options, path, database, clock, breathe });
}

const WAITING_MAX = 10_000;
/** The limit of a group. A single commit may have more rows, because it may change every row. */
const GROUP_ROWS_MAX = 10_000;

/** A commit that is not yet saved. */
interface WaitingCommit {
  readonly changes: readonly Change[];
  readonly events: readonly NewEvent[];
  readonly settle: PromiseWithResolvers<void>;
}

/** The commits of a group to write, and those to refuse. */
interface Decision {
  readonly accepted: readonly WaitingCommit[];
  /** The commits that conflict, each with its error. */
  readonly refused: ReadonlyMap<WaitingCommit, ServiceError>;
}

/** Accepts the commits whose rows are as expected, each on top of the accepted commits before it. */
function decideGroup(tables: Tables, group: readonly WaitingCommit[]): Decision {
  const written = new Map<string, Rows[RowKind] | undefined>();
  const accepted: WaitingCommit[] = [];
  const refused = new Map<WaitingCommit, ServiceError>();
  for (const commit of group) {
    const stale = commit.changes.find((change) => currentOf(change) !== change.expected);
    if (stale !== undefined) {
      refused.set(commit, conflictOf(stale));
      continue;
    }
    accepted.push(commit);
    for (const change of commit.changes) written.set(keyOf(change), change.value ?? undefined);
  }
  return { accepted, refused };

  function currentOf(change: Change): Rows[RowKind] | undefined {
    const key = keyOf(change);
    return written.has(key) ? written.get(key) : tables[change.kind].get(change.name);
  }
}

/** Returns a unique key of the row. */
function keyOf({ kind, name }: Change): string {
  return `${kind}/${name}`;
}

function conflictOf({ kind, name }: Change): ServiceError {
  return new ServiceError('conflict', `The recorded ${kind} "${name}" was changed meanwhile. Read it again and retry.`);
}

interface Parts extends Pick<LowdbStoreOptions, 'log' | 'onSaved'> {
  readonly path: string;
  readonly adapter: DocumentAdapter;
  readonly database: Low<StoreDocument>;
  readonly lock?: Disposable;
  readonly clock: Clock;
  readonly breathe: Breathe;
}

/** A store whose document is in memory. */
export class LowdbStore implements Store {
  readonly #parts: Parts;
  /** Waiting commits in order of arrival. Commits that arrive during a write form the next group. */
  #waiting: WaitingCommit[] = [];
  #followOthers: (changes: readonly Change[]) => Promise<void> = async () => undefined;
  #failure: Store['failure'];
  /** Events since the last trim. Starts at the limit, so the first commit trims what an earlier process left. */
  #newEvents = EVENTS_A_TRIM;
  #refreshing: PromiseWithResolvers<void> | undefined;
  #writing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get failure(): Store['failure'] {
    return this.#failure;
  }

  /** The name of the store's place in messages. */
  get path(): string {
    return this.#parts.path;
  }

  /** The number of the last commit that `read` shows. */
  get revision(): number {
    return this.#document.revision;
  }

  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined {
    return this.list(kind).get(name);
  }

  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]> {
    return this.#document.tables[kind];
  }

  events(range: EventRange): Promise<ListedPage> {
    return this.#parts.adapter.events(range);
  }

  async commit(changes: readonly Change[], events: readonly NewEvent[] = []): Promise<void> {
    if (this.#closing !== undefined) throw new StoreError('The store is closed. Nothing was saved.');
    if (changes.length === 0 && events.length === 0) return;
    if (this.#waiting.length >= WAITING_MAX) {
      throw new StoreError(`${WAITING_MAX} commits wait for the disk already. Nothing was saved; try again later.`);
    }
    invariant(new Set(changes.map(keyOf)).size === changes.length, 'a commit names no row twice');
    const settle = Promise.withResolvers<void>();
    this.#waiting.push({ changes, events, settle });
    this.#writing ??= this.#writeAll();
    await settle.promise;
  }

  watchOthers(follow: (changes: readonly Change[]) => Promise<void>): void {
    this.#followOthers = follow;
  }

  /**
   * Resolves when `read` shows all commits that other processes of a shared database made before the call. Throws
   * StoreError if the database cannot be read; then `read` is unchanged.
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

  /** Never rejects: the callers of `commit` and `refresh` get the errors. */
  async #writeAll(): Promise<void> {
    // Commits of the same turn of the event loop share one write.
    await Promise.resolve();
    while (this.#waiting.length > 0 || this.#refreshing !== undefined) {
      if (this.#refreshing !== undefined) await this.#answerRefresh(this.#refreshing);
      if (this.#waiting.length > 0) await this.#writeGroup(this.#takeGroup());
    }
    this.#writing = undefined;
  }

  /** Removes and returns the commits to write next. */
  #takeGroup(): readonly WaitingCommit[] {
    let rows = 0;
    const end = this.#waiting.findIndex(({ changes, events }, index) => {
      rows += changes.length + events.length;
      return index > 0 && rows > GROUP_ROWS_MAX;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #answerRefresh({ resolve, reject }: PromiseWithResolvers<void>): Promise<void> {
    // A later call needs a new read.
    this.#refreshing = undefined;
    await this.#readChanges().then(resolve, reject);
  }

  async #writeGroup(group: readonly WaitingCommit[]): Promise<void> {
    try {
      const { accepted, refused } = await this.#save(group);
      for (const { settle } of accepted) settle.resolve();
      if (accepted.length > 0) this.#noteSuccess();
      // Refused last, so that a caller that reads again sees the conflicting change.
      for (const [{ settle }, conflict] of refused) settle.reject(conflict);
    } catch (error) {
      const failure = this.#explainFailure(error);
      const since = this.#failure?.since ?? toRfc3339(this.#parts.clock.now());
      // A refused write of a process that does not lead is no failure of the store.
      if (!(failure instanceof NotLeading)) this.#failure = { reason: failure.message, since };
      for (const { settle } of group) settle.reject(failure);
    }
  }

  #noteSuccess(): void {
    if (this.#failure) this.#parts.log?.info({ directory: this.#parts.path }, 'the store can be written again');
    this.#failure = undefined;
  }

  /** Saves the accepted commits. Resolves with the decision. */
  async #save(group: readonly WaitingCommit[]): Promise<Decision> {
    const { database, clock, breathe, onSaved } = this.#parts;
    const document = this.#document;
    const decision = decideGroup(document.tables, group);
    const { accepted } = decision;
    if (accepted.length === 0) return decision;
    const changes = accepted.flatMap((commit) => commit.changes);
    const events = keptEvents(
      accepted.flatMap((commit) => commit.events),
      document.lastEvent,
    );
    const since = document.revision;
    const rows: KeptRow[] = [];
    for (const change of changes) {
      rows.push(keptRow(change));
      await breathe();
    }
    const isTrim = this.#newEvents + events.length >= EVENTS_A_TRIM;
    document.unsaved = { since, revision: since + 1, rows, events, isTrim };
    const begin = clock.monotonic();
    await database.write();
    onSaved?.(clock.monotonic() - begin);
    this.#newEvents = isTrim ? 0 : this.#newEvents + events.length;
    this.#show(changes, { revision: since + 1, lastEvent: events.at(-1)?.[0] ?? document.lastEvent });
    return decision;
  }

  async #readChanges(): Promise<void> {
    const shared = await this.#parts.adapter.readChanges?.(this.#document.revision);
    if (shared === undefined) return;
    const changes = changesBy(await this.#readOthers(shared), this.#document.tables);
    this.#show(changes, shared);
    await this.#followOthers(changes);
  }

  async #readOthers({ isWhole, rows }: SharedChanges): Promise<readonly Row[]> {
    const read: Row[] = [];
    for (const kept of rows) {
      read.push(readRow(kept, this.#parts.path));
      await this.#parts.breathe();
    }
    return isWhole ? [...read, ...removeOthers(this.#document, read)] : read;
  }

  /** Changes all rows and answers their writers in one turn, so that no reader sees a partial commit. */
  #show(rows: readonly Row[], { revision, lastEvent }: Pick<StoreDocument, 'revision' | 'lastEvent'>): void {
    const document = this.#document;
    for (const row of rows) setRow(document.tables, row);
    Object.assign(document, { revision, lastEvent, unsaved: undefined });
  }

  #explainFailure(error: unknown): StoreError {
    if (error instanceof StoreError) return error;
    const { path } = this.#parts;
    return new StoreError(
      `The store in ${path} could not be written: ${reasonOf(error)}. Nothing was saved. Free space on that disk or ` +
        'repair it; Treeline continues automatically when it can write.',
      { cause: error },
    );
  }
}

/** Returns the removals of the document's rows that are not among the given rows. */
function removeOthers({ tables }: StoreDocument, rows: readonly Row[]): readonly Row[] {
  const kept = new Set<string>();
  for (const { kind, name } of rows) kept.add(`${kind}/${name}`);
  const removed: Row[] = [];
  for (const { kind, name } of rowsOf(tables)) {
    if (!kept.has(`${kind}/${name}`)) removed.push({ kind, name, value: null });
  }
  return removed;
}

/** Returns the read rows as changes of the tables. Ignores removals of unknown rows. */
function changesBy(rows: readonly Row[], tables: Tables): readonly Change[] {
  const changes: Change[] = [];
  for (const { kind, name, value } of rows) {
    const expected = tables[kind].get(name);
    if (value !== null || expected !== undefined) changes.push({ kind, name, value, expected } as Change);
  }
  return changes;
}
