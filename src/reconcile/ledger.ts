// Joins the store and an index over its rows that is never behind it, for reconciling. Rows that other processes wrote
// take the same way as its own commits.

import type { Breathe } from '../base/breathe.ts';
import { type Cause, eventsOf } from '../machine/instance-events.ts';
import type { EventRange, ListedPage, NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';
import { RowIndex } from './row-index.ts';

/** The index follows so many changes at once. */
const FEW = 100;

/** The kinds of rows that say, with the commits of the repository, what the desired state is. */
const DESIRED_KINDS: ReadonlySet<RowKind> = new Set(['head', 'pinned', 'held']);

/**
 * The kinds of rows that no answer is made of which is kept: clients would have all others forgotten with each request.
 */
const UNREAD_KINDS: ReadonlySet<RowKind> = new Set(['seen', 'delivery']);

/** Longer descriptions of clients are shortened in events. */
const NAME_LENGTH_MAX = 250;

/** Also gets the cause of a change that this process has committed with one. */
type Watcher = (change: Change, cause: Cause | undefined) => void;

/** The rows of the store, and their index. */
export class Ledger {
  readonly #store: Store;
  readonly #breathe: Breathe;
  readonly #nameOf: (client: string) => string;
  readonly #index = new RowIndex();
  #version = 0;
  /** Commits that are saved, and that the index or a watcher does not have as a whole. */
  #following = 0;
  #watchers: Watcher[] = [];
  readonly #eventWatchers: (() => void)[] = [];
  #isDesiredOld = false;

  /**
   * `breathe` lets other work run while the index follows a large commit. `nameOf` returns the description of a client,
   * which may be empty.
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

  /** Increases with every change of a row, as soon as the index includes it; but for {@link UNREAD_KINDS}. */
  get version(): number {
    return this.#version;
  }

  /** True while the rows have changes that the index, or a watcher, does not have yet. */
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
   * Calls `watcher` with every change once it is durable and the index includes all of its commit. It must not throw.
   */
  watch(watcher: Watcher): void {
    this.#watchers.push(watcher);
  }

  /**
   * Calls `watcher` once events are shown, and with each change of the desired state, whoever wrote them and for as
   * long as the process lives. It must not throw.
   */
  watchEvents(watcher: () => void): void {
    this.#eventWatchers.push(watcher);
  }

  /**
   * Forgets the watchers and the calls in flight: this process does not lead any more, and what watched is stopped. The
   * rows and their index stay, and continue with what the next leader writes.
   */
  forgetWatchers(): void {
    this.#watchers = [];
    this.#index.forgetCalls();
  }

  /** True while other processes have activated another desired state than this one shows. */
  get isDesiredOld(): boolean {
    return this.#isDesiredOld;
  }

  /** The desired state that the rows name is shown. */
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
   * Saves all of `changes` or none, with their events; see Store.commit. Without a cause, there are
   * none. `onSaved` is called as soon as they are saved. The index follows: at once where they are few;
   * where they are many, other work runs in between, so that they have to be saved in an exclusive section of the
   * CommitGate.
   */
  async commit(changes: readonly Change[], cause?: Cause, onSaved: () => void = () => undefined): Promise<void> {
    const events = cause === undefined ? [] : this.#nameClients(eventsOf(changes, cause));
    await this.#store.commit(changes, events);
    await this.#shown(changes, onSaved, cause);
  }

  /** A client may be gone when its events are read. */
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
      if (at % FEW === FEW - 1) await this.#breathe();
      if (kind === 'server') this.#index.follow(name, expected, value ?? undefined);
      if (!UNREAD_KINDS.has(kind)) this.#version += 1;
    }
    for (const [at, change] of changes.entries()) {
      if (at % FEW === FEW - 1) await this.#breathe();
      for (const watcher of this.#watchers) watcher(change, cause);
    }
  }
}
