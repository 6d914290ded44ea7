// Rows of one kind that change in memory first and in the store as soon as possible, so that messages are sent while
// the store does not work.
import type { Change, RowKind, Rows } from '../model/rows.ts';
import type { Store } from '../store/store.ts';

/** The rows of the store, and the way to change them. */
export interface RowStore extends Pick<Store, 'read' | 'list'> {
  /** See Store.commit. */
  commit(changes: readonly Change[]): Promise<void>;
}

/** The rows of one kind. */
export class SavedRows<Kind extends RowKind> {
  readonly #store: RowStore;
  readonly #kind: Kind;
  readonly #rows: Map<string, Rows[Kind]>;
  /** The names of the rows that differ from the store. */
  readonly #unsaved = new Set<string>();
  #saving: Promise<void> = Promise.resolve();

  constructor(store: RowStore, kind: Kind) {
    this.#store = store;
    this.#kind = kind;
    this.#rows = new Map(store.list(kind));
  }

  get rows(): ReadonlyMap<string, Rows[Kind]> {
    return this.#rows;
  }

  /** Changes a row, or removes it if `value` is null. */
  set(name: string, value: Rows[Kind] | null): void {
    if (value === null) this.#rows.delete(name);
    else this.#rows.set(name, value);
    this.#unsaved.add(name);
  }

  /** Resolves when the store has all rows. If that fails, the next call tries again. */
  save(): Promise<void> {
    const saving = this.#saving.then(() => this.#save());
    this.#saving = saving.catch(() => undefined);
    return saving;
  }

  async #save(): Promise<void> {
    const names = [...this.#unsaved];
    this.#unsaved.clear();
    const changes = names.flatMap((name) => {
      const [expected, value] = [this.#store.read(this.#kind, name), this.#rows.get(name) ?? null];
      if (expected === undefined && value === null) return [];
      return [{ kind: this.#kind, name, value, expected } as Change];
    });
    try {
      if (changes.length > 0) await this.#store.commit(changes);
    } catch (error) {
      for (const name of names) this.#unsaved.add(name);
      throw error;
    }
  }
}
