// Combines the store with an index over its rows, for reconciling. Rows from other processes are processed like own
// commits.

import type { Breathe } from '../base/breathe.ts';
import { type Cause, eventsOf } from '../machine/instance-events.ts';
import type { EventRange, ListedPage, NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';
import { RowIndex } from './row-index.ts';

/** The number of changes that are processed without a pause. */
const BATCH_SIZE = 100;

/** The kinds of rows that determine the desired state, together with the commits of the repository. */
const DESIRED_KINDS: ReadonlySet<RowKind> = new Set(['head', 'pinned', 'held']);

/** The kinds of rows that no cached answer depends on. Otherwise each request would invalidate all cached answers. */
const UNREAD_KINDS: ReadonlySet<RowKind> = new Set(['seen', 'delivery']);

/** The longest description of a client in an event; longer ones are truncated. */
const NAME_LENGTH_MAX = 250;

/** Receives a change, and its cause if this process committed it with one. */
type Watcher = (change: Change, cause: Cause | undefined) => void;

/** The rows of the store, and their index. */
export class Ledger {
  readonly #store: Store;
  readonly #breathe: Breathe;
  readonly #nameOf: (client: string) => string;
  readonly #index = new RowIndex();
  #version = 0;
  /** The number of saved commits that the index or a watcher has not processed completely. */
  #following = 0;
  #watchers: Watcher[] = [];
  readonly #eventWatchers: (() => void)[] = [];
  #isDesiredOld = false;

  /**
   * `breathe` lets other work run while the index processes a large commit. `nameOf` returns the description of a
   * client, which may be empty.
   */
  constructor(store: Store, breathe: Breathe, nameOf: (client: string) => string = () => '') {
    this.#store = store;
    this.#breathe = breathe;
    this.#nameOf = nameOf;
    for (const [name, row] of store.list('server')) this.#index.follow(name, undefined, row);
    store.watchOthers?.((changes) => this.#followOthers(changes));
  }

  /** The index over all server rows. */
  get index(): Omit<RowIndex, 'follow'> {
    return this.#index;
  }

  /** Increases with every change of a row except of {@link UNREAD_KINDS}, as soon as the index includes it. */
  get version(): number {
    return this.#version;
  }

  /** True while the index or a watcher has not processed all changes of the rows. */
  get isFollowing(): boolean {
    return this.#following > 0;
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
   * Calls `watcher` with every change once it is durable and the index includes its whole commit. `watcher` must not
   * throw.
   */
  watch(watcher: Watcher): void {
    this.#watchers.push(watcher);
  }

  /**
   * Calls `watcher` when events are visible and when the desired state changes, from this or another process, until the
   * process ends. `watcher` must not throw.
   */
  watchEvents(watcher: () => void): void {
    this.#eventWatchers.push(watcher);
  }

  /**
   * Removes the watchers and the calls in flight, because this process no longer leads. The rows and their index stay,
   * and continue with the changes of the next leader.
   */
  forgetWatchers(): void {
    this.#watchers = [];
    this.#index.forgetCalls();
  }

  /** True while another process has activated a desired state that this process does not show yet. */
  get isDesiredOld(): boolean {
    return this.#isDesiredOld;
  }

  /** Records that this process shows the desired state of the rows. */
  noteShown(): void {
    this.#isDesiredOld = false;
    for (const watcher of this.#eventWatchers) watcher();
  }

  /** Resolves with events; see Store.events. */
  listEvents(range: EventRange): Promise<ListedPage> {
    return this.#store.events(range);
  }

  /** Saves events that belong to no row. */
  async recordEvents(events: readonly NewEvent[]): Promise<void> {
    await this.#store.commit([], this.#nameClients(events));
    for (const watcher of this.#eventWatchers) watcher();
  }

  /**
   * Saves all of `changes` or none, with their events; see Store.commit. Without a cause there are no events. `onSaved`
   * is called as soon as the changes are saved; then the index processes them. If there are many, other work runs in
   * between, so the caller must be in an exclusive section of the CommitGate.
   */
  async commit(changes: readonly Change[], cause?: Cause, onSaved: () => void = () => undefined): Promise<void> {
    const events = cause === undefined ? [] : this.#nameClients(eventsOf(changes, cause));
    await this.#store.commit(changes, events);
    await this.#shown(changes, onSaved, cause);
  }

  /** Events contain the client's description, because the client may be removed before they are read. */
  #nameClients(events: readonly NewEvent[]): readonly NewEvent[] {
    return events.map((event) => {
      const name = event.client === null ? '' : this.#nameOf(event.client).slice(0, NAME_LENGTH_MAX);
      return name === '' ? event : { ...event, clientName: name.toWellFormed() };
    });
  }

  async #followOthers(changes: readonly Change[]): Promise<void> {
    if (changes.some(({ kind }) => DESIRED_KINDS.has(kind))) this.#isDesiredOld = true;
    await this.#shown(changes, () => undefined);
  }

  async #shown(changes: readonly Change[], onShown: () => void, cause?: Cause): Promise<void> {
    this.#following += 1;
    try {
      onShown();
      for (const watcher of this.#eventWatchers) watcher();
      await this.#follow(changes, cause);
    } finally {
      this.#following -= 1;
    }
  }

  async #follow(changes: readonly Change[], cause: Cause | undefined): Promise<void> {
    for (const [at, { kind, name, expected, value }] of changes.entries()) {
      if (at % BATCH_SIZE === BATCH_SIZE - 1) await this.#breathe();
      if (kind === 'server') this.#index.follow(name, expected, value ?? undefined);
      if (!UNREAD_KINDS.has(kind)) this.#version += 1;
    }
    for (const [at, change] of changes.entries()) {
      if (at % BATCH_SIZE === BATCH_SIZE - 1) await this.#breathe();
      for (const watcher of this.#watchers) watcher(change, cause);
    }
  }
}
