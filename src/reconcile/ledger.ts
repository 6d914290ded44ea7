// Joins the store and an index over its rows that is never behind it, for reconciling.
import { type Cause, eventsOf } from '../machine/instance-events.ts';
import type { EventPage, EventRange, NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';
import { RowIndex } from './row-index.ts';

/** The rows of the store, and their index. */
export class Ledger {
  readonly #store: Store;
  readonly #index = new RowIndex();

  readonly #watchers: ((change: Change) => void)[] = [];

  constructor(store: Store) {
    this.#store = store;
    for (const [name, row] of store.list('server')) this.#index.follow(name, undefined, row);
  }

  /** The index over all server rows. */
  get index(): Omit<RowIndex, 'follow'> {
    return this.#index;
  }

  get journalBytes(): number {
    return this.#store.journalBytes;
  }

  /** Size of all rows in the store, in bytes. */
  get rowBytes(): number {
    return this.#store.rowBytes;
  }

  server(name: string): ServerRow | undefined {
    return this.#store.read('server', name);
  }

  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined {
    return this.#store.read(kind, name);
  }

  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]> {
    return this.#store.list(kind);
  }

  /**
   * Calls `watcher` with every change once it is durable and the index includes all of its commit. It must not throw.
   */
  watch(watcher: (change: Change) => void): void {
    this.#watchers.push(watcher);
  }

  /** Resolves with events of an instance; see Store.events. */
  events(instance: string, range: EventRange): Promise<EventPage> {
    return this.#store.events(instance, range);
  }

  /** Saves events that belong to no row. */
  tell(events: readonly NewEvent[]): Promise<void> {
    return this.#store.commit([], events);
  }

  /**
   * Saves all of `changes` or none, with the events that tell of them; see Store.commit. Updates the index at once.
   * Without a cause, there is nothing to tell.
   */
  async commit(changes: readonly Change[], cause?: Cause): Promise<void> {
    await this.#store.commit(changes, cause === undefined ? [] : eventsOf(changes, cause));
    for (const { kind, name, expected, value } of changes) {
      if (kind === 'server') this.#index.follow(name, expected, value ?? undefined);
    }
    for (const watcher of this.#watchers) changes.forEach(watcher);
  }
}
