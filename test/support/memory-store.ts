// A store without a disk, for tests of what stands on one. test/contract/memory-store.test.ts holds it to the contract.

import { DatabaseSync } from 'node:sqlite';
import type { EventRange, ListedPage, NewEvent } from '../../src/model/instance-event.ts';
import type { Change, RowKind, Rows } from '../../src/model/rows.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import {
  addEvents,
  EVENTS_A_TRIM,
  keptEvents,
  readEvents,
  SCHEMA_OF_EVENTS,
  trimEvents,
} from '../../src/store/event-table.ts';
import type { Store } from '../../src/store/store.ts';

/** The rows that outlive a store: a store that is opened on the same ones finds what the one before has left. */
export type MemoryRows = Map<RowKind, Map<string, Rows[RowKind]>>;

/** The events beside the rows of a store, which outlive it too. */
const EVENTS = new WeakMap<MemoryRows, DatabaseSync>();

export class MemoryStore implements Store {
  readonly failure = undefined;
  readonly #events: DatabaseSync;
  readonly #rows: MemoryRows;
  #savedBytes = 0;
  #isClosed = false;
  #last: Promise<void> = Promise.resolve();

  constructor(rows: MemoryRows = new Map()) {
    this.#rows = rows;
    this.#events = EVENTS.get(rows) ?? emptyEvents();
    EVENTS.set(rows, this.#events);
  }

  /** What all commits would have written. */
  get savedBytes(): number {
    return this.#savedBytes;
  }

  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined {
    return this.list(kind).get(name);
  }

  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]> {
    return (this.#rows.get(kind) ?? new Map()) as ReadonlyMap<string, Rows[Kind]>;
  }

  async events(range: EventRange): Promise<ListedPage> {
    return readEvents(this.#events, range);
  }

  async commit(changes: readonly Change[], events: readonly NewEvent[] = []): Promise<void> {
    if (this.#isClosed) throw new Error('the store is closed');
    const turn = this.#last.then(() => this.#save(changes, events));
    this.#last = turn.catch(() => undefined);
    await turn;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }

  #save(changes: readonly Change[], events: readonly NewEvent[]): void {
    const names = new Set(changes.map(({ kind, name }) => `${kind}/${name}`));
    if (names.size < changes.length) throw new Error('a row appears twice in one commit');
    for (const { kind, name, expected } of changes) {
      if (this.read(kind, name) === expected) continue;
      throw new ServiceError('conflict', `the row "${name}" was changed meanwhile`);
    }
    for (const { kind, name, value } of changes) this.#put(kind, name, value);
    const kept = keptEvents(events, readEvents(this.#events, { after: 0, limit: 0 }).newest);
    addEvents(this.#events, kept);
    if (kept.length >= EVENTS_A_TRIM) trimEvents(this.#events);
    for (const [, , value] of kept) this.#savedBytes += value.length;
  }

  #put(kind: RowKind, name: string, value: Rows[RowKind] | null): void {
    const rows = this.#rows.get(kind) ?? new Map<string, Rows[RowKind]>();
    this.#savedBytes += JSON.stringify([kind, name, value]).length;
    this.#rows.set(kind, rows);
    if (value === null) rows.delete(name);
    else rows.set(name, value);
  }
}

function emptyEvents(): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  database.exec(SCHEMA_OF_EVENTS);
  return database;
}
