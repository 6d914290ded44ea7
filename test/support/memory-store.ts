// A store without a disk, for tests of what stands on one. test/contract/memory-store.test.ts holds it to the contract.

import type { EventPage, EventRange, ListedPage, ListedRange, NewEvent } from '../../src/model/instance-event.ts';
import type { Change, RowKind, Rows } from '../../src/model/rows.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { EventLog, keptEvent } from '../../src/store/event-log.ts';
import type { Store } from '../../src/store/store.ts';

/** The rows that outlive a store: a store that is opened on the same ones finds what the one before has left. */
export type MemoryRows = Map<RowKind, Map<string, Rows[RowKind]>>;

/** The events beside the rows of a store, which outlive it too. */
const EVENTS = new WeakMap<MemoryRows, EventLog>();

export class MemoryStore implements Store {
  readonly failure = undefined;
  readonly #events: EventLog;
  readonly #rows: MemoryRows;
  /** By kind and name. */
  readonly #bytes = new Map<string, number>();
  #savedBytes = 0;
  #rowBytes = 0;
  #isClosed = false;
  #last: Promise<void> = Promise.resolve();

  constructor(rows: MemoryRows = new Map()) {
    this.#rows = rows;
    this.#events = EVENTS.get(rows) ?? new EventLog();
    EVENTS.set(rows, this.#events);
    for (const [kind, named] of rows) for (const [name, value] of named) this.#count(kind, name, value);
    this.#savedBytes = 0;
  }

  get savedBytes(): number {
    return this.#savedBytes;
  }

  get rowBytes(): number {
    return this.#rowBytes;
  }

  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined {
    return this.list(kind).get(name);
  }

  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]> {
    return (this.#rows.get(kind) ?? new Map()) as ReadonlyMap<string, Rows[Kind]>;
  }

  async events(instance: string, range: EventRange): Promise<EventPage> {
    return this.#events.page(instance, range);
  }

  async listEvents(range: ListedRange): Promise<ListedPage> {
    return this.#events.list(range);
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
    const numbered = this.#events.number(events);
    this.#events.add(numbered);
    for (const event of numbered) this.#savedBytes += keptEvent(event)[2]?.length ?? 0;
  }

  #put(kind: RowKind, name: string, value: Rows[RowKind] | null): void {
    const rows = this.#rows.get(kind) ?? new Map<string, Rows[RowKind]>();
    this.#count(kind, name, value);
    this.#rows.set(kind, rows);
    if (value === null) rows.delete(name);
    else rows.set(name, value);
  }

  /** As a journal would write it. */
  #count(kind: RowKind, name: string, value: Rows[RowKind] | null): void {
    const key = `${kind}/${name}`;
    const written = JSON.stringify([kind, name, value]).length;
    const bytes = value === null ? 0 : written;
    this.#savedBytes += written;
    this.#rowBytes += bytes - (this.#bytes.get(key) ?? 0);
    this.#bytes.set(key, bytes);
  }
}
