// Implements the embedded store: one lowdb document in memory, made durable by a journal and an occasional snapshot.
// One process opens it at a time. Writes reach the disk group by group; reads never wait.
import { resolve } from 'node:path';
import { Low } from 'lowdb';
import { type Clock, systemClock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { EventPage, EventRange, NewEvent } from '../model/instance-event.ts';
import { momentOf } from '../model/moment.ts';
import { reasonOf } from '../model/quote.ts';
import type { Change, RowKind, Rows } from '../model/rows.ts';
import { visitAll } from '../model/steps.ts';
import { createSlices, type RunInSlices } from '../slices.ts';
import { CommitQueue, decideGroup, type WaitingCommit } from './commit-queue.ts';
import { diskFiles, type Files, makeDirectory } from './files.ts';
import { GroupLines } from './group-lines.ts';
import { JOURNAL_BYTES_MAX } from './journal.ts';
import { JournalAdapter } from './journal-adapter.ts';
import { type DirectoryLock, lockDirectory } from './lock.ts';
import { ShownRows } from './shown-rows.ts';
import type { EqualRows, Store } from './store.ts';
import { emptyStoreDocument, type StoreDocument } from './store-document.ts';
import { StoreError } from './store-error.ts';

/** A journal below this is never worth a snapshot. */
const COMPACTION_BYTES = 4 * 1024 * 1024;
/** Beyond this a snapshot is written however large it is, so that the journal never comes near its limit. */
const JOURNAL_BYTES_LARGE = JOURNAL_BYTES_MAX / 4;
/** To change so many rows in place takes one or two milliseconds; to copy a table that has many more would take longer. */
const CHANGED_IN_PLACE = 5_000;
/** A record is made and checked in one go. */
const RECORD_LENGTH = 2 * 1024 * 1024;

/** The log, the clock, and limits that tests lower. */
export interface LowdbStoreOptions {
  readonly log?: Logger;
  readonly clock?: Clock;
  /** The files to use; those of the disk unless a test passes others. */
  readonly files?: Files;
  /** The journal's length from which a snapshot is considered. */
  readonly compactionBytes?: number;
  /** From which length on it is written anew, however large the snapshot. */
  readonly journalBytesLarge?: number;
  /** About how many characters of JSON a record of the journal has at most; a larger group of commits takes several. */
  readonly recordLength?: number;
  /** More changes than this are made in copies of their tables, which replace them: the step that shows them stays short. */
  readonly changedInPlace?: number;
  /** Runs the work of large commits in slices; default: by the machine's clock. */
  readonly inSlices?: RunInSlices | undefined;
}

/**
 * Opens the store in `directory`, which is made where it is missing. Throws StoreError where another process has it,
 * where its files are damaged, and where they were written by another version.
 */
export async function createLowdbStore(directory: string, options: LowdbStoreOptions = {}): Promise<Store> {
  const path = resolve(directory);
  await makeDirectory(path);
  return openStore(path, lockDirectory(path), options);
}

/**
 * Opens the store in a directory that is there and locked; the lock is released with it. For tests whose files are not on
 * the disk. Throws like {@link createLowdbStore}.
 */
export async function openStore(path: string, lock: DirectoryLock, options: LowdbStoreOptions): Promise<Store> {
  const { files = diskFiles, log, compactionBytes = COMPACTION_BYTES } = options;
  const { journalBytesLarge = JOURNAL_BYTES_LARGE, recordLength = RECORD_LENGTH } = options;
  const { clock = systemClock, inSlices = createSlices(clock), changedInPlace = CHANGED_IN_PLACE } = options;
  const adapter = new JournalAdapter({ files, directory: path, log, recordLength, inSlices });
  const database = new Low<StoreDocument>(adapter, emptyStoreDocument());
  try {
    await database.read();
  } catch (error) {
    await adapter.close();
    lock[Symbol.dispose]();
    throw error;
  }
  return new LowdbStore({
    ...{ path, adapter, database, lock, log, clock, inSlices },
    ...{ compactionBytes, journalBytesLarge, changedInPlace },
  });
}

interface Parts {
  readonly path: string;
  readonly adapter: JournalAdapter;
  readonly database: Low<StoreDocument>;
  readonly lock: DirectoryLock;
  readonly log: Logger | undefined;
  readonly clock: Clock;
  readonly compactionBytes: number;
  readonly journalBytesLarge: number;
  readonly changedInPlace: number;
  readonly inSlices: RunInSlices;
}

class LowdbStore implements Store {
  readonly #parts: Parts;
  readonly #queue: CommitQueue;
  readonly #shown: ShownRows;
  #journalBytes = 0;
  /** Raised when a snapshot failed, so that not every commit tries again. */
  #compactionBytes: number;
  #failure: Store['failure'];
  /** The journal has a commit that could not be shown: only another start can read it, and nothing may be written meanwhile. */
  #unshown: StoreError | undefined;
  #writing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#queue = new CommitQueue(parts.inSlices);
    this.#shown = new ShownRows(parts.database.data, parts);
    this.#compactionBytes = parts.compactionBytes;
  }

  get failure(): Store['failure'] {
    return this.#failure;
  }

  get journalBytes(): number {
    return this.#journalBytes;
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

  async commit(changes: readonly Change[], events: readonly NewEvent[] = []): Promise<void> {
    if (this.#closing !== undefined) throw new StoreError('The store is closed. Nothing was saved.');
    if (changes.length === 0 && events.length === 0) return;
    const done = this.#queue.add(changes, events);
    this.#writing ??= this.#writeAll();
    await done;
  }

  replaceEqual<Kind extends RowKind>(kind: Kind, name: string, row: EqualRows<Kind>): void {
    this.#shown.replaceEqual(kind, name, row);
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

  /** Never rejects: what goes wrong is for the commits that wait, or for the log. */
  async #writeAll(): Promise<void> {
    // Commits of the same turn of the event loop share one write.
    await Promise.resolve();
    while (!this.#queue.isEmpty) {
      await this.#writeGroup(await this.#queue.takeGroup());
      await this.#compactIfDue();
    }
    this.#writing = undefined;
  }

  async #writeGroup(group: readonly WaitingCommit[]): Promise<void> {
    const { accepted, refused } = await this.#parts.inSlices(decideGroup(this.#document.tables, group));
    try {
      if (accepted.length > 0) await this.#append(accepted);
    } catch (error) {
      const failure = this.#failureOf(error);
      const since = this.#failure?.since ?? momentOf(this.#parts.clock.now());
      this.#failure = { reason: failure.message, since };
      for (const { settle } of group) settle.reject(failure);
      return;
    }
    for (const { settle } of accepted) settle.resolve();
    if (accepted.length > 0) this.#noteSuccess();
    // Refused last, so that the caller who reads again sees the conflicting change.
    for (const [{ settle }, conflict] of refused) settle.reject(conflict);
  }

  #noteSuccess(): void {
    if (this.#failure) this.#parts.log?.info({ directory: this.#parts.path }, 'the store can be written again');
    this.#failure = undefined;
  }

  async #append(accepted: readonly WaitingCommit[]): Promise<void> {
    this.#parts.lock.check();
    if (this.#unshown !== undefined) throw this.#unshown;
    const sequence = this.#document.sequence + 1;
    const { inSlices } = this.#parts;
    const events = await inSlices(this.#document.events.number(accepted.flatMap((commit) => commit.events)));
    const lines = new GroupLines(accepted, events);
    this.#journalBytes += await this.#parts.adapter.append(sequence, lines.encode());
    try {
      await inSlices(visitAll(events, (event) => this.#document.events.add([event])));
      // All rows change at once, and their writers are told in the same turn: no reader sees half a commit.
      await this.#shown.change(accepted.flatMap(({ changes }) => changes));
      this.#document.rowBytes += lines.growth;
      this.#document.sequence = sequence;
    } catch (error) {
      this.#unshown = unshownError(this.#parts.path, error);
      throw this.#unshown;
    }
  }

  async #compactIfDue(): Promise<void> {
    if (this.#unshown !== undefined) return;
    const { adapter, database, compactionBytes, journalBytesLarge, log, path } = this.#parts;
    const { journalLength, snapshotLength } = adapter;
    if (journalLength <= this.#compactionBytes) return;
    if (journalLength <= Math.min(2 * snapshotLength, journalBytesLarge)) return;
    try {
      await database.write();
      this.#compactionBytes = compactionBytes;
    } catch (error) {
      this.#compactionBytes = journalLength + compactionBytes;
      log?.warn({ err: error, directory: path }, 'no snapshot could be written; the journal grows until one can');
    }
  }

  #failureOf(error: unknown): StoreError {
    if (error instanceof StoreError) return error;
    const { path } = this.#parts;
    return new StoreError(
      `The store in ${path} could not be written: ${reasonOf(error)}. Nothing was saved. Free space on that disk or ` +
        'mend it; Treeline goes on by itself as soon as it can write.',
      { cause: error },
    );
  }
}

function unshownError(path: string, error: unknown): StoreError {
  return new StoreError(
    `The store in ${path} has saved a commit and failed then: ${reasonOf(error)}. It saves nothing more. ` +
      'Restart Treeline: it reads what was saved.',
    { cause: error },
  );
}
