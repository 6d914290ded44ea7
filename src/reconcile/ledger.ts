// Joins the store and an index over its rows that is never behind it, for reconciling.

import type { RunInSlices } from '../base/slices.ts';
import { type Steps, visitAll } from '../base/steps.ts';
import { type Cause, eventsOf } from '../machine/instance-events.ts';
import type { EventPage, EventRange, NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';
import { RowIndex } from './row-index.ts';

/** The rows of the store, and their index. */
export class Ledger {
  readonly #store: Store;
  readonly #inSlices: RunInSlices;
  readonly #index = new RowIndex();
  #version = 0;
  /** Commits that are saved, and that the index or a watcher does not have as a whole. */
  #following = 0;
  readonly #watchers: ((change: Change) => void)[] = [];

  /** `inSlices` runs the work of large commits. */
  constructor(store: Store, inSlices: RunInSlices) {
    this.#store = store;
    this.#inSlices = inSlices;
    for (const [name, row] of store.list('server')) this.#index.follow(name, undefined, row);
  }

  /** The index over all server rows. */
  get index(): Omit<RowIndex, 'follow'> {
    return this.#index;
  }

  /** Increases with every change of a row, as soon as the index includes it. */
  get version(): number {
    return this.#version;
  }

  /** True while the rows have changes that the index, or a watcher, does not have yet. */
  get isFollowing(): boolean {
    return this.#following > 0;
  }

  get savedBytes(): number {
    return this.#store.savedBytes;
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
  recordEvents(events: readonly NewEvent[]): Promise<void> {
    return this.#store.commit([], events);
  }

  /**
   * Saves all of `changes` or none, with the events that tell of them; see Store.commit. Without a cause, there is nothing
   * to tell. `onSaved` is called as soon as they are saved. The index follows: at once where they are few; where they are
   * many, other work runs in between, so that they have to be saved in an exclusive section of the CommitGate.
   */
  async commit(changes: readonly Change[], cause?: Cause, onSaved: () => void = () => undefined): Promise<void> {
    const events = cause === undefined ? [] : await this.#inSlices(eventsOf(changes, cause));
    await this.#store.commit(changes, events);
    this.#following += 1;
    try {
      onSaved();
      await this.#inSlices(this.#follow(changes));
    } finally {
      this.#following -= 1;
    }
  }

  *#follow(changes: readonly Change[]): Steps<void> {
    yield* visitAll(changes, ({ kind, name, expected, value }) => {
      if (kind === 'server') this.#index.follow(name, expected, value ?? undefined);
      this.#version += 1;
    });
    for (const watcher of this.#watchers) yield* visitAll(changes, watcher);
  }
}
