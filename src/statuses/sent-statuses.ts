// Remembers which statuses the forge accepted last: in memory, and in the store, so that a restart sends nothing twice.

import { momentOf } from '../base/wording.ts';
import type { Change, CommitStatus, CommitStatusRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';
import type { WantedStatus } from './wanted-statuses.ts';

/** The rows of the store, and the way to change them. */
export interface StatusStore extends Pick<Store, 'read' | 'list'> {
  /** See Store.commit. */
  commit(changes: readonly Change[]): Promise<void>;
}

/** The statuses that were accepted last, by commit. */
export class SentStatuses {
  readonly #store: StatusStore;
  readonly #sentTo: string;
  readonly #rows = new Map<string, CommitStatusRow>();
  /** Commits whose row in the store is not as it is here. */
  readonly #unsaved = new Set<string>();

  /** What was sent to another place is forgotten. */
  constructor(store: StatusStore, sentTo: string) {
    this.#store = store;
    this.#sentTo = sentTo;
    for (const [commit, row] of store.list('commitStatus')) {
      if (row.sentTo === sentTo) this.#rows.set(commit, row);
      else this.#unsaved.add(commit);
    }
  }

  get rows(): ReadonlyMap<string, CommitStatusRow> {
    return this.#rows;
  }

  /** Returns what was accepted last; null if nothing was. */
  last({ commit, context }: Pick<WantedStatus, 'commit' | 'context'>): CommitStatus | null {
    return this.#rows.get(commit)?.[context] ?? null;
  }

  /** Notes an accepted status. `now`: milliseconds since 1970. */
  note({ commit, context, state, description }: WantedStatus, now: number): void {
    const row = this.#rows.get(commit) ?? { validate: null, apply: null, since: momentOf(now), sentTo: this.#sentTo };
    this.#rows.set(commit, { ...row, [context]: { state, description } });
    this.#unsaved.add(commit);
  }

  /** A time that lies after `now` becomes `now`: the clock was set back. */
  correct(now: number): void {
    for (const [commit, row] of this.#rows) {
      if (Date.parse(row.since) <= now) continue;
      this.#rows.set(commit, { ...row, since: momentOf(now) });
      this.#unsaved.add(commit);
    }
  }

  /** Forgets a commit. */
  forget(commit: string): void {
    if (this.#rows.delete(commit)) this.#unsaved.add(commit);
  }

  /** Resolves once the store has all of it. Where that fails, the next call tries again. */
  async save(): Promise<void> {
    const names = [...this.#unsaved];
    const changes = names.flatMap((name): Change[] => {
      const expected = this.#store.read('commitStatus', name);
      const value = this.#rows.get(name) ?? null;
      return expected === undefined && value === null ? [] : [{ kind: 'commitStatus', name, value, expected }];
    });
    if (changes.length > 0) await this.#store.commit(changes);
    for (const name of names) this.#unsaved.delete(name);
  }
}
